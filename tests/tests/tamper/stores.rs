//! The store that is edited, and the faults found in it.

use std::fs;
use std::path::{Path, PathBuf};

use milepost::events::Message;
use milepost::ids::TaskNo;
use milepost::integrity::Anchor;
use milepost::{Append, Engine, Error, ErrorKind, LineageId, Mark, Options, Result, StoreKey};
use milepost_codec::LogId;
use milepost_tests::{bodies, folder};
use tempfile::TempDir;

/// The root of the first task.
pub const ESSAY: LogId =
    LogId { task: TaskNo(1), kind: milepost_codec::LogKind::Lineage(LineageId(0)) };

/// The root of the second.
pub const TUNING: LogId =
    LogId { task: TaskNo(2), kind: milepost_codec::LogKind::Lineage(LineageId(0)) };

pub const SECRET: [u8; 32] = *b"thirty-two bytes that are secret";

pub struct Store {
    pub dir: TempDir,
    pub key: Option<StoreKey>,
    /// Taken of the whole store.
    pub anchor: Anchor,
}

impl Store {
    /// A store that was closed; with a copy from earlier in its life.
    pub fn make(key: Option<StoreKey>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("whole");
        let engine = Engine::open(&root, options(key)).unwrap();
        engine.start_task("essay", "ana").unwrap();
        engine.start_task("tuning", "ben").unwrap();
        write(&engine, 0);
        folder::copy_store(&root, &dir.path().join("between")).unwrap();
        engine.close().unwrap();
        folder::copy(&root, &dir.path().join("older")).unwrap();
        // From a kill on the first segment becomes an archive file.
        let next = dir.path().join("next");
        folder::copy(&dir.path().join("between"), &next).unwrap();
        fs::remove_dir_all(&root).unwrap();
        let engine = Engine::open(&next, options(key)).unwrap();
        let point = engine.point("essay@draft-0").unwrap();
        let aside = engine.branch(&point).description("aside").run().unwrap();
        aside.append(message("on the branch")).unwrap();
        write(&engine, 1);
        let anchor = engine.integrity().anchor().unwrap();
        engine.close().unwrap();
        fs::rename(next, root).unwrap();
        assert_eq!(archived(&dir.path().join("whole")), 1);
        Self { dir, key, anchor }
    }

    pub fn copy(&self, name: &str) -> PathBuf {
        let root = self.dir.path().join(name);
        if root.exists() {
            fs::remove_dir_all(&root).unwrap();
        }
        folder::copy(&self.dir.path().join("whole"), &root).unwrap();
        root
    }

    pub fn open(&self, root: &Path) -> Result<Engine> {
        Engine::open(root, options(self.key))
    }
}

pub fn options(key: Option<StoreKey>) -> Options {
    match key {
        Some(key) => Options::default().key(key),
        None => Options::default(),
    }
}

pub fn archived(root: &Path) -> usize {
    folder::files(&root.join("archive"), ".mpa").unwrap().len()
}

pub fn message(text: &str) -> Message {
    Message::text("user", text)
}

fn write(engine: &Engine, n: u64) {
    for name in ["essay", "tuning"] {
        let task = engine.task(name).unwrap();
        for i in 0..10 {
            let text = format!("said in {name}: {n} {i}");
            task.append(Append::from(message(&text)).time_us(1_000 + i)).unwrap();
            task.append(bodies::body(2, n * 10 + i, 0)).unwrap();
        }
        let mark = Mark::new().label(format!("draft-{n}"));
        task.checkpoint(mark).unwrap();
    }
    for i in 0..3 {
        let task = engine.task("tuning").unwrap();
        task.append(message(&format!("after the mark: {n} {i}"))).unwrap();
    }
}

/// All texts that were said in a task's active lineage.
pub fn said(engine: &Engine, task: &str) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for event in engine.task(task)?.read(..)? {
        if let Some(milepost::Body::Message(message)) = event?.body {
            let text = message.content.map(|json| json.to_string());
            all.push(text.unwrap_or_default());
        }
    }
    Ok(all)
}

/// Returns the faults that `verify` finds.
pub fn faults(engine: &Engine) -> Vec<String> {
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    let faults = report.faults.into_iter();
    faults.map(|f| format!("{}: {}", f.place, f.message)).collect()
}

/// Opens as an anchored store.
pub fn open_anchored(store: &Store, root: &Path, anchor: &Anchor) -> Result<Engine> {
    let path = root.with_extension("anchor");
    fs::write(&path, anchor.to_json()).unwrap();
    Engine::open(root, options(store.key).anchor_to(&path))
}

pub fn assert_corrupt(error: &Error, how: &str) {
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{how}: {error}");
}
