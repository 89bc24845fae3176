//! Documents that wait: in order, once, and none that holds up the others.

use milepost::{Body, Event};
use serde_json::Value;

use crate::captures;
use crate::session::Scene;

/// Returns the data of the application events of a name.
pub fn applications(events: &[Event], name: &str) -> Vec<Value> {
    let data = events.iter().filter_map(|event| match &event.body {
        Some(Body::Application(application)) if application.name == name => {
            Some(serde_json::to_value(&application.data).unwrap())
        }
        _ => None,
    });
    data.collect()
}

#[test]
fn a_document_that_cannot_be_recorded_is_set_aside_and_the_others_are_recorded() {
    let scene = Scene::new();
    for call in ["call-1", "call-2", "call-3", "call-4"] {
        scene.spool(&scene.asked("PreToolUse", "s1", Some((call, "Bash"))));
    }
    let waiting = scene.waiting();
    let mut elsewhere = scene.spool.read(&waiting[1]).unwrap();
    elsewhere.project = (&b"/elsewhere"[..]).into();
    std::fs::write(&waiting[1], serde_json::to_vec(&elsewhere).unwrap()).unwrap();
    std::fs::write(&waiting[2], b"[]").unwrap();
    scene.settle();
    assert_eq!(captures(&scene.events("s1")), ["before call-1", "before call-4"]);
    assert_eq!((scene.waiting().len(), scene.spool.failed().unwrap()), (0, 2));
}

#[test]
fn the_facts_of_a_session_are_recorded_once_though_its_process_is_not_known_again() {
    let scene = Scene::new();
    let mut asked = scene.asked("SessionStart", "s1", None);
    asked.parents = vec![1, std::process::id()];
    scene.take(asked.clone());
    asked.parents.clear();
    scene.spool(&asked);
    scene.settle();
    assert_eq!((scene.waiting().len(), scene.spool.failed().unwrap()), (0, 0));
    assert_eq!(applications(&scene.events("s1"), "agent_session").len(), 1);
}

#[test]
fn a_capture_that_fails_behind_the_answer_is_tried_again() {
    let scene = Scene::new();
    scene.before("s1", "call-1", "Bash");
    scene.write("made.txt", "by the call");
    let away = scene.project().with_file_name("away");
    std::fs::rename(scene.project(), &away).unwrap();
    // A file in its place: a missing folder is an empty capture.
    std::fs::write(scene.project(), "").unwrap();
    let mut asked = scene.asked("PostToolUse", "s1", Some(("call-1", "Bash")));
    asked.project = scene.asked("Stop", "s1", None).project;
    scene.take(asked);
    while scene.waiting().is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(captures(&scene.events("s1")), ["before call-1"]);
    std::fs::remove_file(scene.project()).unwrap();
    std::fs::rename(&away, scene.project()).unwrap();
    scene.take_at_last(&scene.asked("Notification", "none", None));
    assert_eq!(captures(&scene.events("s1")), ["before call-1", "after call-1"]);
    assert_eq!((scene.waiting().len(), scene.spool.failed().unwrap()), (0, 0));
    assert_eq!(scene.file_at("s1", "made.txt").as_deref(), Some("by the call"));
}

#[test]
fn without_files_a_document_is_recorded_once_also_behind_a_restore() {
    let scene = Scene::with(|options| options.files(false));
    scene.take(scene.asked("SessionStart", "s1", None));
    scene.settle();
    let start = scene.engine.task("s1").unwrap().head().unwrap().next;
    let asked = scene.asked("PreToolUse", "s1", Some(("call-1", "Bash")));
    scene.take(asked.clone());
    scene.settle();
    let events = scene.events("s1").len();
    scene.take(asked.clone());
    assert_eq!(scene.events("s1").len(), events);
    let point = scene.engine.task("s1").unwrap().point(start).unwrap();
    scene.engine.restore(&point).run().unwrap();
    let events = scene.events("s1").len();
    scene.spool(&asked);
    scene.settle();
    assert_eq!((scene.events("s1").len(), scene.waiting().len()), (events, 0));
}
