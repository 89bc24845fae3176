//! Feeds: for each task with streams one thread, which waits for what is committed, encodes it once and gives it to all
//! of them. It ends when nobody listens any more.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use milepost::{Error, ErrorKind, Followed, Follower, Result, Task, TaskNo};
use parking_lot::Mutex;
use tokio::sync::broadcast::{self, Receiver, Sender};

use super::frame::{self, Place};

/// Messages that wait for the slowest stream; one that is further behind reads from the log.
const MESSAGES: usize = 256;

/// The longest event that waits so. A longer one is read from the log by each.
const MESSAGE_MAX: usize = 32 << 10;

/// How often it is looked whether anybody listens.
const LOOK: Duration = Duration::from_secs(1);

/// Something was committed.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// Where it stands.
    pub(super) place: Place,
    /// The event, as it is sent; nothing where it has to be read from the log.
    pub(super) sent: Option<Bytes>,
}

/// The feeds that there are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Feeds(Arc<Mutex<HashMap<TaskNo, Sender<Message>>>>);

impl Feeds {
    /// Everything that is committed to a task from now on.
    pub(super) fn join(&self, task: &Task) -> Result<Receiver<Message>> {
        let mut feeds = self.0.lock();
        let place = match feeds.entry(task.no()) {
            Entry::Occupied(feed) => return Ok(feed.get().subscribe()),
            Entry::Vacant(place) => place,
        };
        let follower = task.follow(task.lineage().head()?.next)?;
        let (sender, receiver) = broadcast::channel(MESSAGES);
        let (all, no, told) = (self.clone(), task.no(), sender.clone());
        let thread = std::thread::Builder::new().name("milepost-feed".into());
        let started = thread.spawn(move || all.feed(no, follower, &told));
        started.map_err(|e| {
            Error::new(
                ErrorKind::Unavailable,
                format!("cannot start a thread for the streams of the task: {e}"),
            )
        })?;
        place.insert(sender);
        Ok(receiver)
    }

    /// Takes a feed away where nobody listens: who joins holds the lock.
    fn ends(&self, task: TaskNo, streams: &Sender<Message>) -> bool {
        let mut feeds = self.0.lock();
        let none = streams.receiver_count() == 0;
        if none {
            feeds.remove(&task);
        }
        none
    }

    fn feed(&self, task: TaskNo, mut follower: Follower, streams: &Sender<Message>) {
        loop {
            match follower.next_timeout(LOOK) {
                Ok(Some(found)) => {
                    let (lineage, next) = follower.position();
                    let sent = streams.send(message(Place { lineage, next }, found));
                    if sent.is_err() && self.ends(task, streams) {
                        return;
                    }
                }
                Ok(None) if streams.receiver_count() > 0 => {}
                Ok(None) if self.ends(task, streams) => return,
                Ok(None) => {}
                // The streams read from the log what there is, and meet it themselves.
                Err(_) => {
                    self.0.lock().remove(&task);
                    return;
                }
            }
        }
    }
}

/// The place behind something, and how it is sent.
fn message(behind: Place, found: Followed) -> Message {
    match found {
        Followed::Event(event) => {
            let place = Place {
                next: event.offset,
                ..behind
            };
            let mut sent = Vec::new();
            frame::event(&mut sent, behind.lineage, event);
            Message {
                place,
                sent: (sent.len() <= MESSAGE_MAX).then(|| sent.into()),
            }
        }
        Followed::Moved(_) => Message {
            place: behind,
            sent: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use milepost::{Engine, Message as Said, Options};

    use super::*;

    #[test]
    fn a_feed_ends_where_nobody_listens_though_events_come_all_the_time() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let feeds = Feeds::default();
        drop(feeds.join(&task).unwrap());
        let ended = (0..1_000_000).any(|_| {
            task.append(Said::text("user", "x")).unwrap();
            feeds.0.lock().is_empty()
        });
        assert!(ended, "it goes on");
        // Whoever comes then gets another one.
        let mut again = feeds.join(&task).unwrap();
        let at = task.append(Said::text("user", "y")).unwrap().first;
        let came = again.blocking_recv().unwrap();
        assert_eq!(came.place.next, at);
    }
}
