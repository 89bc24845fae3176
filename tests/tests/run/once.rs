//! Durable steps (I14): work whose result is in the log is not done again.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost::events::Message;
use milepost::{Engine, Error, ErrorKind, Mark, Options};
use milepost_runtime::run::{Run, RunOptions};
use milepost_tests::folder;
use serde_json::{Value, json};

use crate::run::{engine, run};

#[test]
fn work_that_was_done_is_not_done_again_also_by_the_process_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let (root, killed) = (dir.path().join("store"), dir.path().join("killed"));
    let done = Cell::new(0);
    let work = || {
        done.set(done.get() + 1);
        Ok::<_, Error>(json!({"sent": 42, "to": null}))
    };
    let engine = Engine::open(&root, Options::default()).unwrap();
    let first = run(&engine, RunOptions::default());
    let result: Value = first.once("mail", work).unwrap();
    assert_eq!(first.once("mail", work).unwrap(), result);
    let head = first.task().head().unwrap();
    folder::copy_store(&root, &killed).unwrap();
    let engine = Engine::open(&killed, Options::default()).unwrap();
    let second = Run::of(engine.task("t").unwrap(), RunOptions::default()).unwrap();
    assert_eq!(second.once("mail", work).unwrap(), result);
    assert_eq!(done.get(), 1);
    assert_eq!(second.task().head().unwrap(), head, "nothing is recorded twice");
    let other: Value = second.once("another mail", work).unwrap();
    assert_eq!((other, done.get()), (result, 2));
}

#[test]
fn after_a_restore_to_before_it_work_is_done_again_and_behind_it_it_is_not() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    let done = Cell::new(0);
    let work = || {
        done.set(done.get() + 1);
        Ok::<_, Error>(done.get())
    };
    run.begin().unwrap();
    run.checkpoint(Mark::new().label("before")).unwrap();
    assert_eq!(run.once("k", work).unwrap(), 1);
    run.checkpoint(Mark::new().label("behind")).unwrap();
    engine.restore(&engine.point("t@behind").unwrap()).run().unwrap();
    run.safe_point().unwrap();
    assert_eq!(run.once("k", work).unwrap(), 1, "an ancestor has it");
    engine.restore(&engine.point("t@before").unwrap()).run().unwrap();
    run.safe_point().unwrap();
    assert_eq!(run.once("k", work).unwrap(), 2, "it is free again");
    assert_eq!(run.once("k", work).unwrap(), 2);
    engine.undo("t").run().unwrap();
    run.safe_point().unwrap();
    assert_eq!(run.once("k", work).unwrap(), 1, "each lineage has its own");
}

#[test]
fn work_that_fails_is_not_recorded_and_its_error_comes_back() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    let head = run.task().head().unwrap();
    let failed = run.once::<u64, _>("k", || Err(Error::not_found("no network")));
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(run.task().head().unwrap(), head);
    assert_eq!(run.once("k", || Ok::<_, Error>(7_u64)).unwrap(), 7);
}

#[test]
fn a_result_that_json_cannot_hold_is_refused_and_goes_as_bytes() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    let head = run.task().head().unwrap();
    let refused = run.once("k", || Ok::<_, Error>(f64::NAN)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
    assert_eq!(run.task().head().unwrap(), head);
    let nan = || Ok::<_, Error>(f64::NAN.to_le_bytes().to_vec());
    let bytes = run.once_bytes("k", nan).unwrap();
    let again = run.once_bytes("k", || Err(Error::invalid("not called")));
    assert_eq!(again.unwrap(), bytes);
    let other = run.once("k", || Ok::<_, Error>(1_u64)).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Invalid, "{other}");
}

#[test]
fn threads_that_ask_for_one_key_do_its_work_once() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (run, done) = (&run, &done);
            scope.spawn(move || {
                for key in ["a", "b"] {
                    let work = || Ok::<_, Error>(done.fetch_add(1, Ordering::Relaxed));
                    run.once(key, work).unwrap();
                    run.append(Message::text("user", &format!("{n}"))).unwrap();
                }
            });
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), 2);
}

#[test]
fn what_comes_back_the_first_time_is_what_comes_back_later() {
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Result {
        kept: u64,
        #[serde(skip)]
        left_out: u64,
    }
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    let work = || Ok::<_, Error>(Result { kept: 1, left_out: 2 });
    let first = run.once("k", work).unwrap();
    assert_eq!((first.kept, first.left_out), (1, 0));
    assert_eq!(run.once("k", work).unwrap(), first);
}
