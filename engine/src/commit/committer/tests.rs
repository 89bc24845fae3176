//! Tests: the committer and subscribers under a scheduler that explores interleavings:
//! `RUSTFLAGS="--cfg shuttle" cargo test -p milepost --lib committer::tests`.
//!
//! A failed test prints the schedule, which can be replayed.

use std::future::poll_fn;
use std::sync::Arc;

use milepost_codec::{Body, Message};
use milepost_codec::{ErrorKind, Head, LineageId, LogId, Origin, Result, Seed, TaskNo};
use milepost_store::metrics::Meters;
use milepost_store::sync::channel::unbounded;
use milepost_store::{Log, MemoryStore};
use shuttle::thread;

use super::{Committer, LogAppend, Request};
use crate::history::catalog::Catalog;

const LOG: LogId = LogId { task: TaskNo(1), kind: milepost_codec::LogKind::Lineage(LineageId(0)) };
const ORIGIN: Origin = Origin([7; 16]);
/// Schedules tried for each test.
const TRIES: usize = 3000;

struct World {
    catalog: Catalog,
    committer: Arc<Committer>,
}

fn request(catalog: &Catalog, open: bool, expect: Option<u64>) -> Result<Request> {
    let mut append = LogAppend::new(LOG, ORIGIN, Seed([1; 16]));
    if open {
        let hash = catalog.chain(ORIGIN, LOG).root();
        append = append.open(Head { next: 0, hash });
    }
    let mut append = append.expect(expect);
    append.body(&Body::from(Message::text("user", "x")), 0)?;
    Ok(append.into())
}

impl World {
    /// Creates a log in memory with one event.
    fn new() -> Self {
        let log: Arc<dyn Log> = Arc::new(MemoryStore::default());
        let catalog = Catalog::new(log, None, usize::MAX);
        let (jobs, _) = unbounded();
        let meters = Arc::new(Meters::new(String::new()));
        let committer = Committer::start(catalog.clone(), jobs, meters).unwrap();
        let world = Self { catalog, committer };
        let opened = world.committer.commit(request(&world.catalog, true, None).unwrap());
        assert_eq!(opened.unwrap().appended[0].0, 0);
        world
    }

    fn append(&self, expect: Option<u64>) -> Result<u64> {
        let request = request(&self.catalog, false, expect)?;
        Ok(self.committer.commit(request)?.appended[0].0)
    }

    fn head(&self) -> u64 {
        self.catalog.head(LOG).unwrap().next
    }
}

#[test]
fn appends_from_several_threads_each_get_an_offset_of_their_own() {
    shuttle::check_random(
        || {
            let world = Arc::new(World::new());
            let threads: Vec<_> = (0..3)
                .map(|n| {
                    let world = Arc::clone(&world);
                    thread::spawn(move || {
                        if n == 0 {
                            let request = request(&world.catalog, false, None).unwrap();
                            let ticket = world.committer.submit(request).unwrap();
                            ticket.wait().unwrap().appended[0].0
                        } else {
                            world.append(None).unwrap()
                        }
                    })
                })
                .collect();
            let polled = request(&world.catalog, false, None).unwrap();
            let slot = world.committer.submit(polled).unwrap();
            let polled = shuttle::future::block_on(poll_fn(|context| slot.poll(context)));
            let mut offsets: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
            offsets.push(polled.unwrap().appended[0].0);
            offsets.sort_unstable();
            assert_eq!(offsets, [1, 2, 3, 4], "I2");
            assert_eq!(world.head(), 5);
            world.committer.close();
        },
        TRIES,
    );
}

#[test]
fn of_two_that_believe_in_the_same_head_one_wins() {
    shuttle::check_random(
        || {
            let world = Arc::new(World::new());
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let world = Arc::clone(&world);
                    thread::spawn(move || world.append(Some(1)))
                })
                .collect();
            let done: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
            let won = done.iter().filter(|done| done.is_ok()).count();
            assert_eq!(won, 1, "I13");
            let lost = done.iter().find_map(|done| done.as_ref().err()).unwrap();
            assert_eq!(lost.kind(), ErrorKind::Conflict);
            assert_eq!(world.head(), 2);
            world.committer.close();
        },
        TRIES,
    );
}

#[test]
fn a_subscriber_is_told_of_every_event_and_never_sleeps_over_one() {
    shuttle::check_random(
        || {
            let world = Arc::new(World::new());
            let watch = world.committer.watch(LOG);
            let writers: Vec<_> = (0..2)
                .map(|_| {
                    let world = Arc::clone(&world);
                    thread::spawn(move || {
                        world.append(None).unwrap();
                    })
                })
                .collect();
            // Like a subscription: read first, and wait only if nothing new was there.
            let mut seen = 1;
            while seen < 3 {
                let head = world.head();
                if head > seen {
                    seen = head;
                } else {
                    watch.recv().unwrap();
                }
            }
            for writer in writers {
                writer.join().unwrap();
            }
            world.committer.close();
            while watch.recv().is_ok() {}
        },
        TRIES,
    );
}

#[test]
fn whoever_appends_while_the_store_is_closed_gets_an_answer() {
    shuttle::check_random(
        || {
            let world = Arc::new(World::new());
            let threads: Vec<_> = (0..2)
                .map(|n| {
                    let world = Arc::clone(&world);
                    thread::spawn(move || {
                        if n == 0 {
                            let request = request(&world.catalog, false, None)?;
                            world.committer.submit(request)?.wait().map(|_| ())
                        } else {
                            world.append(None).map(|_| ())
                        }
                    })
                })
                .collect();
            world.committer.close();
            let done: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
            let there = done.iter().filter(|done| done.is_ok()).count() as u64;
            for error in done.iter().filter_map(|done| done.as_ref().err()) {
                assert_eq!(error.kind(), ErrorKind::Unavailable);
            }
            assert_eq!(world.head(), 1 + there, "acknowledged is there, refused is not");
        },
        TRIES,
    );
}
