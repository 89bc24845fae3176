//! Tests: a document can be rebuilt from its plan, so nothing is lost.

use std::path::PathBuf;

use milepost::events::{Data, StepFinished};
use milepost::{Body, Json};
use serde_json::{Map, Value, json};

use super::super::plan::{Item, Run};
use super::*;

fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/fixtures").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Returns the files with an extension in a folder of real runs; none if the folder is missing.
fn real_runs(folder: &str, ending: &str) -> Vec<PathBuf> {
    let data = std::env::var_os("MILEPOST_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    let Ok(dir) = std::fs::read_dir(data.join(folder)) else {
        println!("skipped: no {}", data.join(folder).display());
        return Vec::new();
    };
    let paths = dir.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

fn value(json: &Json) -> Value {
    json.value().unwrap()
}

/// Rebuilds a run from its events.
#[derive(Default)]
struct Rebuilt {
    file: Map<String, Value>,
    history: Vec<Value>,
    steps: Vec<Value>,
    /// Messages of the open step.
    open: Vec<Value>,
    marks: usize,
    in_step: bool,
}

impl Rebuilt {
    fn of(run: &Run) -> Self {
        let mut built = Self::default();
        for item in &run.items {
            match item {
                Item::Event(body) => built.event(body),
                Item::Mark { .. } => built.marks += 1,
            }
        }
        built.history.append(&mut built.open);
        built
    }

    fn event(&mut self, body: &Body) {
        match body {
            Body::VariablesPatched(patched) => {
                for operation in patched.patch.value().unwrap().as_array().unwrap() {
                    let path = operation["path"].as_str().unwrap();
                    let name = path[1..].replace("~1", "/").replace("~0", "~");
                    self.file.insert(name, operation["value"].clone());
                }
            }
            Body::StepStarted(_) => {
                self.history.append(&mut self.open);
                self.in_step = true;
            }
            Body::StepFinished(finished) => self.finished(finished),
            Body::Message(_) => self.open.push(without_kind(body)),
            Body::ToolCalled(called) => {
                let text = called.arguments.value().unwrap();
                let arguments = text.as_str().map_or(called.arguments.text(), |text| text);
                let call = json!({"id": called.call, "type": "function",
                    "function": {"name": called.tool, "arguments": arguments}});
                let follows =
                    self.open.last().is_some_and(|message| message["role"] == "assistant");
                if !follows {
                    self.open.push(json!({"role": "assistant", "content": null}));
                }
                let message = self.open.last_mut().unwrap();
                match message.get_mut("tool_calls") {
                    Some(calls) => calls.as_array_mut().unwrap().push(call),
                    None => message["tool_calls"] = json!([call]),
                }
            }
            Body::ToolReturned(returned) => {
                let output = returned.output.as_ref().map_or(json!(""), value);
                let mut message = json!({"role": "tool", "content": output, "id": returned.call});
                if let Some(tool) = &returned.tool {
                    message["name"] = json!(tool);
                }
                self.open.push(message);
            }
            Body::Application(application) => {
                let Data::Json(json) = &application.data else { panic!("{application:?}") };
                assert_eq!(application.name, "message_fields");
                put_back(&mut self.open, json.value().unwrap());
            }
            other => panic!("{other:?}"),
        }
    }

    fn finished(&mut self, finished: &StepFinished) {
        let mut step = finished.result.as_ref().map_or(json!({}), value);
        let step = step.as_object_mut().unwrap();
        for (name, value) in &finished.metrics {
            step.insert(name.clone(), json!(value.0));
        }
        if let Some(fields) = step.remove("message_fields") {
            put_back(&mut self.open, fields);
        }
        if step.remove("history").is_some() {
            self.without_history(step);
            return self.steps.push(Value::Object(step.clone()));
        }
        self.take_action(step, &format!("step-{}", finished.step));
        if let Some(answer) = self.open.first() {
            for (name, from) in
                [("response", "content"), ("thought", "thought"), ("action", "action")]
            {
                if let Some(value) = answer.get(from) {
                    step.entry(name).or_insert_with(|| value.clone());
                }
            }
            if let Some(range) = step.remove("observation_bytes") {
                let seen = self.open[1]["content"].as_str().unwrap();
                let at = |index: usize| range[index].as_u64().unwrap() as usize;
                step.insert("observation".into(), json!(seen[at(0)..at(1)]));
            }
        }
        self.steps.push(Value::Object(step.clone()));
    }

    /// Takes the call that an action was made into, and its result, out of the messages.
    fn take_action(&mut self, step: &mut Map<String, Value>, id: &str) {
        let Some(answer) = self.open.first_mut().and_then(Value::as_object_mut) else { return };
        let Some([call]) = answer.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice)
        else {
            return;
        };
        if call["id"] != id || call["function"]["name"] != "environment" {
            return;
        }
        step.insert("action".into(), call["function"]["arguments"].clone());
        answer.remove("tool_calls");
        if self.open.get(1).is_some_and(|message| message["id"] == id) {
            step.insert("observation".into(), self.open.remove(1)["content"].clone());
        }
    }

    fn without_history(&mut self, step: &mut Map<String, Value>) {
        for message in std::mem::take(&mut self.open) {
            if message["role"] == "tool" {
                step.insert("observation".into(), message["content"].clone());
                continue;
            }
            step.insert("response".into(), message["content"].clone());
            step.insert("action".into(), message["tool_calls"][0]["function"]["arguments"].clone());
            if let Some(thought) = message.get("thought") {
                step.insert("thought".into(), thought.clone());
            }
        }
        if step.remove("thought_is_response").is_some() {
            step.insert("thought".into(), step["response"].clone());
        }
    }
}

