//! States: folded, kept, snapshots of them.

use milepost::state::RunReducer;
use milepost::{Append, Engine, Mark, Options};
use milepost_tests::bodies;

use super::check;

#[test]
fn each_state_that_is_folded_is_timed_and_one_that_is_kept_is_not() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(bodies::text_message(1)).unwrap();
    task.checkpoint(Mark::new().label("one")).unwrap();
    let point = engine.point("t@one").unwrap();
    assert_eq!(engine.store().metrics().fold_us.count(), 0);
    engine.run_state(&point).unwrap();
    let now = engine.store().metrics();
    assert_eq!((now.fold_us.count(), now.kept_misses), (1, 1));
    engine.run_state(&point).unwrap();
    let now = engine.store().metrics();
    assert_eq!((now.fold_us.count(), now.kept_hits), (1, 1));
    engine.state(&RunReducer, &point).unwrap();
    engine.run_state(&task.point(1).unwrap()).unwrap();
    let now = engine.store().metrics();
    check(&now);
    assert_eq!(now.fold_us.count(), 3);
    let kept = engine.store().stats().unwrap().kept;
    assert_eq!((now.kept_states, now.kept_hits, now.kept_misses), (1, 1, 1));
    assert_eq!((kept.states, kept.hits, kept.misses), (1, 1, 1));
}

#[test]
fn each_snapshot_that_is_made_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let engine = super::store(dir.path());
    let task = engine.task("t").unwrap();
    for n in 0..40 {
        let many = (0..100).map(|m| bodies::text_message(n * 100 + m));
        task.append(Append::batch(many)).unwrap();
    }
    drop(task);
    let rest = engine.clone();
    // It waits for the snapshots that are due.
    engine.close().unwrap();
    let made = rest.store().metrics().snapshots;
    drop(rest);
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    assert!(made > 0);
    assert_eq!(engine.store().stats().unwrap().snapshots, made);
    assert_eq!(engine.store().metrics().snapshots, 0);
    engine.close().unwrap();
}
