//! States of the last checkpoints are kept, the rest is let go, and nothing is lost by it.

use std::sync::{Arc, Mutex};

use milepost::events::Message;
use milepost::hooks::{Alert, AlertKind};
use milepost::state::{RunReducer, StateCacheOptions};
use milepost::{Engine, Hook, Mark, Options, Point, Task};
use milepost_tests::bodies;

/// Marks this many checkpoints, some events apart; returns the points.
fn marked(engine: &Engine, count: u64) -> (Task, Vec<Point>) {
    let task = engine.start_task("t", "ana").unwrap();
    let mut points = Vec::new();
    for n in 0..count {
        for _ in 0..5 {
            task.append(Message::text("user", &bodies::text(n, 300))).unwrap();
        }
        let id = task.checkpoint(Mark::new()).unwrap().id;
        points.push(engine.point(&format!("@{id}")).unwrap());
    }
    (task, points)
}

/// The state of a point, which has to be the one that a fold gives.
fn look(engine: &Engine, point: &Point) {
    let state = engine.run_state(point).unwrap();
    assert_eq!(state, engine.state(&RunReducer, point).unwrap(), "{point}");
}

#[test]
fn of_many_checkpoints_the_states_of_the_last_ten_are_kept_and_all_are_right() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let (_, points) = marked(&engine, 25);
    points.iter().for_each(|point| look(&engine, point));
    let kept = engine.store().stats().unwrap().kept;
    assert_eq!((kept.states, kept.misses, kept.evictions), (10, 25, 15));
    points[15..].iter().for_each(|point| look(&engine, point));
    assert_eq!(engine.store().stats().unwrap().kept.hits, 10);
    // A state that left the cache is on disk all the same.
    points[..3].iter().for_each(|point| look(&engine, point));
    let kept = engine.store().stats().unwrap().kept;
    assert_eq!((kept.misses, kept.evictions), (28, 18));
}

#[test]
fn points_that_are_no_checkpoints_are_folded_from_the_nearest_kept_state() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let (task, points) = marked(&engine, 12);
    look(&engine, &points[5]);
    for offset in 0..=task.head().unwrap().next {
        look(&engine, &task.point(offset).unwrap());
    }
    let kept = engine.store().stats().unwrap().kept;
    assert_eq!((kept.states, kept.hits, kept.misses), (1, 0, 1), "they are not kept");
    // On another lineage the same offsets are other points.
    let back = engine.restore(&points[2]).run().unwrap();
    for _ in 0..30 {
        back.append(Message::text("user", "another")).unwrap();
    }
    for offset in 0..=back.head().unwrap().next {
        look(&engine, &back.point(offset).unwrap());
    }
}

#[derive(Default)]
struct Alerts(Mutex<Vec<Alert>>);

impl Hook for Alerts {
    fn name(&self) -> &str {
        "alerts"
    }

    fn on_alert(&self, alert: &Alert) {
        self.0.lock().unwrap().push(alert.clone());
    }
}

#[test]
fn bytes_are_bounded_and_over_a_threshold_an_alert_is_raised_once() {
    let alerts = Arc::new(Alerts::default());
    let keep = StateCacheOptions { count: 1000, bytes: 20_000, alert_bytes: 12_000 };
    let options = Options::default().hook(alerts.clone()).keep_states(keep);
    let engine = Engine::in_memory(options).unwrap();
    let (_, points) = marked(&engine, 20);
    points.iter().for_each(|point| look(&engine, point));
    let kept = engine.store().stats().unwrap().kept;
    assert!(kept.bytes <= 20_000, "{kept:?}");
    assert!(kept.evictions > 0 && kept.states > 0, "{kept:?}");
    let alerts = alerts.0.lock().unwrap();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!(alerts[0].kind, AlertKind::StatesKept);
    let none = StateCacheOptions { count: 0, ..StateCacheOptions::default() };
    let engine = Engine::in_memory(Options::default().keep_states(none)).unwrap();
    let (_, points) = marked(&engine, 2);
    points.iter().for_each(|point| look(&engine, point));
    assert_eq!(engine.store().stats().unwrap().kept.states, 0);
}
