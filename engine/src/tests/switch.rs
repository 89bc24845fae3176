//! Tests: switches between lineages, and redos of undos, against a model of two stacks.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::sync::{Arc, Mutex};

use milepost_codec::{Data, RestorePart};
use proptest::prelude::*;

use crate::calls::Conditions;
use crate::events::Message;
use crate::restore::{CaptureContext, PendingRestore, PrepareContext};
use crate::subscribe::{Followed, LineageChanged};
use crate::{
    Body, Detail, Engine, Error, ErrorKind, Hook, Lineage, LineageId, Offset, Options, Participant,
    Point, Restore, Result, Task,
};

/// A participant without content: only its part in a restore matters.
struct Folder {
    /// Its part fails, and cannot be reverted.
    fails: bool,
}

impl Participant for Folder {
    fn name(&self) -> &str {
        "folder"
    }
    fn capture(&self, _: &CaptureContext<'_>) -> Result<Vec<Body>> {
        Ok(Vec::new())
    }
    fn prepare(&self, _: &PrepareContext<'_>) -> Result<RestorePart> {
        Ok(RestorePart {
            participant: "folder".into(),
            place: Data::Bytes(b"/folder".to_vec()),
            note: None,
            plan: milepost_codec::ChunkList::default(),
            roots: Vec::new(),
        })
    }
    fn apply(&self, _: &Engine, _: &PendingRestore) -> Result<Vec<Body>> {
        if self.fails { Err(Error::invalid("it fails")) } else { Ok(Vec::new()) }
    }
    fn finish(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        Ok(())
    }
    fn abort(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        if self.fails { Err(Error::invalid("it stays as it is")) } else { Ok(()) }
    }
}

fn folder() -> Arc<dyn Participant> {
    Arc::new(Folder { fails: false })
}

fn engine() -> Engine {
    Engine::in_memory(Options::default()).unwrap()
}

fn said(text: &str) -> Message {
    Message::text("user", text)
}

/// A task with a message, and a branch before it.
fn branched(engine: &Engine) -> (Task, crate::Lineage) {
    let task = engine.start_task("essay", "ana").unwrap();
    task.append(said("one")).unwrap();
    let branch = engine.branch(&engine.point("essay@1").unwrap()).run().unwrap();
    (task, branch)
}

fn active(engine: &Engine) -> u32 {
    engine.task("essay").unwrap().lineage().id().0
}

fn heads(task: &Task) -> Vec<Offset> {
    task.lineages().unwrap().iter().map(|lineage| lineage.head.next).collect()
}

