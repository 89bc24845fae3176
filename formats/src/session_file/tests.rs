use std::path::PathBuf;

use milepost::{Engine, Event, Options, Task};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::input::RunInput;
use crate::record::{RecordOptions, SessionTail, TailStop, continued, record, session_description};

/// A store, and a folder of session files.
struct Scene {
    engine: Engine,
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let engine = Engine::in_memory(Options::default()).unwrap();
        Self { engine, dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, session: &str) -> PathBuf {
        self.dir.path().join(format!("{session}.jsonl"))
    }

    fn record(&self, session: &str, bytes: &[u8]) -> u64 {
        std::fs::write(self.path(session), bytes).unwrap();
        let (engine, path) = (&self.engine, self.path(session));
        let mut tail = SessionTail::new(engine, Format::ClaudeCode, &path, session, "ana").unwrap();
        let read = tail.read_on(TailStop::End).unwrap();
        assert_eq!(read.reason, None);
        read.events
    }

    fn task(&self) -> Task {
        self.engine.task("s").unwrap()
    }

    /// Writes the file of a point of the active lineage.
    fn file(&self, to: u64) -> Vec<u8> {
        let mut file = SessionFile::new(Format::ClaudeCode, "n").unwrap();
        for event in self.task().read(1..to).unwrap() {
            let Event { header, body, .. } = event.unwrap();
            file.push(header.key.as_deref(), body.as_ref());
        }
        file.bytes()
    }

    /// Returns the offset of a mark.
    fn mark(&self, label: &str) -> u64 {
        self.engine.point(&format!("s@{label}")).unwrap().offset
    }
}

fn bytes(lines: &[Value]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

fn parsed(bytes: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(bytes).unwrap().lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn line(n: usize, kind: &str, message: Value) -> Value {
    let parent = n.checked_sub(1).map(|n| format!("u{n}"));
    json!({
        "parentUuid": parent,
        "isSidechain": false,
        "type": kind,
        "message": message,
        "uuid": format!("u{n}"),
        "timestamp": "2026-11-24T08:30:18.447Z",
        "sessionId": "s",
        "version": "2.1.330",
    })
}

fn said(n: usize, text: &str) -> Value {
    line(n, "user", json!({ "role": "user", "content": text }))
}

fn answered(n: usize, blocks: Value) -> Value {
    let usage = json!({ "input_tokens": 7, "output_tokens": 1 });
    let message = json!({ "id": "m", "model": "opus", "role": "assistant", "content": blocks,
        "stop_reason": null, "usage": usage });
    line(n, "assistant", message)
}

fn returned(n: usize, call: &str, is_error: bool) -> Value {
    let mut block = json!({ "tool_use_id": call, "type": "tool_result", "content": "out" });
    if is_error {
        block.as_object_mut().unwrap().insert("is_error".into(), true.into());
    }
    line(n, "user", json!({ "role": "user", "content": [block] }))
}

/// A session of two prompts.
fn two_prompts() -> Vec<Value> {
    let call = json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "x" },
        "caller": { "type": "direct" } });
    vec![
        json!({ "type": "queue-operation", "operation": "enqueue", "sessionId": "s" }),
        said(0, "first"),
        answered(1, json!([{ "type": "text", "text": "I look" }, call])),
        returned(2, "t1", true),
        answered(3, json!([{ "type": "text", "text": "done" }])),
        said(4, "second"),
        answered(5, json!([{ "type": "thinking", "thinking": "", "signature": "x" }])),
    ]
}

#[test]
fn the_conversation_before_a_prompt_is_what_the_agent_wrote() {
    let scene = Scene::new();
    scene.record("s", &bytes(&two_prompts()));
    let written = scene.file(scene.mark("prompt-2"));
    assert_eq!(parsed(&written), two_prompts()[1..5]);
}

