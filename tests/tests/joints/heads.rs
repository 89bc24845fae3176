//! An expected head together with participants of a restore, whose mark moves the head.

use std::sync::Arc;

use milepost::calls::Conditions;
use milepost::events::{Application, Data, Message};
use milepost::restore::{CaptureContext, PendingRestore, PrepareContext};
use milepost::{Body, Detail, Engine, Error, ErrorKind, Json, Options, Participant, Result, Task};
use milepost_codec::{ChunkList, RestorePart};

/// A participant that captures something, or nothing, and appends while it prepares if told to.
#[derive(Debug, Clone, Copy)]
struct Part {
    captures: bool,
    appends: bool,
}

impl Participant for Part {
    fn name(&self) -> &str {
        "part"
    }
    fn capture(&self, _: &CaptureContext<'_>) -> Result<Vec<Body>> {
        let event = || Application { name: "captured".into(), data: Data::Bytes(vec![1]) }.into();
        Ok(self.captures.then(event).into_iter().collect())
    }
    fn prepare(&self, context: &PrepareContext<'_>) -> Result<RestorePart> {
        if self.appends {
            context.task.append(Message::text("user", "in between"))?;
        }
        Ok(RestorePart {
            participant: "part".into(),
            place: Data::Json(Json::string("here")),
            note: None,
            plan: ChunkList::default(),
            roots: Vec::new(),
        })
    }
    fn apply(&self, _: &Engine, _: &PendingRestore) -> Result<Vec<Body>> {
        Ok(Vec::new())
    }
    fn abort(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        Ok(())
    }
    fn finish(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        Ok(())
    }
}

fn restore(engine: &Engine, part: Part, head: u64) -> Result<Task> {
    let to = engine.point("t/0@1")?;
    let conditions = Conditions::new().expect_head(head);
    engine.restore(&to).with(Arc::new(part)).conditions(conditions).run()
}

fn head_in(error: &Error) -> Option<u64> {
    match error.detail() {
        Some(Detail::Head(head)) if error.kind() == ErrorKind::Conflict => Some(head.next),
        _ => None,
    }
}

#[test]
fn a_restore_with_participants_is_done_where_the_head_is_the_expected_one_and_nowhere_else() {
    for captures in [false, true] {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        task.append(Message::text("user", "one")).unwrap();
        let quiet = Part { captures, appends: false };
        // Another head: nothing is done, not even the mark.
        for head in [1, 3] {
            let error = restore(&engine, quiet, head).unwrap_err();
            assert_eq!(head_in(&error), Some(2), "{error}");
        }
        assert_eq!(task.head().unwrap().next, 2);
        // An append while it prepares: the mark is there, the restore is not.
        let error = restore(&engine, Part { captures, appends: true }, 2).unwrap_err();
        let head = task.head().unwrap().next;
        assert_eq!(head_in(&error), Some(head), "{error}");
        assert_eq!(engine.task("t").unwrap().epoch(), task.epoch());
        assert!(engine.restores().pending().unwrap().is_empty());
        // The expected head.
        let back = restore(&engine, quiet, head).unwrap();
        assert_eq!((back.epoch(), back.lineage().id().0), (task.epoch() + 1, 1));
        // An undo of it, with the same participant.
        let head = back.head().unwrap().next;
        let undo = |head| {
            let conditions = Conditions::new().expect_head(head);
            engine.undo("t").with(Arc::new(quiet)).conditions(conditions).run()
        };
        assert_eq!(head_in(&undo(head + 1).unwrap_err()), Some(head));
        assert_eq!(undo(head).unwrap().lineage().id().0, 0);
        assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
    }
}
