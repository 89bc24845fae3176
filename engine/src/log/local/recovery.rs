//! Opening: what the journal holds beyond sled comes back into the tail.
//!
//! Every frame is checked, every record is chained again, and heads and index entries are computed
//! by the same code that computed them when it was committed. Where sled is empty or behind the
//! journal's first segment, the archive is read first: so sled can always be built anew.

use std::collections::HashMap;

use milepost_codec::{
    BodyForm, Chain, Control, Error, GroupRef, Groups, Head, Header, LogId, LogKind, Origin,
    Result, Seq, TaskNo,
};

use super::archive;
use super::journal::{Active, JournalEnd, Sealed};
use super::layout;
use super::scan::{Scanned, frames};
use super::{Shared, applier};
use crate::index::{Indexed, LogHead, TaskEntry, index_record, keys};
use crate::log::{Batch, GroupMeta};

/// Reads the journal and gives where it ends. After an error `journal_sound` says whether it may be
/// sled that is damaged: the journal's own frames are whole and follow each other.
pub(crate) fn recover(shared: &Shared, journal_sound: &mut bool) -> Result<JournalEnd> {
    let dir = shared.layout.journal();
    shared.shelf.adopt(&dir)?;
    let segments = layout::numbered(&dir, "seg")?;
    let applied = shared.applied();
    let mut replay = Replay::new(shared);
    let mut last: Option<Scanned> = None;
    if segments.is_empty() {
        return empty_journal(shared, &mut replay);
    }
    for (_, path) in &segments {
        *journal_sound = false;
        let segment = Scanned::read(path, shared.config.store)?;
        if let Some(before) = &last {
            follows(before, &segment)?;
            *journal_sound = true;
            seal(shared, before);
        } else if segment.header.first > applied + 1 {
            let end = replay.archive(applied)?;
            if end.0 < segment.header.first {
                return Err(gap(applied, segment.header.first));
            }
        }
        *journal_sound = true;
        let from = replay.last.max(applied);
        for (seq, payload) in segment.frames(from) {
            replay.frame(seq, payload)?;
        }
        last = Some(segment);
    }
    let Some(segment) = last else {
        return Err(Error::invalid("no journal segment"));
    };
    if segment.last < applied {
        *journal_sound = false;
        return Err(Error::corrupt(
            "journal",
            format!("commits up to {applied}, which sled has"),
            format!("commits up to {}", segment.last),
        ));
    }
    if replay.last < segment.last {
        return Err(gap(replay.last, segment.last));
    }
    shared.set_recovered(replay.taken, segment.torn);
    if shared.tail.read().is_empty() {
        // Only frames that say that the store was closed came after what sled has.
        shared.set_applied(segment.last);
    }
    end_at(shared, segment)
}

/// A store whose journal has no segment: a new one, or one whose journal was removed.
fn empty_journal(shared: &Shared, replay: &mut Replay<'_>) -> Result<JournalEnd> {
    let (next, check) = replay.archive(shared.applied())?;
    let archived = next.saturating_sub(1);
    if archived < shared.applied() {
        return Err(gap(archived, shared.applied() + 1));
    }
    if shared.tail.read().is_empty() {
        shared.set_applied(archived);
    }
    let next_number = layout::numbered(&shared.layout.archive(), "mpa")?
        .last()
        .map_or(1, |(n, _)| n + 1);
    Ok(JournalEnd {
        active: None,
        last: archived,
        check,
        next_number,
        next_size: 0,
    })
}

fn gap(have: Seq, first: Seq) -> Error {
    Error::corrupt(
        "journal",
        format!("commit {}", have + 1),
        format!("commit {first} first"),
    )
}

fn follows(before: &Scanned, segment: &Scanned) -> Result<()> {
    let expected = (before.header.number + 1, before.last + 1, before.check);
    let header = &segment.header;
    if (header.number, header.first, header.prev) != expected {
        return Err(Error::corrupt(
            segment.path.display().to_string(),
            format!("segment {} from commit {}", expected.0, expected.1),
            format!("segment {} from commit {}", header.number, header.first),
        ));
    }
    Ok(())
}

fn seal(shared: &Shared, segment: &Scanned) {
    shared.shelf.sealed.lock().push_back(Sealed {
        header: segment.header,
        path: segment.path.clone(),
        last: segment.last,
        size: segment.bytes.len() as u64,
    });
}

/// After a clean end the last segment is written on; after any other it is finished and a fresh
/// one begun, since what was written but not synced may be anything.
fn end_at(shared: &Shared, segment: Scanned) -> Result<JournalEnd> {
    if !segment.closed {
        segment.settle()?;
    }
    let (last, check) = (segment.last, segment.check);
    let size = segment.bytes.len() as u64;
    let next_number = segment.header.number + 1;
    let next_size = if segment.end * 2 > size {
        size * 2
    } else {
        size
    };
    let active = if segment.closed || segment.last < segment.header.first {
        let file = layout::open_rw(&segment.path)?;
        let (header, path, at) = (segment.header, segment.path, segment.end);
        Some(Active {
            header,
            path,
            file,
            at,
            size,
        })
    } else {
        seal(shared, &segment);
        None
    };
    Ok(JournalEnd {
        active,
        last,
        check,
        next_number,
        next_size,
    })
}

/// Takes frames back in, in the order they were committed.
struct Replay<'a> {
    shared: &'a Shared,
    origins: HashMap<TaskNo, Origin>,
    heads: HashMap<LogId, LogHead>,
    last: Seq,
    /// Commits that were taken back, those that only say that the store was closed left out.
    taken: u64,
}

