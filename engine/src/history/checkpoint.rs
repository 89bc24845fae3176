//! Checkpoints, and marks that create them.

use milepost_codec::{
    CheckpointId, CheckpointMarked, Error, Hash, Head, Header, Json, LineageId, LogId, MarkCause,
    MarkStatus, Offset, Result, TaskNo,
};
use milepost_store::index::keys::{self, KeyKind};
use milepost_store::index::{MarkEntry, MarkPlace, TaskEntry};

use crate::conditions::Conditions;
use crate::context::Context;
use crate::history::address::{ID_PREFIX_MIN, is_hex};
use crate::history::ancestry::Ancestry;
use crate::history::catalog::{Catalog, Viewer};

/// A mark before its commit, which sets the parent unless one is given.
#[derive(Debug, Clone)]
pub(crate) struct PendingMark {
    pub(crate) mark: CheckpointMarked,
    pub(crate) header: Header,
}

/// The description of a checkpoint to mark.
///
/// ```
/// use milepost::events::MarkCause;
/// use milepost::Mark;
/// let mark = Mark::new().label("before-refactoring").cause(MarkCause::BeforeTool);
/// # let _ = mark;
/// ```
#[derive(Debug, Clone, Default)]
pub struct Mark {
    body: CheckpointMarked,
    at: Option<Offset>,
    context: Context,
    captured: Option<String>,
    conditions: Conditions,
}

impl Mark {
    /// Creates a mark of the head, with a manual cause and the status success.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the label, a name for people. A label of digits only is refused: it would be an offset.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.body.label = Some(label.into());
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn cause(mut self, cause: MarkCause) -> Self {
        self.body.cause = cause;
        self
    }

    /// Sets the status: the outcome of the work that led to the checkpoint.
    #[must_use]
    pub fn status(mut self, status: MarkStatus) -> Self {
        self.body.status = status;
        self
    }

    /// Sets the metadata, a JSON object of at most 64 KiB. Lists can be filtered by it.
    #[must_use]
    pub fn metadata(mut self, metadata: Json) -> Self {
        self.body.metadata = Some(metadata);
        self
    }

    /// Adds an id that other systems use for the checkpoint. There may be several.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.body.aliases.push(alias.into());
        self
    }

    /// Sets the preceding checkpoint. Default: the newest of the lineage.
    #[must_use]
    pub fn parent(mut self, parent: CheckpointId) -> Self {
        self.body.parent = Some(parent);
        self
    }

    /// Marks an earlier point of the lineage: the one before the event at `offset`.
    #[must_use]
    pub fn at(mut self, offset: Offset) -> Self {
        self.at = Some(offset);
        self
    }

    /// Sets the time, in microseconds since the Unix epoch. Default: the engine's clock.
    #[must_use]
    pub fn time_us(mut self, time_us: u64) -> Self {
        self.context.time_us = Some(time_us);
        self
    }

    /// Sets the actor: the person or program that marks the checkpoint.
    #[must_use]
    pub fn actor(mut self, actor: impl Into<String>) -> Self {
        self.context.actor = Some(actor.into());
        self
    }

    /// Sets the correlation id, which ties the checkpoint to work elsewhere.
    #[must_use]
    pub fn correlation(mut self, correlation: impl Into<String>) -> Self {
        self.context.correlation = Some(correlation.into());
        self
    }

    /// Sets the conditions of the checkpoint. A mark that is appended with events has those of the
    /// [`Append`](crate::Append) instead.
    #[must_use]
    pub fn conditions(mut self, conditions: Conditions) -> Self {
        self.conditions = conditions;
        self
    }

    /// Returns the conditions.
    pub(crate) fn under(&self) -> &Conditions {
        &self.conditions
    }

    /// Declares that the [`Participant`](crate::Participant) of this name has just captured its
    /// present state. The checkpoint does not ask it for another capture.
    #[must_use]
    pub fn captured(mut self, participant: impl Into<String>) -> Self {
        self.captured = Some(participant.into());
        self
    }

    /// Returns `true` if the participant of this name has to capture its present state.
    pub(crate) fn asks(&self, participant: &str) -> bool {
        self.captured.as_deref() != Some(participant)
    }

    /// Returns `true` if the mark is for the head.
    pub(crate) fn is_of_the_head(&self) -> bool {
        self.at.is_none()
    }

    /// Returns the label.
    pub fn label_given(&self) -> Option<&str> {
        self.body.label.as_deref()
    }

    /// Returns the cause.
    pub fn cause_given(&self) -> MarkCause {
        self.body.cause
    }

    /// Returns the body of the mark's event.
    pub fn body(&self) -> &CheckpointMarked {
        &self.body
    }

    /// Returns actor, user, correlation id and time.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Sets actor, user, correlation id and time where the mark has none.
    #[must_use]
    pub fn or_context(mut self, context: &Context) -> Self {
        self.context = self.context.or(context);
        self
    }

    /// Returns the marked offset; `None` for the head.
    pub fn offset(&self) -> Option<Offset> {
        self.at
    }

    /// Checks the mark of a caller. `at` is the head at its offset, if it has one.
    pub(crate) fn draft(
        mut self,
        caller: &Context,
        at: Option<Head>,
        now_us: u64,
    ) -> Result<PendingMark> {
        self.body.check()?;
        self.body.at = at;
        Ok(PendingMark { mark: self.body, header: self.context.header(caller, 0, now_us) })
    }
}

