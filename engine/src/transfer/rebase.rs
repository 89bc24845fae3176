//! Rebase: an import of the same events under another origin. Chain hashes change, and with them
//! the checkpoint ids. Events that name an id get the new one.

use std::collections::HashMap;

use milepost_codec::{
    Application, Base, Body, CheckpointId, CheckpointMarked, ChunkId, Control, CopiedFrom, Data,
    Error, ErrorKind, FilesKept, Hash, Head, Header, Json, LineageBegin, LineageId, LogKind,
    Offset, Parent, Result, Seed, checkpoint_id, salt,
};
use milepost_store::tree_walk;

use super::import_task::{TaskImport, log_id};
use super::{ExportBody, ExportEvent, ExportTask, withheld};
use crate::handles::engine::Engine;
use crate::history::events::{Ancestry, read_chunk};
use milepost_store::{INLINE_MAX, put_content};

/// The event name of a capture without its files in a copy.
const CAPTURED: &str = "workspace_captured";

/// The source of a copy, and the new ids of its checkpoints.
pub(super) struct Rebase {
    from: CopiedFrom,
    marks: HashMap<CheckpointId, CheckpointId>,
    /// The idempotency key of the copy, for its first event.
    key: Option<String>,
    /// The seed of the salts, and the number of salts taken.
    seed: Seed,
    salts: u64,
}

impl Rebase {
    pub(super) fn of(task: &ExportTask, seed: Seed, key: Option<String>) -> Result<Self> {
        let head = task.head();
        let head = head.ok_or_else(|| Error::invalid("the active lineage has no head"))?;
        Ok(Self {
            from: CopiedFrom {
                origin: task.origin,
                lineage: task.active,
                offset: head.next,
                hash: head.hash,
            },
            marks: HashMap::new(),
            key,
            seed,
            salts: 0,
        })
    }

    /// Returns the event as the copy stores it.
    pub(super) fn event(
        &mut self,
        taking: &mut TaskImport,
        engine: &Engine,
        event: &ExportEvent,
    ) -> Result<ExportEvent> {
        if let ExportBody::Withheld { shown, .. } = &event.body {
            return self.event(taking, engine, &withheld::shown(event, shown.as_deref())?);
        }
        let mut renewed = ExportEvent { hash: None, checkpoint: None, ..event.clone() };
        if let ExportBody::Erased(_) = event.body {
            return Ok(renewed);
        }
        self.salts += 1;
        renewed.salt = Some(salt(self.seed, self.salts));
        let payload = match &event.body {
            ExportBody::Inline(payload) => payload,
            ExportBody::Chunked { payload, .. } if payload.len() <= INLINE_MAX => payload,
            _ => return Ok(renewed),
        };
        let mut header = Header::decode(&event.header)?;
        let known = header.kind;
        let (kind, payload) = match event.log {
            LogKind::Control => {
                let control = Control::decode(known, payload)?;
                self.control(taking, engine, control)?.encode()
            }
            LogKind::Lineage(lineage) => {
                let body = Body::decode(known, payload)?;
                let body = self.body(taking, engine, lineage, body)?;
                self.mark(taking, engine, event, &header, &body)?;
                body.encode()
            }
        };
        let is_first = event.offset == 0 && event.log == LogKind::Lineage(LineageId(0));
        let key = self.key.take_if(|_| is_first);
        if kind != known || key.is_some() {
            header.kind = kind;
            if key.is_some() {
                (header.key, header.batch) = (key, 1);
            }
            renewed.header = header.encode();
        }
        // The shown part of a withheld body may fit inline.
        if !matches!(&event.body, ExportBody::Chunked { payload: known, ends }
            if *known == payload && *ends != [0, 0])
        {
            renewed.body = ExportBody::Inline(payload);
        }
        Ok(renewed)
    }

    fn body(
        &self,
        taking: &mut TaskImport,
        engine: &Engine,
        lineage: LineageId,
        body: Body,
    ) -> Result<Body> {
        Ok(match body {
            Body::LineageOpened(mut opened) => {
                match &mut opened.parent {
                    Some(parent) => self.parent(taking, engine, parent)?,
                    None => opened.copied_from = Some(self.from),
                }
                opened.into()
            }
            Body::CheckpointMarked(mut mark) => {
                if let Some(at) = &mut mark.at {
                    let found = renew_hash(taking, engine, lineage, (at.next, &mut at.hash))?;
                    if !found && taking.task.begins.is_empty() {
                        let why = format!("it marks offset {}, which is not there", at.next);
                        return Err(Error::invalid(why));
                    }
                }
                mark.parent = mark.parent.map(|id| self.renewed(id));
                mark.into()
            }
            Body::CheckpointUnmarked(mut unmarked) => {
                unmarked.checkpoint = self.renewed(unmarked.checkpoint);
                unmarked.into()
            }
            Body::CheckpointAttached(mut attached) => {
                attached.checkpoint = self.renewed(attached.checkpoint);
                attached.into()
            }
            Body::Restored(mut restored) => {
                restored.checkpoint = restored.checkpoint.map(|id| self.renewed(id));
                restored.into()
            }
            Body::WorkspaceCaptured(captured) => match is_stored(engine, &captured.root) {
                true => captured.into(),
                false => Body::from(Application {
                    name: CAPTURED.to_owned(),
                    data: Data::Json(Json::from_value(&captured)?),
                }),
            },
            body => body,
        })
    }

