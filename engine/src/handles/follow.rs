//! Following a task: the events of the lineage it goes on with, as they are committed, through
//! restores.
//!
//! Like a subscription a follower is a place in the log and a signal, and queues nothing. Who keeps
//! what it gives has the history of the active lineage at every moment, without a gap and nothing
//! twice: where the task goes on with another lineage it says which of it still holds.

use std::time::Duration;

use milepost_codec::{Error, ErrorKind, LineageId, LogId, Offset, Result, TaskNo};
use milepost_replay::Event;
use milepost_store::sync::channel::RecvTimeoutError;

use crate::commit::committer::Watch;
use crate::handles::engine::Engine;
use crate::handles::task::Task;
use crate::history::catalog::Catalog;
use crate::history::events::{Ancestry, Events};

/// Events that are read before it is looked again whether the task goes on with another lineage.
const LOOK_EVERY: u32 = 256;

/// What a follower meets.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all are events, and there is one at a time")]
pub enum Followed {
    /// The next event.
    Event(Event),
    /// The task goes on with another lineage.
    LineageChanged(LineageChanged),
}

/// The task goes on with another lineage: of what was read, the events before `at` are of both, and
/// those from `at` on come again, as the other lineage has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineageChanged {
    /// The lineage that was followed.
    pub from: LineageId,
    /// The lineage that is followed from here on.
    pub to: LineageId,
    /// The offset that comes next.
    pub at: Offset,
}

/// Follows a task: see [`Task::follow`].
#[derive(Debug)]
pub struct Follower {
    engine: Engine,
    task: TaskNo,
    lineage: LineageId,
    next: Offset,
    /// Of the lineage; nothing until it is known to be the active one.
    events: Option<Events>,
    /// Up where lineage or control log have grown; nothing until it is waited for.
    watch: Option<Watch>,
    /// The head of the control log when it was looked which lineage is active.
    looked: Option<Offset>,
    since_look: u32,
}

impl Task {
    /// Follows the task from an offset of the lineage it goes on with now.
    ///
    /// ```
    /// use milepost::{Engine, Followed, Message, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("essay", "ana")?;
    /// task.append(Message::text("user", "hello"))?;
    /// let mut follower = task.follow(0)?;
    /// while let Some(Followed::Event(event)) = follower.try_next()? {
    ///     println!("{}", event.offset);
    /// }
    /// engine.restore(&task.point(1)?, None)?;
    /// assert!(matches!(follower.try_next()?, Some(Followed::LineageChanged(moved)) if moved.at == 1));
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid` where the offset is past the head, `NotFound` where retention trimmed what is
    /// there.
    pub fn follow(&self, from: Offset) -> Result<Follower> {
        let lineage = self.engine().inner.catalog.active(self.no())?.1.lineage;
        self.follow_from(lineage, from)
    }

    /// Goes on from where another follower ended: the lineage that it followed, and the offset that
    /// comes next.
    ///
    /// # Errors
    ///
    /// As [`Task::follow`].
    pub fn follow_from(&self, lineage: LineageId, next: Offset) -> Result<Follower> {
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
    /// The lineage that is followed, and the offset that comes next: where [`Task::follow_from`]
    /// goes on.
    pub fn position(&self) -> (LineageId, Offset) {
        (self.lineage, self.next)
    }

    /// What comes next, if it is there.
    ///
    /// # Errors
    ///
    /// `NotFound` where the task was deleted, or retention took away what comes next; else what
    /// reading gives.
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

    /// Waits for what comes next, at most `timeout`.
    ///
    /// # Errors
    ///
    /// As [`Follower::try_next`]; `Unavailable` where the store is closed.
    pub fn next_timeout(&mut self, timeout: Duration) -> Result<Option<Followed>> {
        // The watch first: what is committed in between is seen twice, not missed.
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

    /// The signal that is up where the lineage or the control log have grown.
    pub(crate) fn watched(&mut self) -> Watch {
        let watch = self.watch.take().unwrap_or_else(|| {
            let (lineage, control) = (self.lineage, LogId::control(self.task));
            let logs = [LogId::lineage(self.task, lineage), control];
            self.engine.inner.committer.watch_all(&logs)
        });
        self.watch = Some(watch.clone());
        watch
    }

    /// Returns `true` if the signal is of the lineage that is followed.
    #[cfg(not(shuttle))]
    pub(crate) fn has_watch(&self) -> bool {
        self.watch.is_some()
    }

    fn catalog(&self) -> &Catalog {
        &self.engine.inner.catalog
    }

    /// The head of the control log, and the lineage that is active then or later.
    fn active(&self) -> Result<(Offset, LineageId)> {
        let catalog = self.catalog();
        catalog.task(self.task)?;
        let control = catalog.head(LogId::control(self.task))?.next;
        Ok((control, catalog.active(self.task)?.1.lineage))
    }

    /// Whether the task goes on with another lineage: then that is followed.
    fn look(&mut self) -> Result<Option<LineageChanged>> {
        let (control, active) = self.active()?;
        self.since_look = 0;
        if self.looked == Some(control) {
            return Ok(None);
        }
        if active == self.lineage {
            // It went on with another one in between, of which nothing was read.
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

    /// Up to where the history of the lineage is that of `other` too, and the first offset of
    /// `other` that is there. Where the first is not known any more, it is the second.
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
        let events = Events::new(self.catalog(), self.task, self.lineage, at..)?;
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