fn without_kind(body: &Body) -> Value {
    let mut form: Value = serde_json::from_str(&body.to_json().unwrap()).unwrap();
    form.as_object_mut().unwrap().remove("kind");
    form
}

/// Puts leftover fields back into tool messages and calls.
fn put_back(messages: &mut [Value], fields: Value) {
    for message in messages {
        let Some(id) = message.get("id").and_then(Value::as_str).map(str::to_owned) else {
            continue;
        };
        if let Some(fields) = fields["returned"].get(&id).and_then(Value::as_object) {
            message.as_object_mut().unwrap().extend(fields.clone());
        }
    }
}

/// Returns a normal form of a message.
fn plain(mut message: Value) -> Value {
    let fields = message.as_object_mut().unwrap();
    if let Some(id) = fields.remove("tool_call_id") {
        fields.insert("id".into(), id);
    }
    if let Some(ids) = fields.remove("tool_call_ids") {
        fields.insert("id".into(), ids[0].clone());
    }
    fields.entry("content").or_insert(Value::Null);
    for call in fields.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        let arguments = &mut call["function"]["arguments"];
        if let Some(json) = arguments.as_str().and_then(|text| serde_json::from_str(text).ok()) {
            *arguments = json;
        }
    }
    message
}

fn plain_all(messages: &Value) -> Vec<Value> {
    messages.as_array().cloned().unwrap_or_default().into_iter().map(plain).collect()
}

/// Returns the messages that a list of ranges of the history refers to.
fn sent(list: &Value, history: &Value) -> Value {
    let range = |range: &Value| {
        let at = |index: usize| range[index].as_u64().unwrap() as usize;
        history.as_array().unwrap()[at(0)..at(1)].to_vec()
    };
    list.as_array()
        .unwrap()
        .iter()
        .flat_map(|item| if item.is_array() { range(item) } else { vec![item.clone()] })
        .collect()
}

fn check_trajectory(name: &str, text: &str) {
    let plans = plans(Format::SweAgent, text).unwrap_or_else(|why| panic!("{name}{why}"));
    let built = Rebuilt::of(&plans[0].runs[0]);
    let file: Map<String, Value> = serde_json::from_str(text).unwrap();
    let null = Value::Null;
    let history = file.get("history").unwrap_or(&null);
    let built_history: Vec<Value> = built.history.into_iter().map(plain).collect();
    assert_eq!(built_history, plain_all(history), "{name}");
    let steps = file.get("trajectory").and_then(Value::as_array).cloned().unwrap_or_default();
    if !steps.is_empty() {
        assert_eq!(built.marks, steps.len(), "{name}");
        for (number, (mut found, step)) in built.steps.into_iter().zip(steps).enumerate() {
            for list in ["messages", "query"] {
                if let Some(list) = found.get_mut(list) {
                    *list = sent(list, history);
                }
            }
            assert_eq!(found, step, "{name}, step {number}");
        }
    }
    for (name, value) in &file {
        if name != "trajectory" && name != "history" {
            assert_eq!(built.file.get(name), Some(value), "{name}");
        }
    }
}