/// Records a session, and returns the lines of its file under a new id.
fn of(format: Format, lines: &[Value]) -> Vec<Value> {
    let scene = Scene::new();
    let path = scene.path("s");
    std::fs::write(&path, bytes(lines)).unwrap();
    let mut tail = SessionTail::new(&scene.engine, format, &path, "s", "ana").unwrap();
    assert_eq!(tail.read_on(TailStop::End).unwrap().reason, None);
    let mut file = SessionFile::new(format, "new").unwrap();
    for event in scene.task().read(1..).unwrap() {
        let Event { header, body, .. } = event.unwrap();
        file.push(header.key.as_deref(), body.as_ref());
    }
    assert!(file.has_message());
    // An import into the same task recognizes every line.
    std::fs::write(&path, file.bytes()).unwrap();
    let mut tail = SessionTail::new(&scene.engine, format, &path, "s", "ana").unwrap();
    if SESSION_IS_IN_NO_KEY.contains(&format) {
        assert_eq!(tail.read_on(TailStop::End).unwrap().events, 0);
    }
    parsed(&file.bytes())
}

/// The formats whose lines are recognized by an id, whatever the id of the session is.
const SESSION_IS_IN_NO_KEY: [Format; 2] = [Format::QwenCode, Format::Copilot];

#[test]
fn lines_with_ids_have_the_new_id_of_the_session_and_are_recognized_by_their_own() {
    let line = |id: &str, parent: Option<&str>, kind: &str, more: Value| {
        let mut line = json!({ "uuid": id, "parentUuid": parent, "sessionId": "s", "type": kind });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let parts = |parts: Value| json!({ "message": { "role": "x", "parts": parts } });
    let call = json!({ "functionCall": { "id": "t1", "name": "shell", "args": {} } });
    let response = json!({ "id": "t1", "name": "shell", "response": { "output": "x" } });
    let mut chat = vec![
        line("u1", None, "user", parts(json!([{ "text": "first" }]))),
        line("s1", Some("u1"), "system", json!({ "systemPayload": { "sessionId": "s" } })),
        line("a1", Some("s1"), "assistant", parts(json!([{ "text": "I look" }, call]))),
        line("r1", Some("a1"), "tool_result", parts(json!([{ "functionResponse": response }]))),
    ];
    let written = of(Format::QwenCode, &chat);
    chat.iter_mut().for_each(|line| line["sessionId"] = "new".into());
    assert_eq!(written, chat);
    let line = |id: &str, parent: Option<&str>, kind: &str, data: Value| {
        json!({ "type": kind, "data": data, "id": id, "parentId": parent,
            "timestamp": "2026-11-24T08:30:18.447Z" })
    };
    let request = json!({ "toolCallId": "t1", "name": "bash", "arguments": {} });
    let done = json!({ "toolCallId": "t1", "success": true, "result": { "content": "x" } });
    let mut events = vec![
        line("i0", None, "session.start", json!({ "sessionId": "s", "version": 1 })),
        line("i1", Some("i0"), "hook.start", json!({ "input": { "sessionId": "s" } })),
        line("i2", Some("i1"), "user.message", json!({ "content": "first" })),
        line(
            "i3",
            Some("i2"),
            "assistant.message",
            json!({ "content": "",
            "toolRequests": [request] }),
        ),
        line("i4", Some("i3"), "tool.execution_complete", done),
    ];
    let written = of(Format::Copilot, &events);
    events[0]["data"]["sessionId"] = "new".into();
    assert_eq!(written, events);
}

/// Imports a file into the task `s`, and returns the number of events.
fn import(scene: &Scene, format: Format, bytes: &[u8]) -> u64 {
    import_as(scene, format, bytes, Some("s"))
}

fn import_as(scene: &Scene, format: Format, bytes: &[u8], task: Option<&str>) -> u64 {
    std::fs::write(scene.path("import"), bytes).unwrap();
    let options = RecordOptions {
        user: "ana".into(),
        task: task.map(str::to_owned),
        stem: None,
        format: Some(format),
        strict: true,
        acknowledge: false,
        allow_unknown: false,
        event_max: usize::MAX / 2,
    };
    let input = RunInput::open(&scene.path("import")).unwrap();
    let report = record(&scene.engine, input, &options, &mut ()).unwrap();
    report.tasks[0].events
}

fn role(event: milepost::Result<Event>) -> Option<String> {
    match event.unwrap().body? {
        milepost::Body::Message(message) => Some(message.role),
        _ => None,
    }
}

#[test]
fn a_document_of_opencode_has_new_ids_that_are_recognized() {
    let id = |kind: &str, n: usize| format!("{kind}_219ebca7200{n}5EpGFQU5Qn1uqW");
    let part = |n: usize, message: usize, mut more: Value| {
        more["id"] = id("prt", n).into();
        more["messageID"] = id("msg", message).into();
        more["sessionID"] = "s".into();
        more
    };
    let info = |n: usize, role: &str| json!({ "id": id("msg", n), "role": role, "sessionID": "s" });
    let mut answer = info(2, "assistant");
    answer["parentID"] = id("msg", 1).into();
    answer["time"] = json!({ "completed": 5 });
    let state =
        json!({ "status": "completed", "input": {}, "output": "x", "time": { "end": 1.50 } });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let call = json!({ "type": "tool", "tool": "bash", "callID": "t1", "state": state });
    let mut of_plugin = part(3, 1, text("told by the plugin"));
    of_plugin["id"] = format!("{}m", id("prt", 3)).into();
    of_plugin["synthetic"] = true.into();
    let document = json!({
        "info": { "id": "s", "projectID": "p", "directory": "/x", "share": 1 },
        "messages": [
            { "info": info(1, "user"), "parts": [part(3, 1, text("go")), of_plugin] },
            { "info": answer, "parts": [part(4, 2, call)] },
            { "info": info(5, "user"), "parts": [part(6, 5, text("on"))] },
        ],
    });
    let scene = Scene::new();
    assert!(import(&scene, Format::Opencode, document.to_string().as_bytes()) > 0);
    let written = |to: u64| {
        let mut file = SessionFile::new(Format::Opencode, "new").unwrap();
        for event in scene.task().read(1..to).unwrap() {
            let Event { header, body, .. } = event.unwrap();
            file.push(header.key.as_deref(), body.as_ref());
        }
        assert!(file.has_message());
        file.bytes()
    };
    let roles: Vec<String> = scene.task().read(1..).unwrap().filter_map(role).collect();
    assert_eq!(roles, ["user", "system", "user"]);
    let head = scene.task().head().unwrap().next;
    assert_eq!(import(&scene, Format::Opencode, &written(head)), 0);
    let before: Value = serde_json::from_slice(&written(scene.mark("prompt-2"))).unwrap();
    assert_eq!(before["info"], json!({ "id": "new", "projectID": "p", "directory": "/x" }));
    let [asked, answered] = before["messages"].as_array().unwrap().as_slice() else { panic!() };
    let new = asked["info"]["id"].as_str().unwrap().to_owned();
    assert_ne!(new, id("msg", 1));
    assert_eq!((new.len(), &new[..16]), (30, &id("msg", 1)[..16]));
    assert_eq!(asked["parts"][0]["messageID"], new.as_str());
    // The part of the plugin comes behind the part whose id it has.
    let first = asked["parts"][0]["id"].as_str().unwrap();
    assert_eq!(asked["parts"][1]["id"], format!("{first}m"));
    assert_eq!(
        (&answered["info"]["parentID"], &answered["info"]["sessionID"]),
        (&new.into(), &"new".into())
    );
    assert_eq!(answered["parts"][0]["state"], document["messages"][1]["parts"][0]["state"]);
}

#[test]
fn lines_of_other_agents_have_their_text_and_the_new_id() {
    let call = json!({ "id": "t1", "name": "shell", "args": {}, "status": "success",
        "result": [{ "functionResponse": { "id": "t1", "response": { "output": "x" } } }] });
    let answer = json!({ "id": "m2", "timestamp": "2026-11-24T08:30:18.447Z", "type": "gemini",
        "content": "", "thoughts": [], "model": "m", "tokens": { "input": 7, "output": 1 } });
    let mut whole = answer.clone();
    whole["toolCalls"] = json!([call]);
    let mut chat = vec![
        json!({ "sessionId": "s", "projectHash": "p", "kind": "main" }),
        json!({ "$set": { "sessionId": "s", "lastUpdated": "x" } }),
        json!({ "id": "m1", "timestamp": "2026-11-24T08:30:18.447Z", "type": "user",
            "content": [{ "text": "first" }] }),
        answer,
        whole,
    ];
    let written = of(Format::GeminiCli, &chat);
    chat[0]["sessionId"] = "new".into();
    chat[1]["$set"]["sessionId"] = "new".into();
    assert_eq!(written, chat);
    let item = |payload: Value| {
        json!({ "timestamp": "2026-11-24T08:30:18.447Z",
        "type": "response_item", "payload": payload })
    };
    let mut rollout = vec![
        json!({ "timestamp": "2026-11-24T08:30:18.447Z", "type": "session_meta",
            "payload": { "id": "s", "cwd": "/p", "session_id": "s" } }),
        item(json!({ "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": "first" }] })),
        item(json!({ "type": "function_call", "name": "shell", "arguments": "{}",
            "call_id": "t1" })),
        item(json!({ "type": "function_call_output", "call_id": "t1", "output": "x" })),
    ];
    let written = of(Format::Codex, &rollout);
    rollout[0]["payload"]["id"] = "new".into();
    rollout[0]["payload"]["session_id"] = "new".into();
    assert_eq!(written, rollout);
}

