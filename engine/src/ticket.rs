//! An append that is under way.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use milepost_codec::Result;

use crate::append::{Append, Appended};
use crate::committer::{Done, Slot};
use crate::lineage::Lineage;

/// An append that is under way: to be waited for by a thread, or as a future by a task of any
/// runtime.
///
/// Dropping it does not take the append back.
#[derive(Debug)]
#[must_use = "whether the events are durable is what it tells"]
pub struct Ticket {
    slot: Arc<Slot>,
    /// The phase that its events enter, of which lineage.
    entered: Option<(Lineage, String)>,
}

impl Ticket {
    pub(crate) fn new(slot: Arc<Slot>, lineage: &Lineage, append: &Append) -> Self {
        let phase = append.phase_entered();
        let entered = phase.map(|phase| (lineage.clone(), phase.to_owned()));
        Self { slot, entered }
    }

    /// Whether the result is there.
    pub fn is_done(&self) -> bool {
        self.slot.is_done()
    }

    /// Waits until the events are durable, or refused. Errors are those of an append.
    pub fn wait(mut self) -> Result<Appended> {
        let done = self.slot.wait();
        self.come(done)
    }

    fn come(&mut self, done: Result<Done>) -> Result<Appended> {
        let appended = Appended::of(&done?)?;
        if let Some((lineage, phase)) = self.entered.take() {
            lineage.entered(&phase);
        }
        Ok(appended)
    }
}

/// Ready when the events are durable, or refused; polled after that it is never again.
impl Future for Ticket {
    type Output = Result<Appended>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let done = self.slot.poll(context);
        done.map(|done| self.come(done))
    }
}
