//! Hooks and captures of appends and checkpoints, through a task and through a lineage.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost_codec::{Message, RestorePart};

use crate::restore::{CaptureContext, PendingRestore, PrepareContext};
use crate::{
    Append, Body, Checkpoint, Engine, ErrorKind, Hook, Mark, Options, Participant, Result, Task,
};

/// A hook that counts its calls before and after a checkpoint.
#[derive(Default)]
struct Counts {
    before: AtomicU64,
    after: AtomicU64,
}

impl Counts {
    fn of(&self) -> (u64, u64) {
        (self.before.load(Ordering::SeqCst), self.after.load(Ordering::SeqCst))
    }
}

impl Hook for Counts {
    fn name(&self) -> &str {
        "counts"
    }

    fn before_checkpoint(&self, _: &Task, _: &Mark) -> std::result::Result<(), String> {
        self.before.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn after_checkpoint(&self, _: &Task, _: &Checkpoint) {
        self.after.fetch_add(1, Ordering::SeqCst);
    }
}

/// A participant whose capture is a message.
struct Notes;

impl Participant for Notes {
    fn name(&self) -> &str {
        "notes"
    }

    fn capture(&self, _: &CaptureContext<'_>) -> Result<Vec<Body>> {
        Ok(vec![say("captured")])
    }

    fn prepare(&self, _: &PrepareContext<'_>) -> Result<RestorePart> {
        unreachable!("nothing is restored")
    }

    fn apply(&self, _: &Engine, _: &PendingRestore) -> Result<Vec<Body>> {
        unreachable!("nothing is restored")
    }

    fn abort(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        unreachable!("nothing is restored")
    }

    fn finish(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        unreachable!("nothing is restored")
    }
}

fn say(text: &str) -> Body {
    Message::text("user", text).into()
}

/// Returns the texts of the messages of a task.
fn texts(task: &Task) -> Vec<String> {
    let text =
        |message: Message| message.content.unwrap().value().unwrap().as_str().unwrap().to_owned();
    task.messages().unwrap().map(|message| text(message.unwrap())).collect()
}

fn engine() -> (Engine, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let hook = Arc::clone(&counts);
    (Engine::in_memory(Options::default().hook(hook)).unwrap(), counts)
}

#[test]
fn captures_come_before_events_that_ask_for_them_and_the_other_doors_refuse_it() {
    let (engine, _) = engine();
    let task = engine.start_task("t", "ana").unwrap();
    let _joined = engine.restores().join(&task, Arc::new(Notes)).unwrap();
    let call = || Append::from(say("call")).after_capture();
    task.append(call()).unwrap();
    let kept = call();
    task.lineage().append(&kept).unwrap();
    task.submit(call()).unwrap().wait().unwrap();
    assert_eq!(texts(&task), ["captured", "call"].repeat(3));

    let head = task.head().unwrap();
    let each = Append::each_keyed([("a", say("each"))]).after_capture();
    let point = task.point(1).unwrap();
    for refused in [
        task.append(call().key("k")).map(drop),
        task.append(call().mark(Mark::new())).map(drop),
        task.append_marked(call(), Mark::new()).map(drop),
        task.append(each).map(drop),
        task.try_submit(&call()).map(drop),
        engine.branch(&point).append(call()).map(drop),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!(task.head().unwrap(), head);
}

#[test]
fn a_checkpoint_calls_hooks_and_captures_through_a_task_and_through_a_lineage() {
    let (engine, counts) = engine();
    let task = engine.start_task("t", "ana").unwrap();
    let _joined = engine.restores().join(&task, Arc::new(Notes)).unwrap();
    task.append(Append::from(say("one")).mark(Mark::new())).unwrap();
    task.lineage().append(Append::from(say("two")).mark(Mark::new())).unwrap();
    task.lineage().checkpoint(Mark::new()).unwrap();
    assert_eq!(counts.of(), (3, 3));
    assert_eq!(texts(&task), ["one", "captured", "two", "captured", "captured"]);
}

#[test]
fn a_repetition_under_a_key_calls_no_hook_and_captures_nothing() {
    let (engine, counts) = engine();
    let task = engine.start_task("t", "ana").unwrap();
    let _joined = engine.restores().join(&task, Arc::new(Notes)).unwrap();
    let append = Append::from(say("one")).key("k").mark(Mark::new());
    let first = task.append(&append).unwrap();
    let head = task.head().unwrap();
    for again in [task.append(&append), task.lineage().append(&append)] {
        let again = again.unwrap();
        assert!(again.repeated);
        assert_eq!((again.first, again.checkpoint), (first.first, first.checkpoint));
    }
    assert_eq!((task.head().unwrap(), counts.of()), (head, (1, 1)));
    let other = task.append(Append::from(say("other")).key("k").mark(Mark::new()));
    assert_eq!(other.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!((task.head().unwrap(), counts.of()), (head, (1, 1)));
}

#[test]
fn keys_of_single_events_are_refused_before_anything_is_captured() {
    let (engine, counts) = engine();
    let task = engine.start_task("t", "ana").unwrap();
    let _joined = engine.restores().join(&task, Arc::new(Notes)).unwrap();
    let head = task.head().unwrap();
    let each = || Append::each_keyed([("a", say("one"))]);
    task.submit(each().mark(Mark::new())).map(drop).unwrap_err();
    task.append_marked(each(), Mark::new()).map(drop).unwrap_err();
    assert_eq!((task.head().unwrap(), counts.of()), (head, (0, 0)));
}
