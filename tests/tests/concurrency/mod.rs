//! Many threads on one engine: I13 (of two writers with the same head one wins), I2 (dense
//! offsets), I1 (a close loses nothing that was acknowledged), and subscribers that see each event
//! once, in order.

mod tickets;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use milepost::events::Message;
use milepost::query::TaskQuery;
use milepost::subscribe::SubscribeOptions;
use milepost::{Append, Body, Detail, Engine, ErrorKind, LineageId, Mark, Options, Task};
use milepost_tests::bodies;

fn text(text: impl std::fmt::Display) -> Message {
    Message::text("user", &text.to_string())
}

/// The same on a store in memory and on one in a folder with a small backlog.
fn both(test: impl Fn(Engine)) {
    test(Engine::in_memory(Options::default()).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().backlog_bytes(1 << 20);
    test(Engine::open(dir.path().join("store"), options).unwrap());
}

fn texts(task: &Task) -> Vec<String> {
    let mut found = Vec::new();
    for (offset, event) in (0..).zip(task.read(..).unwrap()) {
        let event = event.unwrap();
        assert_eq!(event.offset, offset, "I2");
        if let Some(Body::Message(message)) = event.body {
            found.push(message.content.unwrap().value().unwrap().as_str().unwrap().to_owned());
        }
    }
    found
}

fn clean(engine: &Engine) {
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn of_sixteen_writers_with_the_same_head_exactly_one_wins() {
    both(|engine| {
        let task = engine.start_task("t", "ana").unwrap();
        let barrier = Barrier::new(16);
        let results: Vec<Vec<_>> = thread::scope(|scope| {
            let writers: Vec<_> = (0..16)
                .map(|writer| {
                    let (task, barrier) = (task.clone(), &barrier);
                    // Nothing is asserted between barriers: the others would wait for ever.
                    let round = move |round: u64| {
                        barrier.wait();
                        let result = task.append(Append::from(text(writer)).expect_head(round + 1));
                        barrier.wait();
                        result
                    };
                    scope.spawn(move || (0..20).map(round).collect())
                })
                .collect();
            writers.into_iter().map(|w| w.join().unwrap()).collect()
        });
        let mut wins = [0; 20];
        for (round, result) in results.iter().flat_map(|own| (0_u64..).zip(own)) {
            match result {
                Ok(done) => {
                    assert_eq!(done.first, round + 1, "I13");
                    wins[round as usize] += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Conflict, "I13");
                    let Some(Detail::Head(head)) = error.detail() else {
                        panic!("I13: no head in {error}");
                    };
                    assert_eq!(head.next, round + 2, "I13: the actual head");
                }
            }
        }
        assert_eq!(wins, [1; 20], "I13");
        assert_eq!(task.head().unwrap().next, 21);
        clean(&engine);
    });
}

#[test]
fn one_idempotency_key_from_many_threads_is_appended_once() {
    both(|engine| {
        let task = engine.start_task("t", "ana").unwrap();
        for round in 0..20 {
            let barrier = Barrier::new(8);
            let results: Vec<_> = thread::scope(|scope| {
                let threads: Vec<_> = (0..8)
                    .map(|_| {
                        let (task, barrier) = (task.clone(), &barrier);
                        scope.spawn(move || {
                            barrier.wait();
                            let append = Append::from(text(round)).key(format!("k{round}"));
                            task.append(append).unwrap()
                        })
                    })
                    .collect();
                threads.into_iter().map(|t| t.join().unwrap()).collect()
            });
            let fresh = results.iter().filter(|done| !done.repeated).count();
            assert_eq!(fresh, 1, "I14");
            assert!(results.iter().all(|done| done.first == results[0].first), "I14");
        }
        assert_eq!(texts(&task).len(), 20);
        clean(&engine);
    });
}

#[test]
fn sixteen_writers_on_lineages_of_their_own_do_not_meet() {
    both(|engine| {
        let shared = engine.start_task("shared", "ana").unwrap();
        let start = shared.point(1).unwrap();
        thread::scope(|scope| {
            for writer in 0..16_u64 {
                let (engine, start) = (engine.clone(), start.clone());
                scope.spawn(move || {
                    let own = engine.start_task(&format!("own {writer}"), "ana").unwrap();
                    let branch = engine.branch(&start).run().unwrap();
                    for n in 0..50_u64 {
                        let done = own.append(Append::from(text(n)).expect_head(n + 1)).unwrap();
                        assert_eq!(done.first, n + 1);
                        let done = branch.append(Append::from(text(n)).expect_head(n + 2));
                        assert_eq!(done.unwrap().first, n + 2);
                    }
                });
            }
        });
        assert_eq!(shared.lineages().unwrap().len(), 17);
        for lineage in shared.lineages().unwrap().iter().skip(1) {
            assert_eq!(lineage.head.next, 52);
        }
        let query = TaskQuery { limit: Some(100), ..TaskQuery::default() };
        assert_eq!(engine.query().tasks(&query).unwrap().items.len(), 17);
        clean(&engine);
    });
}

#[test]
fn a_subscriber_sees_each_event_once_and_in_order_until_the_store_is_closed() {
    both(|engine| {
        let task = engine.start_task("t", "ana").unwrap();
        task.append(text("before")).unwrap();
        let subscribers: Vec<_> = [0, 2]
            .map(|from| {
                let mut events = task.subscribe(from, SubscribeOptions::default()).unwrap();
                thread::spawn(move || {
                    let mut next = from;
                    loop {
                        match events.next() {
                            Ok(event) => {
                                assert_eq!(event.offset, next, "once, in order");
                                next += 1;
                                assert_eq!(events.position(), next);
                            }
                            Err(error) => {
                                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                                assert!(error.to_string().contains("closed"), "{error}");
                                return next;
                            }
                        }
                    }
                })
            })
            .into();
        let mut watched = task.subscribe(0, SubscribeOptions::default()).unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                let task = task.clone();
                scope.spawn(move || {
                    for n in 0..100 {
                        task.append(text(n)).unwrap();
                    }
                });
            }
        });
        // A restore is another lineage: the one that is watched ends where it was.
        let head = task.head().unwrap().next;
        let point = engine.point("t@5").unwrap();
        let restored = engine.restore(&point).run().unwrap();
        let mut after = restored.subscribe(0, SubscribeOptions::default()).unwrap();
        restored.append(text("new")).unwrap();
        for offset in 0..=7 {
            let event = after.try_next().unwrap().unwrap();
            assert_eq!(event.offset, offset);
            let lineage = LineageId(u32::from(offset >= 5));
            assert_eq!(event.lineage, lineage);
        }
        assert_eq!(after.try_next().unwrap(), None);
        for offset in 0..head {
            assert_eq!(watched.try_next().unwrap().unwrap().offset, offset);
        }
        assert_eq!(watched.try_next().unwrap(), None);
        // By name the old lineage continues, and so do its subscribers.
        let old = task.lineage_named(LineageId(0)).unwrap();
        old.append(text("late")).unwrap();
        assert_eq!(watched.next().unwrap().offset, head);
        engine.close().unwrap();
        for subscriber in subscribers {
            // Reading ends with the store: what had not been read by then is read after a reopen.
            assert!(subscriber.join().unwrap() <= head + 1);
        }
    });
}

