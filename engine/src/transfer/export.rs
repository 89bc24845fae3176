//! Export of a task as it is stored: the records of all its logs, merged by commit.
//!
//! Within one commit the control log comes first, then lineages by number, so the event that
//! registers a lineage comes before the lineage. An import in this order produces the same index.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use milepost_codec::{
    Body, BodyForm, Chain, CheckpointId, CheckpointMarked, ChunkId, ChunkedBody, Error, Head,
    LineageBegin, LogId, LogKind, Offset, RecordRef, Result, Sections, Seq, TaskNo, checkpoint_id,
};
use milepost_store::Extent;
use milepost_store::index::keys::{self, KeyKind};
use milepost_store::index::{LogHead, TaskEntry};
use milepost_store::liveness::{LiveSection, Liveness};

use super::{ExportBody, ExportEvent, ExportItem, ExportTask, between};
use crate::handles::engine::Engine;
use crate::history::base;
use crate::history::catalog::{Catalog, Viewer};
use crate::history::events::read_body;
use milepost_store::chunked;

/// An export of tasks. Shared chunks are given once.
pub struct Export {
    pub(super) engine: Engine,
    pub(super) files: bool,
    /// The tasks stay in this store, which has all chunks: none is given.
    pub(super) in_store: bool,
    live: Liveness,
    /// Chunks that were given.
    pub(super) given: HashSet<ChunkId>,
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Export").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Export {
    pub(super) fn of(engine: &Engine, files: bool) -> Result<Self> {
        let live = engine.inner.catalog.log().live()?;
        Ok(Self { engine: engine.clone(), files, in_store: false, live, given: HashSet::new() })
    }

    /// Begins an export of tasks into the same store.
    pub(super) fn in_store(engine: &Engine) -> Result<Self> {
        Ok(Self { in_store: true, ..Self::of(engine, false)? })
    }

