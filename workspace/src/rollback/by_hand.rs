//! Files that were made or changed outside of any run: between the capture behind one and the
//! capture before the next.

use std::collections::BTreeSet;

use milepost::{Body, Engine, Error, ErrorKind, Hash, MarkCause, Point, Result, Task};
use milepost_codec::TreePath;

use crate::snapshot::Snapshot;

/// The files that were made or changed outside of any run since a point, on what a task goes on
/// with; none where the point is not on that.
pub(super) fn by_hand(engine: &Engine, task: &Task, to: &Point) -> Result<BTreeSet<TreePath>> {
    let mut found = BTreeSet::new();
    if !is_behind(engine, task, to)? {
        return Ok(found);
    }
    let mut now = engine.workspace_at(to)?;
    // What was captured last, and what before it, where nothing ran in between.
    let mut outside: Option<(Hash, Hash)> = None;
    let mut ran = false;
    for event in task.read(to.offset..)? {
        match event?.body {
            Some(Body::WorkspaceCaptured(captured)) => {
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
            // A user speaks, and files do not change by that.
            Some(Body::GuidanceGiven(_) | Body::ControlChanged(_)) => {}
            Some(Body::Message(said)) if said.role == "user" => {}
            _ => ran = true,
        }
    }
    Ok(found)
}

/// Returns `true` if a point is one that a task went on from.
fn is_behind(engine: &Engine, task: &Task, to: &Point) -> Result<bool> {
    if task.head()?.next < to.offset {
        return Ok(false);
    }
    let here = task.point(to.offset).and_then(|at| engine.hash_at(&at));
    match here {
        Ok(here) => Ok(here == engine.hash_at(to)?),
        // A cleanup trimmed the task's lineage there: the point is kept on another one.
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
        // What is lost of a capture in between tells nothing.
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

fn is_lost(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt)
}
