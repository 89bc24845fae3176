//! A store that is opened for reading only (`Options::read_only`): it answers as it did, and no
//! byte of its folder is created, changed or locked.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "tests"
)]

mod beside;
mod damaged;
mod glance;
mod mounted;
mod refused;
mod whole;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use milepost::events::Message;
use milepost::query::{CheckpointQuery, TaskQuery};
use milepost::state::MessageRange;
use milepost::{Body, Engine, Error, Mark, Options, StoreKey};
use milepost_tests::bodies;

/// Options that open for reading only.
pub fn to_read() -> Options {
    Options::default().read_only(true)
}

/// A key for keyed stores.
pub fn key() -> StoreKey {
    StoreKey::new(&[7; 32])
}

/// Observation of a name: its inode, mode, times, and the bytes of a file.
type Seen = (u64, u32, i64, i64, Vec<u8>);

/// Every name below a folder, itself too.
pub fn tree(root: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut tree = BTreeMap::new();
    let mut paths = vec![root.to_owned()];
    while let Some(path) = paths.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let mut bytes = Vec::new();
        if meta.is_dir() {
            let entries = fs::read_dir(&path).unwrap();
            paths.extend(entries.map(|entry| entry.unwrap().path()));
        } else {
            bytes = fs::read(&path).unwrap();
        }
        let seen = (meta.ino(), meta.mode(), meta.mtime_nsec(), meta.ctime_nsec(), bytes);
        tree.insert(path, seen);
    }
    tree
}

/// Takes the permission to write from every name below a folder, or gives it back.
pub fn set_writable(root: &Path, writable: bool) {
    let mut paths = vec![root.to_owned()];
    while let Some(path) = paths.pop() {
        let dir = path.is_dir();
        if dir {
            let entries = fs::read_dir(&path).unwrap();
            paths.extend(entries.map(|entry| entry.unwrap().path()));
        }
        let mode = match (dir, writable) {
            (true, true) => 0o700,
            (true, false) => 0o500,
            (false, true) => 0o600,
            (false, false) => 0o400,
        };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// Everything that a store answers, in words.
pub fn answers(engine: &Engine) -> Vec<String> {
    let mut said = Vec::new();
    let tasks = engine.query().tasks(&TaskQuery::default()).unwrap().items;
    for info in &tasks {
        said.push(format!("{info:?}"));
        let task = engine.task(&info.id).unwrap();
        said.push(format!("{:?} {:?}", task.control().now(), task.erased()));
        said.push(format!("{:?}", engine.retention().pins(&info.id).unwrap()));
        said.push(format!("{:?}", engine.restores().of_task(&info.id).unwrap()));
        for lineage in task.lineages().unwrap() {
            said.push(format!("{lineage:?}"));
            let (id, head) = (lineage.id, lineage.head.next);
            let lineage = task.lineage_named(id).unwrap();
            for event in lineage.read(lineage.info().unwrap().begin..).unwrap() {
                said.push(format!("{id}: {:?}", event.unwrap()));
            }
            let begin = lineage.info().unwrap().begin;
            for at in (begin..=head).step_by(97).chain([head]) {
                let point = lineage.point(at).unwrap();
                let state = engine.run_state(&point).unwrap();
                let json = state.to_json(engine.chunks().as_ref(), MessageRange::All);
                said.push(format!("{id}@{at}: {}", json.unwrap()));
                said.push(format!("{id}@{at}: {:?}", engine.hash_at(&point).unwrap()));
            }
            let point = lineage.point(head).unwrap();
            said.push(format!("{:?}", engine.query().blame(&point, "/control", true)));
        }
    }
    let marks = engine.query().checkpoints(&CheckpointQuery::default()).unwrap();
    said.push(format!("{:?}", marks.items));
    let mut export = engine.transfer().export(true).unwrap();
    for id in export.tasks().unwrap() {
        let mut give = |carried: milepost::transfer::ExportItem<'_>| -> Result<(), Error> {
            said.push(format!("{carried:?}"));
            Ok(())
        };
        export.task(&id, &mut give).unwrap();
    }
    let mut anchor = engine.integrity().anchor().unwrap();
    anchor.time_us = 0;
    said.push(format!("{anchor:?}"));
    let mut stats = engine.store().stats().unwrap();
    // Caches, and work that waited at the opening, may differ.
    (stats.snapshots, stats.recovered, stats.torn) = (0, 0, false);
    stats.applied = stats.seq;
    stats.kept = milepost::state::StateCacheStats::default();
    stats.disk = milepost::metrics::DiskBytes::default();
    said.push(format!("{stats:?}"));
    for mut task in engine.query().task_stats(None).unwrap() {
        // Its part of what the store takes, snapshots included.
        task.disk = 0;
        said.push(format!("{task:?}"));
    }
    said
}

/// Compares answers, and says which is the first that differs.
#[track_caller]
pub fn assert_same(now: &[String], before: &[String]) {
    for (now, before) in now.iter().zip(before) {
        assert_eq!(now, before);
    }
    assert_eq!(now.len(), before.len());
}

/// A store with all that a store can have: long events in chunks, several segments, lineages that
/// were restored and undone, keys, an erased event, a trimmed task, a deleted one, a compaction.
pub fn filled(root: &Path, options: Options) {
    let engine = Engine::open(root, options).unwrap();
    for (n, id) in ["essay", "tuning", "gone"].into_iter().enumerate() {
        let task = engine.start_task(id, "ana").unwrap();
        for n in 0..200_u64 {
            task.append(Message::text("user", &bodies::text(n, 600))).unwrap();
            if n % 50 == 10 {
                task.checkpoint(Mark::new().label(format!("at-{n}"))).unwrap();
            }
        }
        let long: Vec<Body> = vec![bodies::bytes(n as u64, 700_000)];
        task.append(milepost::Append::batch(long).key("a-key")).unwrap();
    }
    let point = engine.point("essay@at-60").unwrap();
    let task = engine.restore(&point).description("again").run().unwrap();
    task.append(Message::text("user", "another way")).unwrap();
    let branch = engine.branch(&engine.point("essay@30").unwrap()).run().unwrap();
    branch.append(Message::text("user", "beside it")).unwrap();
    engine.undo("essay").run().unwrap();
    let checkpoint = engine.query().checkpoints(&CheckpointQuery::default()).unwrap().items[0].id;
    engine.retention().pin(&checkpoint, Some("for ever")).unwrap();
    engine.retention().erase(&engine.point("essay@7").unwrap(), None).unwrap();
    let policy = milepost::retention::Policy::new().task("tuning").keep(1).undo(0);
    engine.retention().retain(&policy).unwrap();
    engine.retention().delete_task("gone").unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    let task = engine.task("tuning").unwrap();
    task.append(Message::text("user", "behind the compaction")).unwrap();
    engine.close().unwrap();
}