#[test]
fn a_subscriber_that_is_too_slow_is_told_and_says_how_to_go_on() {
    both(|engine| {
        let task = engine.start_task("t", "ana").unwrap();
        let options = SubscribeOptions::default().max_lag(3);
        let mut events = task.subscribe(1, options).unwrap();
        for n in 0..3 {
            task.append(text(n)).unwrap();
        }
        assert_eq!(events.next().unwrap().offset, 1, "three behind is allowed");
        for n in 0..5 {
            task.append(text(n)).unwrap();
        }
        for _ in 0..2 {
            let error = events.next().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            let Some(Detail::Head(head)) = error.detail() else {
                panic!("no head in {error}");
            };
            assert_eq!(*head, task.head().unwrap());
        }
        events.catch_up().unwrap();
        for offset in 2..9 {
            assert_eq!(events.next().unwrap().offset, offset, "nothing was lost");
        }
        for n in 0..10 {
            task.append(text(n)).unwrap();
        }
        let error = events.try_next().unwrap_err();
        let Some(Detail::Head(head)) = error.detail() else {
            panic!("no head in {error}");
        };
        events.skip_to(head.next - 1);
        assert_eq!(events.next().unwrap().offset, head.next - 1);
        assert_eq!(events.try_next().unwrap(), None);
    });
}