fn check_results(name: &str, text: &str) -> Vec<Plan> {
    let plans = plans(Format::TauBench, text).unwrap_or_else(|why| panic!("{name}{why}"));
    let entries: Vec<Map<String, Value>> = serde_json::from_str(text).unwrap();
    assert_eq!(plans.iter().map(|plan| plan.runs.len()).sum::<usize>(), entries.len());
    for entry in &entries {
        let id = &entry["task_id"];
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let plan = plans.iter().find(|plan| plan.suffix.as_ref() == Some(&id)).unwrap();
        let trial = format!("trial {}", entry["trial"]);
        let run = plan.runs.iter().find(|run| run.description.as_ref() == Some(&trial)).unwrap();
        let built = Rebuilt::of(run);
        let history: Vec<Value> = built.history.into_iter().map(plain).collect();
        assert_eq!(history, plain_all(&entry["traj"]), "{name}, task {id}, {trial}");
        for (field, value) in entry.iter().filter(|(field, _)| *field != "traj") {
            assert_eq!(built.file.get(field), Some(value), "{name}, task {id}, {trial}");
        }
    }
    plans
}

#[test]
fn a_trajectory_can_be_built_again_from_its_plan() {
    for name in ["react.traj", "tools.traj", "history_only.traj"] {
        check_trajectory(name, &fixture(name));
    }
    for path in real_runs("swe-agent", "traj") {
        check_trajectory(&path.display().to_string(), &std::fs::read_to_string(&path).unwrap());
    }
}

#[test]
fn results_can_be_built_again_from_their_plans() {
    let plans = check_results("airline.json", &fixture("airline.json"));
    assert_eq!(plans.len(), 2, "two tasks");
    assert_eq!(plans[0].runs.len(), 4, "four trials");
    for path in real_runs("tau-bench", "json") {
        check_results(&path.display().to_string(), &std::fs::read_to_string(&path).unwrap());
    }
}

#[test]
fn every_action_of_a_trajectory_is_a_call() {
    let count = |text: &str, name: &str| {
        let steps: Value = serde_json::from_str(text).unwrap();
        let steps = steps["trajectory"].as_array().cloned().unwrap_or_default();
        let plans = plans(Format::SweAgent, text).unwrap();
        let is_call = |item: &&Item| matches!(item, Item::Event(Body::ToolCalled(_)));
        let calls = plans[0].runs[0].items.iter().filter(is_call).count();
        let actions = steps.iter().filter(|step| step["action"] != "").count();
        assert!(calls >= actions, "{name}: {calls} calls for {actions} actions");
        (actions, calls)
    };
    for name in ["react.traj", "tools.traj"] {
        let (actions, calls) = count(&fixture(name), name);
        assert_eq!(actions, calls, "{name}");
    }
    for path in real_runs("swe-agent", "traj") {
        count(&std::fs::read_to_string(&path).unwrap(), &path.display().to_string());
    }
}

#[test]
fn messages_that_were_sent_again_are_not_recorded_again() {
    let text = fixture("tools.traj");
    let plans = plans(Format::SweAgent, &text).unwrap();
    let all: String = plans[0].runs[0]
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Event(body) => body.to_json().ok(),
            Item::Mark { .. } => None,
        })
        .collect();
    let sentence = "You are a careful engineer.";
    assert!(text.matches(sentence).count() > 1);
    assert_eq!(all.matches(sentence).count(), 1);
}

#[test]
fn a_document_of_another_form_says_what_it_lacks() {
    let why = |format, text| plans(format, text).map(|_| ()).unwrap_err();
    assert!(why(Format::SweAgent, "{\"a\": 1,\n oops}").starts_with(":2:"));
    assert!(why(Format::SweAgent, "{\"a\":1}").contains("no `trajectory`"));
    assert!(why(Format::SweAgent, "{\"history\":3}").contains("`history` is not a list"));
    assert!(why(Format::TauBench, "[]").contains("nothing to record"));
    assert!(why(Format::TauBench, "[{\"traj\":[]}]").contains("`task_id`"));
    assert!(why(Format::TauBench, "[{\"task_id\":1}]").contains("`traj`"));
    assert!(why(Format::TauBench, "{}").contains("not a list"));
}
