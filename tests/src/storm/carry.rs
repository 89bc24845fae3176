//! Tasks that are exported, and imported: into another store as they are, into the same one as
//! copies.

use std::path::Path;

use milepost::transfer::{ExportItem, Import};
use milepost::{Engine, Error, ErrorKind, Event, LineageId, Options, Result};

use super::check::verify;
use super::once::Keyed;

/// Gives a task of one store to an import.
fn give(from: &Engine, task: &str, import: &mut Import, name: Option<&str>) -> Result<()> {
    from.transfer().export(true)?.task(task, &mut |carried| match (carried, name) {
        (ExportItem::Task(task), None) => import.task(task),
        (ExportItem::Task(task), Some(name)) => import.copy(name, task),
        (ExportItem::Chunk(chunk), _) => import.chunk(chunk),
        (ExportItem::Event(event), _) => import.event(event),
        _ => Ok::<(), Error>(()),
    })
}

/// All events that each lineage has.
fn events(engine: &Engine, task: &str) -> Result<Vec<(LineageId, Vec<Event>)>> {
    let task = engine.task(task)?;
    let all = task.lineages()?.into_iter().map(|info| {
        let events = task.lineage_named(info.id)?.read(..)?;
        Ok((info.id, events.collect::<Result<_>>()?))
    });
    all.collect()
}

/// Carries a task into a store of its own, where it is the same.
pub fn carry(
    from: &Engine,
    task: &str,
    to: &Path,
    quiet: bool,
    keyed: &[Keyed],
) -> std::result::Result<(), String> {
    let engine = Engine::open(to, Options::default()).map_err(|e| e.to_string())?;
    let mut import = engine.transfer().import();
    let given = give(from, task, &mut import, None);
    let taken = given.and_then(|()| import.finish().map(|_| ()));
    match taken {
        // It was deleted or trimmed in between.
        Err(error) if !quiet && error.kind() == ErrorKind::NotFound => return Ok(()),
        taken => taken.map_err(|e| format!("a task is not carried: {e}"))?,
    }
    verify(&engine).map_err(|e| format!("the store it was carried into: {e}"))?;
    if quiet {
        let (one, other) = (events(from, task), events(&engine, task));
        let (one, other) = (one.map_err(|e| e.to_string())?, other.map_err(|e| e.to_string())?);
        if one != other {
            return Err("a task that was carried is another one".into());
        }
    }
    keyed.iter().try_for_each(|keyed| keyed.again(&engine, false))?;
    engine.close().map_err(|e| format!("close: {e}"))
}

/// Copies a task under another name, and deletes the copy.
pub fn copy(
    engine: &Engine,
    task: &str,
    name: &str,
    quiet: bool,
) -> std::result::Result<(), String> {
    let in_store = name.ends_with(['0', '2', '4', '6', '8']);
    let copied = match in_store {
        true => engine.copy_task(task, name).map(drop),
        false => {
            let mut import = engine.transfer().import();
            let given = give(engine, task, &mut import, Some(name));
            given.and_then(|()| import.finish().map(drop))
        }
    };
    match copied {
        // The base of a trimmed task depends on its origin.
        Err(error) if !in_store && error.kind() == ErrorKind::Invalid => return Ok(()),
        Err(error) if !quiet && error.kind() == ErrorKind::NotFound => return Ok(()),
        taken => taken.map_err(|e| format!("a task is not copied: {e}"))?,
    }
    let heads = |name: &str| -> Result<Vec<u64>> {
        let all = engine.task(name)?.lineages()?;
        Ok(all.iter().map(|info| info.head.next).collect())
    };
    if quiet && heads(task).ok() != heads(name).ok() {
        return Err("a copy has other heads".into());
    }
    let deleted = engine.retention().delete_task(name);
    deleted.map_err(|e| format!("a copy is not deleted: {e}"))
}
