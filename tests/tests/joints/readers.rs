//! Readers that were opened before content was withdrawn.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use milepost::events::RunControl;
use milepost::ids::ChunkId;
use milepost::query::{CheckpointQuery, TaskQuery};
use milepost::state::{Chunks, MessageRange};
use milepost::subscribe::{Follower, SubscribeOptions};
use milepost::transfer::{Export, ExportItem};
use milepost::{
    Engine, Error, Event, Events, Point, Reducer, Result, RunState, Subscription, Task,
};
use milepost_runtime::run::{Run, RunOptions};

/// Whatever gives content of a task.
pub struct Readers {
    events: Events,
    subscription: Subscription,
    follower: Follower,
    task: Task,
    run: Run,
    export: Export,
    point: Point,
}

impl Readers {
    /// Opens them, and pauses a run of the task.
    pub fn open(engine: &Engine, task: &Task) -> Self {
        let run = Run::of(task.clone(), RunOptions::default()).unwrap();
        // A task that is paused already stays so.
        if run.begin().is_ok() {
            task.control().change(RunControl::Paused, None).unwrap();
        }
        let at = |offset| task.point(offset).unwrap();
        let point = at(task.head().unwrap().next);
        // This one is kept in memory, where it is of a checkpoint.
        let _ = engine.run_state(&point).unwrap();
        let begin = task.read(..).unwrap().next().unwrap().unwrap().offset;
        Self {
            events: task.read(..).unwrap(),
            subscription: task.subscribe(begin, SubscribeOptions::default()).unwrap(),
            follower: task.follow(begin).unwrap(),
            task: task.clone(),
            run,
            export: engine.transfer().export(true).unwrap(),
            point,
        }
    }

    /// All that they give, and all that the store tells.
    pub fn given(mut self, engine: &Engine) -> Vec<String> {
        let mut given = Vec::new();
        let mut tell = |told: String| given.push(told);
        for event in self.events.by_ref() {
            tell(format!("{event:?}"));
        }
        while let Ok(Some(event)) = self.subscription.try_next() {
            tell(format!("{event:?}"));
        }
        while let Ok(Some(followed)) = self.follower.try_next() {
            tell(format!("{followed:?}"));
        }
        for event in self.task.read(..).into_iter().flatten() {
            tell(format!("{event:?}"));
        }
        tell(format!("{:?} {:?}", self.task.info(), self.task.control().now()));
        for lineage in self.task.lineages().into_iter().flatten() {
            tell(format!("{lineage:?}"));
        }
        let mut state = |state: Result<RunState>| {
            let chunks = engine.chunks();
            let json = state.map(|state| state.to_json(chunks.as_ref(), MessageRange::All));
            tell(format!("{json:?}"));
        };
        state(self.run.state());
        state(engine.run_state(&self.point));
        let _ = self.export.task(self.task.id(), &mut |carried| {
            match carried {
                ExportItem::Event(event) => tell(String::from_utf8_lossy(&event.header).into()),
                ExportItem::Chunk(chunk) => tell(String::from_utf8_lossy(&chunk.content).into()),
                _ => {}
            }
            tell(format!("{carried:?}"));
            Ok::<(), Error>(())
        });
        let marks = engine.query().checkpoints(&CheckpointQuery::default());
        tell(format!("{:?}", marks.unwrap().items));
        let tasks = engine.query().tasks(&TaskQuery::default()).unwrap().items;
        for task in &tasks {
            tell(format!("{task:?} {:?}", engine.retention().pins(&task.id)));
        }
        given
    }
}

/// Waits at the first event with a text, and then stores that in a chunk.
struct Slow {
    text: String,
    reached: Mutex<Option<Sender<()>>>,
    go: Mutex<Receiver<()>>,
    stored: Mutex<Option<ChunkId>>,
}

impl Reducer for &'static Slow {
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
        let said = format!("{event:?}");
        if said.contains(&self.text)
            && let Some(reached) = self.reached.lock().unwrap().take()
        {
            reached.send(()).unwrap();
            self.go.lock().unwrap().recv().unwrap();
            let begin = said.find(&self.text).unwrap();
            let id = chunks.put(&said.as_bytes()[begin..begin + self.text.len()], false)?;
            *self.stored.lock().unwrap() = Some(id);
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

/// Does something while a state is folded from an event with a text. Gives the chunk that the fold
/// stored of it afterwards; none where no event has the text.
pub fn beside_a_fold(
    engine: &Engine,
    point: &Point,
    text: &str,
    work: impl FnOnce(),
) -> Option<ChunkId> {
    let ((reached, is_reached), (go, goes)) = (channel(), channel());
    let slow: &'static Slow = Box::leak(Box::new(Slow {
        text: text.to_owned(),
        reached: Mutex::new(Some(reached)),
        go: Mutex::new(goes),
        stored: Mutex::default(),
    }));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = engine.state(&slow, point);
            // Not reached, where it did not stop.
            slow.reached.lock().unwrap().take();
        });
        let _ = is_reached.recv();
        work();
        let _ = go.send(());
    });
    *slow.stored.lock().unwrap()
}