    /// Returns the ids of all tasks, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn tasks(&self) -> Result<Vec<String>> {
        let (catalog, mut names) = (&self.engine.inner.catalog, Vec::new());
        catalog.log().walk(&keys::all(KeyKind::Task), &mut |_, value| {
            let entry = TaskEntry::decode(value)?;
            if entry.deleted_us.is_none() {
                names.push(entry.name);
            }
            Ok(())
        })?;
        Ok(names)
    }

    /// Refuses a task that cannot be exported, or that no store could import.
    ///
    /// # Errors
    ///
    /// - `NotFound`: the task does not exist.
    /// - `Unavailable`: a restore of it is pending, or the store is closed.
    /// - `Invalid`: it was trimmed and has captured folders, and the export is without files.
    pub fn check(&self, id: &str) -> Result<()> {
        let catalog = &self.engine.inner.catalog;
        let no = catalog.find_for(id, Viewer::ALL)?;
        catalog.goes_on(no)?;
        if self.files || self.in_store || !base::has_captures(catalog, no)? {
            return Ok(());
        }
        // A base is bound to its origin, so the task cannot be imported as a copy without files
        // either.
        for (lineage, _) in catalog.lineages(no)? {
            if catalog.base(no, lineage)?.is_some() {
                return Err(Error::invalid(format!(
                    "task `{id}` has captured folders, and lineage {lineage} of it was trimmed: no \
                     store could take it without its files"
                )));
            }
        }
        Ok(())
    }

    /// Gives a task: first the task itself, then its events in commit order, with chunks before the
    /// events that need them. One extent of each log and one body are in memory.
    ///
    /// # Errors
    ///
    /// - Errors of [`Export::check`], which is called first.
    /// - `Corrupt`: content of the task is damaged or lost.
    /// - Errors of `give`.
    pub fn task<E: From<Error>>(
        &mut self,
        id: &str,
        give: &mut dyn FnMut(ExportItem<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check(id)?;
        let engine = self.engine.clone();
        let catalog = &engine.inner.catalog;
        let no = catalog.find_for(id, Viewer::ALL)?;
        let entry = catalog.task(no)?;
        let (mut heap, mut sources) = (BinaryHeap::new(), self.sources(no, &entry)?);
        let task = ExportTask {
            id: entry.name,
            user: entry.user,
            created_us: entry.created_us,
            origin: entry.origin,
            active: catalog.active(no)?.1.lineage,
            heads: sources.iter().map(Source::end).collect(),
            begins: sources.iter().filter_map(|source| source.begin).collect(),
        };
        give(ExportItem::Task(&task))?;
        for begin in &task.begins {
            self.give_base(no, begin.lineage, give)?;
        }
        for (place, source) in sources.iter_mut().enumerate() {
            if source.next(catalog, &self.live)? {
                heap.push(Reverse((source.seq, place)));
            }
        }
        while let Some(Reverse((_, place))) = heap.pop() {
            let Some(source) = sources.get_mut(place) else {
                continue;
            };
            let section = std::mem::take(&mut source.section);
            self.section(&task, source, &section, give)?;
            match source.next(catalog, &self.live)? {
                true => heap.push(Reverse((source.seq, place))),
                false => source.check_end()?,
            }
        }
        Ok(())
    }

    /// Gives the events of a section. One body at a time is in memory.
    fn section<E: From<Error>>(
        &mut self,
        task: &ExportTask,
        source: &mut Source,
        section: &[u8],
        give: &mut dyn FnMut(ExportItem<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let engine = self.engine.clone();
        let mut sections = Sections::new(section);
        let section = sections.next().transpose()?;
        let section = section.ok_or_else(|| source.lost(source.at.next))?;
        for (index, record) in (0_u32..).zip(section.iter()) {
            if source.at.next >= source.end.next {
                // The event was appended after the export of the task began.
                break;
            }
            let at = source.at.next;
            let event = record.and_then(|record| {
                source.event(&engine.inner.catalog, task, &record, section.salt(index))
            });
            let event = event.map_err(|e| e.at(format!("{} at offset {at}", source.id)))?;
            self.give_needs(&event, give)?;
            give(ExportItem::Event(&event))?;
        }
        Ok(())
    }

    /// Returns the existing logs of a task, the control log first.
    fn sources(&self, no: TaskNo, entry: &TaskEntry) -> Result<Vec<Source>> {
        let catalog = &self.engine.inner.catalog;
        let prefix = keys::of_task(KeyKind::Head, no);
        let end = keys::after_prefix(&prefix);
        let (mut control, mut lineages) = (Vec::new(), Vec::new());
        for (key, value) in catalog.log().scan(&prefix, &end, false, usize::MAX)? {
            let (id, head) = (keys::log_of(&key), LogHead::decode(&value)?.head);
            if self.live.is_gone(id) {
                continue;
            }
            let source = Source::of(catalog, entry, id, head)?;
            match id.kind {
                LogKind::Control => control.push(source),
                LogKind::Lineage(_) => lineages.push(source),
            }
        }
        control.append(&mut lineages);
        Ok(control)
    }
}

/// A log that is read section by section.
struct Source {
    id: LogId,
    chain: Chain,
    /// The beginning of a trimmed lineage.
    begin: Option<LineageBegin>,
    /// The head after the given events.
    at: Head,
    end: Head,
    /// The extent being read, the position of its next section, and that section's first offset.
    extent: Option<(Extent, usize, Offset)>,
    /// The next commit to give, and the live part of its section.
    seq: Seq,
    section: Vec<u8>,
}

impl Source {
    fn of(catalog: &Catalog, entry: &TaskEntry, id: LogId, end: Head) -> Result<Self> {
        let chain = catalog.chain(entry.origin, id);
        let mut at = Head { next: 0, hash: chain.root() };
        let mut begin = None;
        if let LogKind::Lineage(lineage) = id.kind {
            let parent = catalog.lineage_ever(id.task, lineage)?.parent;
            if let Some(base) = catalog.base(id.task, lineage)? {
                at = base.head;
                begin = Some(LineageBegin { lineage, head: at });
            } else if let Some(parent) = parent {
                (at.next, at.hash) = (parent.offset, parent.hash);
            }
        }
        Ok(Self { id, chain, begin, at, end, extent: None, seq: 0, section: Vec::new() })
    }

    fn end(&self) -> (LogKind, Head) {
        (self.id.kind, self.end)
    }

    /// Moves to the next section with live events. Returns `false` at the end.
    fn next(&mut self, catalog: &Catalog, live: &Liveness) -> Result<bool> {
        let mut read_to = self.at.next;
        while read_to < self.end.next {
            if !self.reads(read_to) {
                let extent = catalog.log().extent(self.id, read_to)?;
                let extent = extent.ok_or_else(|| self.lost(read_to))?;
                let first = extent.first;
                self.extent = Some((extent, 0, first));
            }
            let Some((extent, place, first)) = &mut self.extent else {
                return Err(self.lost(read_to));
            };
            let Some(rest) = extent.section_bytes().get(*place..) else {
                return Err(self.lost(read_to));
            };
            let mut sections = Sections::new(rest);
            let Some(section) = sections.next().transpose()? else {
                return Err(self.lost(read_to));
            };
            let from = *first;
            let (bytes, _) = rest.split_at(rest.len() - sections.rest().len());
            (*place, *first) = (*place + bytes.len(), from + u64::from(section.count));
            if *first <= read_to {
                continue;
            }
            read_to = *first;
            self.section.clear();
            self.seq = section.seq;
            let begins = match live.part(self.id, from, &section)? {
                LiveSection::Nothing => continue,
                LiveSection::Whole => {
                    self.section.extend_from_slice(bytes);
                    from
                }
                LiveSection::Other(begins, part) => {
                    self.section = part;
                    begins
                }
            };
            return match begins == self.at.next {
                true => Ok(true),
                false => Err(self.lost(self.at.next)),
            };
        }
        Ok(false)
    }

    /// Returns `true` if the current extent continues at an offset.
    fn reads(&self, at: Offset) -> bool {
        let here =
            |(extent, _, first): &(Extent, usize, Offset)| (*first..extent.end()).contains(&at);
        self.extent.as_ref().is_some_and(here)
    }

    /// Checks that the given events lead to the head.
    fn check_end(&self) -> Result<()> {
        match self.at == self.end {
            true => Ok(()),
            false => Err(Error::corrupt(
                self.id.to_string(),
                format!("hash {} at {}", self.end.hash, self.end.next),
                format!("hash {} at {}", self.at.hash, self.at.next),
            )),
        }
    }

    fn lost(&self, at: Offset) -> Error {
        Error::corrupt(self.id.to_string(), format!("offset {at}"), "nothing")
    }

    /// Returns the event of the section's next record.
    fn event(
        &mut self,
        catalog: &Catalog,
        task: &ExportTask,
        record: &RecordRef<'_>,
        salt: [u8; 16],
    ) -> Result<ExportEvent> {
        let (before, body) = (self.at, record.body_hash(&salt)?);
        let hash = self.chain.next(before.next, &before.hash, record.header, &body);
        self.at = Head { next: before.next + 1, hash };
        let erased = record.form == BodyForm::Erased;
        Ok(ExportEvent {
            log: self.id.kind,
            offset: before.next,
            header: record.header.to_vec(),
            body: self.body(catalog, record)?,
            salt: (!erased).then_some(salt),
            hash: Some(hash),
            checkpoint: marked(task, self.id, before, record)?,
        })
    }

    fn body(&self, catalog: &Catalog, record: &RecordRef<'_>) -> Result<ExportBody> {
        let payload = || record.payload.to_vec();
        match record.form {
            BodyForm::Inline => Ok(ExportBody::Inline(payload())),
            BodyForm::Erased => Ok(ExportBody::Erased(record.body_hash(&[0; 16])?)),
            BodyForm::Chunked => {
                let body = ChunkedBody::decode(record.payload)?;
                let whole = read_body(catalog.log(), &body)?;
                let ends = [body.before.len(), body.after.len()];
                match chunked(&whole, &between(&whole, ends)) == body {
                    true => Ok(ExportBody::Chunked { payload: whole, ends }),
                    false => Ok(ExportBody::Listed(payload())),
                }
            }
        }
    }
}

/// Returns the id of the checkpoint that a record marks, if any.
pub(super) fn marked(
    task: &ExportTask,
    id: LogId,
    before: Head,
    record: &RecordRef<'_>,
) -> Result<Option<CheckpointId>> {
    let LogKind::Lineage(lineage) = id.kind else {
        return Ok(None);
    };
    let header = record.header()?;
    if header.kind != CheckpointMarked::KIND || record.form != BodyForm::Inline {
        return Ok(None);
    }
    let id = match Body::decode(CheckpointMarked::KIND, record.payload)? {
        Body::CheckpointMarked(mark) => {
            checkpoint_id(task.origin, lineage, before, header.time_us, &mark)
        }
        _ => return Ok(None),
    };
    Ok(Some(id))
}
