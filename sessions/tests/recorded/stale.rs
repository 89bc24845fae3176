//! Calls that never return, and session files that cannot be recorded.

use std::process::{Child, Command};

use milepost::{Body, Event};
use milepost_api::HookRequest;

use crate::captures;
use crate::session::Scene;
use crate::spooled::applications;

/// Returns `true` if a mark of a call has this metadata.
fn says(events: &[Event], call: &str, what: &str) -> bool {
    let of_call = |event: &&Event| event.header.correlation.as_deref() == Some(call);
    events.iter().filter(of_call).any(|event| match &event.body {
        Some(Body::CheckpointMarked(mark)) => {
            mark.metadata.as_ref().is_some_and(|facts| facts.text().contains(what))
        }
        _ => false,
    })
}

fn line(uuid: &str, parent: Option<&str>, role: &str, content: &str) -> String {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    let head = format!(r#""parentUuid":{parent},"sessionId":"s1","type":"{role}","uuid":"{uuid}""#);
    format!("{{{head},\"message\":{{\"role\":\"{role}\",\"content\":{content}}}}}\n")
}

fn called(uuid: &str, parent: &str, call: &str) -> String {
    let block = format!(r#"[{{"type":"tool_use","id":"{call}","name":"Bash","input":{{}}}}]"#);
    line(uuid, Some(parent), "assistant", &block)
}

/// Returns the place of the first event that is as wanted.
fn place(events: &[Event], wanted: impl Fn(&Event) -> bool) -> Option<usize> {
    events.iter().position(wanted)
}

#[test]
fn a_call_that_never_returned_ends_with_its_turn_and_at_the_next_prompt() {
    for end in ["Stop", "UserPromptSubmit", "SessionEnd"] {
        let scene = Scene::new();
        scene.before("s1", "call-1", "Bash");
        scene.take(scene.asked(end, "s1", None));
        scene.before("s2", "call-2", "Bash");
        scene.after("s2", "call-2", "Bash");
        scene.settle();
        assert!(!says(&scene.events("s2"), "call-2", "shared"), "{end}");
    }
}

#[test]
fn a_call_ends_when_its_agent_says_so_however_it_ends() {
    for end in ["Stop", "StopFailure", "UserPromptSubmit", "SessionEnd", "MilepostRewind"] {
        let scene = Scene::new();
        scene.before("s1", "call-1", "Bash");
        scene.write("made.txt", "by the call");
        scene.take(scene.asked(end, "s1", None));
        scene.settle();
        let events = scene.events("s1");
        assert_eq!(captures(&events)[..2], ["before call-1", "after call-1"], "{end}");
        assert!(!says(&events, "call-1", "uncaptured"), "{end}");
    }
}

#[test]
fn the_line_of_its_result_ends_a_call_that_no_hook_ends() {
    let scene = Scene::new();
    let result = r#"[{"type":"tool_result","tool_use_id":"call-1","is_error":true,"content":"3"}]"#;
    let lines = [line("a", None, "user", "\"do it\""), called("b", "a", "call-1")];
    std::fs::write(scene.session_file("s1"), lines.concat()).unwrap();
    scene.before("s1", "call-1", "Bash");
    let lines = lines.concat() + &line("c", Some("b"), "user", result);
    std::fs::write(scene.session_file("s1"), lines).unwrap();
    scene.before("s1", "call-2", "Bash");
    scene.settle();
    let captures = captures(&scene.events("s1"));
    assert_eq!(captures[..3], ["before call-1", "after call-1", "before call-2"]);
}

#[test]
fn calls_that_another_recorder_heard_begin_end_at_the_way_back() {
    let mut scene = Scene::new();
    scene.before("s1", "call-1", "Bash");
    scene.settle();
    scene.restart();
    scene.take(scene.asked("MilepostRewind", "s1", None));
    scene.settle();
    assert_eq!(captures(&scene.events("s1")), ["before call-1", "after call-1"]);
}

#[test]
fn a_call_that_runs_on_behind_the_way_back_is_captured_again_at_the_next_one_and_at_its_end() {
    let mut scene = Scene::new();
    scene.before("s1", "call-1", "Bash");
    scene.take(scene.asked("MilepostRewind", "s1", None));
    scene.settle();
    scene.restart();
    scene.write("made.txt", "by the call");
    scene.take(scene.asked("MilepostRewind", "s1", None));
    scene.settle();
    scene.after("s1", "call-1", "Bash");
    scene.settle();
    let events = scene.events("s1");
    let all = ["before call-1", "after call-1", "after call-1", "after call-1"];
    assert_eq!(captures(&events), all);
    let is_running = |event: &&Event| says(&[(*event).clone()], "call-1", "running");
    assert_eq!(events.iter().filter(is_running).count(), 2);
}

#[test]
fn a_project_that_a_call_removed_is_an_empty_capture_of_that_call() {
    let scene = Scene::new();
    scene.write("kept.txt", "text");
    let project = scene.asked("Stop", "s1", None).project;
    let of = |event: &str, call: Option<(&str, &str)>| HookRequest {
        project: project.clone(),
        ..scene.asked(event, "s1", call)
    };
    scene.take(of("PreToolUse", Some(("call-1", "Bash"))));
    std::fs::remove_dir_all(scene.project()).unwrap();
    scene.take(of("PostToolUse", Some(("call-1", "Bash"))));
    scene.take_at_last(&of("Notification", None));
    let events = scene.events("s1");
    assert_eq!(captures(&events), ["before call-1", "after call-1"]);
    let files = events.iter().filter_map(|event| match &event.body {
        Some(Body::WorkspaceCaptured(captured)) => Some(captured.files),
        _ => None,
    });
    assert_eq!(files.collect::<Vec<_>>(), [1, 0]);
    assert!(!says(&events, "call-1", "uncaptured") && scene.waiting().is_empty());
}

#[test]
fn a_call_of_a_sub_agent_is_open_behind_the_turn_that_began_it() {
    let scene = Scene::new();
    let of_sub_agent = |event: &str| {
        let asked = scene.asked(event, "s1", Some(("call-1", "Bash")));
        let payload = asked.payload.replacen('{', r#"{"agent_id":"a1","#, 1);
        HookRequest { payload, ..asked }
    };
    scene.take(of_sub_agent("PreToolUse"));
    scene.take(scene.asked("Stop", "s1", None));
    scene.before("s2", "call-2", "Bash");
    scene.take(of_sub_agent("PostToolUse"));
    scene.after("s2", "call-2", "Bash");
    scene.settle();
    assert!(says(&scene.events("s1"), "call-1", "shared"));
    assert!(says(&scene.events("s2"), "call-2", "shared"));
}

#[test]
fn a_call_without_an_id_ends_at_the_next_one() {
    let scene = Scene::new();
    let first = scene.without_id("BeforeTool", "s1");
    let second = scene.without_id("BeforeTool", "s1");
    scene.take(first.clone());
    scene.take(second.clone());
    scene.take(scene.without_id("AfterTool", "s1"));
    scene.take(scene.without_id("AfterTool", "s1"));
    scene.settle();
    let events = scene.events("s1");
    let captures = captures(&events);
    let expected = [("before", &first), ("after", &first), ("before", &second), ("after", &second)];
    assert_eq!(captures[..4], expected.map(|(when, asked)| format!("{when} {}", asked.id)));
    assert!(!says(&events, &second.id, "uncaptured"));
    // The beginning of the last one is not known.
    assert!(says(&events, captures[4].strip_prefix("after ").unwrap(), "uncaptured"));
}

#[test]
fn a_session_is_gone_with_the_last_of_its_processes() {
    let scene = Scene::new();
    let agent = || Command::new("sleep").arg("600").spawn().unwrap();
    let agents = [agent(), agent()];
    let from = |call: &str, agent: &Child| {
        let asked = scene.asked("PreToolUse", "s1", Some((call, "Bash")));
        scene.take(HookRequest { parents: vec![1, agent.id()], ..asked });
    };
    from("call-1", &agents[0]);
    from("call-2", &agents[1]);
    for mut agent in agents {
        agent.kill().unwrap();
        agent.wait().unwrap();
    }
    scene.until("s1", |events| !applications(events, "agent_gone").is_empty());
    scene.settle();
    let gone = applications(&scene.events("s1"), "agent_gone");
    assert_eq!(gone.len(), 1, "{gone:?}");
    let text = gone[0].to_string();
    assert!(text.contains("call-1") != text.contains("call-2"), "{text}");
}

#[test]
fn the_line_of_a_parallel_call_is_recorded_behind_its_own_mark() {
    let scene = Scene::new();
    let lines = [
        line("a", None, "user", "\"do it\""),
        called("b", "a", "call-1"),
        called("c", "b", "call-2"),
    ];
    std::fs::write(scene.session_file("s1"), lines.concat()).unwrap();
    for call in ["call-1", "call-2"] {
        scene.before("s1", call, "Bash");
        scene.after("s1", call, "Bash");
    }
    scene.settle();
    let events = scene.events("s1");
    for call in ["call-1", "call-2"] {
        let mark = place(&events, |event| {
            let is_of_call = event.header.correlation.as_deref() == Some(call);
            is_of_call && matches!(event.body, Some(Body::CheckpointMarked(_)))
        });
        let called = place(&events, |event| match &event.body {
            Some(Body::ToolCalled(called)) => called.call == call,
            _ => false,
        });
        assert!(mark.is_some() && mark < called, "{call}: {mark:?}, {called:?}");
    }
}

#[test]
fn a_session_file_that_conflicts_with_the_log_is_not_read_again() {
    let scene = Scene::new();
    let lines = [line("a", None, "user", "\"do it\""), line("b", Some("a"), "assistant", "\"b\"")];
    let file = scene.session_file("s1");
    let has = |text: &str| {
        scene.settle();
        let is = |event: &Event| format!("{:?}", event.body).contains(text);
        scene.events("s1").iter().any(is)
    };
    std::fs::write(&file, lines.concat()).unwrap();
    scene.take(scene.asked("Stop", "s1", None));
    assert!(has("do it"));
    // A line without a place of its own: no file has its parent, and no time says that it is later.
    let other = line("x", Some("gone"), "assistant", "\"in front\"");
    std::fs::write(&file, other + &lines.concat()).unwrap();
    scene.take(scene.asked("Stop", "s1", None));
    let more = line("c", Some("b"), "assistant", "\"later\"");
    std::fs::write(&file, lines.concat() + &more).unwrap();
    scene.take(scene.asked("Stop", "s1", None));
    assert!(!has("in front") && !has("later"));
}