#[test]
fn a_line_with_an_erased_event_is_left_out() {
    let scene = Scene::new();
    scene.record("s", &bytes(&two_prompts()));
    let is_call = |event: &Event| matches!(event.body, Some(milepost::Body::ToolCalled(_)));
    let events = scene.task().read(1..).unwrap().map(|event| event.unwrap());
    let call = events.into_iter().find(is_call).unwrap().offset;
    let point = scene.task().point(call).unwrap();
    scene.engine.retention().erase(&point, None).unwrap();
    let written = parsed(&scene.file(scene.mark("prompt-2")));
    let all = two_prompts();
    assert_eq!(written, [all[1].clone(), all[3].clone(), all[4].clone()]);
}

#[test]
fn a_session_that_continues_is_a_lineage_of_the_task_it_comes_from() {
    let scene = Scene::new();
    scene.record("s", &bytes(&two_prompts()));
    let to = scene.mark("prompt-2");
    let mut written = scene.file(to);
    let point = scene.task().point(to).unwrap();
    let description = session_description("n");
    scene.engine.restore(&point).description(&description).run().unwrap();
    let lineage = scene.task().lineage().id();
    assert_eq!(continued(&scene.engine, "n").unwrap(), Some(("s".into(), lineage)));
    assert_eq!(continued(&scene.engine, "other").unwrap(), None);
    assert_eq!(scene.record("n", &written), 0);
    let head = scene.task().head().unwrap().next;
    let mut more = said(4, "another way");
    more["uuid"] = "v4".into();
    more["sessionId"] = "n".into();
    written.extend(bytes(&[more]));
    assert!(scene.record("n", &written) > 0);
    assert_eq!(scene.task().lineage().id(), lineage);
    assert!(scene.task().head().unwrap().next > head);
    assert!(scene.engine.task("n").is_err());
    // Lines of the session from before are recorded where it is, and push nothing aside.
    let mut old = two_prompts();
    old.push(answered(6, json!([{ "type": "text", "text": "old" }])));
    assert!(scene.record("s", &bytes(&old)) > 0);
    assert_eq!(scene.task().lineage().id(), lineage);
}

