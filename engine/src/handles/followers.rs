//! Many followers on one thread.

use std::time::Duration;

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, bounded, unbounded};
use milepost_codec::{Error, ErrorKind, Result};

use crate::handles::follow::{Followed, Follower};

/// How often those that nothing comes for are told so.
const LOOK: Duration = Duration::from_secs(1);

/// Events that are taken of one follower before others have their turn.
const TURN: usize = 256;

/// Takes what a follower meets; nothing where nothing came for a while. It is followed as long as
/// this says so.
type Told = Box<dyn FnMut(&Follower, Option<Result<Followed>>) -> bool + Send>;

struct Entry {
    follower: Follower,
    told: Told,
    /// Up where there is more; nothing where it has to be looked for.
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
        let thread = std::thread::Builder::new().name("milepost-followers".into());
        thread.spawn(move || run(&joined)).map_err(|e| {
            let message = format!("cannot start a thread to follow tasks: {e}");
            Error::new(ErrorKind::Unavailable, message)
        })?;
        Ok(Self { joins })
    }

    /// Gives `told` what a follower meets, in order, and `None` about once a second where nothing
    /// comes, for as long as it returns true. An error is the last. It must not wait.
    pub fn follow(
        &self,
        follower: Follower,
        told: impl FnMut(&Follower, Option<Result<Followed>>) -> bool + Send + 'static,
    ) {
        let entry = Entry { follower, told: Box::new(told), watch: None };
        // The thread is there as long as this is.
        let _ = self.joins.send(entry);
    }
}

fn run(joined: &Receiver<Entry>) {
    let mut all: Vec<Entry> = Vec::new();
    // A signal that never comes, for those that are looked at anyway.
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
            // A task that was deleted grows no more: it is met by looking.
            None if waits => {
                all.retain_mut(|entry| entry.turn() && (entry.told)(&entry.follower, None));
            }
            None => {}
        }
        all.retain_mut(|entry| entry.watch.is_some() || entry.turn());
    }
}

impl Entry {
    /// Takes the signal down and gives what there is.
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

    /// Gives what there is, up to a turn: where there is more, or the signal is of another lineage,
    /// it is looked again.
    fn turn(&mut self) -> bool {
        // The watch first: what is committed in between is seen twice, not missed.
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
