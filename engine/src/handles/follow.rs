//! Followers: the committed events of a task's active lineage, also after restores.
//!
//! Like a subscription, a follower is a position in the log and a signal, and queues nothing. A
//! reader that keeps the returned events always has the history of the active lineage, without gaps
//! and duplicates: on a change of the lineage, [`LineageChanged`] says which events remain valid.

use std::time::Duration;

use milepost_codec::{Error, ErrorKind, LineageId, LogId, Offset, Result, TaskNo};
use milepost_replay::Event;
use milepost_store::sync::channel::RecvTimeoutError;

use crate::commit::committer::Watch;
use crate::handles::engine::Engine;
use crate::handles::task::Task;
use crate::history::catalog::Catalog;
use crate::history::events::{Ancestry, Events};

/// Events read between two checks of the active lineage.
const LOOK_EVERY: u32 = 256;

/// Item returned by a follower.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all are events, and there is one at a time")]
pub enum Followed {
    /// The next event.
    Event(Event),
    /// Another lineage became active.
    LineageChanged(LineageChanged),
}

/// A change of the active lineage. Events before `at` belong to both lineages. Events from `at` on
/// are returned again, as the other lineage has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineageChanged {
    /// The lineage followed before.
    pub from: LineageId,
    /// The lineage followed now.
    pub to: LineageId,
    /// The next offset.
    pub at: Offset,
}

/// Reader that follows a task: see [`Task::follow`].
#[derive(Debug)]
pub struct Follower {
    engine: Engine,
    task: TaskNo,
    lineage: LineageId,
    next: Offset,
    /// Events of the lineage; `None` until the lineage is known to be active.
    events: Option<Events>,
    /// Signal for growth of the lineage or the control log; `None` until it is needed.
    watch: Option<Watch>,
    /// The head of the control log at the last check of the active lineage.
    looked: Option<Offset>,
    since_look: u32,
}

/// The place from which a follower reads: an offset of the active lineage, or the
/// [position](Follower::position) of another follower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowFrom {
    /// `None` for the active lineage.
    lineage: Option<LineageId>,
    next: Offset,
}

impl From<Offset> for FollowFrom {
    fn from(next: Offset) -> Self {
        Self { lineage: None, next }
    }
}

impl From<(LineageId, Offset)> for FollowFrom {
    fn from((lineage, next): (LineageId, Offset)) -> Self {
        Self { lineage: Some(lineage), next }
    }
}

