//! A thread into the store.
//!
//! ```text
//! what changed of the channels' values    VariablesPatched
//! metadata's step, source                 StepStarted and StepFinished around it, from step 0 on
//! all else of a checkpoint                Application `langgraph`
//! checkpoint_id, metadata, ts             the mark's alias and metadata, the time
//! a row of `writes`                       Application `langgraph_write`, behind the mark
//! ```

use milepost::{
    Append, Application, Body, Data, ErrorKind, Json, Mark, MarkCause, Offset, PatchForm,
    StepFinished, StepStarted, Ticket, VariablesPatched,
};
use serde::Deserialize;

use super::checkpoint::{Content, content, metadata};
use super::database::{Database, Entry, ThreadId, Write};
use super::patch::patch;
use crate::error::{Failure, Result};
use crate::record::branches::{ACTOR, Branches, START};
use crate::record::object::Object;

/// What the keys of checkpoints and writes begin with.
pub const KEY: &str = "langgraph:";
/// What the events are called that hold what has no event of its own.
const REST: &str = "langgraph";
const WRITE: &str = "langgraph_write";
/// The most bytes of an id that is part of a key, or an alias.
const ID_MAX: usize = 200;

/// Where a checkpoint lies.
#[derive(Debug, Clone, Copy)]
struct Placed {
    branch: usize,
    /// The offset behind its events.
    offset: Offset,
    /// The checkpoint that the values there are of: of one that could not be read, an earlier one.
    values: Option<usize>,
}

/// A thread that is written.
pub struct Thread<'a> {
    database: &'a Database,
    id: &'a ThreadId,
    entries: &'a [Entry],
    branches: Branches<'a>,
    placed: Vec<Placed>,
    /// The checkpoint at the end of each branch.
    tips: Vec<Option<usize>>,
    /// The values of one checkpoint: mostly the one that the next goes on from.
    known: Option<(usize, Vec<(String, Json)>)>,
    /// The time of the last checkpoint: that of what is written behind it, too.
    time_us: Option<u64>,
    pub events: u64,
    pub checkpoints: u64,
}

/// Why a checkpoint is not written, where it is not.
type Put<T> = std::result::Result<T, String>;

impl<'a> Thread<'a> {
    pub fn new(
        database: &'a Database,
        id: &'a ThreadId,
        entries: &'a [Entry],
        branches: Branches<'a>,
    ) -> Self {
        Self {
            database,
            id,
            entries,
            branches,
            placed: Vec::new(),
            tips: vec![None],
            known: None,
            time_us: None,
            events: 0,
            checkpoints: 0,
        }
    }

    pub fn lineages(&self) -> u64 {
        self.branches.count()
    }

    /// Writes the checkpoints that are not there yet; `skip` hears of each that cannot be, by its id.
    pub fn write(&mut self, skip: &mut dyn FnMut(&str, &str)) -> Result<()> {
        for (at, entry) in self.entries.iter().enumerate() {
            let from = self.from(at, entry)?;
            let placed = match self.checkpoint(at, entry, from)? {
                Ok(offset) => {
                    if let Some(tip) = self.tips.get_mut(from.branch) {
                        *tip = Some(at);
                    }
                    Placed {
                        offset,
                        values: Some(at),
                        ..from
                    }
                }
                Err(why) => {
                    skip(&entry.id, &why);
                    from
                }
            };
            self.placed.push(placed);
            match self.database.writes(self.id, &entry.id) {
                Ok(writes) => self.writes(placed.branch, entry, writes, skip)?,
                Err(why) => skip(&entry.id, &format!("its writes: {why}")),
            }
        }
        Ok(())
    }

    /// The task goes on where the newest checkpoint is.
    pub fn finish(&self) -> Result<Offset> {
        let newest = self.entries.iter().zip(&self.placed);
        let newest = newest.max_by_key(|(entry, _)| &entry.id);
        let branch = newest.map_or(0, |(_, placed)| placed.branch);
        self.branches.go_on_with(branch, self.events > 0)
    }

    /// Where a checkpoint goes on from, on a branch of its own where another one did before.
    fn from(&mut self, at: usize, entry: &Entry) -> Result<Placed> {
        let parent = entry.parent.and_then(|parent| self.placed.get(parent));
        let nothing = Placed {
            branch: 0,
            offset: START,
            values: None,
        };
        let from = parent.copied().unwrap_or(nothing);
        if self.tips.get(from.branch).copied().flatten() == from.values {
            return Ok(from);
        }
        let called = match is_name(&entry.id) {
            true => entry.id.clone(),
            false => format!("checkpoint {at}"),
        };
        self.branches
            .fork(from.branch, from.offset, &called, true)?;
        let branch = self.tips.len();
        self.tips.push(from.values);
        Ok(Placed { branch, ..from })
    }

