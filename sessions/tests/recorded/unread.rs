//! Sessions whose file cannot be read: their hooks tell the conversation.

use milepost::events::Application;
use milepost::{Append, Body, Event};
use milepost_formats::HOOK_KEY;
use milepost_formats::input::RunInput;
use milepost_formats::record::{RecordOptions, record};
use serde_json::{Value, json};

use crate::session::Scene;
use crate::spooled::applications;

/// Says a document of a session, which may name its file.
fn say(scene: &Scene, event: &str, more: &Value) {
    let mut document = json!({ "hook_event_name": event, "session_id": "s1" });
    let more = more.as_object().unwrap().clone();
    document.as_object_mut().unwrap().extend(more);
    scene.take(scene.hook("claude-code", &document));
}

/// Plays a turn with one call.
fn turn(scene: &Scene, prompt: &str, call: &str) {
    let tool =
        json!({ "tool_use_id": call, "tool_name": "Bash", "tool_input": { "command": "ls" } });
    let mut returned = tool.clone();
    returned["tool_response"] = json!({ "stdout": "notes.md" });
    say(scene, "UserPromptSubmit", &json!({ "prompt": prompt }));
    say(scene, "PreToolUse", &tool);
    say(scene, "PostToolUse", &returned);
    say(scene, "Stop", &json!({ "last_assistant_message": "Done." }));
}

/// Returns the parts of the conversation, each as a line.
fn conversation(events: &[Event]) -> Vec<String> {
    let parts = events.iter().filter_map(|event| match event.body.as_ref()? {
        Body::CheckpointMarked(mark) => {
            mark.label.as_ref().filter(|label| label.starts_with("prompt-")).cloned()
        }
        Body::StepStarted(step) => Some(format!("step {}", step.step)),
        Body::Message(said) => {
            Some(format!("{}: {}", said.role, said.content.as_ref().unwrap().text()))
        }
        Body::ToolCalled(called) => Some(format!("{} {}", called.call, called.arguments.text())),
        Body::ToolReturned(back) => {
            let output = back.output.as_ref().map(milepost::Json::text);
            Some(format!("{} = {}", back.call, output.unwrap_or("-")))
        }
        _ => None,
    });
    parts.collect()
}

/// Returns a line of a session file.
fn line(id: &str, parent: Option<&str>, content: &str) -> String {
    let line = json!({ "type": "user", "uuid": id, "parentUuid": parent, "sessionId": "s1",
        "message": { "role": "user", "content": content } });
    format!("{line}\n")
}

#[test]
fn without_a_file_the_hooks_tell_the_conversation() {
    let mut scene = Scene::new();
    turn(&scene, "list", "call-1");
    scene.restart();
    turn(&scene, "again", "call-2");
    scene.settle();
    let events = scene.events("s1");
    let wanted = [
        "prompt-1",
        "step 1",
        "user: \"list\"",
        "call-1 {\"command\":\"ls\"}",
        "call-1 = {\"stdout\":\"notes.md\"}",
        "assistant: \"Done.\"",
        "prompt-2",
        "step 2",
        "user: \"again\"",
        "call-2 {\"command\":\"ls\"}",
        "call-2 = {\"stdout\":\"notes.md\"}",
        "assistant: \"Done.\"",
    ];
    assert_eq!(conversation(&events), wanted);
    assert_eq!(applications(&events, "agent_documents").len(), 1);
}

/// A daemon was killed behind the capture before a call.
#[test]
fn a_call_whose_capture_alone_is_recorded_is_told_when_its_document_comes_again() {
    let mut scene = Scene::new();
    turn(&scene, "list", "call-1");
    let document = json!({ "hook_event_name": "PreToolUse", "session_id": "s1",
        "tool_use_id": "call-2", "tool_name": "Bash", "tool_input": { "command": "ls" } });
    let asked = scene.hook("claude-code", &document);
    let captured = Application::new("captured", &json!({})).unwrap();
    let task = scene.engine.task("s1").unwrap();
    task.append(Append::from(captured).key(format!("{HOOK_KEY}{}", asked.id))).unwrap();
    scene.spool(&asked);
    scene.restart();
    scene.settle();
    let said = conversation(&scene.events("s1"));
    assert_eq!(said.last().unwrap(), "call-2 {\"command\":\"ls\"}");
}

