//! Whatever was recorded can be gone back to: at every checkpoint of every run the state is the
//! fold from the beginning, before and after a restore (promises I5 and I7).

use std::path::{Path, PathBuf};
use std::process::Command;

use milepost::query::{CheckpointQuery, TaskQuery};
use milepost::state::{MemoryChunks, RunReducer, fold};
use milepost::{Checkpoint, Engine, Options, Reducer};

use crate::common::real_runs;

/// Records files with the command, then opens the store.
fn recorded(folder: &Path, files: &[PathBuf]) -> Engine {
    let store = folder.join("store");
    let output = Command::new(env!("CARGO_BIN_EXE_milepost"))
        .arg("--store")
        .arg(&store)
        .arg("record")
        .args(files)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Engine::open(store, Options::default()).unwrap()
}

/// The encoded state of a task's lineage before an offset, folded from the beginning.
fn from_zero(engine: &Engine, checkpoint: &Checkpoint) -> Vec<u8> {
    let task = engine.task(&checkpoint.task).unwrap();
    let lineage = task.lineage_named(checkpoint.lineage).unwrap();
    let events = lineage.read(..checkpoint.at).unwrap();
    let chunks = MemoryChunks::default();
    let state = fold(&RunReducer, RunReducer.initial(), events, &chunks).unwrap();
    RunReducer.encode(&state).unwrap()
}

/// Restores every checkpoint of every task; returns their number.
fn go_back_everywhere(engine: &Engine) -> usize {
    let every = Some(usize::MAX);
    let tasks = TaskQuery { limit: every, ..Default::default() };
    let mut count = 0;
    for task in engine.query().tasks(&tasks).unwrap().items {
        let before = engine.task(&task.id).unwrap().head().unwrap();
        let query =
            CheckpointQuery { task: Some(task.id.clone()), limit: every, ..Default::default() };
        let checkpoints = engine.query().checkpoints(&query).unwrap().items;
        for checkpoint in &checkpoints {
            let expected = from_zero(engine, checkpoint);
            let point = engine.point(&format!("@{}", checkpoint.id)).unwrap();
            let encoded = |state| RunReducer.encode(&state).unwrap();
            assert_eq!(encoded(engine.run_state(&point).unwrap()), expected, "{point}");
            let back = engine.restore(&point).run().unwrap();
            let head = back.point(back.head().unwrap().next).unwrap();
            assert_eq!(encoded(engine.run_state(&head).unwrap()), expected, "{point}");
            engine.undo(&task.id).run().unwrap();
        }
        count += checkpoints.len();
        let after = engine.task(&task.id).unwrap();
        assert_eq!(after.lineage().id(), task.active, "undone");
        assert_eq!(after.head().unwrap(), before, "a restore changes nothing there");
    }
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.faults);
    count
}

fn folder_of(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "traj" || e == "json"));
    files.sort();
    files
}

#[test]
fn every_checkpoint_of_our_own_runs_can_be_gone_back_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = folder_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"));
    files.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/run.jsonl"));
    let engine = recorded(folder.path(), &files);
    assert!(go_back_everywhere(&engine) > 5);
}

#[test]
fn every_checkpoint_of_every_real_run_can_be_gone_back_to() {
    let Some(data) = real_runs() else { return };
    let mut files = folder_of(&data.join("swe-agent"));
    files.extend(folder_of(&data.join("tau-bench")));
    let folder = tempfile::tempdir().unwrap();
    let engine = recorded(folder.path(), &files);
    let count = go_back_everywhere(&engine);
    println!("went back to {count} checkpoints");
    assert!(count > 1000);
}
