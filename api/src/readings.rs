//! A lineage as a person reads it: rows, turns, an overview, metrics, alignments. `docs/PAGE.md`
//! has what they mean.

use std::borrow::Cow;
use std::collections::BTreeMap;

use milepost_codec::{CheckpointId, Float, LineageId, MarkStatus};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::{Big, UsageForm};

/// A mark, in a row or in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ReadMarkForm {
    /// The id of the checkpoint, 64 hexadecimal digits; absent if the checkpoint was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub id: Option<CheckpointId>,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The status.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub status: MarkStatus,
    /// The offset of its event, which it marks.
    pub at: Big,
}

/// An event on one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RowForm {
    /// The offset of the event.
    pub offset: Big,
    /// The lineage that the event was appended to.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The kind of the event.
    pub kind: Cow<'static, str>,
    /// Microseconds since the Unix epoch.
    pub time_us: Big,
    /// The person or program that caused the event; absent for the program itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The event in at most 160 characters.
    pub text: String,
    /// The tool of a call or of a return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// `false` for a call or a step that failed, `true` for a call that returned well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The time from the call to this return in microseconds, if the page has the call and their
    /// stamps differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<Big>,
    /// The usage that the event has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageForm>,
    /// The mark that the event is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<ReadMarkForm>,
    /// `true` if the body was erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

/// Rows of a lineage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RowsForm {
    /// The rows, oldest first.
    pub items: Vec<RowForm>,
    /// The `from` of the next request; `null` at the end of the requested range.
    pub next: Option<Big>,
    /// The next offset of the lineage.
    pub head: Big,
}

/// An event that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct HitForm {
    /// The address of the event.
    pub address: String,
    /// The task.
    pub task: String,
    /// The event on one line.
    pub row: RowForm,
}

/// Events that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct HitsForm {
    /// The events, those of the newest task first, within a lineage in their order.
    pub items: Vec<HitForm>,
    /// The `cursor` of the next request; `null` at the end.
    pub next: Option<String>,
    /// The number of events that were read for the page.
    pub events: Big,
}

/// A call of a tool in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TurnCallForm {
    /// The id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The arguments in brief, of at most 160 characters.
    pub arguments: String,
    /// `true` if it returned well, `false` if not; absent if its return is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The output on one line of at most 160 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The time from the call to its return, in microseconds; absent if both have the same stamp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<Big>,
    /// The offset of the call.
    pub at: Big,
}

/// A turn. All texts are on one line of at most 160 characters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TurnForm {
    /// The number of the turn in its history, from 0.
    pub number: Big,
    /// The step that the turn is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Big>,
    /// The name of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number of the turn in its step, from 0.
    pub turn: Big,
    /// The offset of the first event.
    pub first: Big,
    /// The offset after the last event.
    pub next: Big,
    /// The time of the first event, in microseconds since the Unix epoch.
    pub time_us: Big,
    /// The time from the first event to the last one of its own (step, answer, calls, results), in
    /// microseconds; absent if the stamps are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<Big>,
    /// The assistant's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The first 50 calls.
    pub calls: Vec<TurnCallForm>,
    /// The number of further calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_calls: Option<Big>,
    /// The last message of another role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<String>,
    /// The reason of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageForm>,
    /// Metrics of the step that ended with the turn. NaN and infinities are strings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schema(value_type = BTreeMap<String, f64>))]
    pub metrics: BTreeMap<String, Float>,
    /// A mark within it or directly after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<ReadMarkForm>,
}

impl TurnForm {
    /// Maximum number of calls that are listed.
    pub const CALLS: usize = 50;
}

/// Turns of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TurnsForm {
    /// The turns, oldest first.
    pub items: Vec<TurnForm>,
    /// The `from` of the next request; `null` if the part that was read has no further turn.
    pub next: Option<Big>,
    /// The number of turns in the part that was read.
    pub total: Big,
    /// The offset before which all events were read.
    pub read: Big,
    /// The next offset of the lineage.
    pub head: Big,
}

