//! Parallel apply: a second thread packs blocks while recovery reads and chains commits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::Scope;

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use milepost_codec::{Error, ErrorKind, Result, Seq};

use crate::local::index::local_index::LocalIndex;
use crate::local::rounds;
use crate::threads;

/// A thread that applies the tail up to given commits, one after another.
pub(crate) struct ParallelApplier {
    rounds: Sender<Seq>,
    done: Receiver<Result<()>>,
    busy: bool,
}

impl ParallelApplier {
    /// Starts the thread; returns `None` if that fails.
    pub(crate) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        index: &'scope LocalIndex,
    ) -> Option<Self> {
        let (rounds, requests) = bounded::<Seq>(1);
        let (results, done) = bounded(1);
        let processors = threads::processors();
        let work = move || {
            for until in requests {
                let round =
                    catch_unwind(AssertUnwindSafe(|| rounds::round(index, until, processors)));
                if results.send(round.unwrap_or_else(|_| Err(panicked()))).is_err() {
                    return;
                }
            }
        };
        threads::start_in(scope, "applier", work).ok()?;
        Some(Self { rounds, done, busy: false })
    }

    /// Returns `true` if the thread has nothing to do, or the error of its last round.
    pub(crate) fn is_idle(&mut self) -> Result<bool> {
        if self.busy {
            match self.done.try_recv() {
                Ok(done) => {
                    self.busy = false;
                    done?;
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Err(panicked()),
            }
        }
        Ok(!self.busy)
    }

    /// Waits for the last round, then starts one that applies the tail up to this commit.
    pub(crate) fn apply(&mut self, until: Seq) -> Result<()> {
        self.wait()?;
        self.rounds.send(until).map_err(|_| panicked())?;
        self.busy = true;
        Ok(())
    }

    /// Waits for the last round.
    pub(crate) fn wait(&mut self) -> Result<()> {
        if std::mem::take(&mut self.busy) {
            self.done.recv().map_err(|_| panicked())??;
        }
        Ok(())
    }
}

fn panicked() -> Error {
    Error::new(ErrorKind::Poisoned, "applying panicked")
}
