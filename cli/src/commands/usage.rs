//! `stats TASK` and `stats --by`: tokens and cost of runs, by model, day or task.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use milepost::LineageId;
use milepost_api::{SummaryForm, UsageForm};
use milepost_reading::{Usage, UsageGroups};
use milepost_service::forms;
use serde::Serialize;

use super::name_pattern::is_named;
use super::tasks::cost;
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

/// The usage of each group, by its name.
type Groups = BTreeMap<Option<String>, Usage>;

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
    let mut groups: Groups = BTreeMap::new();
    for task in &tasks {
        of_task(source, task, by, |name, usage| match groups.entry(name) {
            Entry::Vacant(place) => _ = place.insert(usage),
            Entry::Occupied(mut sum) => sum.get_mut().add(&usage),
        })?;
    }
    let total = Usage::sum(groups.values().map(|usage| Some(usage.clone()))).unwrap_or_default();
    let form = |usage| UsageForm { model: None, ..forms::usage(usage) };
    let row = |(name, usage)| UsageRow { name, usage: form(usage) };
    let rows = groups.into_iter().map(row).collect();
    print(UsageReport { by, tasks: tasks.len(), rows, total: form(total) }, counted, out)
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

/// Passes the usage of each group of a task to `add`. A lineage is read from its fork on, with what
/// its parent had there: an answer, and a sum that a program recorded, may continue behind a fork.
fn of_task(
    source: &dyn Backend,
    task: &SummaryForm,
    by: UsageGroup,
    mut add: impl FnMut(Option<String>, Usage),
) -> Result<()> {
    let lineages = source.lineages(&task.id)?;
    let mut forked: HashMap<LineageId, UsageGroups<Option<String>>> = HashMap::new();
    for lineage in &lineages {
        let fork = lineage.parent.as_ref().map(|fork| fork.offset.0);
        // A lineage may be forked within the inherited part of its parent: then its ancestors' part
        // is read again.
        let (mut groups, mut inherits_to) = match forked.remove(&lineage.id) {
            Some(groups) => (groups, None),
            None => (UsageGroups::default(), fork),
        };
        let is_read = inherits_to.is_none();
        let begin = lineage.begin.0.max(fork.filter(|_| is_read).unwrap_or(0));
        let mut children: Vec<(u64, LineageId)> = lineages
            .iter()
            .filter_map(|child| Some((child.parent.as_ref()?, child.id)))
            .filter(|(parent, _)| parent.lineage == lineage.id && parent.offset.0 >= begin)
            .map(|(parent, child)| (parent.offset.0, child))
            .collect();
        children.sort_unstable_by(|a, b| b.cmp(a));
        let mut fork_up_to = |offset: u64, groups: &UsageGroups<_>| {
            while let Some((_, child)) = children.pop_if(|(fork, _)| *fork <= offset) {
                forked.insert(child, groups.fork());
            }
        };
        let point = point_at(&task.id, lineage.id, lineage.head.0);
        source.events(&point, begin..lineage.head.0, &mut |event| {
            if inherits_to.take_if(|fork| event.offset.0 >= *fork).is_some() {
                groups = groups.fork();
            }
            fork_up_to(event.offset.0, &groups);
            let time_us = event.time_us.0;
            groups.add(&event_of(event), |model| match by {
                UsageGroup::Model => model.map(str::to_owned),
                UsageGroup::Day => Some(day(time_us)),
                UsageGroup::Task => Some(task.id.clone()),
            });
            Ok(())
        })?;
        if inherits_to.is_some() {
            groups = groups.fork();
        }
        fork_up_to(u64::MAX, &groups);
        groups.end().into_iter().for_each(|(name, usage)| add(name, usage));
    }
    Ok(())
}

fn day(time_us: u64) -> String {
    time_short(time_us).chars().take("2026-01-18".len()).collect()
}

fn print(report: UsageReport, counted: Counted<'_>, out: &mut Out) -> Result<()> {
    if out.json {
        return Ok(out.json(&report)?);
    }
    if report.rows.is_empty() {
        match (report.tasks, counted.user) {
            (0, Some(user)) => note(&format!("no such task of user `{}`", printable(user))),
            (0, None) => note("no such task; `milepost tasks` lists all"),
            _ => note("no tokens and no cost were recorded"),
        }
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
    [vec![name], tokens.to_vec(), vec![cost(Some(usage))]].concat()
}
