//! Writes a plan to the store.
//!
//! A checkpoint is one commit: its events under a key, and the mark after them. A known checkpoint
//! is not imported again. It is known by the alias of its mark, on any lineage, so also after a
//! restore to an earlier point, or by its key if a cleanup removed the mark. If only its events
//! exist, the missing mark is added.

use std::collections::HashSet;

use milepost::events::{
    Application, Data, MarkCause, MarkStatus, StepFailed, StepFinished, StepStarted,
};
use milepost::query::CheckpointQuery;
use milepost::{Append, Body, Engine, ErrorKind, Lineage, LineageId, Mark, Offset, RunState, Task};
use serde_json::json;

use super::file::{self, SavedCheckpoint};
use super::plan::{PlannedFile, TaskPlan};
use super::{Files, ImportedTask};
use crate::error::Result;

/// Actor of the events and marks.
const ACTOR: &str = "import";
/// Prefix of the keys of imported checkpoints.
const KEY: &str = "import:";
/// Name of the application event with the fields that fit no other event.
pub const EXTRA_EVENT: &str = "checkpoint_file";
/// Reason to skip a file that changed after its checkpoint was imported.
const CHANGED: &str = "it was changed since it was imported: what is in stays as it was";
/// Number of checkpoints per query.
pub const PAGE: usize = 1000;

/// Writes the checkpoints that are not in the store yet. Skips each file that cannot be imported.
/// Returns `None` if the task is not from an import.
pub fn write(
    engine: &Engine,
    user: &str,
    plan: &TaskPlan,
    files: &mut Files<'_>,
) -> Result<Option<ImportedTask>> {
    let imported_ids = match engine.task(&plan.task) {
        Ok(_) => imported_ids(engine, &plan.task)?,
        // The task is started below.
        Err(_) => HashSet::new(),
    };
    let Some(task) = task(engine, user, plan, &imported_ids)? else {
        let reason =
            format!("the task `{}` is there already, and does not come from an import", plan.task);
        for entry in &plan.entries {
            files.skip(&entry.path, &reason);
            files.done();
        }
        return Ok(None);
    };
    let mut writer = Writer { engine, lineage: task.lineage().clone(), now: None, events: 0 };
    let (mut checkpoints, mut repeated) = (0, 0);
    for entry in &plan.entries {
        engine.cancel().check()?;
        if imported_ids.contains(&entry.id) || writer.is_let_go(&entry.id)? {
            match writer.is_same(&task, entry)? {
                true => repeated += 1,
                false => files.skip(&entry.path, CHANGED),
            }
        } else {
            let put = writer.entry(entry);
            match put.map_err(|error| error.at(entry.path.display()))? {
                Ok(()) => checkpoints += 1,
                Err(reason) => files.skip(&entry.path, &reason),
            }
        }
        files.done();
    }
    Ok(Some(ImportedTask {
        task: plan.task.clone(),
        events: writer.events,
        checkpoints,
        repeated,
        head: task.head()?.next,
    }))
}

/// Returns the task of an execution, and starts it if missing. Returns `None` if the task was not
/// begun by an import.
fn task(
    engine: &Engine,
    user: &str,
    plan: &TaskPlan,
    imported_ids: &HashSet<String>,
) -> Result<Option<Task>> {
    let task = match engine.task(&plan.task) {
        Ok(task) => task,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Some(engine.start_task(&plan.task, user)?));
        }
        Err(error) => return Err(error.into()),
    };
    let root = task.lineage_named(LineageId(0));
    // Offset 0 is the event that opened the lineage.
    let ours = match root.and_then(|root| root.read(1..2)) {
        Ok(mut events) => {
            let first = events.next().transpose()?;
            first.is_none_or(|event| event.header.key.is_some_and(|key| key.starts_with(KEY)))
        }
        // A cleanup removed its beginning.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let mut ours = !imported_ids.is_empty();
            for entry in &plan.entries {
                ours = ours || task.lineage().appended_under(&key(&entry.id))?.is_some();
            }
            ours
        }
        Err(error) => return Err(error.into()),
    };
    Ok(ours.then_some(task))
}

/// Returns the key of a checkpoint's events.
fn key(id: &str) -> String {
    format!("{KEY}{id}")
}

/// Returns the ids of the checkpoints that were imported into a task.
fn imported_ids(engine: &Engine, task: &str) -> Result<HashSet<String>> {
    let mut imported_ids = HashSet::new();
    let mut query = CheckpointQuery {
        task: Some(task.to_owned()),
        limit: Some(PAGE),
        ..CheckpointQuery::default()
    };
    loop {
        let page = engine.query().checkpoints(&query)?;
        let imported =
            page.items.into_iter().filter(|checkpoint| checkpoint.cause == MarkCause::Imported);
        imported_ids.extend(imported.flat_map(|checkpoint| checkpoint.aliases));
        if page.next.is_none() {
            return Ok(imported_ids);
        }
        query.cursor = page.next;
    }
}

/// Success, or the reason why a file is not imported.
type Adoption = std::result::Result<(), String>;

struct Writer<'a> {
    engine: &'a Engine,
    lineage: Lineage,
    /// State at the head, if known.
    now: Option<RunState>,
    events: u64,
}

