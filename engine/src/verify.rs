//! Verification: every chain computed again, every checkpoint's digest, every file read.

use milepost_codec::{
    Body, BodyForm, Chain, ChunkList, Error, Hash, Head, LogId, LogKind, Offset, Origin, RecordRef,
    Result, TaskNo, checkpoint_id,
};
use milepost_replay::Verifier;

use crate::catalog::Catalog;
use crate::index::keys::{self, Kind};
use crate::index::{LogHead, MarkEntry};

/// One thing that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which log or file.
    pub place: String,
    /// What is wrong with it.
    pub message: String,
}

/// What a verification saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Tasks.
    pub tasks: u64,
    /// Lineages.
    pub lineages: u64,
    /// Events, those of control logs included.
    pub events: u64,
    /// Checkpoints whose digest was computed again.
    pub checkpoints: u64,
    /// Runs of events whose block was checked.
    pub blocks: u64,
    /// Journal frames, archived or not, beside the chains; not where one task was asked for.
    pub frames: u64,
    /// Chunks in packs; not where one task was asked for.
    pub chunks: u64,
    /// What is wrong. Empty: everything is as it was written.
    pub faults: Vec<Fault>,
}

impl VerifyReport {
    /// Whether everything is as it was written.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }
}

/// What a log's own check of its files saw.
#[derive(Debug, Default)]
pub(crate) struct StorageCheck {
    pub(crate) frames: u64,
    pub(crate) chunks: u64,
    faults: Vec<Fault>,
}

impl StorageCheck {
    pub(crate) fn fault(&mut self, error: &Error) {
        self.faults.push(Fault {
            place: "storage".into(),
            message: error.to_string(),
        });
    }
}

