//! Summaries of tasks.

use std::collections::BTreeMap;

use milepost_codec::{Float, LineageId, MarkStatus, RunControl};
use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// Tokens and cost. A number that was not recorded is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct UsageForm {
    /// Tokens of input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Big>,
    /// Tokens of output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Big>,
    /// Tokens of input that were read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Big>,
    /// Tokens of input that were written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Big>,
    /// The cost, in `currency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The currency of the cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The model; of several, the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl UsageForm {
    /// Returns the tokens of input and output; `None` if neither was recorded.
    pub fn tokens(&self) -> Option<u64> {
        let parts = [self.input, self.output].into_iter().flatten();
        parts.map(|tokens| tokens.0).reduce(u64::saturating_add)
    }
}

/// The outcome of a lineage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct OutcomeForm {
    /// The status of the last mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub status: Option<MarkStatus>,
    /// The value of the outcome in the last state, of any type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub value: Option<Value>,
    /// `true` for a good outcome, `false` for a bad one; absent if neither is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good: Option<bool>,
}

/// The values of a metric. NaN and infinities are strings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct MetricForm {
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

/// Summary of a lineage, inherited events included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct LineageSummaryForm {
    /// The id of the lineage.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub id: LineageId,
    /// The next offset.
    pub head: Big,
    /// The parent; absent for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u32>))]
    pub parent: Option<LineageId>,
    /// The offset where it was forked; absent for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<Big>,
    /// The outcome.
    pub outcome: OutcomeForm,
    /// The number of steps.
    pub steps: Big,
    /// The number of calls of tools.
    pub calls: Big,
    /// The number of calls and steps that failed.
    pub failed: Big,
    /// The usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageForm>,
}

/// Summary of a task: what its active lineage did, and the usage of all lineages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SummaryForm {
    /// The id of the task.
    pub id: String,
    /// The owner.
    pub user: String,
    /// RFC 3339, UTC.
    pub created: String,
    /// Microseconds since the Unix epoch.
    pub created_us: Big,
    /// The active lineage.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub active: LineageId,
    /// The next offset of the active lineage.
    pub head: Big,
    /// Events of all lineages, each counted in the lineage it was appended to.
    pub events: Big,
    /// The first message of a user, on one line of at most 160 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Time of the last event: RFC 3339, UTC.
    pub changed: String,
    /// Microseconds since the Unix epoch.
    pub changed_us: Big,
    /// The last control.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub control: RunControl,
    /// The last phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Big>,
    /// The number of steps.
    pub steps: Big,
    /// The number of calls of tools.
    pub calls: Big,
    /// The number of calls and steps that failed.
    pub failed: Big,
    /// The last failure, on one line of at most 160 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The metrics, by name.
    pub metrics: BTreeMap<String, MetricForm>,
    /// The usage of all lineages, each event once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageForm>,
    /// The lineages, oldest first.
    pub lineages: Vec<LineageSummaryForm>,
    /// The number of older lineages that a list leaves out.
    pub older_lineages: u32,
    /// Values of the last state, by the JSON pointers that the request names. A value over 256
    /// bytes is `{"cut": BEGINNING, "bytes": LENGTH}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub columns: BTreeMap<String, Value>,
    /// The reason why the events of the task cannot be read; absent if they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

/// A page of summaries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SummariesForm {
    /// The summaries of the page.
    pub items: Vec<SummaryForm>,
    /// The cursor of the next page; `null` on the last page.
    pub next: Option<String>,
    /// The number of summaries on all pages.
    pub total: Big,
}

impl SummaryForm {
    /// The number of lineages of a task in a list.
    pub const LISTED: usize = 32;

    /// Leaves out all but the newest and the active lineage, for a list.
    #[must_use]
    pub fn listed(mut self) -> Self {
        let older = self.lineages.len().saturating_sub(Self::LISTED);
        let mut at = 0;
        let active = self.active;
        let all = self.lineages.len();
        self.lineages.retain(|lineage| {
            at += 1;
            at > older || lineage.id == active
        });
        self.older_lineages = u32::try_from(all - self.lineages.len()).unwrap_or(u32::MAX);
        self
    }

    /// Returns the summary of the active lineage.
    pub fn active(&self) -> Option<&LineageSummaryForm> {
        self.lineages.iter().find(|lineage| lineage.id == self.active)
    }
}