impl Writer<'_> {
    fn entry(&mut self, entry: &PlannedFile) -> Result<Adoption> {
        let saved = match file::read(&entry.path) {
            Ok(saved) => saved,
            Err(reason) => return Ok(Err(reason)),
        };
        if PlannedFile::of(&entry.path, &saved) != *entry {
            return Ok(Err("it was changed during the import".into()));
        }
        self.put(&saved)
    }

    fn put(&mut self, saved: &SavedCheckpoint) -> Result<Adoption> {
        let mut now = match self.now.take() {
            Some(now) => now,
            None => self.state_at(self.lineage.head()?.next)?,
        };
        let bodies = match bodies(saved, &mut now) {
            Ok(bodies) => bodies,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let key = key(&saved.id);
        let append = Append::batch(bodies)
            .key(key.as_str())
            .correlation(saved.digest.as_str())
            .actor(ACTOR)
            .time_us(saved.time_us)
            .mark(mark(saved));
        match self.lineage.append(append) {
            Ok(appended) => {
                if !appended.repeated {
                    self.events += u64::from(appended.count);
                    self.now = Some(now);
                }
                Ok(Ok(()))
            }
            Err(error) if error.kind() == ErrorKind::Invalid => Ok(Err(error.to_string())),
            // The events exist without the mark if the task was restored to a point between the
            // two. Otherwise they differ from these, since they follow another state.
            Err(error) if error.kind() == ErrorKind::Conflict => {
                match self.lineage.appended_under(&key)? {
                    Some(events) => self.adopt(saved, events.end),
                    None => Err(error.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns `true` if a checkpoint was imported before and a cleanup removed its mark or its
    /// events.
    fn is_let_go(&self, id: &str) -> Result<bool> {
        let Some(events) = self.lineage.appended_under(&key(id))? else {
            return Ok(false);
        };
        // The event of the mark remains if only the mark was removed.
        match self.lineage.read(events.end..=events.end) {
            Ok(mut behind) => {
                let behind = behind.next().transpose()?.and_then(|event| event.body);
                Ok(matches!(behind, Some(Body::CheckpointMarked(mark))
                    if mark.aliases.iter().any(|alias| alias == id)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns `true` if the imported checkpoint has the digest of this file, or if a cleanup
    /// removed its events.
    fn is_same(&self, task: &Task, entry: &PlannedFile) -> Result<bool> {
        for lineage in task.lineages()? {
            let lineage = task.lineage_named(lineage.id)?;
            let Some(events) = lineage.appended_under(&key(&entry.id))? else {
                continue;
            };
            let first = match lineage.read(events.start..=events.start) {
                Ok(mut events) => events.next().transpose()?,
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(error.into()),
            };
            let digest = first.and_then(|event| event.header.correlation);
            return Ok(digest.is_none_or(|digest| digest == entry.digest));
        }
        Ok(true)
    }

    /// Marks events of an earlier import, if they lead to the state in the file.
    fn adopt(&mut self, saved: &SavedCheckpoint, end: Offset) -> Result<Adoption> {
        if !saved.target.is_met_by(&self.state_at(end)?) {
            return Ok(Err(format!(
                "its events are in the task already, before @{end}, with another content"
            )));
        }
        let mark = match self.lineage.head()?.next {
            head if head == end => mark(saved),
            _ => mark(saved).at(end),
        };
        self.lineage.checkpoint(mark)?;
        Ok(Ok(()))
    }

    fn state_at(&self, offset: Offset) -> Result<RunState> {
        Ok(self.engine.run_state(&self.lineage.point(offset)?)?)
    }
}

/// Returns the events that lead from the state before a checkpoint to the checkpoint. `now` becomes
/// the state after them.
fn bodies(saved: &SavedCheckpoint, now: &mut RunState) -> milepost::Result<Vec<Body>> {
    let step = saved.step;
    let started =
        StepStarted { step, name: Some(saved.step_name.clone()), ..StepStarted::default() };
    let mut bodies = vec![Body::from(started)];
    bodies.extend(saved.target.reach(now)?);
    if !saved.rest.is_empty() {
        let data = Data::Json(milepost::Json::from_value(&saved.rest)?);
        let name = EXTRA_EVENT.to_owned();
        bodies.push(Application { name, data }.into());
    }
    bodies.push(if saved.success {
        // An error of a successful step goes into its result.
        let error = saved.error.as_ref().map(|error| json!({"error": error}));
        let result = error.as_ref().map(milepost::Json::from_value).transpose()?;
        let metrics = Default::default();
        StepFinished { step, result, metrics }.into()
    } else {
        let error = saved.failure();
        StepFailed { step, error }.into()
    });
    Ok(bodies)
}

fn mark(saved: &SavedCheckpoint) -> Mark {
    let status = if saved.success { MarkStatus::Success } else { MarkStatus::Failure };
    let mut mark = Mark::new()
        .cause(MarkCause::Imported)
        .status(status)
        .alias(saved.id.as_str())
        .actor(ACTOR)
        .time_us(saved.time_us);
    if let Some(label) = saved.label() {
        mark = mark.label(label);
    }
    if let Some(metadata) = &saved.metadata {
        mark = mark.metadata(metadata.clone());
    }
    mark
}
