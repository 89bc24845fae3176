//! Files made or changed by hand, outside of any run: between the capture after one run and the
//! capture before the next.

use std::collections::BTreeSet;

use milepost::events::MarkCause;
use milepost::{Body, Engine, ErrorKind, Hash, Point, Result, Task};
use milepost_codec::TreePath;

use crate::error::is_lost;
use crate::snapshot::Snapshot;
use crate::workspace::Workspace;

/// Returns the files made or changed outside of any run since a point. Captures of another folder
/// are ignored; without a workspace, all belong to the folder. The set is empty if the point is not
/// in the history of the task's lineage.
pub(super) fn by_hand(
    workspace: Option<&Workspace>,
    engine: &Engine,
    task: &Task,
    to: &Point,
) -> Result<BTreeSet<TreePath>> {
    let mut found = BTreeSet::new();
    if !is_behind(engine, task, to)? {
        return Ok(found);
    }
    let mut now = engine.captures().at(to)?;
    // The last capture and the one before it, if nothing ran in between.
    let mut outside: Option<(Hash, Hash)> = None;
    let mut ran = false;
    for event in task.read(to.offset..)? {
        match event?.body {
            Some(Body::WorkspaceCaptured(captured))
                if !is_of_another(workspace, engine, captured.root)? =>
            {
                let before = now.replace(captured.root);
                outside = before.filter(|_| !ran).map(|before| (before, captured.root));
                ran = false;
            }
            Some(Body::CheckpointMarked(mark)) => {
                let pair = outside.take();
                if let (MarkCause::BeforeTool, Some((before, after))) = (mark.cause, pair) {
                    changed(engine, before, after, &mut found)?;
                }
            }
            // Neither does a capture of another folder.
            Some(Body::WorkspaceCaptured(_)) => {}
            // Events of a user change no files.
            Some(Body::GuidanceGiven(_) | Body::ControlChanged(_)) => {}
            Some(Body::Message(said)) if said.role == "user" => {}
            _ => ran = true,
        }
    }
    Ok(found)
}

fn is_of_another(workspace: Option<&Workspace>, engine: &Engine, root: Hash) -> Result<bool> {
    workspace.map_or(Ok(false), |workspace| workspace.is_of_another(engine, root))
}

/// Returns `true` if a point is in the history of the task's lineage.
pub(super) fn is_behind(engine: &Engine, task: &Task, to: &Point) -> Result<bool> {
    if task.head()?.next < to.offset {
        return Ok(false);
    }
    let here = task.point(to.offset).and_then(|at| engine.hash_at(&at));
    match here {
        Ok(here) => Ok(here == engine.hash_at(to)?),
        // Retention trimmed the task's lineage there: another lineage keeps the point.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn changed(
    engine: &Engine,
    before: Hash,
    after: Hash,
    found: &mut BTreeSet<TreePath>,
) -> Result<()> {
    let changes = match (Snapshot::of(engine, before), Snapshot::of(engine, after)) {
        (Ok(before), Ok(after)) => before.diff(&after),
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    let changes = match changes {
        Ok(changes) => changes,
        // A lost or damaged capture in between yields no files.
        Err(error) if is_lost(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    let added = changes.added.into_iter();
    let renamed = changes.renamed.into_iter().map(|renamed| renamed.to);
    let files = added.chain(renamed).filter(|entry| !entry.item.kind.is_directory());
    found.extend(files.map(|entry| entry.path));
    found.extend(changes.changed.into_iter().map(|change| change.path));
    Ok(())
}
