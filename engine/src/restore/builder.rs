//! Builder of restores and undos.

use std::sync::Arc;

use milepost_codec::{Error, Result, Scope};

use crate::handles::engine::Engine;
use crate::handles::participant::Participant;
use crate::handles::task::Task;
use crate::handles::view::View;
use crate::history::catalog::Viewer;
use crate::history::point::Point;

/// A restore of a point, or an undo of the last restore. Nothing happens before
/// [`run`](Restore::run).
///
/// ```
/// use milepost::events::Message;
/// use milepost::{Engine, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("essay", "ana")?;
/// task.append(Message::text("user", "shorter"))?;
/// let point = engine.point("essay@1")?;
/// let restored = engine.restore(&point).description("longer after all").run()?;
/// assert_eq!(restored.lineage().info()?.description.as_deref(), Some("longer after all"));
/// let undo = engine.undo("essay");
/// assert_eq!(undo.target()?.lineage, task.lineage().id());
/// undo.run()?;
/// # Ok::<(), milepost::Error>(())
/// ```
#[must_use = "nothing is restored before `run`"]
pub struct Restore<'a> {
    engine: &'a Engine,
    viewer: Viewer<'a>,
    to: Target<'a>,
    scope: Option<Scope>,
    description: Option<String>,
    with: Vec<Arc<dyn Participant>>,
}

/// The target that the caller names.
#[derive(Debug)]
enum Target<'a> {
    Point(&'a Point),
    /// The point before the last restore of a task.
    Before(&'a str),
}

impl Engine {
    /// Restores a point: opens a new lineage there, which becomes the active one. The lineage
    /// before it is not changed. Without participants this is one small durable append, regardless
    /// of the length of the history.
    pub fn restore<'a>(&'a self, point: &'a Point) -> Restore<'a> {
        Restore::new(self, Viewer::ALL, Target::Point(point))
    }

    /// Undoes the last restore or [switch](Engine::switch) of a task: the lineage that was active
    /// before it becomes active again. A second call undoes the one before that, and
    /// [`Engine::redo`] takes the undo back. If the restore also restored files, the
    /// participants that [joined](crate::restore::Restores::join) the task take part.
    pub fn undo<'a>(&'a self, task: &'a str) -> Restore<'a> {
        Restore::new(self, Viewer::ALL, Target::Before(task))
    }
}

impl View {
    /// Restores a point: see [`Engine::restore`].
    pub fn restore<'a>(&'a self, point: &'a Point) -> Restore<'a> {
        Restore::new(self.engine(), self.viewer(), Target::Point(point))
    }

    /// Undoes the last restore of a task: see [`Engine::undo`].
    pub fn undo<'a>(&'a self, task: &'a str) -> Restore<'a> {
        Restore::new(self.engine(), self.viewer(), Target::Before(task))
    }
}

impl<'a> Restore<'a> {
    fn new(engine: &'a Engine, viewer: Viewer<'a>, to: Target<'a>) -> Self {
        Self { engine, viewer, to, scope: None, description: None, with: Vec::new() }
    }

    /// Adds a participant, for example a folder. First the present is captured and marked. Then
    /// either everything is restored, with a new active lineage, or nothing. With
    /// [`Scope::State`] it takes no part.
    pub fn with(mut self, participant: Arc<dyn Participant>) -> Self {
        self.with.push(participant);
        self
    }

    /// Sets the scope of the restore. Default: the state, and with a participant everything. With
    /// [`Scope::Files`] state and conversation stay the same: the new lineage begins at the head.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Sets the purpose of the new lineage, in words: at most 1,024 bytes.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Returns the point that is restored: for an undo, the head of the lineage that was active
    /// before the last restore. Changes nothing.
    ///
    /// # Errors
    ///
    /// - `Invalid`: there is no restore to undo.
    /// - `NotFound`: the task does not exist, or retention dropped the lineage.
    pub fn target(&self) -> Result<Point> {
        match self.to {
            Target::Point(point) => {
                self.engine.inner.catalog.owned(point, self.viewer)?;
                Ok(point.clone())
            }
            Target::Before(task) => self.engine.undo_point(task, self.viewer),
        }
    }

    /// Returns `true` if [`run`](Restore::run) also restores files: that of an undo if the restore
    /// to undo did, and another one with participants, unless its scope is the state. An undo of a
    /// [switch](Engine::switch) restores none.
    ///
    /// # Errors
    ///
    /// `NotFound`: the task does not exist, or retention dropped its active lineage.
    pub fn restores_files(&self) -> Result<bool> {
        let catalog = &self.engine.inner.catalog;
        match self.to {
            Target::Point(_) => Ok(!self.with.is_empty() && self.scope != Some(Scope::State)),
            Target::Before(task) => catalog.undo_takes_files(catalog.find_for(task, self.viewer)?),
        }
    }

    /// Restores. Returns the task on the lineage that is active now.
    ///
    /// # Errors
    ///
    /// Errors of the participants, and:
    ///
    /// - `Conflict`: a path, or the state of the folder, prevents the restore.
    /// - `Corrupt`: the history before the point cannot be read.
    /// - `Invalid`: the description has more than 1,024 bytes, a hook refuses, files are
    ///   to be restored without a participant, or there is no restore to undo. An undo has no
    ///   description, and no scope but that of the state.
    /// - `NotFound`: retention trimmed the point or dropped the lineage.
    /// - `Unavailable`: another restore of the task is pending, or the restore to undo also
    ///   restored files and no workspace takes part. With the scope of the state none does.
    pub fn run(self) -> Result<Task> {
        let Self { engine, viewer, scope, with, .. } = &self;
        let description = self.description.as_deref();
        match self.to {
            Target::Point(point) => {
                engine.inner.catalog.owned(point, *viewer)?;
                let default = if with.is_empty() { Scope::State } else { Scope::All };
                match scope.unwrap_or(default) {
                    Scope::State => engine.restore_state(point, description),
                    _ if with.is_empty() => {
                        let why = "a restore of files needs a participant that restores them";
                        Err(Error::invalid(format!("{why}: see `Restore::with`")))
                    }
                    scope => engine.restore_with(point, scope, description, with),
                }
            }
            Target::Before(_) if scope.is_some_and(|scope| scope != Scope::State) => {
                Err(Error::invalid("an undo takes back all of a restore, or leaves files alone"))
            }
            Target::Before(_) if description.is_some() => {
                Err(Error::invalid("an undo opens no lineage: it has no description"))
            }
            Target::Before(task) if with.is_empty() || scope.is_some() => {
                engine.undo_joined(task, *viewer, scope.is_none())
            }
            Target::Before(task) => {
                let no = engine.inner.catalog.find_for(task, *viewer)?;
                engine.undo_with((no, task), *viewer, with)
            }
        }
    }
}

impl std::fmt::Debug for Restore<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let with: Vec<&str> = self.with.iter().map(|participant| participant.name()).collect();
        f.debug_struct("Restore")
            .field("to", &self.to)
            .field("scope", &self.scope)
            .field("description", &self.description)
            .field("with", &with)
            .finish_non_exhaustive()
    }
}
