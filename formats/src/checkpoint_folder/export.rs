//! Checkpoints of tasks as files, in the form that an import reads.
//!
//! The fields of a file are those of the import, in the order of the program that saves such files:
//! one field a line, values as they are stored. The same history gives the same bytes.

use std::collections::{HashMap, HashSet};
use std::io;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use milepost::events::{Data, MarkCause, MarkStatus};
use milepost::query::CheckpointQuery;
use milepost::{Body, Checkpoint, Engine, Json, Lineage, LineageId, Task};

use super::file::{FILE_MAX, check_id};
use super::find::is_checkpoint;
use super::target_state::STATE;
use super::write::{EXTRA_EVENT, PAGE};
use crate::error::{Error, Result};
use crate::json_object::{Object, fields_of};
use crate::progress::{Progress, Unit, Work};

/// Maximum length of a file's name, in bytes.
const NAME_MAX: usize = 255;
/// Number of events of an imported checkpoint, at most: those from its step's beginning to its end.
const EVENTS: u64 = 8;

/// Receiver of the files: the name of each, and its content.
pub type FileSink<'a> = dyn FnMut(&str, &[u8]) -> io::Result<()> + 'a;

/// Result of an export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportedFiles {
    /// The number of tasks with a file.
    pub tasks: u64,
    /// The number of files.
    pub files: u64,
    /// The number of checkpoints that are not in the history of an active lineage, and have none.
    pub elsewhere: u64,
}

/// Exports the checkpoints in the history of each task's active lineage, oldest first, and of its
/// other lineages, if `all` is true: those files have the lineage in a field.
///
/// # Errors
///
/// `Engine`: a task does not exist or cannot be read. `Io`: the receiver fails. `Invalid`: a file
/// would be too large for an import.
pub fn export(
    engine: &Engine,
    tasks: &[String],
    all: bool,
    sink: &mut FileSink<'_>,
    progress: &mut dyn Progress,
) -> Result<ExportedFiles> {
    progress.begin(Work { name: "export", unit: Unit::Checkpoints, total: None });
    let (mut done, mut names) = (ExportedFiles::default(), HashSet::new());
    for id in tasks {
        let task = engine.task(id)?;
        let (mut checkpoints, others) = history(engine, &task)?;
        let own = checkpoints.len();
        if all {
            checkpoints.extend(others);
        } else {
            done.elsewhere += others.len() as u64;
        }
        let mut ids = Ids::new(checkpoints.get(..own).unwrap_or_default());
        for (at, checkpoint) in checkpoints.iter().enumerate() {
            let (id, text) = file(engine, &task, checkpoint, at >= own, &mut ids)?;
            if text.len() as u64 > FILE_MAX {
                let limit = FILE_MAX >> 20;
                return Err(Error::invalid(format!("its file would be over {limit} MiB"))
                    .at(format!("checkpoint @{}", checkpoint.id)));
            }
            sink(&name(task.id(), &id, &mut names), text.as_bytes())?;
            progress.advance(1);
        }
        done.tasks += u64::from(!checkpoints.is_empty());
        done.files += checkpoints.len() as u64;
    }
    progress.end();
    Ok(done)
}

/// Returns the checkpoints in the history of a task's active lineage, oldest first, and those of
/// other lineages, one lineage after another.
fn history(engine: &Engine, task: &Task) -> Result<(Vec<Checkpoint>, Vec<Checkpoint>)> {
    let lineages = task.lineages()?;
    let mut ends: HashMap<LineageId, u64> = HashMap::new();
    let (mut id, mut end) = (task.lineage().id(), u64::MAX);
    while ends.insert(id, end).is_none() {
        let parent = lineages.iter().find(|lineage| lineage.id == id);
        if let Some(parent) = parent.and_then(|lineage| lineage.parent.as_ref()) {
            (id, end) = (parent.lineage, end.min(parent.offset));
        }
    }
    let mut query = CheckpointQuery {
        task: Some(task.id().to_owned()),
        limit: Some(PAGE),
        ..CheckpointQuery::default()
    };
    let (mut checkpoints, mut others) = (Vec::new(), Vec::new());
    loop {
        let page = engine.query().checkpoints(&query)?;
        for checkpoint in page.items {
            match ends.get(&checkpoint.lineage).is_some_and(|end| checkpoint.mark < *end) {
                true => checkpoints.push(checkpoint),
                false => others.push(checkpoint),
            }
        }
        query.cursor = page.next;
        if query.cursor.is_none() {
            break;
        }
    }
    checkpoints.sort_by_key(|checkpoint| (checkpoint.at, checkpoint.mark, checkpoint.lineage));
    others.sort_by_key(|checkpoint| (checkpoint.lineage, checkpoint.at, checkpoint.mark));
    Ok((checkpoints, others))
}

