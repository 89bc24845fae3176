//! The author of a change: a run, or another program, such as the editor of the user.
//!
//! The difference between the captures before and after a call of a tool belongs to the run. The
//! difference between the capture after one call and the capture before the next belongs to
//! others, unless a call is still open: calls that overlap are one. The difference between the last
//! capture and the present belongs to others, too, if no call is open.

use std::borrow::Cow;
use std::collections::BTreeSet;

use milepost::events::MarkCause;
use milepost::{Body, Engine, Error, ErrorKind, Hash, Point, Result, Task};
use milepost_codec::{ChunkId, Item, TreePath};

use crate::chunks::Contents;
use crate::plan::Choices;
use crate::snapshot::Snapshot;
use crate::tree::side_by_side;

/// Files that changed since a point, by author.
#[derive(Debug, Default)]
pub(super) struct Authors {
    /// Files made or changed outside of any run.
    pub(super) outside: BTreeSet<TreePath>,
    /// Files removed outside of any run, and those that differ from the last capture.
    gone: BTreeSet<TreePath>,
    /// Files made, changed or removed by a run. Only if they are needed.
    runs: BTreeSet<TreePath>,
    wants_runs: bool,
    /// `true` if a call has not returned.
    is_open: bool,
}

/// The captures of a log in order, and the calls between them.
#[derive(Default)]
struct Intervals {
    now: Option<Hash>,
    /// The last capture and the one before it, if nothing ran in between.
    outside: Option<(Hash, Hash)>,
    ran: bool,
    open: BTreeSet<String>,
}

impl Authors {
    /// Returns the files that changed since a point. There are none if the point is not in the
    /// history of the task's lineage. `choices`: the files of runs are needed to apply them.
    pub(super) fn since(
        engine: &Engine,
        task: &Task,
        to: &Point,
        choices: &Choices,
    ) -> Result<Self> {
        let mut authors = Self { wants_runs: choices.leave_outside, ..Self::default() };
        if !is_behind(engine, task, to)? {
            return Ok(authors);
        }
        let mut intervals = Intervals { now: engine.workspace_at(to)?, ..Intervals::default() };
        for event in task.read(to.offset..)? {
            let Some(body) = event?.body else {
                // The content is erased: it may have been a call.
                intervals.ran = true;
                continue;
            };
            intervals.next(engine, &body, &mut authors)?;
        }
        // Nothing after the last capture says that a run did not make its changes.
        if let Some((before, after)) = intervals.outside.take() {
            authors.of_run(engine, before, after)?;
        }
        authors.is_open = !intervals.open.is_empty();
        Ok(authors)
    }

    /// Adds the changes since the last capture, if the choices need them.
    pub(super) fn with_present(
        mut self,
        contents: &dyn Contents,
        last: Option<ChunkId>,
        present: ChunkId,
    ) -> Result<Self> {
        if !self.wants_runs {
            return Ok(self);
        }
        let Some(last) = last else {
            return Ok(self);
        };
        side_by_side(contents, [Some(last), Some(present)], &mut |path, items| {
            if items.iter().flatten().any(|item| !item.kind.is_directory()) {
                // A removal makes no difference for the choices.
                _ = match self.is_open {
                    true => self.runs.insert(path.clone()),
                    false => self.gone.insert(path.clone()),
                };
            }
            Ok(())
        })?;
        Ok(self)
    }

