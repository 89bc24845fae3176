//! Conversions of summaries.

use std::collections::BTreeMap;

use milepost::reading::{LineageSummary, MetricRange, Outcome, TaskSummary, Usage};

use crate::{Big, LineageSummaryForm, MetricForm, OutcomeForm, SummaryForm, UsageForm, micros};

impl From<Usage> for UsageForm {
    fn from(usage: Usage) -> Self {
        Self {
            input: usage.input.map(Big),
            output: usage.output.map(Big),
            cache_read: usage.cache_read.map(Big),
            cache_write: usage.cache_write.map(Big),
            cost: usage.cost,
            currency: usage.currency,
            model: usage.model,
        }
    }
}

impl From<Outcome> for OutcomeForm {
    fn from(outcome: Outcome) -> Self {
        let good = outcome.is_good();
        Self { status: outcome.status, value: outcome.value, good }
    }
}

impl From<MetricRange> for MetricForm {
    fn from(range: MetricRange) -> Self {
        Self { last: range.last, min: range.min, max: range.max }
    }
}

impl From<LineageSummary> for LineageSummaryForm {
    fn from(lineage: LineageSummary) -> Self {
        let LineageSummary { lineage: id, parent, head, summary, outcome, .. } = lineage;
        Self {
            id,
            head: Big(head),
            parent: parent.map(|(parent, _)| parent),
            fork: parent.map(|(_, fork)| Big(fork)),
            outcome: outcome.into(),
            steps: Big(summary.steps),
            calls: Big(summary.calls),
            failed: Big(summary.failed),
            usage: summary.usage().map(Into::into),
        }
    }
}

impl From<TaskSummary> for SummaryForm {
    fn from(task: TaskSummary) -> Self {
        let usage = task.usage().map(Into::into);
        let summary = task.active().map(|active| active.summary.clone()).unwrap_or_default();
        let metrics = summary.metrics.into_iter().map(|(name, range)| (name, range.into()));
        let TaskSummary { task: info, lineages, unreadable, .. } = task;
        Self {
            id: info.id,
            user: info.user,
            created: micros(info.created_us),
            created_us: Big(info.created_us),
            active: info.active,
            head: Big(info.head),
            events: Big(info.events),
            title: summary.title,
            changed: micros(summary.changed_us),
            changed_us: Big(summary.changed_us),
            control: summary.control,
            phase: summary.phase,
            step: summary.step.map(Big),
            steps: Big(summary.steps),
            calls: Big(summary.calls),
            failed: Big(summary.failed),
            last_error: summary.last_error,
            metrics: metrics.collect(),
            usage,
            lineages: lineages.into_iter().map(Into::into).collect(),
            older_lineages: 0,
            columns: BTreeMap::new(),
            unreadable,
        }
    }
}
