//! The engine as its caller sees it: all of it for an admin, own tasks for a user, a single task
//! for a token with that limit.

use std::cell::OnceCell;
use std::ops::Deref;

use milepost::calls::Conditions;
use milepost::state::{ChangeLimits, Changes, diff_states_up_to};
use milepost::{Checkpoint, Engine, Error, ErrorKind, Hash, Json, Point, Result, RunState, Task};
use milepost_api::{PointForm, RestoredForm};
use milepost_workspace::Snapshot;

use crate::error::{self, OperationResult};
use crate::forms;
use crate::reader::Reader;
use crate::tag::Tag;

/// The maximum number of differences of two states in an answer.
pub const CHANGES: usize = 10_000;

/// The approximate maximum size of changes, in bytes.
const BYTES: usize = 16 << 20;

/// A callback for progress: the number of done parts, and that of all parts.
type Progress<'a> = &'a dyn Fn(u64, u64);

/// The engine as one caller sees it. Another user's object answers exactly like one that does not
/// exist.
pub struct View<'a> {
    engine: &'a Engine,
    shown: milepost::View,
    /// The only task of a token with that limit.
    only: Option<&'a str>,
    /// The reader whose maps are kept beyond this view.
    kept: Option<&'a Reader>,
    own: OnceCell<Reader>,
    conditions: Conditions,
    progress: Option<Progress<'a>>,
}

impl Deref for View<'_> {
    type Target = milepost::View;

    fn deref(&self) -> &Self::Target {
        &self.shown
    }
}

impl<'a> View<'a> {
    /// Shows the tasks of a user, or of all users, and with `only` a single one of them.
    pub fn new(engine: &'a Engine, user: Option<&str>, only: Option<&'a str>) -> Self {
        let mut shown = user.map_or_else(|| engine.view(), |user| engine.as_user(user));
        if let Some(task) = only {
            shown = shown.only(task);
        }
        let (own, conditions, progress) = Default::default();
        Self { engine, shown, only, kept: None, own, conditions, progress }
    }

    /// Uses a reader, whose maps are kept for the next view.
    #[must_use]
    pub fn with_reader(self, reader: &'a Reader) -> Self {
        Self { kept: Some(reader), ..self }
    }

