//! tau-bench results: an array of `{task_id, trial, reward, info, traj[]}`.
//!
//! The trials of one task become lineages of one task. Each message of the assistant begins a
//! step, and what follows it belongs to the step:
//!
//! ```text
//! messages before the assistant's first    Message ..
//! one step                                 StepStarted, Message, ToolCalled .., ToolReturned ..,
//!                                          StepFinished, mark
//! reward, info, trial, .., last step       VariablesPatched before the last mark
//! ```

use milepost::{Application, Body, Data, MarkStatus, StepFinished, ToolReturned};
use std::collections::BTreeMap;

use super::conversation::{self, Leftover};
use super::object::{Object, as_text};
use super::plan::{Plan, Run};

/// tau-bench itself counts a trial as passed within this of a reward of 1.
const REWARD_SLACK: f64 = 1e-6;

/// Maps the entries of the array: a plan for each task, in the order the tasks come in.
pub fn plans(entries: Vec<Object>) -> Result<Vec<Plan>, String> {
    let mut plans: Vec<Plan> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let place = format!("entry {index}");
        let task = entry
            .get("task_id")
            .ok_or_else(|| format!("{place} has no `task_id`"))?;
        let task = as_text(task).unwrap_or_else(|| task.text().to_owned());
        let run = run(entry, &place)?;
        let at = *known.entry(task.clone()).or_insert(plans.len());
        match plans.get_mut(at) {
            Some(plan) => plan.runs.push(run),
            None => plans.push(Plan {
                suffix: Some(task),
                runs: vec![run],
            }),
        }
    }
    Ok(plans)
}

fn run(mut entry: Object, place: &str) -> Result<Run, String> {
    let messages = entry
        .take_list("traj")
        .ok_or_else(|| format!("{place} has no list of messages under `traj`"))?;
    let trial = entry
        .get("trial")
        .map(|json| format!("trial {}", json.text()));
    let mut run = Run {
        description: trial,
        items: Vec::new(),
    };
    let mut steps = Steps {
        run: &mut run,
        leftover: Leftover::default(),
        step: 0,
    };
    for (index, message) in messages.into_iter().enumerate() {
        steps.message(message, &format!("message {index} of {place}"))?;
    }
    steps.end(entry);
    Ok(run)
}

fn status(entry: &Object) -> MarkStatus {
    match entry
        .get("reward")
        .and_then(|json| json.value().ok())
        .and_then(|reward| reward.as_f64())
    {
        Some(reward) if reward < 1.0 - REWARD_SLACK => MarkStatus::Failure,
        _ => MarkStatus::Success,
    }
}

struct Steps<'a> {
    run: &'a mut Run,
    leftover: Leftover,
    /// The number of the step that is open; 0 before the first.
    step: u64,
}

impl Steps<'_> {
    fn message(&mut self, message: Object, place: &str) -> Result<(), String> {
        if message.text("role").as_deref() == Some("assistant") {
            if self.step > 0 {
                self.finish_step();
                self.run.mark(self.step, MarkStatus::Success);
            }
            self.step += 1;
            self.run.begin_step(self.step);
        }
        for body in conversation::events(message, place, &mut self.leftover)? {
            self.run.event(with_outcome(body));
        }
        Ok(())
    }

    fn finish_step(&mut self) {
        let mut fields = Object::default();
        if let Some(json) = self.leftover.take().into_json() {
            fields.put("message_fields", json);
        }
        let metrics = BTreeMap::new();
        self.run.event(StepFinished {
            step: self.step,
            result: fields.into_json(),
            metrics,
        });
    }

    fn end(mut self, entry: Object) {
        let status = status(&entry);
        if self.step > 0 {
            self.finish_step();
        } else if let Some(json) = self.leftover.take().into_json() {
            self.run.event(Application {
                name: "message_fields".into(),
                data: Data::Json(json),
            });
        }
        self.run.set_variables(entry);
        self.run.mark(self.step, status);
    }
}

/// The tools of tau-bench answer what they could not do with a text that begins with `Error`.
fn with_outcome(body: Body) -> Body {
    match body {
        Body::ToolReturned(returned) => {
            let text = returned.output.as_ref().and_then(as_text);
            let ok = !text.is_some_and(|text| text.starts_with("Error"));
            Body::ToolReturned(ToolReturned { ok, ..returned })
        }
        other => other,
    }
}