    /// Writes a checkpoint and says the offset behind its events.
    fn checkpoint(&mut self, at: usize, entry: &Entry, from: Placed) -> Result<Put<Offset>> {
        if !is_name(&entry.id) {
            return Ok(Err(format!(
                "an id has 1 to {ID_MAX} bytes, and no control character"
            )));
        }
        let key = format!("{KEY}{}", entry.id);
        let lineage = self.branches.on(from.branch)?.lineage();
        if let Some(events) = lineage.appended_under(&key)? {
            return Ok(Ok(events.end));
        }
        let read = self.database.checkpoint(entry.row);
        let (content, metadata) =
            match read.and_then(|(stored, bytes)| Ok((content(&stored)?, metadata(&bytes)))) {
                Ok(read) => read,
                Err(why) => return Ok(Err(why)),
            };
        if let Err(why) = self.know(from.values) {
            return Ok(Err(why));
        }
        let before = match (&self.known, from.values) {
            (Some((of, values)), Some(wanted)) if *of == wanted => values.as_slice(),
            _ => &[],
        };
        self.time_us = content.time_us;
        let step = metadata.as_ref().and_then(Step::of);
        let bodies = match bodies(&content, before, step.as_ref()) {
            Ok(bodies) => bodies,
            Err(why) => return Ok(Err(why)),
        };
        let mut mark = Mark::new()
            .cause(MarkCause::Imported)
            .alias(entry.id.as_str())
            .actor(ACTOR);
        let mut append = Append::batch(bodies).key(key).actor(ACTOR);
        if let Some(metadata) = metadata {
            mark = mark.metadata(metadata);
        }
        if let Some(time_us) = content.time_us {
            mark = mark.time_us(time_us);
            append = append.time_us(time_us);
        }
        let done = self.branches.on(from.branch)?.append(append.mark(mark));
        self.known = Some((at, content.values));
        match done {
            Ok(appended) => {
                self.events += u64::from(appended.count);
                self.checkpoints += 1;
                Ok(Ok(appended.first + u64::from(appended.count)))
            }
            Err(error) if error.kind() == ErrorKind::Invalid => Ok(Err(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the values of a checkpoint, where they are not those that are known.
    fn know(&mut self, wanted: Option<usize>) -> Put<()> {
        let Some(wanted) = wanted else {
            return Ok(());
        };
        if self.known.as_ref().is_some_and(|(of, _)| *of == wanted) {
            return Ok(());
        }
        let row = self.entries.get(wanted).map_or(0, |entry| entry.row);
        let (stored, _) = self.database.checkpoint(row)?;
        self.known = Some((wanted, content(&stored)?.values));
        Ok(())
    }

    /// Writes what was written behind a checkpoint, as far as it is not there.
    fn writes(
        &mut self,
        branch: usize,
        entry: &Entry,
        writes: Vec<Write>,
        skip: &mut dyn FnMut(&str, &str),
    ) -> Result<()> {
        let mut under_way: Vec<Ticket> = Vec::new();
        for write in writes {
            let key = format!("{KEY}{}:{}:{}", entry.id, write.task, write.index);
            let task = self.branches.on(branch)?;
            let usable = is_name(&entry.id) && is_name(&write.task);
            if !usable || task.lineage().appended_under(&key)?.is_some() {
                continue;
            }
            let body = match written(&entry.id, &write) {
                Ok(body) => body,
                Err(why) => {
                    skip(&entry.id, &format!("a write to `{}`: {why}", write.channel));
                    continue;
                }
            };
            let mut append = Append::from(body).key(key).actor(ACTOR);
            if let Some(time_us) = self.time_us {
                append = append.time_us(time_us);
            }
            match task.submit(append) {
                Ok(ticket) => under_way.push(ticket),
                Err(error) if error.kind() == ErrorKind::Invalid => {
                    skip(
                        &entry.id,
                        &format!("a write to `{}`: {error}", write.channel),
                    );
                }
                Err(error) => return Err(error.into()),
            }
        }
        for ticket in under_way {
            self.events += u64::from(ticket.wait().map_err(Failure::from)?.count);
        }
        Ok(())
    }
}

fn is_name(id: &str) -> bool {
    (1..=ID_MAX).contains(&id.len()) && !id.chars().any(char::is_control)
}

/// What metadata says of a step.
#[derive(Deserialize)]
struct Step {
    step: i64,
    source: Option<String>,
}

impl Step {
    fn of(metadata: &Json) -> Option<Self> {
        serde_json::from_str(metadata.text()).ok()
    }

    /// Its number; the input before the first step has none.
    fn number(&self) -> Option<u64> {
        u64::try_from(self.step).ok()
    }
}

fn bodies(content: &Content, before: &[(String, Json)], step: Option<&Step>) -> Put<Vec<Body>> {
    let number = step.and_then(Step::number);
    let mut bodies: Vec<Body> = Vec::new();
    if let Some(step_number) = number {
        bodies.push(
            StepStarted {
                step: step_number,
                name: step.and_then(|step| step.source.clone()),
                ..StepStarted::default()
            }
            .into(),
        );
    }
    if let Some(patch) = patch(before, &content.values) {
        let form = PatchForm::Patch;
        let patch = patch?;
        bodies.push(VariablesPatched { form, patch }.into());
    }
    bodies.push(application(REST, content.rest.clone()));
    if let Some(step) = number {
        let step = StepFinished {
            step,
            ..StepFinished::default()
        };
        bodies.push(step.into());
    }
    Ok(bodies)
}

fn written(checkpoint: &str, write: &Write) -> Put<Body> {
    let mut fields = Object::default();
    fields.put("checkpoint_id", Json::string(checkpoint));
    fields.put("task_id", Json::string(&write.task));
    let index = Json::from_value(&write.index).map_err(|error| error.to_string())?;
    fields.put("idx", index);
    fields.put("channel", Json::string(&write.channel));
    fields.put("value", write.value.json()?);
    Ok(application(WRITE, fields))
}

fn application(name: &str, fields: Object) -> Body {
    let data = fields.into_json().unwrap_or_else(Json::null);
    Application {
        name: name.to_owned(),
        data: Data::Json(data),
    }
    .into()
}