/// The ids of a task's files.
struct Ids {
    /// Aliases of its checkpoints: no other checkpoint gets one of them.
    aliases: HashSet<String>,
    taken: HashSet<String>,
}

impl Ids {
    fn new(checkpoints: &[Checkpoint]) -> Self {
        let aliases = checkpoints.iter().flat_map(|checkpoint| checkpoint.aliases.iter().cloned());
        Self { aliases: aliases.collect(), taken: HashSet::new() }
    }

    /// Returns the id of a checkpoint: its first alias, otherwise the task and the step.
    fn next(&mut self, checkpoint: &Checkpoint, step: u64) -> String {
        let valid = |id: &String| check_id("id", id).is_ok();
        for alias in checkpoint.aliases.iter().filter(|alias| valid(alias)) {
            if self.taken.insert(alias.clone()) {
                return alias.clone();
            }
        }
        let by_step = format!("ckpt-{}-{step}", checkpoint.task);
        let by_offset = format!("{by_step}-{}", checkpoint.mark);
        for id in [by_step, by_offset].into_iter().filter(valid) {
            if !self.aliases.contains(&id) && self.taken.insert(id.clone()) {
                return id;
            }
        }
        let id = format!("ckpt-{}", checkpoint.id);
        self.taken.insert(id.clone());
        id
    }
}

/// Returns the name of a file: its id, unless that is not a valid name of a checkpoint file, or
/// taken by another task; otherwise a hash of both.
fn name(task: &str, id: &str, taken: &mut HashSet<String>) -> String {
    let own = format!("{id}.json");
    let fits = is_checkpoint(own.as_ref()) && own.len() <= NAME_MAX && !own.contains('/');
    if fits && taken.insert(own.clone()) {
        return own;
    }
    let hash = blake3::hash(format!("{task}\0{id}").as_bytes());
    let name = format!("ckpt-{hash}.json");
    taken.insert(name.clone());
    name
}

/// The events of a checkpoint that a state does not have.
#[derive(Default)]
struct StepEvents {
    name: Option<String>,
    /// The error of a step that failed.
    error: Option<String>,
    /// The error in the result of a step that succeeded.
    warning: Option<Json>,
    /// Fields of the imported file without an event of their own.
    extra: Object,
}