/// Verifies one task, or all and the store's own log and files.
pub(crate) fn verify(
    catalog: &Catalog,
    store: Origin,
    task: Option<TaskNo>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<VerifyReport> {
    let prefix = match task {
        Some(task) => keys::of_task(Kind::Head, task),
        None => keys::all(Kind::Head),
    };
    let end = keys::after_prefix(&prefix);
    let heads = catalog.log().scan(&prefix, &end, false, usize::MAX)?;
    let mut report = VerifyReport::default();
    let mut logs = Vec::with_capacity(heads.len());
    for (key, value) in heads {
        logs.push((keys::log_of(&key), LogHead::decode(&value)?));
    }
    let all = logs
        .iter()
        .map(|(_, head)| head.head.next - head.start)
        .sum();
    for (id, head) in logs {
        count_log(id, &mut report);
        let checked = check_log(catalog, store, id, head, &mut report, &mut |seen| {
            progress(seen, all);
        });
        if let Err(error) = checked {
            report.faults.push(Fault {
                place: id.to_string(),
                message: error.to_string(),
            });
        }
    }
    if task.is_none() {
        let mut storage = StorageCheck::default();
        catalog.log().check_storage(&mut storage)?;
        report.frames = storage.frames;
        report.chunks = storage.chunks;
        report.faults.extend(storage.faults);
    }
    Ok(report)
}

fn count_log(id: LogId, report: &mut VerifyReport) {
    match id.kind {
        LogKind::Control => report.tasks += u64::from(id.task != TaskNo::STORE),
        LogKind::Lineage(_) => report.lineages += 1,
    }
}

fn check_log(
    catalog: &Catalog,
    store: Origin,
    id: LogId,
    head: LogHead,
    report: &mut VerifyReport,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let origin = if id.task == TaskNo::STORE {
        store
    } else {
        catalog.task(id.task)?.origin
    };
    let chain = catalog.chain(origin, id);
    let start = Head {
        next: head.start,
        hash: start_hash(catalog, origin, id, &chain)?,
    };
    let mut verifier = Verifier::new(chain, start);
    while verifier.head().next < head.head.next {
        let at = verifier.head().next;
        let run = catalog
            .log()
            .run(id, at)?
            .ok_or_else(|| Error::corrupt(id.to_string(), format!("offset {at}"), "nothing"))?;
        // The applier may have packed what was seen already into one block with what comes next.
        let mut skipped = Verifier::new(
            chain,
            Head {
                next: run.first,
                hash: run.prev,
            },
        );
        let mut met = skipped.head() == verifier.head();
        for section in run.sections() {
            if !met && skipped.head().next < at {
                skipped.section_with(skipped.head().next, &section?, &mut |_, _, _, _| Ok(()))?;
                met = skipped.head() == verifier.head();
                continue;
            }
            if !met {
                break;
            }
            if verifier.head().next == head.head.next {
                break;
            }
            let first = verifier.head().next;
            let before = report.checkpoints;
            let mut marks = 0;
            verifier.section_with(first, &section?, &mut |offset, record, before, _| {
                marks += u64::from(check_record(catalog, origin, id, offset, record, before)?);
                Ok(())
            })?;
            report.checkpoints = before + marks;
        }
        if !met {
            let expected = format!("offset {at} after {}", verifier.head().hash);
            let found = format!(
                "offset {} after {}",
                skipped.head().next,
                skipped.head().hash
            );
            return Err(Error::corrupt(id.to_string(), expected, found));
        }
        report.blocks += 1;
        report.events += verifier.head().next - at;
        progress(report.events);
    }
    if verifier.head() != head.head {
        return Err(Error::corrupt(
            id.to_string(),
            format!("head {} {}", head.head.next, head.head.hash),
            format!("head {} {}", verifier.head().next, verifier.head().hash),
        ));
    }
    Ok(())
}

/// The hash a log begins with: its root's, or its parent's at the fork.
fn start_hash(catalog: &Catalog, origin: Origin, id: LogId, chain: &Chain) -> Result<Hash> {
    let LogKind::Lineage(lineage) = id.kind else {
        return Ok(chain.root());
    };
    let Some(parent) = catalog.lineage(id.task, lineage)?.parent else {
        return Ok(chain.root());
    };
    let owner = crate::read::Ancestry::of(catalog, id.task, parent.lineage)?
        .hash_owner(parent.offset)
        .unwrap_or(parent.lineage);
    let log = LogId::lineage(id.task, owner);
    let hash = crate::read::hash_at(catalog, origin, log, parent.offset)?;
    if hash != parent.hash {
        let place = format!("{id}, fork at {}", parent.offset);
        return Err(Error::corrupt(place, hash, parent.hash));
    }
    Ok(hash)
}

/// Checks what a record refers to; says whether it is a checkpoint.
fn check_record(
    catalog: &Catalog,
    origin: Origin,
    id: LogId,
    offset: Offset,
    record: &RecordRef<'_>,
    before: &Hash,
) -> Result<bool> {
    let header = record.header()?;
    if record.form == BodyForm::Chunked {
        let list = ChunkList::decode(record.payload)?;
        let content = crate::read::read_chunks(catalog.log(), &list)?;
        Body::decode(header.kind, &content)?;
        return Ok(false);
    }
    let LogKind::Lineage(lineage) = id.kind else {
        return Ok(false);
    };
    if record.form != BodyForm::Inline {
        return Ok(false);
    }
    let Body::CheckpointMarked(mark) = Body::decode(header.kind, record.payload)? else {
        return Ok(false);
    };
    let head = Head {
        next: offset,
        hash: *before,
    };
    let digest = checkpoint_id(origin, lineage, head, header.time_us, &mark);
    let place = || format!("checkpoint of {id} at offset {offset}");
    let Some(entry) = catalog.log().get(&keys::mark(id.task, lineage, offset))? else {
        return Err(Error::corrupt(place(), digest, "no entry in the index"));
    };
    let entry = MarkEntry::decode(&entry)?;
    if entry.id != digest {
        return Err(Error::corrupt(place(), digest, entry.id));
    }
    if let Some(at) = mark.at {
        let ancestry = crate::read::Ancestry::of(catalog, id.task, lineage)?;
        let owner = ancestry.hash_owner(at.next).unwrap_or(lineage);
        let log = LogId::lineage(id.task, owner);
        let hash = crate::read::hash_at(catalog, origin, log, at.next)?;
        if hash != at.hash {
            return Err(Error::corrupt(place(), hash, at.hash));
        }
    }
    Ok(true)
}
