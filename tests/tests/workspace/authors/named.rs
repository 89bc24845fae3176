//! Calls of two sessions at once: paths that tools name tell whose a change is.

use milepost::Scope;
use milepost_workspace::{ConflictWhy, LeftWhy};

use super::recorder::{RUNNING, UNCAPTURED};
use crate::workspace::{Scene, none};

/// A call of the run that other sessions' calls overlap with. Marks declare the paths of both.
fn shared(own: Option<&str>, others: Option<&str>) -> String {
    let list = |name: &str, paths: Option<&str>| {
        paths.map_or_else(String::new, |paths| format!(r#", "{name}": [{paths}]"#))
    };
    format!(r#"{{"shared": true{}{}}}"#, list("paths", own), list("others", others))
}

/// Plays such a call, which changes `mine`, `theirs` and `third`. Returns the restored paths, those
/// that stay with others, and the conflicts.
fn played(own: Option<&str>, others: Option<&str>) -> [Vec<String>; 3] {
    let scene = Scene::begin();
    for file in ["mine", "theirs", "third"] {
        scene.write(file, "start");
    }
    scene.prompt();
    scene.capture("start");
    let says = shared(own, others);
    scene.before("agent", "c1", Some(&says));
    scene.called("agent", "c1");
    for file in ["mine", "theirs", "third"] {
        scene.write(file, "changed");
    }
    scene.returned("agent", "c1");
    scene.after("agent", "c1", Some(&says));
    let choices = none().leave_others();
    let plan = scene.workspace.plan(&scene.engine, &scene.point("start"), &choices).unwrap();
    let asked = plan.conflicts.iter().inspect(|it| assert_eq!(it.why, ConflictWhy::AuthorUnknown));
    let asked: Vec<_> = asked.map(|it| it.path.as_ref().unwrap().to_string()).collect();
    let left = plan.left.iter().inspect(|it| assert_eq!(it.why, LeftWhy::Changed));
    let left: Vec<_> = left.map(|it| it.path.to_string()).collect();
    let is_back = |file: &&str| ![&asked, &left].iter().any(|all| all.iter().any(|it| it == file));
    let back: Vec<_> = ["mine", "theirs", "third"].iter().filter(|it| is_back(it)).collect();
    if asked.is_empty() {
        let point = scene.point("start");
        scene.workspace.restore(&scene.engine, &point, Scope::All, None, &choices).unwrap();
        for file in ["mine", "theirs", "third"] {
            let text = if back.contains(&&file) { "start" } else { "changed" };
            assert_eq!(scene.read(file), text, "{file}");
        }
    }
    [back.into_iter().map(|it| (*it).to_owned()).collect(), left, asked]
}

fn paths(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

#[test]
fn a_path_that_one_call_names_is_of_its_session_though_another_ran_at_once() {
    let (mine, theirs) = (Some(r#""mine""#), Some(r#""theirs""#));
    let is = |own, others, back: &[&str], left: &[&str], asked: &[&str]| {
        assert_eq!(
            played(own, others),
            [paths(back), paths(left), paths(asked)],
            "{own:?} {others:?}"
        );
    };
    is(mine, theirs, &["mine"], &["theirs"], &["third"]);
    is(mine, None, &["mine"], &[], &["theirs", "third"]);
    // The others' calls change what they name: the rest is of the command.
    is(None, theirs, &["mine", "third"], &["theirs"], &[]);
    is(None, Some(""), &["mine", "theirs", "third"], &[], &[]);
    is(None, None, &[], &[], &["mine", "theirs", "third"]);
    is(mine, mine, &[], &[], &["mine", "theirs", "third"]);
    // A list with a path that is none says nothing.
    is(Some(r#""mine", 3"#), None, &[], &[], &["mine", "theirs", "third"]);
}

/// Plays a call that changes `early` before a capture of it so far, and `late` after it. Returns
/// the conflicts, with and without an end of the call.
fn running(has_end: bool) -> Vec<String> {
    let scene = Scene::begin();
    for file in ["early", "late"] {
        scene.write(file, "start");
    }
    scene.prompt();
    scene.capture("start");
    scene.before("agent", "c1", None);
    scene.called("agent", "c1");
    scene.write("early", "changed");
    scene.after("agent", "c1", Some(RUNNING));
    scene.write("late", "changed");
    if has_end {
        scene.after("agent", "c1", None);
    }
    let choices = none().leave_others();
    let plan = scene.workspace.plan(&scene.engine, &scene.point("start"), &choices).unwrap();
    assert_eq!(plan.left, [], "nothing is of others");
    plan.conflicts.iter().map(|it| it.path.as_ref().unwrap().to_string()).collect()
}

#[test]
fn changes_of_a_call_that_runs_on_behind_a_capture_are_of_the_run_once_it_ends() {
    assert_eq!(running(true), Vec::<String>::new());
    assert_eq!(running(false), ["late"]);
}

#[test]
fn changes_up_to_the_capture_of_a_late_prompt_are_unknown_if_its_call_was_late_too() {
    let left = |says: Option<&str>| {
        let scene = Scene::begin();
        scene.write("a", "start");
        scene.prompt();
        scene.capture("start");
        scene.write("a", "changed");
        scene.prompt();
        scene.before("agent", "c1", says);
        scene.called("agent", "c1");
        scene.returned("agent", "c1");
        scene.after("agent", "c1", says);
        let choices = none().leave_others();
        let plan = scene.workspace.plan(&scene.engine, &scene.point("start"), &choices).unwrap();
        (plan.left.len(), plan.conflicts.iter().map(|conflict| conflict.why).collect::<Vec<_>>())
    };
    assert_eq!(left(None), (1, vec![]), "others changed it before the prompt");
    assert_eq!(left(Some(UNCAPTURED)), (0, vec![ConflictWhy::AuthorUnknown]));
}
