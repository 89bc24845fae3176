//! The standard input of a hook command: one JSON document on one line. A whole number over
//! 2^53 is a string of its digits, as in the output of the `milepost` command.

use milepost::events::{CheckpointMarked, MarkCause, MarkStatus};
use milepost::hooks::{Alert, WorkspaceChange};
use milepost::{Body, Checkpoint, CheckpointId, Event, Hash, Json, LineageId, Mark, Offset};
use serde::{Serialize, Serializer};

use super::command::HookPoint;

/// A number that may exceed 2^53, beyond which many readers of JSON round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Big(pub(super) u64);

impl Serialize for Big {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number if number <= 1 << 53 => serializer.serialize_u64(number),
            number => serializer.collect_str(&number),
        }
    }
}

/// The document: hook point, place and subject of a call.
#[derive(Debug, Serialize)]
pub(super) struct Document<'a> {
    hook: HookPoint,
    store: Option<&'a str>,
    task: Option<&'a str>,
    lineage: Option<LineageId>,
    offset: Option<Big>,
    time_us: Big,
    #[serde(flatten)]
    about: About<'a>,
}

/// Subject of a call.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum About<'a> {
    Checkpoint(CheckpointForm<'a>),
    Restore(RestoreForm),
    Event(EventForm<'a>),
    Workspace(WorkspaceForm<'a>),
    Alert(AlertForm<'a>),
}

/// A place in a task. Fields without a value are `None`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Where<'a> {
    pub(super) task: Option<&'a str>,
    pub(super) lineage: Option<LineageId>,
    pub(super) offset: Option<Offset>,
}

impl<'a> Document<'a> {
    pub(super) fn new(
        hook: HookPoint,
        store: Option<&'a str>,
        place: Where<'a>,
        now_us: u64,
        about: About<'a>,
    ) -> Self {
        Self {
            hook,
            store,
            task: place.task,
            lineage: place.lineage,
            offset: place.offset.map(Big),
            time_us: Big(now_us),
            about,
        }
    }

    /// Returns the document as a line.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("plain data has a JSON form");
        line.push(b'\n');
        line
    }
}

/// A checkpoint. Before it is marked, the fields that are not known yet are left out.
#[derive(Debug, Serialize)]
pub(super) struct CheckpointForm<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<CheckpointId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_us: Option<Big>,
    parent: Option<CheckpointId>,
    label: Option<&'a str>,
    cause: MarkCause,
    status: MarkStatus,
    metadata: Option<&'a Json>,
    aliases: &'a [String],
}

impl<'a> From<&'a Mark> for CheckpointForm<'a> {
    fn from(mark: &'a Mark) -> Self {
        let body = mark.body();
        let CheckpointMarked { at: _, parent, label, cause, status, metadata, aliases } = body;
        Self {
            id: None,
            at: None,
            hash: None,
            mark: None,
            time_us: None,
            parent: *parent,
            label: label.as_deref(),
            cause: *cause,
            status: *status,
            metadata: metadata.as_ref(),
            aliases,
        }
    }
}

impl<'a> From<&'a Checkpoint> for CheckpointForm<'a> {
    fn from(checkpoint: &'a Checkpoint) -> Self {
        Self {
            id: Some(checkpoint.id),
            at: Some(Big(checkpoint.at)),
            hash: Some(checkpoint.hash),
            mark: Some(Big(checkpoint.mark)),
            time_us: Some(Big(checkpoint.time_us)),
            parent: checkpoint.parent,
            label: checkpoint.label.as_deref(),
            cause: checkpoint.cause,
            status: checkpoint.status,
            metadata: checkpoint.metadata.as_ref(),
            aliases: &checkpoint.aliases,
        }
    }
}

/// A restore.
#[derive(Debug, Serialize)]
pub(super) struct RestoreForm {
    pub(super) address: String,
    /// The checkpoint that the address named. Only before a restore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) checkpoint: Option<CheckpointId>,
    /// The epoch of the activation. Only after a restore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) epoch: Option<Big>,
}

/// An event with its full body. The body of an erased event is `null`; its kind remains.
#[derive(Debug, Serialize)]
pub(super) struct EventForm<'a> {
    kind: &'static str,
    time_us: Big,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    body: Option<&'a Body>,
}

impl<'a> From<&'a Event> for EventForm<'a> {
    fn from(event: &'a Event) -> Self {
        let header = &event.header;
        Self {
            kind: Body::name_of(header.kind),
            time_us: Big(header.time_us),
            actor: header.actor.as_deref(),
            user: header.user.as_deref(),
            correlation: header.correlation.as_deref(),
            key: header.key.as_deref(),
            body: event.body.as_ref(),
        }
    }
}

/// A change of a workspace. A folder name that is not UTF-8 has replacement characters.
#[derive(Debug, Serialize)]
pub(super) struct WorkspaceForm<'a> {
    folder: String,
    state: &'static str,
    before: &'static str,
    files: Big,
    bytes: Big,
    read: Big,
    took_us: Big,
    error: Option<&'a str>,
}

impl<'a> From<&'a WorkspaceChange> for WorkspaceForm<'a> {
    fn from(change: &'a WorkspaceChange) -> Self {
        Self {
            folder: change.folder.display().to_string(),
            state: change.state.name(),
            before: change.before.name(),
            files: Big(change.files),
            bytes: Big(change.bytes),
            read: Big(change.read),
            took_us: Big(change.took_us),
            error: change.error.as_deref(),
        }
    }
}

/// An alert.
#[derive(Debug, Serialize)]
pub(super) struct AlertForm<'a> {
    kind: &'static str,
    message: &'a str,
}

impl<'a> From<&'a Alert> for AlertForm<'a> {
    fn from(alert: &'a Alert) -> Self {
        Self { kind: alert.kind.name(), message: &alert.message }
    }
}
