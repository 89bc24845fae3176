//! `stats TASK` and `stats --by`: tokens and cost of runs, by model, day or task.

use std::collections::BTreeMap;

use milepost_api::{LineageForm, SummaryForm, UsageForm};
use milepost_reading::{Usage, UsageIncrements, units};
use milepost_service::forms;
use serde::Serialize;

use super::name_pattern::is_named;
use crate::backend::{Backend, event_of, point_at};
use crate::error::Result;
use crate::output::{NONE, Out, grouped, note, printable, time_short, words};

/// Tasks of a page.
const PAGE: usize = 1000;

/// The group that a usage counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UsageGroup {
    /// The model that answered.
    Model,
    /// The day of the answer, in UTC, or in local time with `--local`.
    Day,
    /// The task.
    Task,
}

impl UsageGroup {
    fn title(self) -> &'static str {
        match self {
            Self::Model => "MODEL",
            Self::Day => "DAY",
            Self::Task => "TASK",
        }
    }
}

/// The tasks that are counted.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'a> {
    /// The name, or a pattern with `*`.
    pub task: Option<&'a str>,
    pub user: Option<&'a str>,
}

/// Sums of the usage of tasks, as `--json` prints them.
#[derive(Debug, Serialize)]
struct UsageReport {
    by: UsageGroup,
    tasks: usize,
    rows: Vec<UsageRow>,
    total: UsageForm,
}

/// The usage of a group. `name` is `null` for answers whose model was not recorded.
#[derive(Debug, Serialize)]
struct UsageRow {
    name: Option<String>,
    #[serde(flatten)]
    usage: UsageForm,
}

/// Prints the usage of tasks. Each answer counts once, in the lineage that it was appended to.
pub fn usage(
    source: &dyn Backend,
    counted: Counted<'_>,
    by: UsageGroup,
    out: &mut Out,
) -> Result<()> {
    let tasks = tasks(source, counted)?;
    let mut groups = BTreeMap::new();
    for task in &tasks {
        for lineage in source.lineages(&task.id)? {
            add(source, task, &lineage, by, &mut groups)?;
        }
    }
    let total = Usage::sum(groups.values().map(|usage| Some(usage.clone()))).unwrap_or_default();
    let form = |usage| UsageForm { model: None, ..forms::usage(usage) };
    let row = |(name, usage)| UsageRow { name, usage: form(usage) };
    let rows = groups.into_iter().map(row).collect();
    print(UsageReport { by, tasks: tasks.len(), rows, total: form(total) }, out)
}

/// Returns the tasks that are counted. A name without a star has to be that of a task.
fn tasks(source: &dyn Backend, counted: Counted<'_>) -> Result<Vec<SummaryForm>> {
    let named = counted.task.filter(|name| !name.contains('*'));
    let named = named.map(|name| source.task(name)).transpose()?.map(|task| task.id);
    let pattern = named.as_deref().or(counted.task);
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = source.summaries(counted.user, named.as_deref(), PAGE, cursor)?;
        found.extend(page.items.into_iter().filter(|task| is_named(&task.id, pattern)));
        cursor = page.next;
        if cursor.is_none() {
            return Ok(found);
        }
    }
}

/// Adds the usage of a lineage's own events. Those of its ancestors are read first: an answer and a
/// sum that a program recorded may continue behind a fork.
fn add(
    source: &dyn Backend,
    task: &SummaryForm,
    lineage: &LineageForm,
    by: UsageGroup,
    groups: &mut BTreeMap<Option<String>, Usage>,
) -> Result<()> {
    let point = point_at(&task.id, lineage.id, lineage.head.0);
    let mut increments = UsageIncrements::default();
    source.events(&point, lineage.begin.0..lineage.head.0, &mut |event| {
        let time_us = event.time_us.0;
        let event = event_of(event);
        let Some(usage) = increments.add(&event).filter(|_| event.lineage == lineage.id) else {
            return Ok(());
        };
        let name = match by {
            UsageGroup::Model => usage.model.clone(),
            UsageGroup::Day => Some(time_short(time_us).chars().take("2026-01-18".len()).collect()),
            UsageGroup::Task => Some(task.id.clone()),
        };
        groups.entry(name).or_default().add(&usage);
        Ok(())
    })
}

fn print(report: UsageReport, out: &mut Out) -> Result<()> {
    if out.json {
        return Ok(out.json(&report)?);
    }
    if report.rows.is_empty() {
        let of = match report.tasks {
            0 => "no such task; `milepost tasks` lists all",
            _ => "no tokens and no cost were recorded",
        };
        note(of);
        return Ok(());
    }
    let name = |row: &UsageRow| match (&row.name, report.by) {
        (None, _) => NONE.to_owned(),
        (Some(name), UsageGroup::Task) => words::encode(name),
        (Some(name), _) => printable(name).into_owned(),
    };
    let mut rows: Vec<Vec<String>> =
        report.rows.iter().map(|row| cells(name(row), &row.usage)).collect();
    if rows.len() > 1 {
        rows.push(cells("total".to_owned(), &report.total));
    }
    let titles = [report.by.title(), "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITTEN", "COST"];
    Ok(out.table(&titles, &rows)?)
}

fn cells(name: String, usage: &UsageForm) -> Vec<String> {
    let tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    let tokens = tokens.map(|it| it.map_or_else(|| NONE.to_owned(), |it| grouped(it.0)));
    let cost = match (usage.cost, usage.currency.as_deref()) {
        (Some(cost), currency) => units::cost(cost, currency.map(printable).as_deref()),
        (None, Some(several)) => printable(several).into_owned(),
        (None, None) => NONE.to_owned(),
    };
    [vec![name], tokens.to_vec(), vec![cost]].concat()
}
