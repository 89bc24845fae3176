//! Builder of restores and undos.

use std::sync::Arc;

use milepost_codec::{Error, Result, Scope};

use crate::conditions::Conditions;
use crate::handles::lineage::Lineage;
use crate::handles::participant::Participant;
use crate::handles::task::Task;
use crate::handles::view::View;
use crate::history::point::Point;

/// A restore of a point, an undo of the last restore, a switch to a lineage, or a redo. Nothing
/// happens before [`run`](Restore::run).
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
    view: &'a View,
    to: Target<'a>,
    scope: Option<Scope>,
    description: Option<String>,
    conditions: Conditions,
    with: Vec<Arc<dyn Participant>>,
}

/// The target that the caller names.
#[derive(Debug)]
enum Target<'a> {
    Point(&'a Point),
    /// The point before the last restore of a task.
    Before(&'a str),
    /// A lineage.
    Lineage(&'a Lineage),
    /// The lineage that the last undo of a task left.
    Undone(&'a str),
}

impl View {
    /// Restores a point: opens a new lineage there, which becomes the active one. The lineage
    /// before it is not changed. Without participants this is one small durable append, regardless
    /// of the length of the history.
    pub fn restore<'a>(&'a self, point: &'a Point) -> Restore<'a> {
        Restore::new(self, Target::Point(point))
    }

    /// Undoes the last restore or [switch](View::switch) of a task: the lineage that was active
    /// before it becomes active again. A second call undoes the one before that, and
    /// [`View::redo`] takes the undo back. If the restore also restored files, the
    /// participants that [joined](crate::restore::Restores::join) the task take part.
    pub fn undo<'a>(&'a self, task: &'a str) -> Restore<'a> {
        Restore::new(self, Target::Before(task))
    }

    /// Switches a task to an existing lineage, which becomes the active one. No lineage is opened
    /// or changed, and files stay as they are: this is one small durable append. If the lineage is
    /// active already, nothing is appended. An [undo](View::undo) returns to the lineage before.
    ///
    /// ```
    /// use milepost::{Engine, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("essay", "ana")?;
    /// let other = engine.branch(&engine.point("essay@1")?).description("shorter").run()?;
    /// assert_eq!(engine.switch(&other).run()?.lineage().id(), other.id());
    /// engine.undo("essay").run()?;
    /// assert_eq!(engine.task("essay")?.lineage().id(), task.lineage().id());
    /// assert_eq!(engine.redo("essay").run()?.lineage().id(), other.id());
    /// # Ok::<(), milepost::Error>(())
    /// ```
    pub fn switch<'a>(&'a self, lineage: &'a Lineage) -> Restore<'a> {
        Restore::new(self, Target::Lineage(lineage))
    }

    /// Redoes the last undone restore or switch of a task: the lineage that the undo left becomes
    /// active again. A second call redoes the one before that. A restore, and a switch to another
    /// lineage, leave nothing to redo.
    pub fn redo<'a>(&'a self, task: &'a str) -> Restore<'a> {
        Restore::new(self, Target::Undone(task))
    }
}

impl<'a> Restore<'a> {
    fn new(view: &'a View, to: Target<'a>) -> Self {
        let conditions = Conditions::new();
        Self { view, to, scope: None, description: None, conditions, with: Vec::new() }
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

    /// Sets the conditions: a key under which it is done once, and the head that the active lineage
    /// has to have.
    pub fn conditions(mut self, conditions: Conditions) -> Self {
        self.conditions = conditions;
        self
    }

    /// Returns the point that is restored: for an undo, a switch and a redo, the head of the
    /// lineage that becomes active. Changes nothing.
    ///
    /// # Errors
    ///
    /// - `Invalid`: there is no restore to undo, or no undo to take back.
    /// - `NotFound`: the task does not exist, or retention dropped the lineage.
    pub fn target(&self) -> Result<Point> {
        match self.to {
            Target::Point(point) => {
                self.view.inner.catalog.owned(point, self.view.viewer())?;
                Ok(point.clone())
            }
            Target::Before(task) => self.view.engine().undo_point(task, self.view.viewer()),
            Target::Lineage(lineage) => lineage.point(lineage.head()?.next),
            Target::Undone(task) => {
                let no = self.view.inner.catalog.find_for(task, self.view.viewer())?;
                let lineage = self.view.engine().redo_target(no, task)?;
                let lineage = Lineage::new(&self.view.engine(), no, lineage, None)?;
                lineage.point(lineage.head()?.next)
            }
        }
    }

    /// Returns `true` if [`run`](Restore::run) also restores files: that of an undo if the restore
    /// to undo did, and another one with participants, unless its scope is the state. A
    /// [switch](View::switch), its undo and a redo restore none.
    ///
    /// # Errors
    ///
    /// `NotFound`: the task does not exist, or retention dropped its active lineage.
    pub fn restores_files(&self) -> Result<bool> {
        let catalog = &self.view.inner.catalog;
        match self.to {
            Target::Point(_) => Ok(!self.with.is_empty() && self.scope != Some(Scope::State)),
            Target::Before(task) => {
                catalog.undo_takes_files(catalog.find_for(task, self.view.viewer())?)
            }
            Target::Lineage(_) | Target::Undone(_) => Ok(false),
        }
    }

    /// Restores. Returns the task on the lineage that is active now.
    ///
    /// # Errors
    ///
    /// Errors of the participants, and:
    ///
    /// - `Conflict`: a path, or the state of the folder, prevents the restore, the head of the
    ///   active lineage is not the expected one, the key was used for something else, or the
    ///   restore to redo also restored files.
    /// - `Corrupt`: the history before the point cannot be read.
    /// - `Invalid`: the description has more than 1,024 bytes, a hook refuses, files are
    ///   to be restored without a participant, or there is no restore to undo, or no undo to take
    ///   back. An undo has no description, and no scope but that of the state; a switch and a redo
    ///   have neither, and no participant.
    /// - `NotFound`: retention trimmed the point or dropped the lineage, the task was deleted, or
    ///   the lineage is of another store.
    /// - `Unavailable`: another restore of the task is pending, or the restore to undo also
    ///   restored files and no workspace takes part. With the scope of the state none does.
    pub fn run(self) -> Result<Task> {
        let Self { view, scope, with, conditions, .. } = &self;
        let (engine, viewer) = (view.engine(), view.viewer());
        let description = self.description.as_deref();
        match self.to {
            Target::Point(point) => {
                engine.inner.catalog.owned(point, viewer)?;
                let default = if with.is_empty() { Scope::State } else { Scope::All };
                match scope.unwrap_or(default) {
                    Scope::State => engine.restore_state(point, description, conditions),
                    _ if with.is_empty() => {
                        let why = "a restore of files needs a participant that restores them";
                        Err(Error::invalid(format!("{why}: see `Restore::with`")))
                    }
                    scope => engine.restore_with(point, scope, description, (with, conditions)),
                }
            }
            Target::Before(_) if scope.is_some_and(|scope| scope != Scope::State) => {
                Err(Error::invalid("an undo takes back all of a restore, or leaves files alone"))
            }
            Target::Before(_) if description.is_some() => {
                Err(Error::invalid("an undo opens no lineage: it has no description"))
            }
            Target::Before(task) if with.is_empty() || scope.is_some() => {
                engine.undo_joined((task, viewer), scope.is_none(), conditions)
            }
            Target::Before(task) => {
                let no = engine.inner.catalog.find_for(task, viewer)?;
                engine.undo_with((no, task), viewer, (with, conditions))
            }
            _ if scope.is_some() || description.is_some() || !with.is_empty() => {
                let why = "a switch and a redo leave files as they are, and open no lineage";
                Err(Error::invalid(why))
            }
            Target::Lineage(lineage) => engine.switch_for(lineage, viewer, conditions),
            Target::Undone(task) => engine.redo_for(task, viewer, conditions),
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