    /// Returns the choices, and with [`Choices::leave_outside`] the choice to keep each file that
    /// only changed outside of any run.
    pub(super) fn applied_to<'a>(&self, choices: &'a Choices) -> Cow<'a, Choices> {
        if !choices.leave_outside {
            return Cow::Borrowed(choices);
        }
        let outside = self.outside.iter().chain(&self.gone);
        let only = outside.filter(|path| !self.runs.contains(*path));
        let mut all = choices.clone();
        all.keep_mine.extend(only.filter(|path| choices.of(path).is_none()).cloned());
        Cow::Owned(all)
    }

    fn of_others(&mut self, engine: &Engine, before: Hash, after: Hash) -> Result<()> {
        changes(engine, before, after, &mut |path, is_removed| {
            _ = match is_removed {
                true => self.gone.insert(path),
                false => self.outside.insert(path),
            };
        })
    }

    /// Adds the changes that a restore found, as of a present.
    fn of_present(&mut self, engine: &Engine, before: Hash, after: Hash) -> Result<()> {
        match self.wants_runs {
            true => changes(engine, before, after, &mut |path, _| _ = self.gone.insert(path)),
            false => Ok(()),
        }
    }

    fn of_run(&mut self, engine: &Engine, before: Hash, after: Hash) -> Result<()> {
        if !self.wants_runs {
            return Ok(());
        }
        changes(engine, before, after, &mut |path, _| _ = self.runs.insert(path))
    }
}

impl Intervals {
    /// Assigns the difference to the last capture once its author is known.
    fn next(&mut self, engine: &Engine, body: &Body, authors: &mut Authors) -> Result<()> {
        match body {
            Body::WorkspaceCaptured(captured) => {
                if let Some((before, after)) = self.outside.take() {
                    authors.of_run(engine, before, after)?;
                }
                if let Some(before) = self.now.replace(captured.root) {
                    match self.ran || !self.open.is_empty() {
                        true => authors.of_run(engine, before, captured.root)?,
                        false => self.outside = Some((before, captured.root)),
                    }
                }
                self.ran = false;
            }
            Body::CheckpointMarked(mark) => match (self.outside.take(), mark.cause) {
                (Some((before, after)), MarkCause::BeforeTool) => {
                    authors.of_others(engine, before, after)?;
                }
                (Some((before, after)), MarkCause::BeforeRestore) => {
                    authors.of_present(engine, before, after)?;
                }
                (Some((before, after)), _) => authors.of_run(engine, before, after)?,
                (None, _) => {}
            },
            // Events of a user change no files, nor does a message.
            Body::GuidanceGiven(_) | Body::ControlChanged(_) | Body::Message(_) => {}
            Body::ToolCalled(called) => {
                self.ran = true;
                self.open.insert(called.call.clone());
            }
            Body::ToolReturned(returned) => {
                self.ran = true;
                self.open.remove(&returned.call);
            }
            // Calls of a step that was interrupted have no return.
            Body::StepStarted(_) | Body::StepFinished(_) | Body::StepFailed(_) => {
                self.ran = true;
                self.open.clear();
            }
            _ => self.ran = true,
        }
        Ok(())
    }
}

/// Returns `true` if a point is in the history of the task's lineage.
fn is_behind(engine: &Engine, task: &Task, to: &Point) -> Result<bool> {
    if task.head()?.next < to.offset {
        return Ok(false);
    }
    let here = task.point(to.offset).and_then(|at| engine.integrity().hash_at(&at));
    match here {
        Ok(here) => Ok(here == engine.integrity().hash_at(to)?),
        // Retention trimmed the task's lineage there: another lineage keeps the point.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Passes the files that differ between two captures to `each`, and `true` if they are removed.
fn changes(
    engine: &Engine,
    before: Hash,
    after: Hash,
    each: &mut dyn FnMut(TreePath, bool),
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
    let is_file = |item: &Item| !item.kind.is_directory();
    let (from, to): (Vec<_>, Vec<_>) =
        changes.renamed.into_iter().map(|renamed| (renamed.from, renamed.to)).unzip();
    for entry in changes.added.into_iter().chain(to).filter(|entry| is_file(&entry.item)) {
        each(entry.path, false);
    }
    for change in changes.changed {
        each(change.path, false);
    }
    for entry in changes.removed.into_iter().chain(from).filter(|entry| is_file(&entry.item)) {
        each(entry.path, true);
    }
    Ok(())
}

fn is_lost(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt)
}