#[test]
fn readers_beside_writers_and_the_applier_never_see_a_gap() {
    both(|engine| {
        let task = engine.start_task("t", "ana").unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for reader in 0..3 {
                let (task, engine, done) = (task.clone(), engine.clone(), &done);
                scope.spawn(move || {
                    let mut rounds = 0_u64;
                    while !done.load(Ordering::Acquire) || rounds == 0 {
                        rounds += 1;
                        let head = task.head().unwrap().next;
                        let from = if reader == 0 { 0 } else { head.saturating_sub(40) };
                        let mut next = from;
                        for event in task.read(from..head).unwrap() {
                            assert_eq!(event.unwrap().offset, next, "no gap");
                            next += 1;
                        }
                        assert_eq!(next, head, "nothing is missing up to the head");
                        if reader == 2 {
                            let query = milepost::query::CheckpointQuery::default();
                            engine.query().checkpoints(&query).unwrap();
                            engine.run_state(&task.point(head).unwrap()).unwrap();
                        }
                    }
                });
            }
            // Sizes that fill blocks of several parts slowly, so that they are packed anew.
            for n in 0..600_u64 {
                let size = 1 + (n as usize * 7919) % 9000;
                task.append(vec![bodies::bytes(n, size), text(n).into()]).unwrap();
                if n % 7 == 0 {
                    engine.store().drain().unwrap();
                }
                if n % 20 == 0 {
                    task.checkpoint(Mark::new()).unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
        clean(&engine);
    });
}

#[test]
fn verify_beside_writers_and_the_applier_finds_nothing_wrong() {
    // A reader once took a run that the applier had packed into a larger block for a misplaced one.
    both(|engine| {
        let task = engine.start_task("t", "ana").unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let (verifier, done) = (engine.clone(), &done);
            scope.spawn(move || {
                let mut rounds = 0;
                while !done.load(Ordering::Acquire) || rounds == 0 {
                    rounds += 1;
                    clean(&verifier);
                }
            });
            for n in 0..600_u64 {
                task.append(text(n)).unwrap();
                if n % 5 == 0 {
                    engine.store().drain().unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
        clean(&engine);
    });
}

#[test]
fn a_restore_while_others_append_makes_their_handles_stale() {
    both(|engine| {
        let task = engine.start_task("t", "ana").unwrap();
        for n in 0..10 {
            task.append(text(n)).unwrap();
        }
        let restored = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..8 {
                let (task, engine, restored) = (task.clone(), engine.clone(), &restored);
                scope.spawn(move || {
                    let error = loop {
                        let before = restored.load(Ordering::Acquire);
                        match task.append(text("x")) {
                            // An append that began after the end of the restore cannot be in the
                            // old lineage.
                            Ok(_) => assert!(!before, "I13"),
                            Err(error) => break error,
                        }
                    };
                    assert_eq!(error.kind(), ErrorKind::Conflict, "I13: {error}");
                    let active = Detail::Active { lineage: LineageId(1), epoch: 2 };
                    assert_eq!(error.detail(), Some(&active), "I13");
                    engine.task("t").unwrap().append(text("after")).unwrap();
                });
            }
            let point = engine.point("t@5").unwrap();
            engine.restore(&point).run().unwrap();
            restored.store(true, Ordering::Release);
        });
        let after = texts(&engine.task("t").unwrap());
        assert_eq!(after.iter().filter(|t| *t == "after").count(), 8);
        assert_eq!(after.iter().filter(|t| *t == "x").count(), 0, "I7, I13");
        clean(&engine);
    });
}

#[test]
fn restores_at_the_same_time_each_open_a_lineage_of_their_own() {
    both(|engine| {
        let task = engine.start_task("t", "ana").unwrap();
        task.append(text("x")).unwrap();
        let point = task.point(1).unwrap();
        thread::scope(|scope| {
            for _ in 0..8 {
                let (engine, point) = (engine.clone(), point.clone());
                scope.spawn(move || {
                    for _ in 0..5 {
                        engine.restore(&point).run().unwrap();
                    }
                });
            }
        });
        assert_eq!(task.lineages().unwrap().len(), 41);
        assert_eq!(engine.task("t").unwrap().epoch(), 41);
        // Each can be undone, back to where it all began.
        for _ in 0..40 {
            engine.undo("t").run().unwrap();
        }
        assert_eq!(engine.undo("t").run().unwrap_err().kind(), ErrorKind::Invalid);
        let back = engine.task("t").unwrap();
        assert_eq!(back.lineage().id(), LineageId(0), "I7");
        clean(&engine);
    });
}

#[test]
fn large_bodies_come_back_whole_and_one_over_the_limit_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let options = Options::default().event_max(24 << 20);
    let engine = Engine::open(&root, options.clone()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let sizes = [1 << 20, 20 << 20, (256 << 10) - 100, (256 << 10) + 100];
    for (salt, size) in (0..).zip(sizes) {
        task.append(bodies::bytes(salt, size)).unwrap();
    }
    let head = task.head().unwrap();
    let error = task.append(bodies::bytes(9, 25 << 20)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("limit"), "{error}");
    assert_eq!(task.head().unwrap(), head, "nothing of it was written");
    let check = |engine: &Engine| {
        let task = engine.task("t").unwrap();
        let read = task.read(1..).unwrap().map(|e| e.unwrap().body.unwrap());
        for (salt, (size, body)) in (0..).zip(sizes.into_iter().zip(read)) {
            assert!(body == bodies::bytes(salt, size), "{size} bytes");
        }
        clean(engine);
    };
    check(&engine);
    engine.close().unwrap();
    std::fs::remove_dir_all(root.join("sled")).unwrap();
    check(&Engine::open(&root, options).unwrap());
}

#[test]
fn a_close_while_others_append_ends_them_and_loses_nothing_acknowledged() {
    for _ in 0..5 {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("store");
        let engine = Engine::open(&root, Options::default()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let begun = Barrier::new(9);
        let acked: Vec<(u64, String)> = thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|writer| {
                    let (task, begun) = (task.clone(), &begun);
                    scope.spawn(move || {
                        let mut acked = Vec::new();
                        for n in 0.. {
                            if n == 5 {
                                begun.wait();
                            }
                            let said = format!("{writer} {n}");
                            match task.append(text(&said)) {
                                Ok(done) => acked.push((done.first, said)),
                                Err(error) => {
                                    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                                    break;
                                }
                            }
                        }
                        acked
                    })
                })
                .collect();
            begun.wait();
            engine.clone().close().unwrap();
            writers.into_iter().flat_map(|w| w.join().unwrap()).collect()
        });
        let error = engine.task("t").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let engine = Engine::open(&root, Options::default()).unwrap();
        let all = texts(&engine.task("t").unwrap());
        assert_eq!(all.len(), acked.len(), "I1: all that was acknowledged and no more");
        for (offset, said) in acked {
            assert_eq!(all[offset as usize - 1], said, "I1");
        }
        clean(&engine);
    }
}