impl From<CheckpointMarked> for Mark {
    /// Copies a mark. The point and the parent depend on the lineage that is marked.
    fn from(body: CheckpointMarked) -> Self {
        let CheckpointMarked { at: _, parent: _, label, cause, status, metadata, aliases } = body;
        let (at, parent) = (None, None);
        let body = CheckpointMarked { at, parent, label, cause, status, metadata, aliases };
        Self { body, ..Self::default() }
    }
}

/// A checkpoint: a mark on a point of a lineage.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The id, a digest of the mark and its place in the history.
    pub id: CheckpointId,
    /// The task.
    pub task: String,
    /// The marked lineage.
    pub lineage: LineageId,
    /// The offset of the event of the mark.
    pub mark: Offset,
    /// The marked point: before the event at this offset.
    pub at: Offset,
    /// The chain hash at the marked point.
    pub hash: Hash,
    /// The preceding checkpoint.
    pub parent: Option<CheckpointId>,
    /// A name for people.
    pub label: Option<String>,
    /// The cause.
    pub cause: MarkCause,
    /// The outcome of the work that led to the checkpoint.
    pub status: MarkStatus,
    /// Time of the mark, in microseconds since the Unix epoch.
    pub time_us: u64,
    /// Metadata, a JSON object.
    pub metadata: Option<Json>,
    /// Ids that other systems use for the checkpoint.
    pub aliases: Vec<String>,
}

impl Checkpoint {
    /// Creates the checkpoint of a mark. `before` is the head before the event of the mark.
    pub(crate) fn of(
        id: CheckpointId,
        (task, lineage): (&str, LineageId),
        before: Head,
        body: CheckpointMarked,
        time_us: u64,
    ) -> Self {
        let CheckpointMarked { at, parent, label, cause, status, metadata, aliases } = body;
        let at = at.unwrap_or(before);
        Self {
            id,
            task: task.to_owned(),
            lineage,
            mark: before.next,
            at: at.next,
            hash: at.hash,
            parent,
            label,
            cause,
            status,
            time_us,
            metadata,
            aliases,
        }
    }

    /// Returns the body of its mark's event, with the marked point. What copies the fields of a
    /// checkpoint destructures it: then a new field does not compile without them.
    pub fn into_body(self) -> CheckpointMarked {
        let Self { at, hash, parent, label, cause, status, metadata, aliases, .. } = self;
        let at = Some(Head { next: at, hash });
        CheckpointMarked { at, parent, label, cause, status, metadata, aliases }
    }

    /// Returns a mark of the same point in a new lineage, with the checkpoint as its parent. An
    /// alias names the original only.
    pub(crate) fn again(self) -> Mark {
        let id = self.id;
        let mut mark = Mark::from(self.into_body());
        mark.body.parent = Some(id);
        mark.body.aliases.clear();
        mark
    }
}

impl Catalog {
    /// Creates a checkpoint from its index entry.
    pub(crate) fn checkpoint(
        &self,
        task: TaskNo,
        name: &str,
        lineage: LineageId,
        mark: Offset,
        entry: &MarkEntry,
    ) -> Result<Checkpoint> {
        let body = self.mark_body(task, lineage, mark, entry)?;
        let before = Head { next: mark, hash: entry.hash };
        let (id, time_us) = (entry.id, entry.time_us);
        Ok(Checkpoint::of(id, (name, lineage), before, body, time_us))
    }

    /// Returns the checkpoint whose mark is at an offset.
    pub(crate) fn checkpoint_at(
        &self,
        task: TaskNo,
        lineage: LineageId,
        mark: Offset,
    ) -> Result<Checkpoint> {
        let entry = self.log().get(&keys::mark(task, lineage, mark))?.ok_or_else(|| {
            let log = LogId::lineage(task, lineage);
            Error::not_found(format!("{log} has no checkpoint at offset {mark}"))
        })?;
        let name = self.task(task)?.name;
        self.checkpoint(task, &name, lineage, mark, &MarkEntry::decode(&entry)?)
    }

