//! SWE-agent's `.traj` files: `trajectory[]` is the list of steps, `history[]` the conversation.
//!
//! ```text
//! environment, replay_config, ..         VariablesPatched
//! history before the first step          Message ..
//! one step                               StepStarted
//!   its assistant message in the history   Message, ToolCalled ..
//!   its action and observation             ToolCalled, ToolReturned, if that message has no calls
//!   the messages after it                  Message or ToolReturned ..
//!   fields only in the trajectory          StepFinished.result, .metrics
//! info, with the last step               VariablesPatched
//! checkpoint at the end of each step     mark
//! ```
//!
//! Each action is a call: in a format without calls (`default`, `xml`, ..) it has the tool
//! `environment` and the id `step-N`. Fields of a step that repeat its messages are not recorded
//! again: `response`, `thought` and `action` equal to those of its message, and an `observation`
//! contained in the message after it (`observation_bytes` is its byte range there). In the
//! `messages` or the `query` sent to the model, `[a, b]` replaces the messages `a..b` of the
//! history. A step without a message in the history gets its messages from the trajectory, and its
//! result has `"history": false`. If a file has only a history, each message of the assistant is a
//! step.

use std::collections::BTreeMap;

use milepost::events::{
    Application, Data, Extra, Float, MarkStatus, Message, StepFinished, ToolCalled, ToolReturned,
};
use milepost::{Body, Json};

use super::conversation::{self, Leftover};
use super::plan::{Item, Plan, Run};
use crate::json_object::{Object, as_text};

/// Number of assistant messages searched for that of a step.
const LOOK_AHEAD: usize = 4;

/// Tool of the actions of steps without a message in the history.
const ENVIRONMENT: &str = "environment";

/// Returns the plan of a trajectory.
pub fn plan(mut file: Object) -> Result<Plan, String> {
    let steps = list(&mut file, "trajectory")?;
    let history = list(&mut file, "history")?;
    let info = file.take("info");
    if steps.is_none() && history.is_none() {
        return Err("no `trajectory` and no `history`, so this is not a trajectory".into());
    }
    let status = match info.as_ref().and_then(exit_status) {
        Some(exit) if !exit.starts_with("submitted") => MarkStatus::Failure,
        _ => MarkStatus::Success,
    };
    let mut run = Run::default();
    run.set_variables(file)?;
    let mut end = Object::default();
    if let Some(info) = info {
        end.put("info", info);
    }
    let history = history.unwrap_or_default();
    let steps = match steps {
        Some(steps) if !steps.is_empty() => align(steps, &history),
        _ => every_answer(&history),
    };
    Recorder { run: &mut run, history: &history, leftover: Leftover::default() }
        .record(steps, end, status)?;
    Ok(Plan { suffix: None, runs: vec![run] })
}

fn list(file: &mut Object, name: &str) -> Result<Option<Vec<Object>>, String> {
    match file.get(name) {
        None => Ok(None),
        Some(json) if json.is_null() => Ok(None),
        Some(_) => {
            let list = file.take_list(name);
            list.map(Some).ok_or_else(|| format!("`{name}` is not a list of objects"))
        }
    }
}

fn exit_status(info: &Json) -> Option<String> {
    serde_json::from_str::<Object>(info.text()).ok()?.text("exit_status")
}

/// A step, and the index of its assistant message in the history.
struct Step {
    fields: Option<Object>,
    at: Option<usize>,
}

fn is_answer(message: &Object) -> bool {
    message.text("role").as_deref() == Some("assistant") && !message.is_true("is_demo")
}