#[test]
fn a_switch_makes_a_lineage_active_appends_to_none_and_an_undo_returns() {
    let engine = engine();
    let (task, branch) = branched(&engine);
    let before = heads(&task);
    let on = engine.switch(&branch).run().unwrap();
    assert_eq!((on.lineage().id(), on.epoch()), (branch.id(), 2));
    assert_eq!(heads(&task), before);
    // The lineage is active already: nothing is appended.
    assert_eq!(engine.switch(&branch).run().unwrap().epoch(), 2);
    // A handle of the former lineage learns the other one.
    let error = task.append(said("two")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let detail = Detail::Active { lineage: branch.id(), epoch: 2 };
    assert_eq!(error.detail(), Some(&detail));
    on.append(said("on the branch")).unwrap();
    let back = engine.undo("essay").run().unwrap();
    assert_eq!((back.lineage().id(), back.epoch()), (task.lineage().id(), 3));
    let error = engine.undo("essay").run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn a_follower_of_a_task_follows_it_across_a_switch() {
    let engine = engine();
    let (task, branch) = branched(&engine);
    let mut follower = task.follow(2).unwrap();
    assert_eq!(follower.try_next().unwrap(), None);
    engine.switch(&branch).run().unwrap();
    let changed = LineageChanged { from: LineageId(0), to: branch.id(), at: 1 };
    assert_eq!(follower.try_next().unwrap(), Some(Followed::LineageChanged(changed)));
}

#[test]
fn a_switch_needs_a_lineage_of_this_store_and_of_the_view() {
    let (engine, other) = (engine(), engine());
    let (_, branch) = branched(&engine);
    other.start_task("essay", "ana").unwrap();
    let refused = [
        other.switch(&branch).run(),
        engine.as_user("bob").switch(&branch).run(),
        engine.as_user("bob").redo("essay").run(),
        engine.redo("no such task").run(),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    assert_eq!(active(&engine), 0);
    engine.as_user("ana").switch(&branch).run().unwrap();
    assert_eq!(active(&engine), 1);
    let error = engine.redo("essay").run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("there is no undo to take back"), "{error}");
}

#[test]
fn a_dropped_lineage_is_not_found() {
    let engine = engine();
    let (task, branch) = branched(&engine);
    engine.switch(&branch).run().unwrap();
    let back = engine.undo("essay").run().unwrap();
    for label in ["older", "newer"] {
        back.checkpoint(crate::Mark::new().label(label)).unwrap();
    }
    let policy = crate::retention::Policy::new().keep(1).undo(0);
    engine.retention().retain(&policy).unwrap();
    assert!(task.lineage_named(branch.id()).is_err(), "the cleanup drops the branch");
    for error in
        [engine.switch(&branch).run().unwrap_err(), engine.redo("essay").run().unwrap_err()]
    {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
}

#[test]
fn a_pending_restore_refuses_a_switch_and_a_redo() {
    let engine = engine();
    let (_, branch) = branched(&engine);
    engine.switch(&branch).run().unwrap();
    engine.undo("essay").run().unwrap();
    let point = engine.point("essay@1").unwrap();
    let folder = Arc::new(Folder { fails: true });
    engine.restore(&point).with(folder as _).run().unwrap_err();
    for error in
        [engine.switch(&branch).run().unwrap_err(), engine.redo("essay").run().unwrap_err()]
    {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(matches!(error.detail(), Some(Detail::Pending { .. })), "{error}");
    }
    let pending = engine.restores().pending().unwrap();
    engine.restores().abandon(&pending[0], "a test").unwrap();
    assert_eq!(engine.redo("essay").run().unwrap().lineage().id(), branch.id());
}

#[test]
fn a_store_that_is_open_for_reading_refuses_both_as_it_refuses_a_restore() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    branched(&engine);
    engine.restore(&engine.point("essay@1").unwrap()).run().unwrap();
    engine.undo("essay").run().unwrap();
    engine.close().unwrap();
    let options = Options::default().read_only(true);
    let engine = Engine::open(dir.path().join("store"), options).unwrap();
    let branch = engine.task("essay").unwrap().lineage_named(LineageId(1)).unwrap();
    let restore = engine.restore(&engine.point("essay@1").unwrap()).run().unwrap_err();
    for error in
        [engine.switch(&branch).run().unwrap_err(), engine.redo("essay").run().unwrap_err()]
    {
        assert_eq!((error.kind(), error.to_string()), (restore.kind(), restore.to_string()));
    }
}

#[test]
fn a_call_that_is_repeated_under_its_key_is_done_once() {
    let engine = engine();
    let (_, branch) = branched(&engine);
    let under = |key: &str, call: Restore<'_>| {
        let once = call.conditions(Conditions::new().key(key));
        once.run().map(|task| task.lineage().id().0)
    };
    let switch = || engine.switch(&branch);
    let undo = || engine.undo("essay");
    let redo = || engine.redo("essay");
    assert_eq!(under("a", switch()).unwrap(), 1);
    assert_eq!(under("b", undo()).unwrap(), 0);
    assert_eq!(under("a", switch()).unwrap(), 1);
    assert_eq!(active(&engine), 0, "the repeated switch is not done again");
    assert_eq!(under("c", redo()).unwrap(), 1);
    assert_eq!(under("c", redo()).unwrap(), 1);
    for key in ["b", "a"] {
        assert_eq!(under(key, redo()).unwrap_err().kind(), ErrorKind::Conflict);
    }
    let root = engine.task("essay").unwrap().lineage_named(LineageId(0)).unwrap();
    assert_eq!(under("a", engine.switch(&root)).unwrap_err().kind(), ErrorKind::Conflict);
    let elsewhere = engine.switch(&root).conditions(Conditions::new().expect_head(99)).run();
    assert_eq!(elsewhere.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(active(&engine), 1);
    let as_it_is = switch().conditions(Conditions::new().expect_head(99)).run();
    assert!(matches!(as_it_is.unwrap_err().detail(), Some(Detail::Head(head)) if head.next == 2));
}

/// A hook that keeps the points of restores, and refuses them on demand.
#[derive(Default)]
struct Restores(Mutex<(Vec<String>, bool)>);

impl Hook for Restores {
    fn name(&self) -> &str {
        "restores"
    }
    fn before_restore(&self, point: &Point) -> std::result::Result<(), String> {
        let mut kept = self.0.lock().unwrap();
        kept.0.push(format!("before {}@{}", point.lineage, point.offset));
        if kept.1 { Err("not now".into()) } else { Ok(()) }
    }
    fn after_restore(&self, task: &Task) {
        self.0.lock().unwrap().0.push(format!("after {}", task.lineage().id()));
    }
}

#[test]
fn hooks_are_asked_and_told_as_for_a_restore_and_can_refuse() {
    let hook = Arc::new(Restores::default());
    let engine = Engine::in_memory(Options::default().hook(Arc::clone(&hook) as _)).unwrap();
    let (_, branch) = branched(&engine);
    engine.switch(&branch).run().unwrap();
    engine.switch(&branch).run().unwrap();
    engine.undo("essay").run().unwrap();
    hook.0.lock().unwrap().1 = true;
    for error in
        [engine.redo("essay").run().unwrap_err(), engine.switch(&branch).run().unwrap_err()]
    {
        assert!(matches!(error.detail(), Some(Detail::Refused { .. })), "{error}");
    }
    assert_eq!(active(&engine), 0);
    let kept = hook.0.lock().unwrap().0.clone();
    let expected = ["before 1@2", "after 1", "before 0@2", "after 0", "before 1@2", "before 1@2"];
    assert_eq!(kept, expected);
}

#[test]
fn an_undo_restores_files_only_where_the_undone_activation_did() {
    let engine = engine();
    let (_, _) = branched(&engine);
    let takes_files = || engine.undo("essay").restores_files().unwrap();
    let undo = |with_files: bool| {
        assert_eq!(takes_files(), with_files);
        let undo = engine.undo("essay");
        let undo = if with_files { undo.with(folder()) } else { undo };
        undo.run().unwrap().lineage().id().0
    };
    let rolled = engine.restore(&engine.point("essay@1").unwrap()).with(folder()).run().unwrap();
    let rolled = rolled.lineage().clone();
    assert_eq!(undo(true), 0);
    // State only, there and back.
    engine.switch(&rolled).run().unwrap();
    assert_eq!(undo(false), 0);
    // The undo of a switch away from it leaves the rollback to undo, with its files.
    engine.switch(&rolled).run().unwrap();
    let root = engine.task("essay").unwrap().lineage_named(LineageId(0)).unwrap();
    engine.switch(&root).run().unwrap();
    assert_eq!((undo(false), undo(false)), (rolled.id().0, 0));
    let again = engine.restore(&engine.point("essay@1").unwrap()).with(folder()).run().unwrap();
    engine.switch(&root).run().unwrap();
    assert_eq!(undo(false), again.lineage().id().0);
    assert_eq!(engine.undo("essay").run().unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(undo(true), 0);
}

#[test]
fn a_redo_of_a_restore_with_files_is_refused_and_names_the_rollback() {
    let engine = engine();
    let (_, branch) = branched(&engine);
    let rolled = engine.restore(&engine.point("essay@1").unwrap()).with(folder()).run().unwrap();
    engine.undo("essay").with(folder()).run().unwrap();
    let error = engine.redo("essay").run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("`milepost rollback essay/2`"), "{error}");
    assert_eq!(active(&engine), 0);
    // A switch there by hand takes the undo back, and its own undo can be redone.
    engine.switch(rolled.lineage()).run().unwrap();
    assert_eq!(engine.redo("essay").run().unwrap_err().kind(), ErrorKind::Invalid);
    engine.undo("essay").run().unwrap();
    assert_eq!(engine.redo("essay").run().unwrap().lineage().id(), rolled.lineage().id());
    // So does one elsewhere: nothing is left to redo.
    engine.undo("essay").run().unwrap();
    engine.switch(&branch).run().unwrap();
    assert_eq!(engine.redo("essay").run().unwrap_err().kind(), ErrorKind::Invalid);
}

#[derive(Debug, Clone)]
enum Step {
    Append,
    Restore(usize),
    Switch(usize),
    Undo,
    Redo,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Append),
        2 => any::<usize>().prop_map(Step::Restore),
        2 => any::<usize>().prop_map(Step::Switch),
        4 => Just(Step::Undo),
        4 => Just(Step::Redo),
    ]
}

