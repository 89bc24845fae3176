//! Folds that are under way while content is withdrawn.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use milepost::events::{Application, Data, Message};
use milepost::state::{Chunks, StateCacheOptions};
use milepost::{Body, Engine, Event, Mark, Options, Reducer, Result};
use milepost_tests::seed::Random;

use crate::joints::holding;

/// Keeps its input in chunks, as the built-in fold does with messages. Waits before it does.
struct Slow {
    reached: Mutex<Sender<()>>,
    go: Mutex<Receiver<()>>,
}

impl Reducer for Slow {
    type State = Vec<u8>;
    fn name(&self) -> &str {
        "test.slow"
    }
    fn version(&self) -> u32 {
        1
    }
    fn initial(&self) -> Vec<u8> {
        Vec::new()
    }
    fn apply(&self, _: &mut Vec<u8>, event: &Event, chunks: &dyn Chunks) -> Result<()> {
        if let Some(Body::Application(application)) = &event.body
            && let Data::Bytes(bytes) = &application.data
        {
            self.reached.lock().unwrap().send(()).unwrap();
            self.go.lock().unwrap().recv().unwrap();
            chunks.put(bytes, false)?;
        }
        Ok(())
    }
    fn encode(&self, state: &Vec<u8>) -> Result<Vec<u8>> {
        Ok(state.clone())
    }
    fn decode(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        Ok(bytes.to_vec())
    }
}

#[test]
fn a_fold_that_is_under_way_does_not_bring_back_what_is_erased() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default().snapshots(false)).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let secret = Random::new(5).bytes(700);
    let data = Data::Bytes(secret.clone());
    let name = "s".into();
    task.append(Body::from(Application { name, data })).unwrap();
    let ((reached, is_reached), (go, goes)) = (channel(), channel());
    let slow = Slow { reached: Mutex::new(reached), go: Mutex::new(goes) };
    thread::scope(|scope| {
        scope.spawn(|| drop(engine.state(&slow, &engine.point("essay").unwrap())));
        is_reached.recv().unwrap();
        engine.retention().erase(&engine.point("essay@1").unwrap(), None).unwrap();
        go.send(()).unwrap();
    });
    assert!(!holding(&root, &secret[100..160]).is_empty());
    engine.retention().compact(&mut |_| {}).unwrap();
    assert!(holding(&root, &secret[100..160]).is_empty());
}

#[test]
fn a_state_that_is_kept_is_folded_on_by_descendants_up_to_their_fork_and_no_further() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let mut task = engine.start_task("essay", "ana").unwrap();
    let mut random = Random::new(7);
    let mut points = Vec::new();
    for n in 0..60 {
        task.append(Message::text("user", &format!("message {n}"))).unwrap();
        let mark = task.checkpoint(Mark::new()).unwrap();
        let point = engine.point(&mark.id.to_string()).unwrap();
        engine.run_state(&point).unwrap();
        if n % 3 == 2 {
            // Between kept states, whose lineages end before or after it.
            let head = task.head().unwrap().next;
            let back = task.point(head - random.below(8).min(head)).unwrap();
            task = engine.restore(&back).run().unwrap();
        }
        let point = task.point(task.head().unwrap().next).unwrap();
        points.push((point.clone(), engine.run_state(&point).unwrap()));
    }
    drop(task);
    engine.close().unwrap();
    let none = StateCacheOptions { count: 0, ..StateCacheOptions::default() };
    let engine = Engine::open(&root, Options::default().keep_states(none)).unwrap();
    for (point, state) in points {
        assert_eq!(engine.run_state(&point).unwrap(), state, "{point:?}");
    }
}