#[test]
fn a_session_of_copilot_that_continues_is_a_lineage_of_the_task_it_comes_from() {
    let line = |n: usize, parent: Option<usize>, kind: &str, data: Value| {
        let id = |n| format!("e{n}");
        json!({ "type": kind, "data": data, "id": id(n), "parentId": parent.map(id),
            "timestamp": "2026-11-24T08:30:18.447Z" })
    };
    let said =
        |n: usize, text: &str| line(n, Some(n - 1), "user.message", json!({ "content": text }));
    let start = line(0, None, "session.start", json!({ "sessionId": "s" }));
    let answer = line(2, Some(1), "assistant.message", json!({ "content": "done" }));
    let scene = Scene::new();
    let lines = [start, said(1, "first"), answer, said(3, "second")];
    assert!(import_as(&scene, Format::Copilot, &bytes(&lines), None) > 0);
    let to = scene.mark("prompt-2");
    let mut file = SessionFile::new(Format::Copilot, "n").unwrap();
    for event in scene.task().read(1..to).unwrap() {
        let Event { header, body, .. } = event.unwrap();
        file.push(header.key.as_deref(), body.as_ref());
    }
    let mut written = file.bytes();
    assert_eq!(parsed(&written).len(), 3);
    let point = scene.task().point(to).unwrap();
    let description = session_description("n");
    scene.engine.restore(&point).description(&description).run().unwrap();
    let lineage = scene.task().lineage().id();
    assert_eq!(import_as(&scene, Format::Copilot, &written, None), 0);
    // The agent notes that the session continues, and continues from there.
    let resumed = line(7, Some(2), "session.resume", json!({ "eventCount": 3 }));
    let other = line(8, Some(7), "user.message", json!({ "content": "otherwise" }));
    written.extend(bytes(&[resumed, other]));
    assert_eq!(import_as(&scene, Format::Copilot, &written, None), 4);
    assert_eq!(import_as(&scene, Format::Copilot, &written, None), 0);
    assert_eq!((scene.task().lineage().id(), scene.task().lineages().unwrap().len()), (lineage, 2));
    assert!(scene.engine.task("n").is_err());
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z \\n\"\\\\]{1,12}", any::<String>()]
}

