//! The supervisor and what is no failure of the disk.

use std::sync::Arc;

use milepost::events::Message;
use milepost::restore::{CaptureContext, PendingRestore, PrepareContext};
use milepost::{Body, Engine, Error, ErrorKind, Options, Participant, Result};
use milepost_runtime::failover::{Accepted, FailoverEngine, FailoverOptions, Health};

/// A participant whose restore neither ends nor can be taken back.
struct Stuck;

impl Participant for Stuck {
    fn name(&self) -> &str {
        "stuck"
    }
    fn capture(&self, _: &CaptureContext<'_>) -> Result<Vec<Body>> {
        Ok(Vec::new())
    }
    fn prepare(&self, _: &PrepareContext<'_>) -> Result<milepost_codec::RestorePart> {
        Ok(milepost_codec::RestorePart {
            participant: "stuck".into(),
            place: milepost::events::Data::Json(milepost::Json::string("here")),
            note: None,
            plan: milepost_codec::ChunkList::default(),
            roots: Vec::new(),
        })
    }
    fn apply(&self, _: &Engine, _: &PendingRestore) -> Result<Vec<Body>> {
        Err(Error::invalid("a file is in the way"))
    }
    fn abort(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        Err(Error::invalid("a file is in the way"))
    }
    fn finish(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        Err(Error::invalid("a file is in the way"))
    }
}

#[test]
fn a_pending_restore_of_one_task_is_no_failure_of_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let store = FailoverEngine::open(path, Options::default(), FailoverOptions::default()).unwrap();
    let engine = store.engine().unwrap();
    let task = engine.start_task("held", "ana").unwrap();
    let free = engine.start_task("free", "ana").unwrap();
    task.append(Message::text("user", "one")).unwrap();
    let point = task.point(1).unwrap();
    assert!(engine.restore(&point).with(Arc::new(Stuck)).run().is_err());
    assert_eq!(engine.restores().pending().unwrap().len(), 1);

    let held = store.append("held", Message::text("user", "two"));
    assert_eq!(held.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(store.health(), Health::Healthy);
    let done = store.append("free", Message::text("user", "three")).unwrap();
    assert!(matches!(done, Accepted::Appended(_)), "{done:?}");
    free.append(Message::text("user", "four")).unwrap();
    let stats = store.stats();
    assert_eq!((stats.degraded, stats.reopened, stats.buffered), (0, 0, 0));
    store.close().unwrap();
}
