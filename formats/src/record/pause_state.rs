//! Pause states: a JSON object with the context of a paused run becomes events and a mark.
//!
//! ```text
//! task_id                            the task
//! state, stage or phase, iteration   PhaseChanged
//! prompt, rule_system, guidance, artifacts, run_control_state
//!                                    the events of `iteration`
//! paused_at, created_at or saved_at  the time of the events and the mark
//! everything else                    the variable `pause_state`
//! ```

use jiff::Timestamp;
use milepost::events::{Application, Data, MarkCause, RunControl};
use milepost::{Append, Engine, ErrorKind, Json, Mark, Options};

use super::branches::{ACTOR, Branches};
use super::iteration::{IterationTarget, OWN_KEYS, USER_GUIDANCE, artifacts, control, json, phase};
use super::{Job, RecordReport, RecordedTask, document};
use crate::error::{Converted, Error, Remedy, Result};
use crate::format::Format;
use crate::input::Reader;
use crate::json_object::{Object, as_text};
use crate::progress::{Progress, Unit, Work};

/// The variable with all other fields, and the name of the event of a pause without a change.
const PAUSE_STATE: &str = "pause_state";
/// The field with a second object of fields.
const SNAPSHOT: &str = "context_snapshot";
/// The label of the mark.
const LABEL: &str = "paused";

/// A pause state that was read.
#[derive(Debug)]
pub struct PauseState {
    task: String,
    target: IterationTarget,
    time_us: Option<u64>,
    /// The key of its events.
    key: String,
}

/// Records a pause state: all of it, or nothing. It is written to a store in memory first.
pub(super) fn record(
    job: &Job<'_>,
    reader: Reader,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let text = document::read(job, reader)?;
    let state = parse(&text).map_err(|why| {
        Error::invalid(format!("{}: {why}", job.name))
            .remedied_by(Remedy::NameOtherFormat(Format::PauseState))
    })?;
    drop(text);
    progress.begin(Work { name: job.name, unit: Unit::Items, total: Some(1) });
    let task = job.options.task.as_deref().unwrap_or(&state.task);
    let in_memory = Engine::in_memory(Options::default().event_max(job.options.event_max))?;
    let in_memory = in_memory.with_cancel(job.store.cancel());
    let recorded = write(&in_memory, task, &job.options.user, &state)
        .and_then(|_| Ok(in_memory.close()?))
        .and_then(|()| write(job.store, task, &job.options.user, &state))
        .map_err(|error| error.at(format!("{}: task {task}", job.name)))?;
    progress.advance(1);
    progress.end();
    Ok(RecordReport { tasks: vec![recorded], ..RecordReport::default() })
}

/// Appends a pause state to the active lineage of its task, unless an earlier run did.
fn write(engine: &Engine, id: &str, user: &str, state: &PauseState) -> Result<RecordedTask> {
    let mut branches = Branches::new(engine, id, user, &[OWN_KEYS])?;
    let task = engine.task(id)?;
    let mut recorded = RecordedTask {
        task: id.to_owned(),
        format: Format::PauseState,
        lineages: 1,
        events: 0,
        checkpoints: 0,
        head: task.head()?.next,
    };
    if branches.appended_under(&state.key)?.is_some() {
        return Ok(recorded);
    }
    let mut now = engine.run_state(&task.lineage().point(recorded.head)?)?;
    let mut bodies = state.target.reach(&mut now).map_err(Error::invalid)?;
    if bodies.is_empty() {
        let (name, data) = (PAUSE_STATE.to_owned(), Data::Json(Json::null()));
        bodies.push(Application { name, data }.into());
    }
    let mut mark = Mark::new().cause(MarkCause::Imported).label(LABEL).actor(ACTOR);
    let mut append = Append::batch(bodies).key(state.key.as_str()).actor(ACTOR);
    if let Some(time_us) = state.time_us {
        mark = mark.time_us(time_us);
        append = append.time_us(time_us);
    }
    let appended = task.append(append.mark(mark)).map_err(|error| match error.kind() {
        ErrorKind::Invalid => Error::invalid(error.to_string()),
        _ => error.into(),
    })?;
    recorded.events = u64::from(appended.count);
    recorded.checkpoints = 1;
    recorded.head = task.head()?.next;
    Ok(recorded)
}

/// Reads a pause state, or returns the reason why it is not one.
pub fn parse(text: &str) -> Converted<PauseState> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let whole = json(text)?;
    let object: Object =
        serde_json::from_str(whole.text()).map_err(|_| "not a JSON object".to_owned())?;
    let mut fields = Fields::of(object);
    let task = fields.own.take_named("task_id", |json| as_text(json).or_else(|| number_text(json)));
    let task = task.ok_or_else(|| "it has no `task_id`".to_owned())?;
    let names = ["state", "stage", "phase"];
    let phase = fields.take(&names, as_text).or_else(|| fields.take(&names, phase_of));
    let iteration = phase.is_some().then(|| fields.take(&["iteration"], number)).flatten();
    let guidance = fields.take(&["user_guidance", "guidance"], some);
    let rules = fields.take(&["rule_system"], some);
    let guidance = guidance.map(|guidance| (USER_GUIDANCE, Some(guidance)));
    let mut variables: Vec<(&'static str, Option<Json>)> = guidance.into_iter().collect();
    let named = |json: &Json| as_text(json).as_deref().and_then(control);
    let target = IterationTarget {
        phase,
        iteration,
        prompt: fields.take(&["prompt", "current_prompt"], as_text),
        rules,
        artifacts: fields.take(&["artifacts"], some).as_ref().map(artifacts),
        control: fields.take(&["run_control_state"], named).or(Some(RunControl::Paused)),
        variables: Vec::new(),
    };
    let time_us = fields.take(&["paused_at", "created_at", "saved_at"], time);
    variables.push((PAUSE_STATE, fields.into_rest()?));
    let key = format!("{OWN_KEYS}-pause:{}", blake3::hash(whole.text().as_bytes()).to_hex());
    Ok(PauseState { task, target: IterationTarget { variables, ..target }, time_us, key })
}