impl StepEvents {
    fn read(lineage: &Lineage, at: u64) -> Result<Self> {
        let begin = lineage.info()?.begin;
        let mut found = Self::default();
        for event in lineage.read(at.saturating_sub(EVENTS).max(begin)..at)? {
            match event?.body {
                Some(Body::StepStarted(started)) => {
                    found = Self { name: started.name, ..Self::default() };
                }
                Some(Body::StepFailed(failed)) => found.error = Some(failed.error),
                Some(Body::StepFinished(finished)) => {
                    let result = finished.result.and_then(|result| fields_of(result.text()));
                    let error = |(name, _): &(String, Json)| name == "error";
                    let error = result.unwrap_or_default().into_iter().find(error);
                    found.warning = error.map(|(_, value)| value);
                }
                Some(Body::Application(event)) if event.name == EXTRA_EVENT => {
                    if let Data::Json(json) = event.data {
                        found.extra = json.to().unwrap_or_default();
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Returns the id and the content of a checkpoint's file.
fn file(
    engine: &Engine,
    task: &Task,
    checkpoint: &Checkpoint,
    is_elsewhere: bool,
    ids: &mut Ids,
) -> Result<(String, String)> {
    let lineage = task.lineage_named(checkpoint.lineage)?;
    let state = engine.run_state(&lineage.point(checkpoint.at)?)?;
    let is_imported = checkpoint.cause == MarkCause::Imported;
    let found = StepEvents::read(&lineage, checkpoint.at)?;
    let mut extra = if is_imported { found.extra } else { Object::default() };
    let step = state.step.as_ref().map_or(0, |step| step.number);
    let id = ids.next(checkpoint, step);
    let step_name = found.name.or_else(|| state.step.as_ref().and_then(|step| step.name.clone()));
    let label = checkpoint.label.clone();
    let step_name = match is_imported {
        true => step_name.or(label),
        false => label.or(step_name),
    };
    let (status, error) = match (checkpoint.status, found.error) {
        (MarkStatus::Success, _) => ("success".to_owned(), found.warning.filter(|_| is_imported)),
        (MarkStatus::Failure, error) => match (extra.take_text("status"), error) {
            (Some(status), error) => (status, error.as_deref().map(Json::string)),
            (None, Some(status)) if is_imported => (status, None),
            (None, error) => ("failed".to_owned(), error.as_deref().map(Json::string)),
        },
    };
    let object = || Json::new("{}").ok().filter(|_| !is_imported);
    let metadata = extra.take("metadata").or_else(|| checkpoint.metadata.clone()).or_else(object);
    let mut artifacts = state.artifacts;
    let only_state = artifacts.keys().all(|name| name == STATE);
    let of_state = match only_state {
        true => artifacts.remove(STATE).unwrap_or_else(Json::null),
        false => Json::from_value(&artifacts)?,
    };
    let text = |text: &str| Json::string(text).text().to_owned();
    let json = |json: Option<Json>| json.unwrap_or_else(Json::null).text().to_owned();
    let mut fields = vec![
        ("id".to_owned(), text(&id)),
        ("execution_id".to_owned(), text(task.id())),
        ("step_name".to_owned(), text(step_name.as_deref().unwrap_or("checkpoint"))),
        ("step_index".to_owned(), step.to_string()),
        ("timestamp".to_owned(), text(&time(checkpoint.time_us))),
        ("state".to_owned(), of_state.text().to_owned()),
        ("context".to_owned(), state.context.text()),
        ("variables".to_owned(), state.variables.text()),
        ("status".to_owned(), text(&status)),
        ("error".to_owned(), json(error)),
        ("metadata".to_owned(), json(metadata)),
    ];
    if is_elsewhere {
        extra.put("lineage", Json::new(checkpoint.lineage.to_string())?);
    }
    let extra = extra.into_fields().into_iter();
    fields.extend(extra.map(|(name, value)| (name, value.text().to_owned())));
    let line = |(name, value): &(String, String)| format!("  {}: {value}", text(name));
    let lines: Vec<String> = fields.iter().map(line).collect();
    Ok((id, format!("{{\n{}\n}}\n", lines.join(",\n"))))
}

/// Formats a time in UTC as Python's `isoformat` does: without a zone, and without a fraction of
/// zero.
fn time(time_us: u64) -> String {
    let time_us = i64::try_from(time_us).unwrap_or(i64::MAX);
    let stamp = Timestamp::from_microsecond(time_us).unwrap_or(Timestamp::MAX);
    let civil = stamp.to_zoned(TimeZone::UTC).datetime();
    let whole = civil.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    match stamp.subsec_microsecond() {
        0 => whole,
        fraction => format!("{whole}.{fraction:06}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_six_digits_of_its_second_or_none() {
        assert_eq!(time(1_731_753_045_123_456), "2024-11-16T10:30:45.123456");
        assert_eq!(time(1_731_753_045_000_120), "2024-11-16T10:30:45.000120");
        assert_eq!(time(1_731_753_045_000_000), "2024-11-16T10:30:45");
        assert!(time(u64::MAX).starts_with("9999-12-3"));
    }
}