/// The texts of each lineage, the active one, and the lineages that undos and redos return to.
#[derive(Debug, Default)]
struct Model {
    texts: Vec<Vec<String>>,
    active: usize,
    undo: Vec<usize>,
    redo: Vec<usize>,
}

impl Model {
    fn go_to(&mut self, lineage: usize) {
        self.undo.push(self.active);
        self.active = lineage;
    }

    fn switch(&mut self, lineage: usize) {
        if lineage == self.active {
            return;
        }
        match self.redo.last() == Some(&lineage) {
            true => drop(self.redo.pop()),
            false => self.redo.clear(),
        }
        self.go_to(lineage);
    }
}

/// Performs a step on the model and on the store.
fn perform(engine: &Engine, model: &mut Model, number: usize, step: &Step) {
    let lineage = |pick: usize| {
        let id = pick % model.texts.len();
        let named = engine.task("essay").unwrap().lineage_named(LineageId(id as u32));
        (id, named.unwrap())
    };
    match step {
        Step::Append => {
            let text = number.to_string();
            engine.task("essay").unwrap().append(said(&text)).unwrap();
            model.texts[model.active].push(text);
        }
        Step::Restore(pick) => {
            let (id, from) = lineage(*pick);
            engine.restore(&from.point(from.head().unwrap().next).unwrap()).run().unwrap();
            model.texts.push(model.texts[id].clone());
            model.redo.clear();
            model.go_to(model.texts.len() - 1);
        }
        Step::Switch(pick) => {
            let (id, to) = lineage(*pick);
            engine.switch(&to).run().unwrap();
            model.switch(id);
        }
        Step::Undo => {
            let undone = engine.undo("essay").run().is_ok();
            assert_eq!(undone, !model.undo.is_empty());
            if let Some(back) = model.undo.pop() {
                model.redo.push(std::mem::replace(&mut model.active, back));
            }
        }
        Step::Redo => {
            let top = model.redo.last().copied();
            // The lineage is active already where a redo has nothing to change.
            assert_eq!(engine.redo("essay").run().is_ok(), top.is_some());
            if let Some(top) = top {
                model.switch(top);
            }
        }
    }
}