/// A part of an overview.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct OverviewBucketForm {
    /// The offset where it begins.
    pub from: Big,
    /// The number of events.
    pub events: Big,
    /// The number of steps that began.
    pub steps: Big,
    /// The number of calls.
    pub calls: Big,
    /// The number of calls and steps that failed.
    pub failed: Big,
    /// The number of marks.
    pub marks: Big,
    /// The usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageForm>,
    /// The time of the first event, in microseconds since the Unix epoch.
    pub time_us: Big,
}

/// A history in parts of equal width.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct OverviewForm {
    /// The width of a bucket in offsets: a power of two. Each begins at a multiple of it.
    pub width: Big,
    /// The buckets that have events, oldest first.
    pub buckets: Vec<OverviewBucketForm>,
    /// The number of turns in the part that was read.
    pub turns: Big,
    /// The offset before which all events were read.
    pub read: Big,
    /// The next offset of the lineage.
    pub head: Big,
}

/// A metric of a history. NaN and infinities are strings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct MetricCountForm {
    /// The name.
    pub name: String,
    /// The number of values.
    pub count: Big,
    /// The last value.
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub last: Float,
    /// The least value.
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub min: Float,
    /// The greatest value.
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub max: Float,
}

/// The metrics of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct MetricsForm {
    /// The metrics, by name; at most 100.
    pub items: Vec<MetricCountForm>,
    /// The offset before which all events were read.
    pub read: Big,
    /// The next offset of the lineage.
    pub head: Big,
}

/// Consecutive values of a metric. NaN and infinities are strings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SeriesBucketForm {
    /// The place of the first value on the axis: its step, its time in microseconds, or its offset.
    pub x: Big,
    /// The first value.
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub first: Float,
    /// The last value.
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub last: Float,
    /// The least value.
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub min: Float,
    /// The greatest value.
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub max: Float,
    /// The number of values.
    pub count: Big,
    /// The offset of the first value.
    pub at: Big,
    /// The offset of the last value.
    pub last_at: Big,
    /// The offset of the least value.
    pub min_at: Big,
    /// The offset of the greatest value.
    pub max_at: Big,
}

/// The values of a metric in the history before a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SeriesForm {
    /// The address of the point: task, lineage and offset.
    pub address: String,
    /// The values, oldest first.
    pub buckets: Vec<SeriesBucketForm>,
    /// The offset before which all events were read.
    pub read: Big,
    /// The offset where the history ends.
    pub head: Big,
}

/// The relation of two turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AlignOp {
    /// Equal turns.
    Same,
    /// Turns that only say something, in other words: no difference.
    Said,
    /// Turns of the same tool or kind, with different contents.
    Changed,
    /// A turn of the first history only.
    OnlyA,
    /// A turn of the second history only.
    OnlyB,
    /// A turn that the other history has elsewhere.
    Moved,
}

/// A line of an alignment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct AlignedForm {
    /// The relation.
    pub op: AlignOp,
    /// The turn of the first history.
    pub a: Option<TurnForm>,
    /// The turn of the second history.
    pub b: Option<TurnForm>,
    /// The number of a moved turn in the other history.
    pub other: Option<Big>,
}

/// Numbers of lines of an alignment, by relation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct AlignCountsForm {
    /// Equal turns.
    pub same: Big,
    /// Turns that say something in other words.
    #[serde(default)]
    pub said: Big,
    /// Changed turns.
    pub changed: Big,
    /// Turns of the first history only.
    pub only_a: Big,
    /// Turns of the second history only.
    pub only_b: Big,
    /// Turns that are elsewhere; each side counts.
    pub moved: Big,
}

/// Two histories, turn by turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct AlignmentForm {
    /// The number of turns that both have from the beginning.
    pub common: Big,
    /// The numbers of all lines.
    pub counts: AlignCountsForm,
    /// The lines.
    pub items: Vec<AlignedForm>,
    /// The `from` of the next request; `null` at the end.
    pub next: Option<Big>,
}