impl Task {
    /// Follows the task from an offset of its active lineage, or from the position of another
    /// follower: its lineage, and its next offset.
    ///
    /// ```
    /// use milepost::events::Message;
    /// use milepost::subscribe::Followed;
    /// use milepost::{Engine, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("essay", "ana")?;
    /// task.append(Message::text("user", "hello"))?;
    /// let mut follower = task.follow(0)?;
    /// while let Some(Followed::Event(event)) = follower.try_next()? {
    ///     println!("{}", event.offset);
    /// }
    /// engine.restore(&task.point(1)?).run()?;
    /// let mut other = task.follow(follower.position())?;
    /// for follower in [&mut follower, &mut other] {
    ///     let next = follower.try_next()?;
    ///     assert!(matches!(next, Some(Followed::LineageChanged(changed)) if changed.at == 1));
    /// }
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid`: the offset is past the head. `NotFound`: retention trimmed the offset.
    pub fn follow(&self, from: impl Into<FollowFrom>) -> Result<Follower> {
        let FollowFrom { lineage, next } = from.into();
        let lineage = match lineage {
            Some(lineage) => lineage,
            None => self.engine().inner.catalog.active(self.no())?.1.lineage,
        };
        let mut follower = Follower {
            engine: self.engine().clone(),
            task: self.no(),
            lineage,
            next,
            events: None,
            watch: None,
            looked: None,
            since_look: 0,
        };
        let (looked, active) = follower.active()?;
        if active == lineage {
            follower.looked = Some(looked);
            follower.begin(next)?;
        }
        Ok(follower)
    }
}

impl Follower {
    /// Returns the followed lineage and the next offset, from which [`Task::follow`] continues.
    pub fn position(&self) -> (LineageId, Offset) {
        (self.lineage, self.next)
    }

    /// Returns the next item, if there is one.
    ///
    /// # Errors
    ///
    /// `NotFound`: the task was deleted, or retention removed the next event. Otherwise errors of
    /// reading events.
    pub fn try_next(&mut self) -> Result<Option<Followed>> {
        let withdrawn = self.events.as_ref().is_some_and(Events::is_stale);
        if (self.looked.is_none() || self.since_look >= LOOK_EVERY || withdrawn)
            && let Some(moved) = self.look()?
        {
            return Ok(Some(Followed::LineageChanged(moved)));
        }
        if let Some(event) = self.read()? {
            return Ok(Some(Followed::Event(event)));
        }
        Ok(self.look()?.map(Followed::LineageChanged))
    }

    /// Waits at most `timeout` for the next item.
    ///
    /// # Errors
    ///
    /// As [`Follower::try_next`]. `Unavailable`: the store is closed.
    pub fn next_timeout(&mut self, timeout: Duration) -> Result<Option<Followed>> {
        // Watches before it reads: a commit in between is then seen twice instead of missed.
        let watch = self.watched();
        if let Some(found) = self.try_next()? {
            return Ok(Some(found));
        }
        match watch.recv_timeout(timeout) {
            Ok(()) => self.try_next(),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(Error::new(ErrorKind::Unavailable, "the store is closed"))
            }
        }
    }

    /// Returns the follower for a thread of its own, which no caller of it cancels.
    #[cfg(not(shuttle))]
    pub(crate) fn without_caller(mut self) -> Self {
        self.engine = self.engine.with_cancel(&crate::cancel::Cancel::NEVER);
        self.events = self.events.map(Events::without_cancel);
        self
    }

    /// Returns the signal for growth of the lineage or the control log.
    pub(crate) fn watched(&mut self) -> Watch {
        let watch = self.watch.take().unwrap_or_else(|| {
            let (lineage, control) = (self.lineage, LogId::control(self.task));
            let logs = [LogId::lineage(self.task, lineage), control];
            self.engine.inner.committer.watch_all(&logs)
        });
        self.watch = Some(watch.clone());
        watch
    }

    /// Returns `true` if there is a signal for the followed lineage.
    #[cfg(not(shuttle))]
    pub(crate) fn has_watch(&self) -> bool {
        self.watch.is_some()
    }

    fn catalog(&self) -> &Catalog {
        &self.engine.inner.catalog
    }

    /// Returns the head of the control log, and the lineage that is active then or later.
    fn active(&self) -> Result<(Offset, LineageId)> {
        let catalog = self.catalog();
        catalog.task(self.task)?;
        let control = catalog.head(LogId::control(self.task))?.next;
        Ok((control, catalog.active(self.task)?.1.lineage))
    }

    /// Checks the active lineage, and follows it if it is another one.
    fn look(&mut self) -> Result<Option<LineageChanged>> {
        let (control, active) = self.active()?;
        self.since_look = 0;
        if self.looked == Some(control) {
            return Ok(None);
        }
        if active == self.lineage {
            // The lineage is active again, and no event of another lineage was read in between.
            if self.events.is_none() {
                self.begin(self.next)?;
            }
            self.looked = Some(control);
            return Ok(None);
        }
        let from = self.lineage;
        let (parted, begin) = self.parted(active)?;
        let at = parted.min(self.next).max(begin);
        let before = std::mem::replace(&mut self.lineage, active);
        if let Err(error) = self.begin(at) {
            self.lineage = before;
            return Err(error);
        }
        self.looked = Some(control);
        self.watch = None;
        Ok(Some(LineageChanged { from, to: active, at: self.next }))
    }

    /// Returns the end of the history common with `other`, and the first offset of `other` that
    /// exists. If the common history is unknown by now, both are that first offset.
    fn parted(&self, other: LineageId) -> Result<(Offset, Offset)> {
        let theirs = Ancestry::of(self.catalog(), self.task, other)?;
        let begin = theirs.begin();
        match Ancestry::of(self.catalog(), self.task, self.lineage) {
            Ok(ours) => Ok((ours.common(&theirs).unwrap_or(begin), begin)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok((begin, begin)),
            Err(e) => Err(e),
        }
    }

    fn begin(&mut self, at: Offset) -> Result<()> {
        let events = Events::new(&self.engine.catalog(), self.task, self.lineage, at..)?;
        self.next = events.next_offset();
        self.events = Some(events);
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Event>> {
        let Some(mut events) = self.events.take() else {
            return Ok(None);
        };
        let head = self.catalog().head(LogId::lineage(self.task, self.lineage));
        let read = head.and_then(|head| {
            events.extend(head.next);
            events.next().transpose()
        });
        self.events = Some(events);
        let event = read?;
        if let Some(event) = &event {
            self.next = event.offset + 1;
            self.since_look += 1;
        }
        Ok(event)
    }
}
