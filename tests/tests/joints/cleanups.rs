//! Cleanups with concurrent marks and with missing reducers (I10).

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use milepost::events::Message;
use milepost::retention::Policy;
use milepost::state::Chunks;
use milepost::{Body, Engine, Error, Event, Mark, Options, Reducer, Result};

/// Counts events. Says when a fold meets the first message, and waits then.
struct Waits {
    reached: Mutex<Sender<()>>,
    go: Mutex<Receiver<()>>,
}

fn decode(bytes: &[u8]) -> Result<u64> {
    let len = bytes.len();
    let bytes = bytes.try_into();
    bytes.map(u64::from_le_bytes).map_err(|_| Error::corrupt("count", 8, len))
}

impl Reducer for Waits {
    type State = u64;
    fn name(&self) -> &str {
        "test.waits"
    }
    fn version(&self) -> u32 {
        1
    }
    fn initial(&self) -> u64 {
        0
    }
    fn apply(&self, state: &mut u64, event: &Event, _: &dyn Chunks) -> Result<()> {
        if event.offset == 1 {
            let _ = self.reached.lock().unwrap().send(());
            let _ = self.go.lock().unwrap().recv();
        }
        *state += 1;
        Ok(())
    }
    fn encode(&self, state: &u64) -> Result<Vec<u8>> {
        Ok(state.to_le_bytes().to_vec())
    }
    fn decode(&self, bytes: &[u8]) -> Result<u64> {
        decode(bytes)
    }
}

#[test]
fn a_checkpoint_that_is_marked_while_a_cleanup_runs_stays() {
    let dir = tempfile::tempdir().unwrap();
    let ((reached, is_reached), (go, goes)) = (channel(), channel());
    let waits = Waits { reached: Mutex::new(reached), go: Mutex::new(goes) };
    let options = Options::default().snapshots(false).reducer(waits);
    let engine = Engine::open(dir.path().join("store"), options).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    for n in 0..20 {
        task.append(Message::text("user", &format!("m{n}"))).unwrap();
    }
    let branch = engine.branch(&task.point(3).unwrap()).run().unwrap();
    for _ in 0..3 {
        task.checkpoint(Mark::new()).unwrap();
    }
    let mark = thread::scope(|scope| {
        let cleanup = scope.spawn(|| engine.retention().retain(&Policy::new().keep(1)).unwrap());
        is_reached.recv().unwrap();
        let body = Body::from(Message::text("user", "worked out on the branch"));
        branch.append(body).unwrap();
        let mark = branch.checkpoint(Mark::new().label("good")).unwrap();
        drop(go);
        let report = cleanup.join().unwrap();
        assert!(report.tasks.iter().all(|task| task.error.is_none()), "{report:?}");
        mark
    });
    let point = engine.point(&format!("@{}", mark.id)).unwrap();
    engine.restore(&point).run().unwrap();
}

/// Counts messages.
#[derive(Clone, Copy)]
struct Count;

impl Reducer for Count {
    type State = u64;
    fn name(&self) -> &str {
        "test.count"
    }
    fn version(&self) -> u32 {
        1
    }
    fn initial(&self) -> u64 {
        0
    }
    fn apply(&self, state: &mut u64, event: &Event, _: &dyn Chunks) -> Result<()> {
        *state += u64::from(matches!(event.body, Some(Body::Message(_))));
        Ok(())
    }
    fn encode(&self, state: &u64) -> Result<Vec<u8>> {
        Ok(state.to_le_bytes().to_vec())
    }
    fn decode(&self, bytes: &[u8]) -> Result<u64> {
        decode(bytes)
    }
}

#[test]
fn a_cleanup_without_a_reducer_leaves_its_states() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default().reducer(Count)).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let mut messages = 0;
    // The snapshotter is a thread of its own: more events until it made one.
    while engine.store().stats().unwrap().snapshots < 4 {
        let text = format!("{messages} {}", "x".repeat(1000));
        task.append(Message::text("user", &text)).unwrap();
        messages += 1;
        assert!(messages < 100_000);
    }
    for _ in 0..3 {
        task.checkpoint(Mark::new()).unwrap();
    }
    drop(task);
    engine.close().unwrap();
    // As the command does.
    let engine = Engine::open(&root, Options::default()).unwrap();
    let report = engine.retention().retain(&Policy::new().keep(1)).unwrap();
    let error = report.tasks[0].error.as_ref().unwrap();
    assert!(error.to_string().contains("test.count"), "{error}");
    assert!(report.tasks[0].trimmed.is_empty());
    engine.close().unwrap();
    let engine = Engine::open(&root, Options::default().reducer(Count)).unwrap();
    let point = engine.point("essay").unwrap();
    assert_eq!(engine.state(&Count, &point).unwrap(), messages);
    // With the reducer the cleanup goes through, and its state stays.
    let report = engine.retention().retain(&Policy::new().keep(1)).unwrap();
    assert!(!report.tasks[0].trimmed.is_empty(), "{report:?}");
    assert_eq!(engine.state(&Count, &point).unwrap(), messages);
}

#[test]
fn a_lineage_that_forks_before_the_base_of_its_parent_keeps_all_of_its_own() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let branch = engine.branch(&task.point(0).unwrap()).run().unwrap();
    branch.append(Body::from(Message::text("user", "of the branch"))).unwrap();
    for n in 0..4 {
        task.append(Message::text("user", &format!("m{n}"))).unwrap();
        task.checkpoint(Mark::new()).unwrap();
    }
    let policy = Policy::new().keep(1).undo(0).keep_lineages(true);
    let report = engine.retention().retain(&policy).unwrap();
    assert!(!report.tasks[0].trimmed.is_empty(), "{report:?}");
    let read: Vec<_> = branch.read(..).unwrap().map(|event| event.unwrap().offset).collect();
    assert_eq!(read, [0, 1]);
    branch.checkpoint(Mark::new()).unwrap();
    let point = branch.point(2).unwrap();
    assert_eq!(engine.run_state(&point).unwrap().messages.len(), 1);
    engine.restore(&point).run().unwrap();
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.faults);
}
