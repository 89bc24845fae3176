//! Validation of imported events, regardless of their hashes: content that no append of this store
//! would accept, or that the index could not hold, is refused.

use std::collections::HashSet;

use milepost_codec::{
    Body, BodyForm, ChunkId, ChunkedBody, Control, DataAttached, Error, Head, Header, LineageId,
    LogKind, RecordRef, Result, TEXT_MAX, TaskNo, check_alias, check_size,
};
use milepost_store::tree_walk;

use super::ExportEvent;
use super::chunks::captured;
use crate::handles::engine::Engine;
use crate::history::base;
use crate::history::events::read_body;

/// Maximum bytes of a header: its four texts, and fields of later versions.
const HEADER_MAX: usize = 16 << 10;

/// Maximum lineage number, activation number and offset, so that later ones still fit.
pub(super) const NUMBER_MAX: u64 = 1 << 62;
const LINEAGE_MAX: u32 = 1 << 31;

/// Refuses an invalid event.
pub(super) fn check(
    engine: &Engine,
    event: &ExportEvent,
    header: &Header,
    record: &RecordRef<'_>,
) -> Result<()> {
    check_size("a header", event.header.len(), HEADER_MAX)?;
    let texts = [&header.key, &header.actor, &header.user, &header.correlation];
    for text in texts.into_iter().flatten() {
        check_size("a key, actor, user or correlation id", text.len(), TEXT_MAX)?;
    }
    if header.kind == DataAttached::KIND && matches!(event.log, LogKind::Lineage(_)) {
        let none = || Error::invalid("attached data without the alias of a checkpoint");
        check_alias(header.correlation.as_deref().ok_or_else(none)?)?;
    }
    match (event.log, record.form) {
        (_, BodyForm::Erased) => Ok(()),
        (LogKind::Control, BodyForm::Inline) => {
            control(&Control::decode(header.kind, record.payload)?)
        }
        (LogKind::Control, _) => Err(Error::invalid("a control event in chunks")),
        (LogKind::Lineage(_), BodyForm::Inline) => {
            Body::decode(header.kind, record.payload)?.check()?;
            files(engine, event, record)
        }
        (LogKind::Lineage(_), BodyForm::Chunked) => {
            let body = ChunkedBody::decode(record.payload)?;
            let len = usize::try_from(body.payload_len()).unwrap_or(usize::MAX);
            check_size("an event", len, engine.inner.options.event_max)?;
            let payload = read_body(engine.inner.catalog.log(), &body)?;
            Body::decode(header.kind, &payload)?.check()
        }
    }
}

fn control(control: &Control) -> Result<()> {
    match control {
        Control::LineageRegistered(opened) if opened.lineage.0 > LINEAGE_MAX => {
            let number = opened.lineage;
            Err(Error::invalid(format!("no lineage has the number {number}")))
        }
        Control::Activated(activated) if activated.epoch > NUMBER_MAX => {
            let number = activated.epoch;
            Err(Error::invalid(format!("no activation has the number {number}")))
        }
        _ => control.check(),
    }
}

/// Checks that a captured folder is in the store.
fn files(engine: &Engine, event: &ExportEvent, record: &RecordRef<'_>) -> Result<()> {
    let Some(root) = captured(event, record.payload)? else {
        return Ok(());
    };
    let log = engine.inner.catalog.log();
    let get = |id: &ChunkId| log.get_chunk(id);
    tree_walk::check_root(root, &get).map_err(|_| {
        Error::invalid(
            "the folder that it captured is not there: export with files, or import a copy, \
             which does without",
        )
    })
}

/// Refuses a lineage whose beginning contradicts the control log, and a base without all of its
/// chunks.
pub(super) fn beginning(
    engine: &Engine,
    task: TaskNo,
    lineage: LineageId,
    said: Option<Head>,
) -> Result<()> {
    let catalog = &engine.inner.catalog;
    let wrong = |why: &str| Err(Error::invalid(format!("lineage {lineage} {why}")));
    let known = catalog.lineage_ever(task, lineage)?;
    if known.dropped {
        return wrong("was dropped, and is there");
    }
    let entry = catalog.base(task, lineage)?;
    if entry.map(|entry| entry.head) != said {
        return wrong("begins elsewhere than where it was trimmed");
    }
    let Some(entry) = entry else {
        // Without a base it has all of the history before its fork.
        let Some(from) = known.parent else { return Ok(()) };
        let trimmed = catalog.base(task, from.lineage)?;
        let is_trimmed = trimmed.is_some_and(|base| base.head.next > from.offset);
        if is_trimmed || catalog.lineage_ever(task, from.lineage)?.dropped {
            return wrong("forks from events that are not there");
        }
        return Ok(());
    };
    let base = base::read(catalog, &entry)?;
    let states = base.states.iter();
    let of_states = states.flat_map(|state| state.state.chunks.iter().chain(&state.refers));
    let needed: Vec<ChunkId> = of_states.chain(&base.keys.chunks).copied().collect();
    let is_there = |needed: &[ChunkId]| -> Result<bool> {
        Ok(catalog.log().has_chunks(needed)?.into_iter().all(|is| is))
    };
    if base.lineage != lineage || !is_there(&needed)? {
        return wrong("begins with a base that is not whole");
    }
    if let Some(root) = base::workspace(catalog, &entry)? {
        let get = |id: &ChunkId| catalog.log().get_chunk(id);
        let mut named = HashSet::new();
        let unread = tree_walk::follow([root], &get, &mut named);
        let named: Vec<ChunkId> = named.into_iter().collect();
        if !unread.is_empty() || !is_there(&named)? {
            return wrong("begins with a folder whose files are not there: export with files");
        }
    }
    Ok(())
}

/// Returns the name of a task's log.
pub(super) fn name(log: LogKind) -> String {
    match log {
        LogKind::Control => "the control log".to_owned(),
        LogKind::Lineage(lineage) => format!("lineage {lineage}"),
    }
}
