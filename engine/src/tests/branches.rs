//! Branches that are opened together with their first events.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use parking_lot::Mutex;

use crate::calls::Conditions;
use crate::events::Message;
use crate::{Append, Body, Checkpoint, Engine, ErrorKind, Hook, Mark, Options, Task};

fn say(text: &str) -> Append {
    Append::from(Message::text("user", text))
}

/// Returns a task with two steps, each with a checkpoint.
fn thread(engine: &Engine) -> Task {
    let task = engine.start_task("thread", "ana").unwrap();
    for step in ["one", "two"] {
        task.append_marked(say(step), Mark::new().alias(step)).unwrap();
    }
    task
}

fn texts(lineage: &crate::Lineage) -> Vec<String> {
    let events = lineage.read(..).unwrap().map(|event| event.unwrap().body);
    let text = |body: Option<Body>| match body {
        Some(Body::Message(said)) => Some(said.content.unwrap().text().to_owned()),
        _ => None,
    };
    events.filter_map(text).collect()
}

fn verify(engine: &Engine) {
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.faults.is_empty(), "{:#?}", report.faults);
}

#[test]
fn a_branch_has_its_first_events_and_their_checkpoint_and_the_active_lineage_stays() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = thread(&engine);
    let long = "x".repeat(100_000);
    let other = Append::batch([Message::text("user", "other"), Message::text("user", &long)]);
    let first = engine.query().checkpoint("one").unwrap();
    let from = engine.point("@one").unwrap();
    let before = task.append(say("before")).unwrap().seq;
    let other = other.mark(Mark::new().alias("two-b"));
    let (branch, appended) = engine.branch(&from).description("again").append(other).unwrap();
    assert_eq!(appended.seq, before + 1);
    assert_eq!(texts(&branch), ["\"one\"".into(), "\"other\"".into(), format!("\"{long}\"")]);
    assert_eq!((appended.count, appended.repeated), (2, false));
    let mark = engine.query().checkpoint("two-b").unwrap();
    assert_eq!(Some(mark.id), appended.checkpoint);
    assert_eq!(
        (mark.lineage, mark.at, mark.parent),
        (branch.id(), appended.first + 2, Some(first.id))
    );
    assert_eq!(engine.task("thread").unwrap().lineage().id(), task.lineage().id());
    task.append(say("three")).unwrap();
    verify(&engine);
}

#[test]
fn a_key_opens_one_branch() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = thread(&engine);
    let from = engine.point("@one").unwrap();
    let (branch, first) = engine.branch(&from).append(say("other").key("k")).unwrap();
    branch.append(say("behind")).unwrap();
    let (same, again) = engine.branch(&from).append(say("other").key("k")).unwrap();
    assert_eq!((same.id(), again.first), (branch.id(), first.first));
    assert!(again.repeated && !first.repeated);
    let error = engine.branch(&from).append(say("another").key("k")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(task.lineages().unwrap().len(), 2);
    // At another point it is another branch.
    let two = engine.point("@two").unwrap();
    let (other, _) = engine.branch(&two).append(say("other").key("k")).unwrap();
    assert_ne!(other.id(), branch.id());
    // A key of the history before the point.
    task.append(say("three").key("of the parent")).unwrap();
    let head = task.point(task.head().unwrap().next).unwrap();
    let error = engine.branch(&head).append(say("three").key("of the parent")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(task.lineages().unwrap().len(), 3);
    verify(&engine);
}

#[test]
fn an_append_that_cannot_be_the_first_one_is_refused_and_opens_nothing() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = thread(&engine);
    let from = engine.point("@one").unwrap();
    let late = task.point(3).unwrap();
    let refused = [
        engine.branch(&from).append(say("x").expect_head(3)).unwrap_err(),
        engine.branch(&from).append(Append::batch::<Body>([])).unwrap_err(),
        engine.branch(&from).description(&*"x".repeat(1025)).append(say("x")).unwrap_err(),
        engine.branch(&late).append(say("x").mark(Mark::new().at(1))).unwrap_err(),
        engine.branch(&from).activate(true).append(say("x")).unwrap_err(),
        engine.branch(&from).conditions(Conditions::new().key("k")).append(say("x")).unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    assert_eq!(task.lineages().unwrap().len(), 1);
}

/// Refuses checkpoints with a label, and keeps the lineage and alias of those that are marked.
#[derive(Default)]
struct Refuses(Mutex<Vec<(u32, String)>>);

impl Hook for Refuses {
    fn name(&self) -> &str {
        "refuses"
    }

    fn before_checkpoint(&self, task: &Task, mark: &Mark) -> Result<(), String> {
        match &mark.body().label {
            Some(label) => Err(format!("no {label} on {}", task.lineage().id())),
            None => Ok(()),
        }
    }

    fn after_checkpoint(&self, task: &Task, checkpoint: &Checkpoint) {
        assert_eq!(task.lineage().id(), checkpoint.lineage);
        self.0.lock().push((checkpoint.lineage.0, checkpoint.aliases.concat()));
    }
}

#[test]
fn hooks_are_asked_about_the_checkpoint_of_a_branch_and_told_of_it() {
    let hook = Arc::new(Refuses::default());
    let options = Options::default().hook(hook.clone());
    let engine = Engine::in_memory(options).unwrap();
    let task = thread(&engine);
    let from = engine.point("@one").unwrap();
    let labelled = say("x").mark(Mark::new().label("draft"));
    let error = engine.branch(&from).append(labelled).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("no draft on 0"), "{error}");
    assert_eq!(task.lineages().unwrap().len(), 1);
    let aliased = || say("x").mark(Mark::new().alias("branch")).key("once");
    for _ in 0..2 {
        engine.branch(&from).append(aliased()).unwrap();
    }
    assert_eq!(task.lineages().unwrap().len(), 2);
    engine.store().drain().unwrap();
    let told = [(0, "one".to_owned()), (0, "two".to_owned()), (1, "branch".to_owned())];
    assert_eq!(*hook.0.lock(), told);
}
