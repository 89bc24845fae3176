//! Hooks: told before and after, may refuse, break nothing.

use std::sync::{Arc, Mutex};

use milepost::{Checkpoint, Engine, ErrorKind, Hook, Mark, Options, Point, Task};

/// Writes its notifications down; refuses, or panics at, those with one of these words.
struct Scribe {
    told: Mutex<Vec<String>>,
    refuses: &'static str,
    panics: &'static str,
}

impl Scribe {
    fn new(refuses: &'static str, panics: &'static str) -> Arc<Self> {
        Arc::new(Self { told: Mutex::default(), refuses, panics })
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    fn tell(&self, what: String) -> Result<(), String> {
        self.told.lock().unwrap().push(what.clone());
        assert!(self.panics.is_empty() || !what.contains(self.panics), "told to");
        match !self.refuses.is_empty() && what.contains(self.refuses) {
            true => Err("not now".into()),
            false => Ok(()),
        }
    }
}

impl Hook for Scribe {
    fn name(&self) -> &str {
        "scribe"
    }

    fn before_checkpoint(&self, task: &Task, mark: &Mark) -> Result<(), String> {
        let label = mark.label_given().unwrap_or_default();
        self.tell(format!("before {label} of {}", task.id()))
    }

    fn after_checkpoint(&self, _: &Task, checkpoint: &Checkpoint) {
        let label = checkpoint.label.as_deref().unwrap_or_default();
        self.tell(format!("after {label}")).unwrap();
    }

    fn before_restore(&self, point: &Point) -> Result<(), String> {
        self.tell(format!("before going to {point}"))
    }

    fn after_restore(&self, task: &Task) {
        self.tell(format!("after going to lineage {}", task.lineage().id())).unwrap();
    }
}

#[test]
fn hooks_are_told_before_and_after_checkpoints_and_restores() {
    let scribe = Scribe::new("", "");
    let engine = Engine::in_memory(Options::default().hook(scribe.clone())).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.checkpoint(Mark::new().label("one")).unwrap();
    engine.restore(&task.point(1).unwrap()).run().unwrap();
    let expected =
        ["before one of t", "after one", "before going to t/0@1", "after going to lineage 1"];
    assert_eq!(scribe.told(), expected);
}

#[test]
fn a_hook_that_refuses_leaves_everything_as_it_was_and_is_named() {
    let scribe = Scribe::new("before", "");
    let engine = Engine::in_memory(Options::default().hook(scribe.clone())).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let head = task.head().unwrap();
    let refused = task.checkpoint(Mark::new()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert!(refused.to_string().contains("scribe: not now"), "{refused}");
    let refused = engine.restore(&task.point(1).unwrap()).run().unwrap_err();
    assert!(refused.to_string().contains("scribe: not now"), "{refused}");
    assert_eq!(task.head().unwrap(), head);
    assert_eq!(task.lineages().unwrap().len(), 1);
    assert_eq!(scribe.told().len(), 2, "nobody is told after what did not happen");
}

#[test]
fn a_hook_that_panics_stops_nothing_and_those_behind_it_are_told() {
    let (bad, good) = (Scribe::new("", "t"), Scribe::new("", ""));
    let options = Options::default().hook(bad.clone()).hook(good.clone());
    let engine = Engine::in_memory(options).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.checkpoint(Mark::new().label("one")).unwrap();
    engine.restore(&task.point(1).unwrap()).run().unwrap();
    assert_eq!(good.told().len(), 4);
    assert_eq!(bad.told().len(), 4);
}

#[test]
fn an_undo_asks_and_tells_the_hooks_of_restores() {
    let scribe = Scribe::new("", "");
    let engine = Engine::in_memory(Options::default().hook(scribe.clone())).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(milepost::events::Message::text("user", "hello")).unwrap();
    engine.restore(&task.point(1).unwrap()).run().unwrap();
    let before = scribe.told().len();
    engine.undo("t").run().unwrap();
    let told = scribe.told();
    assert_eq!(told[before..], ["before going to t/0@2", "after going to lineage 0"]);

    let scribe = Scribe::new("t/0@2", "");
    let engine = Engine::in_memory(Options::default().hook(scribe)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(milepost::events::Message::text("user", "hello")).unwrap();
    engine.restore(&task.point(1).unwrap()).run().unwrap();
    let refused = engine.undo("t").run().unwrap_err();
    assert!(refused.to_string().contains("not now"), "{refused}");
    assert_eq!(engine.task("t").unwrap().lineage().id().0, 1, "nothing is undone");
}