#[test]
fn a_document_that_waited_is_told_once_also_where_the_user_went_back_since() {
    let scene = Scene::new();
    turn(&scene, "list", "call-1");
    let document =
        json!({ "hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "again" });
    let asked = scene.hook("claude-code", &document);
    scene.take(asked.clone());
    scene.settle();
    scene.engine.restore(&scene.engine.point("s1@prompt-2").unwrap()).run().unwrap();
    scene.spool(&asked);
    scene.settle();
    let said = conversation(&scene.events("s1"));
    assert_eq!(said.iter().filter(|said| *said == "user: \"again\"").count(), 0, "{said:?}");
}

#[test]
fn a_document_that_is_put_into_the_spool_behind_the_last_hook_is_recorded_without_another() {
    let scene = Scene::new();
    turn(&scene, "list", "call-1");
    let document =
        json!({ "hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "again" });
    scene.spool(&scene.hook("claude-code", &document));
    scene.until("s1", |events| conversation(events).iter().any(|said| said.contains("again")));
}

#[test]
fn a_file_that_has_no_line_at_the_first_call_is_replaced_by_the_documents_with_the_prompt() {
    for skipped in [None, Some("{\"new\":\n")] {
        let scene = Scene::new();
        let file = scene.session_file("s1");
        if let Some(text) = skipped {
            std::fs::write(&file, text).unwrap();
        }
        let named = json!({ "transcript_path": file, "prompt": "list" });
        say(&scene, "UserPromptSubmit", &named);
        scene.settle();
        assert!(conversation(&scene.events("s1")).is_empty());
        scene.before("s1", "call-1", "Bash");
        scene.settle();
        let said = conversation(&scene.events("s1"));
        assert_eq!(said[2..], ["user: \"list\"", "call-1 {\"command\":\"true\"}"]);
        // The file's later lines are the same conversation.
        std::fs::write(&file, line("u1", None, "list")).unwrap();
        scene.after("s1", "call-1", "Bash");
        scene.settle();
        assert_eq!(conversation(&scene.events("s1"))[..4], said);
    }
}

#[test]
fn a_file_with_lines_is_the_conversation_also_after_it_is_gone() {
    let mut scene = Scene::new();
    let file = scene.session_file("s1");
    std::fs::write(&file, line("u1", None, "list")).unwrap();
    scene.take(scene.asked("UserPromptSubmit", "s1", None));
    scene.before("s1", "call-1", "Bash");
    std::fs::remove_file(&file).unwrap();
    scene.after("s1", "call-1", "Bash");
    scene.restart();
    scene.before("s1", "call-2", "Bash");
    scene.settle();
    assert_eq!(conversation(&scene.events("s1")), ["prompt-1", "step 1", "user: \"list\""]);
}

#[test]
fn a_session_that_its_hooks_told_is_not_imported_once_more() {
    let scene = Scene::new();
    turn(&scene, "list", "call-1");
    scene.settle();
    let before = scene.events("s1").len();
    let file = scene.project().join("s1.jsonl");
    std::fs::write(&file, line("u1", None, "list")).unwrap();
    let input = RunInput::open(&file).unwrap();
    let options = RecordOptions {
        task: None,
        user: "ana".to_owned(),
        stem: None,
        format: None,
        acknowledge: false,
        strict: false,
        allow_unknown: false,
        event_max: 1 << 20,
    };
    let error = record(&scene.engine, input, &options, &mut ()).unwrap_err();
    assert!(error.to_string().contains("as its hooks told it"), "{error}");
    assert_eq!(scene.events("s1").len(), before);
}

#[test]
fn a_prompt_whose_line_is_lost_has_its_mark_and_the_loss_is_told_once() {
    let mut scene = Scene::new();
    let file = scene.session_file("s1");
    let said = |event: &str, more: Value| {
        let mut more = more;
        more["transcript_path"] = json!(file);
        say(&scene, event, &more);
    };
    std::fs::write(&file, line("a", None, "one")).unwrap();
    said("UserPromptSubmit", json!({ "prompt": "one" }));
    said("Stop", json!({}));
    let torn = "{\"type\":\"user\",\"message\":{\"role\":\"us\n";
    let answer = line("c", Some("b"), "done").replace("\"user\"", "\"assistant\"");
    said("UserPromptSubmit", json!({ "prompt": "two" }));
    std::fs::write(&file, [line("a", None, "one"), torn.to_owned(), answer].concat()).unwrap();
    said("Stop", json!({}));
    scene.settle();
    let expected = ["prompt-1", "step 1", "prompt-2", "step 2"];
    let steps = |scene: &Scene| {
        let all = conversation(&scene.events("s1")).into_iter();
        all.filter(|line| line.starts_with("prompt-") || line.starts_with("step "))
            .collect::<Vec<_>>()
    };
    let lost = |scene: &Scene| applications(&scene.events("s1"), "agent_lines_lost").len();
    assert_eq!((steps(&scene), lost(&scene)), (expected.map(String::from).to_vec(), 1));
    // The file is read again from its beginning.
    scene.restart();
    say(&scene, "Stop", &json!({ "transcript_path": file }));
    scene.settle();
    assert_eq!((steps(&scene), lost(&scene)), (expected.map(String::from).to_vec(), 1));
}