/// Finds the assistant message of each step, in order. Histories are cut and edited, so a step may
/// have none.
fn align(steps: Vec<Object>, history: &[Object]) -> Vec<Step> {
    let mut answers = history.iter().enumerate().filter(|(_, m)| is_answer(m)).peekable();
    let same = |step: &Object, message: &Object, ours: &str, theirs: &str| {
        step.get(ours).is_some_and(|json| message.get(theirs) == Some(json))
    };
    let mut aligned = Vec::with_capacity(steps.len());
    for fields in steps {
        let mut ahead = answers.clone().take(LOOK_AHEAD).enumerate();
        let found = ahead.find_map(|(skip, (at, message))| {
            let response = same(&fields, message, "response", "content");
            let action = same(&fields, message, "action", "action");
            ((response && action) || (skip == 0 && (response || action))).then_some((skip, at))
        });
        if let Some((skip, _)) = found {
            answers.nth(skip);
        }
        aligned.push(Step { fields: Some(fields), at: found.map(|(_, at)| at) });
    }
    aligned
}

/// Returns a step for each message of the assistant in the history.
fn every_answer(history: &[Object]) -> Vec<Step> {
    let answers = history.iter().enumerate().filter(|(_, m)| is_answer(m));
    answers.map(|(at, _)| Step { fields: None, at: Some(at) }).collect()
}

struct Recorder<'a> {
    run: &'a mut Run,
    history: &'a [Object],
    leftover: Leftover,
}

