//! Feeds: one broadcast channel for each task with streams. A single thread follows all these
//! tasks, encodes each committed event once and sends it to the task's streams. A feed ends when
//! its last stream ends.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use milepost::ids::TaskNo;
use milepost::subscribe::{Followed, Follower, Followers};
use milepost::{Result, Task};
use parking_lot::Mutex;
use tokio::sync::broadcast::{self, Receiver, Sender};

use crate::budget::{Budget, LongPiece};
use crate::sse::{self, Place};

/// Capacity of a feed in messages; a slower stream reads from the log.
const MESSAGES: usize = 256;

/// The maximum length of an event in a feed. Streams read longer ones from the log.
const MESSAGE_MAX: usize = 32 << 10;

/// Maximum bytes of events in all feeds. Streams read the others from the log.
const WAITING_MAX: usize = 16 << 20;

/// A commit, as sent to streams.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// The place of the event.
    pub(crate) place: Place,
    /// The encoded event; `None` if it has to be read from the log.
    pub(crate) sent: Option<Bytes>,
}

/// All feeds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Feeds(Arc<Mutex<All>>);

#[derive(Debug)]
struct All {
    feeds: HashMap<TaskNo, Sender<Message>>,
    waiting: Budget,
    /// The thread of all feeds, started with the first.
    followers: Option<Followers>,
}

impl Default for All {
    fn default() -> Self {
        Self {
            feeds: HashMap::new(),
            waiting: Budget::new(WAITING_MAX, "events for streams"),
            followers: None,
        }
    }
}

impl Feeds {
    /// Returns a receiver of all commits to a task from now on.
    pub(crate) fn join(&self, task: &Task) -> Result<Receiver<Message>> {
        let mut all = self.0.lock();
        if let Some(feed) = all.feeds.get(&task.no()) {
            return Ok(feed.subscribe());
        }
        let follower = task.follow(task.lineage().head()?.next)?;
        let followers = match all.followers.take() {
            Some(followers) => followers,
            None => Followers::start()?,
        };
        let (sender, receiver) = broadcast::channel(MESSAGES);
        let (feeds, no, told) = (Arc::downgrade(&self.0), task.no(), sender.clone());
        let waiting = all.waiting.clone();
        followers.follow(follower, move |follower, found| {
            // The service is gone, and all streams with it.
            let Some(feeds) = feeds.upgrade() else {
                return false;
            };
            Self(feeds).goes_on(no, follower, found, (&told, &waiting))
        });
        all.followers = Some(followers);
        all.feeds.insert(no, sender);
        Ok(receiver)
    }

    /// Removes a feed without streams. The lock excludes concurrent joins.
    fn ends(&self, task: TaskNo, streams: &Sender<Message>) -> bool {
        let mut all = self.0.lock();
        let none = streams.receiver_count() == 0;
        if none {
            all.remove(task, streams);
        }
        none
    }

    fn goes_on(
        &self,
        task: TaskNo,
        follower: &Follower,
        found: Option<Result<Followed>>,
        (streams, waiting): (&Sender<Message>, &Budget),
    ) -> bool {
        match found {
            Some(Ok(found)) => {
                let (lineage, next) = follower.position();
                let sent = streams.send(message(Place { lineage, next }, found, waiting));
                sent.is_ok() || !self.ends(task, streams)
            }
            None => streams.receiver_count() > 0 || !self.ends(task, streams),
            // The streams read from the log and meet the error themselves.
            Some(Err(_)) => {
                self.0.lock().remove(task, streams);
                false
            }
        }
    }
}

impl All {
    /// Removes a feed unless another one replaced it.
    fn remove(&mut self, task: TaskNo, streams: &Sender<Message>) {
        let is_it = |there: &Sender<Message>| there.same_channel(streams);
        if self.feeds.get(&task).is_some_and(is_it) {
            self.feeds.remove(&task);
        }
    }
}

/// Converts a commit into a message. `behind`: the place after it.
fn message(behind: Place, found: Followed, waiting: &Budget) -> Message {
    match found {
        Followed::Event(event) => {
            let place = Place { next: event.offset, ..behind };
            let mut sent = Vec::new();
            sse::event(&mut sent, behind.lineage, event);
            let share = Some(sent.len()).filter(|bytes| *bytes <= MESSAGE_MAX);
            let share = share.and_then(|bytes| waiting.try_take(bytes));
            Message { place, sent: share.map(|share| LongPiece::bytes(sent, share)) }
        }
        Followed::LineageChanged(_) => Message { place: behind, sent: None },
    }
}

#[cfg(test)]
mod tests {
    use milepost::events::Message as Said;
    use milepost::{Engine, Options};

    use super::*;

    #[test]
    fn a_feed_ends_where_nobody_listens_though_events_come_all_the_time() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let feeds = Feeds::default();
        drop(feeds.join(&task).unwrap());
        let ended = (0..1_000_000).any(|_| {
            task.append(Said::text("user", "x")).unwrap();
            feeds.0.lock().feeds.is_empty()
        });
        assert!(ended, "it goes on");
        // A later stream gets a new feed.
        let mut again = feeds.join(&task).unwrap();
        let at = task.append(Said::text("user", "y")).unwrap().first;
        let came = again.blocking_recv().unwrap();
        assert_eq!(came.place.next, at);
    }

    // The list of threads is one of Linux.
    #[cfg(target_os = "linux")]
    #[test]
    fn streams_of_many_tasks_have_one_thread() {
        let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let engine = Engine::in_memory(Options::default()).unwrap();
        let feeds = Feeds::default();
        let tasks: Vec<_> =
            (0..100).map(|n| engine.start_task(&format!("t{n}"), "ana").unwrap()).collect();
        let before = threads();
        let mut all: Vec<_> = tasks.iter().map(|task| feeds.join(task).unwrap()).collect();
        // Other tests start and end threads.
        assert!(threads() < before + 50);
        for (task, feed) in tasks.iter().zip(&mut all) {
            let at = task.append(Said::text("user", "y")).unwrap().first;
            assert_eq!(feed.blocking_recv().unwrap().place.next, at);
        }
    }
}