impl<'a> Replay<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            origins: HashMap::new(),
            heads: HashMap::new(),
            last: shared.applied(),
            taken: 0,
        }
    }

    /// Reads the archive from the commit after `applied`; gives the commit after its end and the
    /// check of its last frame.
    fn archive(&mut self, applied: Seq) -> Result<(Seq, [u8; 16])> {
        let mut end = (1, [0; 16]);
        for (_, path) in layout::numbered(&self.shared.layout.archive(), "mpa")? {
            let mut reader = archive::Reader::open(&path, self.shared.config.store)?;
            let header = reader.header.0;
            if (header.first, header.prev) != end {
                return Err(gap(end.0.saturating_sub(1), header.first).at(path.display()));
            }
            while let Some(block) = reader.next_block()? {
                for (seq, payload) in frames(&block).filter(|(seq, _)| *seq > applied) {
                    self.frame(seq, payload)?;
                }
            }
            end = reader.position();
        }
        Ok(end)
    }

    /// Takes one frame into the tail, and makes room in it where it is full.
    fn frame(&mut self, seq: Seq, payload: &[u8]) -> Result<()> {
        if seq != self.last + 1 {
            return Err(gap(self.last, seq));
        }
        if payload.is_empty() && self.shared.tail.read().is_empty() {
            // The store was closed here, and there is nothing to apply before it.
            self.last = seq;
            return Ok(());
        }
        let mut batch = Batch::new(seq);
        let at = batch.buf.len();
        batch.buf.extend_from_slice(payload);
        for group in Groups::new(payload) {
            let group = group.map_err(|e| e.at(format!("commit {seq}")))?;
            let section = at + group.span.0..at + group.span.1;
            self.group(seq, &group, section, &mut batch)?;
        }
        self.last = seq;
        self.taken += u64::from(!payload.is_empty());
        let mut tail = self.shared.tail.write();
        tail.push(batch);
        let full = tail.bytes() > self.shared.backlog_bytes;
        drop(tail);
        if full {
            applier::round(self.shared, seq)
        } else {
            Ok(())
        }
    }

    fn group(
        &mut self,
        seq: Seq,
        group: &GroupRef<'_>,
        section: std::ops::Range<usize>,
        batch: &mut Batch,
    ) -> Result<()> {
        let (log, first) = (group.log, group.first);
        let origin = self.origin(log)?;
        let chain = Chain::new(origin, log);
        let known = match self.heads.get(&log) {
            Some(head) => Some(*head),
            None => self.shared.stored_head(log)?,
        };
        let before = match known {
            Some(head) => head,
            None => self.first_head(log, first, &chain, group)?,
        };
        if before.head.next != first {
            return Err(Error::corrupt(
                format!("{log} in commit {seq}"),
                format!("offset {}", before.head.next),
                first,
            ));
        }
        let mut head = before.head;
        for (index, record) in (0_u32..).zip(group.section.iter()) {
            let record = record.map_err(|e| e.at(format!("commit {seq}")))?;
            let header = record.header()?;
            let payload = (record.form == BodyForm::Inline).then_some(record.payload);
            let indexed = Indexed {
                log,
                origin,
                offset: head.next,
                before: head.hash,
                seq,
                header: &header,
                payload,
            };
            index_record(&indexed, &mut batch.index)?;
            self.learn(log, &header, payload)?;
            let body = record.body_hash(&group.section.salt(index))?;
            head.hash = chain.next(head.next, &head.hash, record.header, &body);
            head.next += 1;
        }
        let bytes = before.bytes + group.section.records.len() as u64;
        let after = LogHead {
            head,
            bytes,
            start: before.start,
        };
        self.heads.insert(log, after);
        let (count, prev) = (group.section.count, before.head.hash);
        batch.groups.push(GroupMeta {
            log,
            first,
            count,
            prev,
            head: after,
            section,
        });
        Ok(())
    }

    /// The head before the first record of a log: its root, or the parent's hash at the fork,
    /// which that record names.
    fn first_head(
        &self,
        log: LogId,
        first: u64,
        chain: &Chain,
        group: &GroupRef<'_>,
    ) -> Result<LogHead> {
        let mut hash = chain.root();
        if let LogKind::Lineage(_) = log.kind
            && let Some(record) = group.section.iter().next()
        {
            let record = record?;
            let body = milepost_codec::Body::decode(record.header()?.kind, record.payload)?;
            if let milepost_codec::Body::LineageOpened(opened) = body
                && let Some(parent) = opened.parent
            {
                hash = parent.hash;
            }
        }
        Ok(LogHead {
            head: Head { next: first, hash },
            bytes: 0,
            start: first,
        })
    }

    fn origin(&mut self, log: LogId) -> Result<Origin> {
        if log.task == TaskNo::STORE {
            return Ok(Origin(self.shared.config.store.0));
        }
        if let Some(origin) = self.origins.get(&log.task) {
            return Ok(*origin);
        }
        let entry = self.shared.kv.get(&keys::task(log.task))?.ok_or_else(|| {
            Error::corrupt(
                log.to_string(),
                "a task that was opened",
                "none of this number",
            )
        })?;
        let origin = TaskEntry::decode(&entry)?.origin;
        self.origins.insert(log.task, origin);
        Ok(origin)
    }

    /// Remembers the origin of a task that a record opens.
    fn learn(&mut self, log: LogId, header: &Header, payload: Option<&[u8]>) -> Result<()> {
        if log == LogId::STORE
            && let Some(payload) = payload
            && let Control::TaskOpened(opened) = Control::decode(header.kind, payload)?
        {
            self.origins.insert(opened.task, opened.origin);
        }
        Ok(())
    }
}