impl Recorder<'_> {
    fn record(mut self, steps: Vec<Step>, end: Object, status: MarkStatus) -> Result<(), String> {
        let count = steps.len();
        let first = steps.iter().find_map(|step| step.at).unwrap_or(self.history.len());
        self.messages(0, first)?;
        self.spare_leftover();
        let starts: Vec<usize> = steps.iter().filter_map(|step| step.at).skip(1).collect();
        let mut starts = starts.into_iter();
        let mut end = Some(end);
        for (index, mut step) in steps.into_iter().enumerate() {
            if let Some(fields) = &mut step.fields {
                self.shorten_sent(fields);
            }
            let number = index as u64 + 1;
            self.run.begin_step(number);
            let result = match step.at {
                Some(at) => {
                    let until = starts.next().unwrap_or(self.history.len());
                    let before = self.run.items.len();
                    self.messages(at, at + 1)?;
                    if !self.has_calls_since(before) {
                        let said = self.history.get(at).cloned().unwrap_or_default();
                        let fields = step.fields.get_or_insert_default();
                        self.action(fields, said.get("action").cloned(), number);
                    }
                    self.messages(at + 1, until)?;
                    step.fields.map(|fields| self.extra_fields(fields, at))
                }
                None => step.fields.map(|fields| self.without_history(fields, number)),
            };
            self.finish_step(number, result.unwrap_or_default());
            let last = index + 1 == count;
            if last && let Some(end) = end.take() {
                self.run.set_variables(end)?;
            }
            self.run.mark(number, if last { status } else { MarkStatus::Success });
        }
        if let Some(end) = end {
            self.run.set_variables(end)?;
        }
        Ok(())
    }

    fn messages(&mut self, from: usize, until: usize) -> Result<(), String> {
        let range = self.history.iter().enumerate().take(until).skip(from);
        for (index, message) in range {
            let place = format!("message {index} of the history");
            for body in conversation::events(message.clone(), &place, &mut self.leftover)? {
                self.run.event(body);
            }
        }
        Ok(())
    }

    /// Returns `true` if an item since an index is a call.
    fn has_calls_since(&self, index: usize) -> bool {
        let mut items = self.run.items.iter().skip(index);
        items.any(|item| matches!(item, Item::Event(Body::ToolCalled(_))))
    }

    /// Records the action of a step and its observation as a call. Without an action of its own,
    /// the step has that of its message.
    fn action(&mut self, fields: &mut Object, said: Option<Json>, step: u64) {
        let is_said = |json: &Json| as_text(json).is_none_or(|text| !text.trim().is_empty());
        let is_action = |json: &Json| !json.is_null() && is_said(json);
        let own = fields.get("action").cloned().or(said);
        let Some(arguments) = own.filter(is_action) else { return };
        fields.take("action");
        let (call, tool) = (format!("step-{step}"), ENVIRONMENT.to_owned());
        self.run.event(ToolCalled { call: call.clone(), tool: tool.clone(), arguments });
        if let Some(output) = fields.take("observation") {
            let output = Some(output).filter(|json| as_text(json).is_none_or(|t| !t.is_empty()));
            self.run.event(ToolReturned { call, tool: Some(tool), ok: true, output });
        }
    }

    /// Records the leftover fields of tool calls before the first step, which no result can
    /// contain.
    fn spare_leftover(&mut self) {
        if let Some(json) = self.leftover.take().into_json() {
            self.run.event(Application { name: "message_fields".into(), data: Data::Json(json) });
        }
    }

    fn finish_step(&mut self, step: u64, mut fields: Object) {
        let mut metrics = BTreeMap::new();
        let time = fields.get("execution_time").and_then(|json| json.value().ok());
        if let Some(time) = time.filter(|time| time.is_f64()).and_then(|time| time.as_f64()) {
            metrics.insert("execution_time".to_owned(), Float(time));
            fields.take("execution_time");
        }
        if let Some(json) = self.leftover.take().into_json() {
            fields.put("message_fields", json);
        }
        self.run.event(StepFinished { step, result: fields.into_json(), metrics });
    }

    /// Removes the fields of a step that repeat its messages, which begin at `at`.
    fn extra_fields(&self, mut fields: Object, at: usize) -> Object {
        let Some(message) = self.history.get(at) else {
            return fields;
        };
        for (ours, theirs) in
            [("response", "content"), ("thought", "thought"), ("action", "action")]
        {
            if fields.get(ours).is_some() && fields.get(ours) == message.get(theirs) {
                fields.take(ours);
            }
        }
        let next_text = self.history.get(at + 1).and_then(|next| next.text("content"));
        if let (Some(next_text), Some(observation)) = (next_text, fields.text("observation"))
            && let Some(start) = next_text.find(&observation)
            && let Ok(range) = Json::new(format!("[{start},{}]", start + observation.len()))
        {
            fields.take("observation");
            fields.put("observation_bytes", range);
        }
        fields
    }

    /// Replaces messages sent to the model by ranges of the history.
    fn shorten_sent(&self, fields: &mut Object) {
        for name in ["messages", "query"] {
            if let Some(sent) = fields.take_list(name)
                && let Some(sent) = self.sent(sent)
            {
                fields.put(name, sent);
            }
        }
    }

    /// Returns a list of messages in which ranges replace the messages of the history.
    fn sent(&self, messages: Vec<Object>) -> Option<Json> {
        let mut out: Vec<Json> = Vec::new();
        let mut range: Option<(usize, usize)> = None;
        let close = |range: Option<(usize, usize)>, out: &mut Vec<Json>| {
            out.extend(range.and_then(|(a, b)| Json::new(format!("[{a},{b}]")).ok()));
        };
        for (index, message) in messages.into_iter().enumerate() {
            if self.history.get(index) == Some(&message) {
                range = Some((range.map_or(index, |(first, _)| first), index + 1));
                continue;
            }
            close(range.take(), &mut out);
            out.push(message.into_json().unwrap_or_else(Json::null));
        }
        close(range, &mut out);
        Json::from_value(&out).ok()
    }

    /// Records the messages of a step without a message in the history, and returns its other
    /// fields.
    fn without_history(&mut self, mut fields: Object, step: u64) -> Object {
        let mut extra = Object::default();
        let response = fields.take("response").filter(|json| !json.is_null());
        if let Some(thought) = fields.take("thought").filter(|json| !json.is_null()) {
            if response.as_ref() == Some(&thought) {
                fields.put("thought_is_response", truth(true));
            } else {
                extra.put("thought", thought);
            }
        }
        let extra = extra.into_json().map(Extra);
        if response.is_some() || extra.is_some() {
            let role = "assistant".to_owned();
            self.run.event(Message { role, content: response, name: None, extra });
        }
        self.action(&mut fields, None, step);
        fields.put("history", truth(false));
        fields
    }
}

fn truth(value: bool) -> Json {
    Json::from_value(&value).unwrap_or_else(|_| Json::null())
}
