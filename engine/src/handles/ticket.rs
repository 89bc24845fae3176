//! An append in progress.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use milepost_codec::{PhaseChanged, Result};

use crate::commit::append::Append;
use crate::commit::appended::Appended;
use crate::commit::committer::{CommitResult, Slot};
use crate::context::Context;
use crate::handles::audit;
use crate::handles::lineage::Lineage;
use crate::history::checkpoint::Mark;

/// An append in progress. A thread can wait for it, and a task of any runtime can await it as a
/// future.
///
/// Dropping it does not take the append back.
#[derive(Debug)]
#[must_use = "whether the events are durable is what it tells"]
pub struct Ticket {
    slot: Arc<Slot>,
    /// The phase that the events enter, its lineage, and the context of the append.
    entered: Option<(Lineage, PhaseChanged, Context)>,
    /// The mark after the events and its lineage, if the audit log is heard.
    marked: Option<Box<(Lineage, Mark)>>,
}

impl Ticket {
    pub(crate) fn new(slot: Arc<Slot>, lineage: &Lineage, append: &Append) -> Self {
        let changed = append.phase_entered().cloned();
        let entered = changed.map(|changed| (lineage.clone(), changed, append.context().clone()));
        let mark = append.marked().filter(|_| audit::is_heard());
        let marked = mark.map(|mark| Box::new((lineage.clone(), mark)));
        Self { slot, entered, marked }
    }

    /// Returns `true` if the result is available.
    pub fn is_done(&self) -> bool {
        self.slot.is_done()
    }

    /// Waits until the events are durable or refused. Returns the errors of an append.
    pub fn wait(mut self) -> Result<Appended> {
        let done = self.slot.wait();
        self.come(done)
    }

    fn come(&mut self, done: Result<CommitResult>) -> Result<Appended> {
        let appended = Appended::of(&done?)?;
        if let Some((lineage, changed, context)) = self.entered.take() {
            lineage.entered(&changed, &context, appended.repeated);
        }
        if let (Some(id), Some(marked)) = (appended.checkpoint, self.marked.take())
            && !appended.repeated
        {
            let (lineage, mark) = *marked;
            lineage.tell_marked(id, Some(&mark));
        }
        Ok(appended)
    }
}

/// Resolves when the events are durable or refused. Stays pending if it is polled after that.
impl Future for Ticket {
    type Output = Result<Appended>;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let done = self.slot.poll(context);
        done.map(|done| self.come(done))
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use milepost_codec::{ErrorKind, Message, PhaseChanged};

    use super::*;
    use crate::{Engine, Mark, Options};

    #[test]
    fn where_too_much_is_queued_nothing_is_queued_and_nothing_waited_for() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let large = Append::from(Message::text("user", &"x".repeat(200 << 10)));
        let mut tickets = Vec::new();
        let full = || -> Result<()> {
            while let Some(ticket) = task.try_submit(&large)? {
                tickets.push(ticket);
                assert!(tickets.len() < 1000, "more than may be");
            }
            Ok(())
        };
        engine.inner.committer.hold(full).unwrap();
        let count = tickets.len();
        assert!(count > 50);
        let firsts = tickets.into_iter().map(|ticket| ticket.wait().unwrap().first);
        assert!(firsts.eq(1..=count as u64));
        let last = task.try_submit(&large).unwrap().unwrap();
        assert_eq!(last.wait().unwrap().first, count as u64 + 1);
    }

    #[test]
    fn what_may_wait_for_more_than_the_log_is_not_submitted_so() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let said = || Append::from(Message::text("user", "x"));
        let phase = PhaseChanged { phase: "draft".into(), ..PhaseChanged::default() };
        assert!(said().is_plain());
        for append in [said().mark(Mark::new()), phase.into()] {
            assert!(!append.is_plain());
            let error = task.try_submit(&append).map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
    }
}
