//! Records to entries: one function, used when a record is committed and when the index is built
//! anew, so that both give the same.

use milepost_codec::{
    Body, CheckpointMarked, Control, Hash, Head, Header, LogId, LogKind, Offset, Origin, Result,
    Seq, TaskNo, checkpoint_id,
};

use super::keys::{self, Kind};
use super::{ActivationEntry, KeyEntry, LineageEntry, MarkEntry, MarkPlace, TaskEntry};
use crate::log::IndexPut;

/// A mark larger than this is read from the log when it is listed: an entry has to stay small.
const MARK_INLINE_MAX: usize = 1024;

/// A record to be indexed, and where it is.
pub(crate) struct Indexed<'a> {
    pub(crate) log: LogId,
    pub(crate) origin: Origin,
    pub(crate) offset: Offset,
    /// The chain hash before it.
    pub(crate) before: Hash,
    pub(crate) seq: Seq,
    pub(crate) header: &'a Header,
    /// The inline payload; nothing where the body is in chunks or erased.
    pub(crate) payload: Option<&'a [u8]>,
}

/// The entries that follow from a record.
pub(crate) fn index_record(record: &Indexed<'_>, puts: &mut Vec<IndexPut>) -> Result<()> {
    match record.log.kind {
        LogKind::Control => index_control(record, puts),
        LogKind::Lineage(lineage) => {
            let task = record.log.task;
            if let Some(key) = &record.header.key {
                let entry = KeyEntry {
                    first: record.offset,
                    count: record.header.batch,
                    seq: record.seq,
                };
                puts.push((keys::idempotency(task, lineage, key), Some(entry.encode())));
            }
            let (Some(payload), 17) = (record.payload, record.header.kind) else {
                return Ok(());
            };
            if let Body::CheckpointMarked(mark) = Body::decode(record.header.kind, payload)? {
                index_mark(record, mark, payload.len(), puts);
            }
            Ok(())
        }
    }
}

fn index_mark(record: &Indexed<'_>, mark: CheckpointMarked, size: usize, puts: &mut Vec<IndexPut>) {
    let LogKind::Lineage(lineage) = record.log.kind else {
        return;
    };
    let (task, offset, seq) = (record.log.task, record.offset, record.seq);
    let head = Head {
        next: offset,
        hash: record.before,
    };
    let id = checkpoint_id(record.origin, lineage, head, record.header.time_us, &mark);
    for (kind, names) in [
        (Kind::MarkLabel, mark.label.as_slice()),
        (Kind::MarkAlias, mark.aliases.as_slice()),
    ] {
        for name in names {
            puts.push((
                keys::named_mark(kind, task, name, lineage, offset),
                Some(Vec::new()),
            ));
        }
    }
    let entry = MarkEntry {
        id,
        time_us: record.header.time_us,
        seq,
        hash: record.before,
        body: (size <= MARK_INLINE_MAX).then_some(mark),
    };
    puts.push((keys::mark(task, lineage, offset), Some(entry.encode())));
    puts.push((
        keys::task_mark(task, seq, lineage, offset),
        Some(Vec::new()),
    ));
    puts.push((
        keys::store_mark(seq, task, lineage, offset),
        Some(Vec::new()),
    ));
    let place = MarkPlace {
        task,
        lineage,
        offset,
    };
    puts.push((keys::mark_id(&id), Some(place.encode())));
}

fn index_control(record: &Indexed<'_>, puts: &mut Vec<IndexPut>) -> Result<()> {
    let Some(payload) = record.payload else {
        return Ok(());
    };
    let (task, time_us) = (record.log.task, record.header.time_us);
    match Control::decode(record.header.kind, payload)? {
        Control::TaskOpened(opened) if task == TaskNo::STORE => {
            puts.push((
                keys::task_name(&opened.name),
                Some(opened.task.0.to_be_bytes().to_vec()),
            ));
            let entry = TaskEntry {
                name: opened.name,
                user: opened.user,
                origin: opened.origin,
                created_us: time_us,
            };
            puts.push((keys::task(opened.task), Some(entry.encode())));
        }
        Control::LineageRegistered(opened) => {
            let entry = LineageEntry {
                lineage_type: opened.lineage_type,
                description: opened.description,
                parent: opened.parent,
                opened_us: time_us,
            };
            puts.push((keys::lineage(task, opened.lineage), Some(entry.encode())));
        }
        Control::Activated(activated) => {
            let entry = ActivationEntry {
                lineage: activated.lineage,
                back: activated.back,
                time_us,
            };
            puts.push((
                keys::activation(task, activated.epoch),
                Some(entry.encode()),
            ));
        }
        _ => {}
    }
    Ok(())
}
