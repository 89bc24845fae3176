//! Conversions of summaries.

use std::collections::BTreeMap;

use milepost::reading::{LineageSummary, MetricRange, Outcome, TaskSummary, Usage};
use milepost_api::{
    Big, LineageSummaryForm, MetricForm, OutcomeForm, SummaryForm, UsageForm, micros,
};

/// Converts a usage of models.
pub fn usage(usage: Usage) -> UsageForm {
    UsageForm {
        input: usage.input.map(Big),
        output: usage.output.map(Big),
        cache_read: usage.cache_read.map(Big),
        cache_write: usage.cache_write.map(Big),
        cost: usage.cost,
        currency: usage.currency,
        model: usage.model,
    }
}

fn outcome(outcome: Outcome) -> OutcomeForm {
    let good = outcome.is_good();
    OutcomeForm { status: outcome.status, value: outcome.value, good }
}

fn metric(range: MetricRange) -> MetricForm {
    MetricForm { last: range.last, min: range.min, max: range.max }
}

fn lineage_summary(lineage: LineageSummary) -> LineageSummaryForm {
    let LineageSummary { lineage: id, parent, head, summary, outcome, .. } = lineage;
    LineageSummaryForm {
        id,
        head: Big(head),
        parent: parent.map(|(parent, _)| parent),
        fork: parent.map(|(_, fork)| Big(fork)),
        outcome: self::outcome(outcome),
        steps: Big(summary.steps),
        calls: Big(summary.calls),
        failed: Big(summary.failed),
        usage: summary.usage().map(usage),
    }
}

/// Converts the summary of a task.
pub fn summary(task: TaskSummary) -> SummaryForm {
    let usage = task.usage().map(usage);
    let summary = task.active().map(|active| active.summary.clone()).unwrap_or_default();
    let metrics = summary.metrics.into_iter().map(|(name, range)| (name, metric(range)));
    let TaskSummary { task: info, lineages, unreadable, .. } = task;
    SummaryForm {
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
        lineages: lineages.into_iter().map(lineage_summary).collect(),
        older_lineages: 0,
        columns: BTreeMap::new(),
        unreadable,
    }
}