/// The fields that are not taken yet.
struct Fields {
    own: Remaining,
    /// The name of the field with the snapshot, and the fields in it.
    snapshot: Option<(String, Remaining)>,
}

/// The fields of an object that are not taken yet.
struct Remaining(Vec<(String, Json)>);

impl Remaining {
    /// Removes the field of a name, in snake or camel case, and returns its value, if that is
    /// accepted.
    fn take_named<T>(&mut self, name: &str, accept: impl Fn(&Json) -> Option<T>) -> Option<T> {
        let at = self.0.iter().position(|(known, _)| snake(known) == name)?;
        let taken = accept(&self.0.get(at)?.1)?;
        self.0.remove(at);
        Some(taken)
    }

    fn into_object(self) -> Object {
        let mut object = Object::default();
        for (name, value) in self.0 {
            object.put(name, value);
        }
        object
    }
}

impl Fields {
    fn of(object: Object) -> Self {
        let mut own = Remaining(object.into_fields());
        let at = own.0.iter().position(|(name, _)| snake(name) == SNAPSHOT);
        let inner = at.and_then(|at| {
            let (name, value) = own.0.get(at)?;
            let object: Object = serde_json::from_str(value.text()).ok()?;
            Some((at, name.clone(), object))
        });
        let snapshot = inner.map(|(at, name, object)| {
            own.0.remove(at);
            (name, Remaining(object.into_fields()))
        });
        Self { own, snapshot }
    }

    /// Takes the first field of several names whose value is accepted.
    fn take<T>(&mut self, names: &[&str], accept: impl Fn(&Json) -> Option<T>) -> Option<T> {
        let snapshot = self.snapshot.as_mut().map(|(_, fields)| fields);
        let sources = std::iter::once(&mut self.own).chain(snapshot);
        for source in sources {
            if let Some(taken) = names.iter().find_map(|name| source.take_named(name, &accept)) {
                return Some(taken);
            }
        }
        None
    }

    /// Returns the other fields, or `None` without any.
    fn into_rest(self) -> Converted<Option<Json>> {
        let mut rest = self.own.into_object();
        if let Some((name, fields)) = self.snapshot {
            let inner = fields.into_object();
            if !inner.is_empty() {
                rest.put(name, Json::from_value(&inner).map_err(|error| error.to_string())?);
            }
        }
        Ok(rest.into_json())
    }
}

fn some(json: &Json) -> Option<Json> {
    Some(json.clone()).filter(|json| !json.is_null())
}

fn phase_of(json: &Json) -> Option<String> {
    some(json).as_ref().map(phase)
}

fn number(json: &Json) -> Option<u64> {
    json.text().parse().ok()
}

fn number_text(json: &Json) -> Option<String> {
    number(json).map(|number| number.to_string())
}

/// Returns a time in microseconds: a number is milliseconds, a text RFC 3339.
fn time(json: &Json) -> Option<u64> {
    let stamp = match as_text(json) {
        Some(text) => text.parse::<Timestamp>().ok()?,
        None => Timestamp::from_millisecond(json.text().parse().ok()?).ok()?,
    };
    u64::try_from(stamp.as_microsecond()).ok()
}

/// Returns a name in snake case.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(state: &PauseState) -> Option<&str> {
        let found = state.target.variables.iter().find(|(name, _)| *name == PAUSE_STATE);
        found.and_then(|(_, value)| value.as_ref()).map(Json::text)
    }

    #[test]
    fn fields_are_found_in_both_cases_and_in_the_snapshot() {
        let text = r#"{"taskId": "t", "runControlState": "Paused", "pausedAt": 1700000000123,
            "contextSnapshot": {"iteration": 4, "currentPrompt": "p", "stage": "layer_2",
            "artifacts": {"patterns": []}, "reason": "look"}, "user": "ana"}"#;
        let state = parse(text).unwrap();
        assert_eq!((state.task.as_str(), state.time_us), ("t", Some(1_700_000_000_123_000)));
        assert_eq!(state.target.phase.as_deref(), Some("layer_2"));
        assert_eq!(state.target.iteration, Some(4));
        assert_eq!(state.target.prompt.as_deref(), Some("p"));
        assert_eq!(state.target.control, Some(RunControl::Paused));
        assert_eq!(rest(&state), Some(r#"{"user":"ana","contextSnapshot":{"reason":"look"}}"#));
        assert_eq!(parse("\u{feff}{\"task_id\": 7}").unwrap().task, "7");
    }

    #[test]
    fn a_field_of_another_type_is_kept() {
        let text = r#"{"task_id":"t","paused_at":"noon","iteration":-1,"prompt":null,
            "run_control_state":"asleep","context_snapshot":[1],"state":{"layer":1}}"#;
        let state = parse(text).unwrap();
        assert_eq!((state.time_us, state.target.iteration), (None, None));
        assert_eq!(state.target.phase.as_deref(), Some(r#"{"layer":1}"#));
        assert_eq!(state.target.control, Some(RunControl::Paused));
        let kept = concat!(
            r#"{"paused_at":"noon","iteration":-1,"prompt":null,"#,
            r#""run_control_state":"asleep","context_snapshot":[1]}"#
        );
        assert_eq!(rest(&state), Some(kept));
    }

    #[test]
    fn what_is_no_pause_state_is_refused() {
        for text in ["", "[]", "{}", "7", r#"{"task_id":null}"#, r#"{"task_id":"t"} {}"#, "{\"a"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
