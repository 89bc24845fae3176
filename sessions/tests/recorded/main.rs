//! Sessions as their hooks and files say them, recorded into a store.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]

mod session;
mod spooled;
mod stale;
mod unread;

use milepost::events::MarkCause;
use milepost::{Body, Event};
use session::Scene;

/// Returns the captures with the marks of calls, as `before CALL`, `after CALL` or `-`.
pub(crate) fn captures(events: &[Event]) -> Vec<String> {
    let mut found = Vec::new();
    for pair in events.windows(2) {
        let [captured, next] = pair else { continue };
        if !matches!(captured.body, Some(Body::WorkspaceCaptured(_))) {
            continue;
        }
        let call = next.header.correlation.clone().unwrap_or_default();
        found.push(match &next.body {
            Some(Body::CheckpointMarked(mark)) if mark.cause == MarkCause::BeforeTool => {
                assert_eq!(captured.header.correlation.as_deref(), Some(&*call));
                format!("before {call}")
            }
            Some(Body::CheckpointMarked(mark)) if mark.cause == MarkCause::Step => {
                format!("after {call}")
            }
            _ => "-".to_owned(),
        });
    }
    found
}

#[test]
fn a_call_has_captures_around_it_with_its_id_and_its_actor() {
    let scene = Scene::new();
    scene.write("notes.md", "alpha");
    scene.before("s1", "call-1", "Bash");
    scene.write("notes.md", "beta");
    scene.after("s1", "call-1", "Bash");
    scene.settle();
    assert_eq!(captures(&scene.events("s1")), ["before call-1", "after call-1"]);
    assert_eq!(scene.file_at("s1@call-1", "notes.md").as_deref(), Some("alpha"));
    assert_eq!(scene.file_at("s1", "notes.md").as_deref(), Some("beta"));
}

#[test]
fn a_document_that_comes_twice_is_recorded_once() {
    let scene = Scene::new();
    let asked = scene.asked("PreToolUse", "s1", Some(("call-1", "Bash")));
    scene.take(asked.clone());
    scene.settle();
    let events = scene.events("s1").len();
    scene.take(asked.clone());
    scene.spool(&asked);
    scene.take(scene.asked("PreToolUse", "s2", Some(("call-2", "Bash"))));
    assert_eq!(scene.events("s1").len(), events);
    assert!(scene.waiting().is_empty());
}

#[test]
fn documents_of_the_spool_are_recorded_in_order_and_marked_as_late() {
    let scene = Scene::new();
    scene.spool(&scene.asked("PreToolUse", "s1", Some(("call-1", "Bash"))));
    scene.spool(&scene.asked("PostToolUse", "s1", Some(("call-1", "Bash"))));
    scene.take(scene.asked("PreToolUse", "s1", Some(("call-2", "Bash"))));
    scene.settle();
    let events = scene.events("s1");
    assert_eq!(captures(&events), ["before call-1", "after call-1", "before call-2"]);
    let late = |call: &str| {
        let of_call = |event: &&Event| event.header.correlation.as_deref() == Some(call);
        events.iter().filter(of_call).any(|event| match &event.body {
            Some(Body::CheckpointMarked(mark)) => {
                mark.metadata.as_ref().is_some_and(|facts| facts.text().contains("uncaptured"))
            }
            _ => false,
        })
    };
    assert!(late("call-1") && !late("call-2"));
}

#[test]
fn calls_of_two_sessions_at_once_are_shared() {
    let scene = Scene::new();
    scene.before("s1", "call-1", "Bash");
    scene.before("s2", "call-2", "Bash");
    scene.after("s2", "call-2", "Bash");
    scene.after("s1", "call-1", "Bash");
    scene.before("s1", "call-3", "Bash");
    scene.after("s1", "call-3", "Bash");
    scene.settle();
    let shared = |session: &str, call: &str| {
        let events = scene.events(session);
        let of_call = |event: &&Event| event.header.correlation.as_deref() == Some(call);
        events.iter().filter(of_call).any(|event| match &event.body {
            Some(Body::CheckpointMarked(mark)) => {
                mark.metadata.as_ref().is_some_and(|facts| facts.text().contains("shared"))
            }
            _ => false,
        })
    };
    assert!(shared("s1", "call-1") && shared("s2", "call-2") && !shared("s1", "call-3"));
}

#[test]
fn the_end_of_a_process_closes_its_calls() {
    let scene = Scene::new();
    let agent = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let mut asked = scene.asked("PreToolUse", "s1", Some(("call-1", "Bash")));
    asked.parents = vec![1, agent.id()];
    scene.take(asked);
    scene.write("left.txt", "by the call");
    let mut agent = agent;
    agent.kill().unwrap();
    agent.wait().unwrap();
    let is_gone = |body: Option<Body>| match body {
        Some(Body::Application(gone)) => gone.name == "agent_gone",
        _ => false,
    };
    scene.until("s1", |events| events.iter().any(|event| is_gone(event.body.clone())));
    scene.settle();
    assert_eq!(captures(&scene.events("s1"))[..2], ["before call-1", "after call-1"]);
    assert_eq!(scene.file_at("s1", "left.txt").as_deref(), Some("by the call"));
    // Its last hook comes behind its end.
    scene.after("s1", "call-1", "Bash");
    scene.settle();
    let calls: Vec<_> = captures(&scene.events("s1"));
    let count = calls.iter().filter(|name| *name == "after call-1").count();
    assert_eq!(count, 1, "{calls:?}");
}

#[test]
fn a_document_of_another_project_is_refused() {
    let scene = Scene::new();
    let mut asked = scene.asked("PreToolUse", "s1", Some(("call-1", "Bash")));
    asked.project = (&b"/elsewhere"[..]).into();
    assert!(scene.recorder().take(asked).is_err());
    assert!(scene.engine.task("s1").is_err());
}