fn any_line(n: usize) -> impl Strategy<Value = Value> {
    let text = |text: String| json!({ "type": "text", "text": text });
    let call = move |(id, input): (u8, String)| {
        json!({ "type": "tool_use", "id": format!("t{n}-{id}"), "name": "Bash",
            "input": { "command": input } })
    };
    let blocks = prop_oneof![any_text().prop_map(text), (any::<u8>(), any_text()).prop_map(call)];
    let image = json!([{ "type": "image", "source": { "data": "x" } }]);
    prop_oneof![
        any_text().prop_map(move |text| said(n, &text)),
        prop::collection::vec(blocks, 1..4).prop_map(move |blocks| answered(n, blocks.into())),
        any::<bool>().prop_map(move |is_error| returned(n, &format!("t{n}"), is_error)),
        Just(line(n, "user", json!({ "role": "user", "content": image }))),
        Just(json!({ "type": "system", "uuid": format!("u{n}"), "content": [1, { "a": null }] })),
    ]
}

fn any_session() -> impl Strategy<Value = Vec<Value>> {
    (1..8usize).prop_flat_map(|len| (0..len).map(any_line).collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn any_session_is_written_as_it_was_and_adds_nothing(lines in any_session()) {
        let scene = Scene::new();
        scene.record("s", &bytes(&lines));
        let written = scene.file(scene.task().head().unwrap().next);
        prop_assert_eq!(parsed(&written), lines);
        prop_assert_eq!(scene.record("s", &written), 0);
    }
}