proptest! {
    #[test]
    fn undos_and_redos_go_along_two_stacks(steps in prop::collection::vec(step(), 1..40)) {
        let engine = engine();
        engine.start_task("essay", "ana").unwrap();
        let mut model = Model { texts: vec![Vec::new()], ..Model::default() };
        for (number, step) in steps.iter().enumerate() {
            perform(&engine, &mut model, number, step);
            let task = engine.task("essay").unwrap();
            prop_assert_eq!(task.lineage().id().0 as usize, model.active);
            let texts = task.messages().unwrap().map(|message| {
                message.unwrap().content.unwrap().value().unwrap().as_str().unwrap().to_owned()
            });
            prop_assert_eq!(&texts.collect::<Vec<_>>(), &model.texts[model.active]);
            prop_assert_eq!(task.lineages().unwrap().len(), model.texts.len());
        }
    }
}

/// Opens and activates a branch at the first event.
fn activated(engine: &Engine, description: Option<&str>) -> Result<Lineage> {
    engine.branch(&engine.point("essay@1")?).description(description).activate(true).run()
}

#[test]
fn a_branch_that_is_activated_is_there_and_active_by_one_commit_and_an_undo_returns() {
    let engine = engine();
    let task = engine.start_task("essay", "ana").unwrap();
    task.append(said("one")).unwrap();
    let commits = engine.store().metrics().commits;
    let now = activated(&engine, Some("two")).unwrap();
    assert_eq!(engine.store().metrics().commits, commits + 1);
    assert_eq!((now.id().0, active(&engine)), (1, 1));
    let info = now.info().unwrap();
    assert_eq!((info.description.as_deref(), info.active), (Some("two"), true));
    assert_eq!(info.lineage_type, crate::events::LineageType::Branch);
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().faults.is_empty());
    engine.undo("essay").run().unwrap();
    assert_eq!(active(&engine), 0);
    engine.redo("essay").run().unwrap();
    assert_eq!(active(&engine), 1);
}

#[test]
fn a_hook_that_refuses_leaves_no_branch() {
    let hook = Arc::new(Restores(Mutex::new((Vec::new(), true))));
    let engine = Engine::in_memory(Options::default().hook(hook.clone())).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let error = activated(&engine, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!((task.lineages().unwrap().len(), active(&engine)), (1, 0));
    assert_eq!(hook.0.lock().unwrap().0, ["before 0@1"]);
}