    /// Returns the view for a change under conditions.
    #[must_use]
    pub fn under(&self, conditions: Conditions) -> View<'_> {
        let (shown, kept) = (self.shown.clone(), Some(self.reader()));
        let (only, progress, own) = (self.only, self.progress, OnceCell::new());
        View { engine: self.engine, shown, only, kept, own, conditions, progress }
    }

    /// Returns the conditions of a change.
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Reports the progress of long work to a callback.
    #[must_use]
    pub fn with_progress(self, progress: Progress<'a>) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Reports progress: the number of done parts, and that of all parts.
    pub(crate) fn progress(&self, done: u64, all: u64) {
        if let Some(progress) = self.progress {
            progress(done, all);
        }
    }

    /// Returns the reader of lineages.
    pub fn reader(&self) -> &Reader {
        self.kept.unwrap_or_else(|| self.own.get_or_init(Reader::default))
    }

    /// Returns the whole engine for a caller that may see all tasks.
    ///
    /// # Errors
    ///
    /// `Forbidden`, with the text `wanted`, for other callers.
    pub fn whole(&self, wanted: &'static str) -> OperationResult<&'a Engine> {
        match self.shows_all() {
            true => Ok(self.engine),
            false => Err(error::Error::Forbidden(wanted)),
        }
    }

    /// Returns the user whose tasks a request is about; `None` means all users. The user's
    /// existence is not checked.
    ///
    /// # Errors
    ///
    /// `Forbidden`: the tasks of other users are not shown.
    pub fn asks_about(&self, user: Option<String>) -> OperationResult<Option<String>> {
        match (self.user(), user) {
            (Some(own), Some(user)) if own != user => {
                Err(error::Error::Forbidden("what others have is for admins"))
            }
            (Some(own), _) => Ok(Some(own.to_owned())),
            (None, user) => Ok(user),
        }
    }

    /// Starts a task. Without admin rights, `user` is ignored.
    ///
    /// # Errors
    ///
    /// As [`Engine::start_task_from`]. `Invalid`: only another task is shown.
    pub fn start_task(&self, id: &str, user: &str, initial: Option<Json>) -> Result<Task> {
        if self.only.is_some_and(|only| only != id) {
            return Err(Error::invalid("the token is for another task"));
        }
        let key = self.conditions.key_given();
        self.engine.start_task_from(id, self.user().unwrap_or(user), initial, key)
    }

    /// Copies a task. Without admin rights, `user` is ignored.
    ///
    /// # Errors
    ///
    /// As [`Transfer::copy`](milepost::transfer::Transfer::copy). `Invalid`: only another task is
    /// shown.
    pub fn copy_task(&self, from: &str, id: &str, user: &str) -> Result<Task> {
        if self.only.is_some_and(|only| only != id) {
            return Err(Error::invalid("the token is for another task"));
        }
        self.task(from)?;
        let key = self.conditions.key_given();
        self.engine.transfer().copy(from, id, self.user().unwrap_or(user), key)
    }

    /// Returns the erasures of a point's task, as [`erasures`].
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task.
    pub fn erased(&self, point: &Point) -> Result<Option<Hash>> {
        erasures(&self.task(&point.task)?)
    }

    /// Returns the last folder captured before a point. Its id comes from a state the caller may
    /// see.
    ///
    /// # Errors
    ///
    /// `NotFound`: no folder was captured, or the capture is removed.
    pub fn captured(&self, point: &Point) -> Result<Snapshot> {
        let root = self.run_state(point)?.workspace;
        let none = || Error::not_found(format!("no folder was captured before {point}"));
        Snapshot::of(self.engine, root.ok_or_else(none)?)
    }

    /// Returns the current state of a restored task: see [`forms::restored`].
    pub(crate) fn restored(&self, task: &Task) -> Result<RestoredForm> {
        forms::restored(self.engine, task)
    }

    /// Checks the integrity of checkpoints. Removed or unreadable ones count as damaged.
    ///
    /// # Errors
    ///
    /// As [`Integrity::check_all`](milepost::integrity::Integrity::check_all).
    pub fn are_whole(&self, checkpoints: &[Checkpoint]) -> Result<Vec<bool>> {
        self.engine.integrity().check_all(checkpoints)
    }

    /// Returns at most `most` differences between two states.
    ///
    /// # Errors
    ///
    /// `TooMuch`: a value is too large to be compared or shown.
    pub fn changes(
        &self,
        [before, after]: &[RunState; 2],
        most: usize,
    ) -> OperationResult<Changes> {
        let most = ChangeLimits { changes: most, bytes: BYTES };
        let changes = diff_states_up_to(before, after, self.engine.chunks().as_ref(), most);
        changes.map_err(|error| match error.kind() {
            ErrorKind::Invalid => error::Error::TooMuch(
                "a value is too large to be compared, or shown: read both states, `?pointer=` by \
                 `?pointer=`",
            ),
            _ => error.into(),
        })
    }

    /// Returns the current point of the task of a point.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task.
    pub fn present(&self, to: &Point) -> Result<Point> {
        let task = self.task(&to.task)?;
        task.point(task.head()?.next)
    }
}

/// Returns the erasures of a task, for tags: `None` without any, else the head of its control log.
/// A number would be the same in two copies of a store in which other events were erased.
///
/// # Errors
///
/// Errors of a read.
pub fn erasures(task: &Task) -> Result<Option<Hash>> {
    match task.erased() {
        0 => Ok(None),
        _ => Ok(Some(task.controls()?.hash)),
    }
}

/// A point that the caller may see.
#[derive(Debug)]
pub struct Seen {
    /// The point.
    pub point: Point,
    /// The chain hash there.
    pub hash: Hash,
    /// A tag by position and by the address's checkpoint. It does not cover erasures.
    pub tag: Tag,
}

impl Seen {
    /// Resolves an address.
    ///
    /// # Errors
    ///
    /// `NotFound`: the address names nothing that the caller may see.
    pub fn at(view: &View<'_>, address: &str) -> Result<Self> {
        let point = view.point(address)?;
        let hash = view.hash_at(&point)?;
        // Lineages share the hash at their fork, and a label may move between checkpoints of a
        // point, so the tag includes both.
        let tag = named_tag(&point, Tag::new(hash).and(point.lineage));
        Ok(Self { point, hash, tag })
    }

    /// Returns the point as a form.
    pub fn form(&self) -> PointForm {
        forms::point(&self.point, self.hash)
    }
}

/// Adds the checkpoint of a point to a tag, if its address names one.
pub fn named_tag(point: &Point, tag: Tag) -> Tag {
    match point.checkpoint {
        Some(checkpoint) => tag.and(checkpoint),
        None => tag,
    }
}