    fn control(
        &self,
        taking: &mut TaskImport,
        engine: &Engine,
        control: Control,
    ) -> Result<Control> {
        Ok(match control {
            Control::LineageRegistered(mut opened) => {
                if let Some(parent) = &mut opened.parent {
                    self.parent(taking, engine, parent)?;
                }
                opened.into()
            }
            Control::Pinned(mut pinned) => {
                pinned.checkpoint = self.renewed(pinned.checkpoint);
                pinned.into()
            }
            Control::Unpinned(mut unpinned) => {
                unpinned.checkpoint = self.renewed(unpinned.checkpoint);
                unpinned.into()
            }
            Control::Retained(mut retained) => {
                for mark in &mut retained.removed {
                    mark.checkpoint = self.renewed(mark.checkpoint);
                }
                retained.into()
            }
            Control::RestoreBegun(mut begun) => {
                begun.checkpoint = begun.checkpoint.map(|id| self.renewed(id));
                begun.into()
            }
            Control::Trimmed(mut trimmed) => {
                let begin = LineageBegin {
                    lineage: trimmed.lineage,
                    head: Head { next: trimmed.offset, hash: trimmed.hash },
                };
                // A base that a later one replaced is removed.
                if taking.task.begins.contains(&begin) {
                    trimmed.base = base_of(taking, engine, trimmed.base)?;
                }
                trimmed.into()
            }
            // Without its files the copy has the capture that the active lineage names.
            Control::FilesKept(kept) if !is_stored(engine, &kept.root) => {
                FilesKept { epoch: 0, ..kept }.into()
            }
            control => control,
        })
    }

    /// Records the new id of a mark.
    fn mark(
        &mut self,
        taking: &mut TaskImport,
        engine: &Engine,
        event: &ExportEvent,
        header: &Header,
        body: &Body,
    ) -> Result<()> {
        let (LogKind::Lineage(lineage), Body::CheckpointMarked(mark)) = (event.log, body) else {
            return Ok(());
        };
        let Some(before) = event.checkpoint.filter(|_| header.kind == CheckpointMarked::KIND)
        else {
            return Err(Error::invalid("a checkpoint without an id"));
        };
        let head =
            Head { next: event.offset, hash: hash_at(taking, engine, lineage, event.offset)? };
        let id = checkpoint_id(taking.origin, lineage, head, header.time_us, mark);
        self.marks.insert(before, id);
        Ok(())
    }

    fn renewed(&self, id: CheckpointId) -> CheckpointId {
        self.marks.get(&id).copied().unwrap_or(id)
    }

    fn parent(&self, taking: &mut TaskImport, engine: &Engine, parent: &mut Parent) -> Result<()> {
        let Parent { lineage, offset, hash } = parent;
        // If the parent was dropped, so was this lineage, or it begins with a base.
        renew_hash(taking, engine, *lineage, (*offset, hash)).map(drop)
    }
}

/// Stores a base for the copy, and returns its chunk. The chain of the copy begins with the hash
/// that the base names.
fn base_of(taking: &TaskImport, engine: &Engine, chunk: ChunkId) -> Result<ChunkId> {
    let log = engine.inner.catalog.log();
    let base = Base::decode(&read_chunk(log, &chunk)?)?;
    let base = Base { origin: taking.origin, ..base };
    match put_content(log, &base.encode())?.chunks.as_slice() {
        [chunk] => Ok(*chunk),
        _ => Err(Error::invalid("a base of several chunks")),
    }
}

/// Returns `true` if the capture of a folder is in the store.
fn is_stored(engine: &Engine, root: &Hash) -> bool {
    let log = engine.inner.catalog.log();
    tree_walk::check_root(ChunkId(root.0), &|id| log.get_chunk(id)).is_ok()
}

/// Replaces the hash at a point by that of the copy. If the events there were trimmed or dropped,
/// the hash stays, and the result is `false`.
fn renew_hash(
    taking: &mut TaskImport,
    engine: &Engine,
    lineage: LineageId,
    (offset, hash): (Offset, &mut Hash),
) -> Result<bool> {
    match hash_at(taking, engine, lineage, offset) {
        Ok(found) => *hash = found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    Ok(true)
}

/// Returns the chain hash of the copy at a point.
fn hash_at(
    taking: &mut TaskImport,
    engine: &Engine,
    lineage: LineageId,
    offset: Offset,
) -> Result<Hash> {
    let log = LogKind::Lineage(lineage);
    if let Some(log_state) = taking.logs.get(&log)
        && log_state.head.next == offset
    {
        return Ok(log_state.head.hash);
    }
    // The chain of a trimmed lineage begins there, before its first remaining event.
    let mut begins = taking.task.begins.iter();
    if let Some(begin) = begins.find(|begin| (begin.lineage, begin.head.next) == (lineage, offset))
    {
        return Ok(begin.head.hash);
    }
    taking.commit(engine)?;
    let catalog = &engine.inner.catalog;
    let ancestry = Ancestry::of(catalog, taking.no, lineage)?;
    let owner = ancestry.hash_owner(offset).unwrap_or(lineage);
    let id = log_id(taking.no, LogKind::Lineage(owner));
    crate::history::chain_hash::hash_at(catalog, taking.origin, id, offset)
}