    /// Returns the checkpoint whose id begins with `name`, or that has it as an alias: `NotFound`
    /// for none, `Invalid` for several.
    pub(crate) fn checkpoint_named(&self, name: &str, viewer: Viewer<'_>) -> Result<Checkpoint> {
        let is_id = (ID_PREFIX_MIN..=64).contains(&name.len()) && is_hex(name);
        let found = if is_id { self.identified(name, viewer)? } else { None };
        let found = match found {
            Some(place) => Some(place),
            None => self.aliased(name, viewer)?,
        };
        let place = found.ok_or_else(|| {
            Error::not_found(format!(
                "there is no checkpoint @{name}: give {ID_PREFIX_MIN} digits of its id or more, or \
                 an alias of it"
            ))
        })?;
        self.checkpoint_at(place.task, place.lineage, place.offset)
    }

    /// Returns the mark of the checkpoint whose id begins with `prefix`.
    fn identified(&self, prefix: &str, viewer: Viewer<'_>) -> Result<Option<MarkPlace>> {
        let prefix = prefix.to_ascii_lowercase();
        let whole = prefix.split_at(prefix.len() / 2 * 2).0;
        let mut start = keys::all(KeyKind::MarkId);
        let Ok(bytes) = data_encoding::HEXLOWER.decode(whole.as_bytes()) else {
            return Ok(None);
        };
        start.extend(bytes);
        let page = self.log().scan(&start, &keys::after_prefix(&start), false, 1000)?;
        let mut found = None;
        for (key, place) in page {
            let (_, id) = key.split_first().expect("a key begins with its kind");
            let id = data_encoding::HEXLOWER.encode(id);
            let place = MarkPlace::decode(&place)?;
            if !id.starts_with(&prefix) || !self.shows(place.task, viewer)? {
                continue;
            }
            if found.replace(place).is_some() {
                return Err(Error::invalid(format!(
                    "@{prefix} names several checkpoints, one of them @{id}: give more digits"
                )));
            }
        }
        Ok(found)
    }

    /// Returns the newest mark with an alias. One lookup for each task that the viewer may see.
    fn aliased(&self, alias: &str, viewer: Viewer<'_>) -> Result<Option<MarkPlace>> {
        let mut tasks = Vec::new();
        self.log().walk(&keys::all(KeyKind::Task), &mut |key, value| {
            let entry = TaskEntry::decode(value)?;
            if entry.deleted_us.is_none() && viewer.sees(&entry) {
                tasks.push((TaskNo(keys::first_u64(key)), entry.name));
            }
            Ok(())
        })?;
        let mut found: Option<(MarkPlace, String)> = None;
        for (task, name) in tasks {
            let prefix = keys::named(KeyKind::MarkAlias, task, alias);
            let marks = self.log().scan(&prefix, &keys::after_prefix(&prefix), true, 1)?;
            let Some((key, _)) = marks.first() else {
                continue;
            };
            let (lineage, offset) = keys::mark_place(key);
            if let Some((_, other)) = found.replace((MarkPlace { task, lineage, offset }, name)) {
                return Err(Error::invalid(format!(
                    "@{alias} names a checkpoint of `{other}` and of other tasks: name the task, \
                     as in {other}@{alias}"
                )));
            }
        }
        Ok(found.map(|(place, _)| place))
    }

    /// Returns the id of the checkpoint whose mark's event is at an offset, on a lineage or its
    /// ancestors. Reads no event.
    pub(crate) fn marked_at(
        &self,
        task: TaskNo,
        lineage: LineageId,
        mark: Offset,
    ) -> Result<Option<CheckpointId>> {
        let Some(owner) = Ancestry::of(self, task, lineage)?.owner(mark) else {
            return Ok(None);
        };
        let entry = self.log().get(&keys::mark(task, owner, mark))?;
        entry.map(|entry| Ok(MarkEntry::decode(&entry)?.id)).transpose()
    }

    /// Returns the newest mark of a success, on a lineage or its ancestors.
    pub(crate) fn last_successful(
        &self,
        task: TaskNo,
        lineage: LineageId,
    ) -> Result<Option<(LineageId, Offset, MarkEntry)>> {
        self.newest_mark(task, lineage, Offset::MAX, &mut |owner, offset, entry| {
            let body = self.mark_body(task, owner, offset, entry)?;
            Ok(body.status == MarkStatus::Success)
        })
    }
}
