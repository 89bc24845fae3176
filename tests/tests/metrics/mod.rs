//! Metrics: the counts equal the operations.

mod appends;
mod degraded;
mod facade;
mod files;
mod recorder;
mod states;

use std::path::Path;

use milepost::events::Message;
use milepost::metrics::Metrics;
use milepost::{Body, Engine, Options};

/// A store in a folder, with a task `t`.
pub fn store(dir: &Path) -> Engine {
    let engine = Engine::open(dir.join("store"), Options::default()).unwrap();
    engine.start_task("t", "ana").unwrap();
    engine
}

pub fn message(n: u64) -> Body {
    Message::text("user", &format!("message {n}")).into()
}

/// Checks the invariants of an idle store.
pub fn check(metrics: &Metrics) {
    let m = metrics;
    assert_eq!(m.appends_per_commit.sum(), m.appends, "{m:?}");
    assert_eq!(m.appends_per_commit.count(), m.commits, "{m:?}");
    assert_eq!(m.events_per_commit.sum(), m.events, "{m:?}");
    assert_eq!(m.events_per_commit.count(), m.commits, "{m:?}");
    assert_eq!(m.append_us.count(), m.appends + m.repeated, "{m:?}");
    assert_eq!(m.commit_us.count(), m.journal_syncs, "{m:?}");
    assert_eq!(m.archive_us.count(), m.archive_files, "{m:?}");
    assert!(m.segments_recycled <= m.segments, "{m:?}");
}
