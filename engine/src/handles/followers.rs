//! Many followers on one thread.

use std::time::Duration;

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, bounded, unbounded};
use milepost_codec::{Error, ErrorKind, Result};
use milepost_store::threads;

use crate::handles::follow::{Followed, Follower};

/// Interval of calls for followers without new items.
const LOOK: Duration = Duration::from_secs(1);

/// Items taken from one follower before the others have their turn.
const TURN: usize = 256;

/// Callback with an item of a follower, or with `None` after a while without one. Following ends
/// when it returns `false`.
type Told = Box<dyn FnMut(&Follower, Option<Result<Followed>>) -> bool + Send>;

struct Entry {
    follower: Follower,
    told: Told,
    /// Signal for new items; `None` if the follower has to be polled.
    watch: Option<Receiver<()>>,
}

/// Follows many tasks with one thread, which ends when this is dropped.
#[derive(Debug)]
pub struct Followers {
    joins: Sender<Entry>,
}

impl Followers {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// `Unavailable`: no thread can be started.
    pub fn start() -> Result<Self> {
        let (joins, joined) = unbounded();
        threads::start("followers", move || run(&joined))?;
        Ok(Self { joins })
    }

    /// Calls `told` with each item of a follower, in order, and with `None` about once a second if
    /// nothing comes, until it returns `false`. An error is the last item. `told` must not block.
    pub fn follow(
        &self,
        follower: Follower,
        told: impl FnMut(&Follower, Option<Result<Followed>>) -> bool + Send + 'static,
    ) {
        let entry =
            Entry { follower: follower.without_caller(), told: Box::new(told), watch: None };
        // The thread runs as long as this handle exists.
        let _ = self.joins.send(entry);
    }
}

fn run(joined: &Receiver<Entry>) {
    let mut all: Vec<Entry> = Vec::new();
    // A signal that never comes, in place of that of a polled follower.
    let (_never, silent) = bounded::<()>(0);
    loop {
        let waits = all.iter().all(|entry| entry.watch.is_some());
        let ready = {
            let mut select = Select::new();
            select.recv(joined);
            for entry in &all {
                select.recv(entry.watch.as_ref().unwrap_or(&silent));
            }
            let at_most = if waits { LOOK } else { Duration::ZERO };
            select.ready_timeout(at_most).ok()
        };
        match ready {
            Some(0) => match joined.try_recv() {
                Ok(entry) => all.push(entry),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return,
            },
            Some(n) => {
                if let Some(entry) = all.get_mut(n - 1)
                    && !entry.take_signal()
                {
                    all.swap_remove(n - 1);
                }
            }
            // A deleted task does not signal, so each follower is also polled.
            None if waits => {
                all.retain_mut(|entry| entry.turn() && (entry.told)(&entry.follower, None));
            }
            None => {}
        }
        all.retain_mut(|entry| entry.watch.is_some() || entry.turn());
    }
}

impl Entry {
    /// Takes the signal and delivers items.
    fn take_signal(&mut self) -> bool {
        match self.watch.as_ref().map(Receiver::try_recv) {
            Some(Err(TryRecvError::Disconnected)) => {
                let closed = Error::new(ErrorKind::Unavailable, "the store is closed");
                (self.told)(&self.follower, Some(Err(closed)));
                false
            }
            _ => self.turn(),
        }
    }

    /// Delivers items, up to `TURN`. Clears the signal if there may be more items, or if it belongs
    /// to another lineage, so that the follower is polled.
    fn turn(&mut self) -> bool {
        // Watches before it reads: a commit in between is then seen twice instead of missed.
        let watch = self.follower.watched();
        for _ in 0..TURN {
            let found = match self.follower.try_next() {
                Ok(Some(found)) => Ok(found),
                Ok(None) => {
                    self.watch = self.follower.has_watch().then_some(watch);
                    return true;
                }
                Err(error) => Err(error),
            };
            let ended = found.is_err();
            if !(self.told)(&self.follower, Some(found)) || ended {
                return false;
            }
        }
        self.watch = None;
        true
    }
}
