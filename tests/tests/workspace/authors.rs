//! Files that the user changed between the calls of a run, and going back over those of the run
//! only.

use std::collections::BTreeMap;

use milepost::events::{MarkCause, Message, ToolCalled, ToolReturned};
use milepost::{Json, Mark, Scope};
use milepost_workspace::{Choices, ConflictWhy};
use proptest::prelude::*;

use super::{Scene, at, none};

impl Scene {
    /// Records the beginning of a call, as `milepost run` and hooks do.
    fn call(&self, id: &str) {
        let task = self.engine.task("t").unwrap();
        let mark = Mark::new().cause(MarkCause::BeforeTool);
        self.workspace.capture_for_call(&self.engine, &task, mark).unwrap();
        let (call, tool) = (id.to_owned(), "bash".to_owned());
        task.append(ToolCalled { call, tool, arguments: Json::null() }).unwrap();
    }

    fn returns(&self, id: &str) {
        let task = self.engine.task("t").unwrap();
        let call = id.to_owned();
        task.append(ToolReturned { call, tool: None, ok: true, output: None }).unwrap();
        let mark = Mark::new().cause(MarkCause::Step);
        self.workspace.capture_for_call(&self.engine, &task, mark).unwrap();
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.path(path)).unwrap();
    }

    fn files(&self) -> BTreeMap<String, String> {
        let entries = std::fs::read_dir(self.folder()).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().file_name().into_string().unwrap()
        };
        entries.map(name).map(|name| (name.clone(), self.read(&name))).collect()
    }

    fn back(&self, choices: &Choices) -> milepost::Result<()> {
        let to = self.point("first");
        let went = self.workspace.restore(&self.engine, &to, Scope::All, None, choices);
        went.map(|_| ())
    }
}

fn leave() -> Choices {
    none().leave_outside()
}

#[test]
fn files_that_only_the_user_changed_stay_and_those_of_the_run_go_back() {
    let scene = Scene::begin();
    for name in ["agent", "edited", "dropped", "late"] {
        scene.write(name, "first");
    }
    scene.capture("first");
    scene.call("1");
    scene.write("agent", "by the agent");
    scene.write("made", "by the agent");
    scene.returns("1");
    // A message changes no files.
    scene.engine.task("t").unwrap().append(Message::text("assistant", "done")).unwrap();
    scene.write("edited", "by the user");
    scene.write("notes", "by the user");
    scene.remove("dropped");
    scene.call("2");
    scene.remove("made");
    scene.returns("2");
    scene.write("late", "by the user");
    let plan = scene.workspace.plan(&scene.engine, &scene.point("first"), &leave()).unwrap();
    assert_eq!(plan.conflicts, []);
    let changes: Vec<_> = plan.changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!((changes, plan.creates.len(), plan.deletes.len()), (vec!["agent".into()], 0, 0));
    let before = scene.files();
    scene.back(&leave()).unwrap();
    let mut expected = before.clone();
    expected.insert("agent".into(), "first".into());
    assert_eq!(scene.files(), expected);
    scene.workspace.undo(&scene.engine, "t", &none()).unwrap();
    assert_eq!(scene.files(), before);
    scene.assert_clean();
}

#[test]
fn a_file_that_both_changed_is_a_conflict() {
    let scene = Scene::begin();
    scene.write("both", "first");
    scene.capture("first");
    scene.call("1");
    scene.write("both", "by the agent");
    scene.returns("1");
    scene.write("both", "by the user");
    scene.call("2");
    scene.returns("2");
    let plan = scene.workspace.plan(&scene.engine, &scene.point("first"), &leave()).unwrap();
    let whys: Vec<_> = plan.conflicts.iter().map(|conflict| conflict.why).collect();
    assert_eq!(whys, [ConflictWhy::NotByARun]);
    assert!(scene.back(&leave()).is_err());
    scene.back(&leave().theirs(at("both"))).unwrap();
    assert_eq!(scene.read("both"), "first");
}

#[test]
fn calls_that_overlap_are_one_and_a_call_that_never_returns_owns_what_follows() {
    let scene = Scene::begin();
    scene.write("a", "first");
    scene.capture("first");
    scene.call("1");
    scene.call("2");
    scene.returns("1");
    // The second call runs still.
    scene.write("a", "by the second");
    scene.call("3");
    scene.returns("3");
    scene.back(&leave()).unwrap();
    assert_eq!(scene.read("a"), "first");
    let scene = Scene::begin();
    scene.write("a", "first");
    scene.capture("first");
    scene.call("1");
    scene.write("a", "by the agent, which was killed then");
    let plan = scene.workspace.plan(&scene.engine, &scene.point("first"), &leave()).unwrap();
    let whys: Vec<_> = plan.conflicts.iter().map(|conflict| conflict.why).collect();
    assert_eq!(whys, [ConflictWhy::Changed], "it is asked about");
}

#[derive(Debug, Clone)]
enum Act {
    User(usize, Option<u8>),
    Agent(Vec<(usize, Option<u8>)>),
}

fn act() -> impl Strategy<Value = Act> {
    let change = || (0..5_usize, proptest::option::of(any::<u8>()));
    prop_oneof![
        change().prop_map(|(file, to)| Act::User(file, to)),
        proptest::collection::vec(change(), 0..3).prop_map(Act::Agent),
    ]
}

fn set(scene: &Scene, file: usize, to: Option<u8>) {
    let name = format!("f{file}");
    match to {
        Some(to) => scene.write(&name, &to.to_string()),
        None if scene.path(&name).exists() => scene.remove(&name),
        None => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn going_back_over_the_files_of_runs_never_changes_one_that_only_the_user_changed(
        acts in proptest::collection::vec(act(), 1..8),
    ) {
        let scene = Scene::begin();
        (0..3).for_each(|file| set(&scene, file, Some(0)));
        scene.capture("first");
        let first = scene.files();
        let mut by_user = std::collections::BTreeSet::new();
        let mut by_agent = std::collections::BTreeSet::new();
        for (number, act) in acts.into_iter().enumerate() {
            let before = scene.files();
            let call = number.to_string();
            match &act {
                Act::User(file, to) => set(&scene, *file, *to),
                Act::Agent(changes) => {
                    scene.call(&call);
                    changes.iter().for_each(|(file, to)| set(&scene, *file, *to));
                    scene.returns(&call);
                }
            }
            let after = scene.files();
            let names = before.keys().chain(after.keys());
            let changed = names.filter(|name| before.get(*name) != after.get(*name)).cloned();
            match act {
                Act::User(..) => by_user.extend(changed),
                Act::Agent(_) => by_agent.extend(changed),
            }
        }
        let before = scene.files();
        match scene.back(&leave()) {
            Ok(()) => {
                let after = scene.files();
                for name in before.keys().chain(after.keys()).chain(first.keys()) {
                    let (was, is, then) = (before.get(name), after.get(name), first.get(name));
                    match (by_agent.contains(name), by_user.contains(name)) {
                        (false, _) => prop_assert_eq!(is, was, "{}", name),
                        (true, false) => prop_assert_eq!(is, then, "{}", name),
                        // Both changed it, and it is as it was then, or it was no conflict.
                        (true, true) => prop_assert!(is == then || is == was, "{}", name),
                    }
                }
            }
            // Only a file that both changed is asked about.
            Err(_) => {
                prop_assert!(by_agent.intersection(&by_user).next().is_some());
                prop_assert_eq!(scene.files(), before);
            }
        }
    }
}
