//! `tasks`: the tasks with what happened in them, newest first.

use std::cmp::Ordering;

use milepost_api::{LineageSummaryForm, Listed, SummaryForm, UsageForm};
use milepost_reading::{MIXED_CURRENCIES, units};

use super::checkpoints::of_cursor;
use super::command::{CliCommand, Examples, Needs, Run};
use super::name_pattern::is_named;
use crate::args::at_least_one;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{
    FittedRow, FittedTable, NONE, Out, Style, age, count, excerpt, grouped, grouped_short, hint,
    note, outcome_mark, outcomes, printable, time_short, words,
};
use crate::store_locator::now_us;

/// Size of a page if no limit is given.
const PAGE: usize = 1000;

/// List the tasks, newest first.
#[derive(Debug, clap::Args)]
pub struct TasksArgs {
    /// Only tasks of this name, in which `*` matches any text.
    pub pattern: Option<String>,
    /// Only tasks whose id begins with TEXT, by id. Unlike a pattern, reads no other task.
    #[arg(long, value_name = "TEXT")]
    pub prefix: Option<String>,
    /// Print times in UTC, not as ages.
    #[arg(long)]
    pub utc: bool,
    /// Only tasks with a lineage that failed.
    #[arg(long)]
    pub failed: bool,
    /// Order of the list. Default: the newest task first.
    #[arg(long, value_name = "ORDER")]
    pub sort: Option<TaskOrder>,
    /// Only tasks of this user.
    #[arg(long)]
    pub user: Option<String>,
    /// At most N tasks. `-20` is `-n 20`.
    #[arg(short = 'n', long, alias = "last", value_name = "N", value_parser = at_least_one,
          allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Continue an earlier list that `--limit` cut off.
    #[arg(long)]
    pub cursor: Option<String>,
}

impl CliCommand for TasksArgs {
    const EXAMPLES: Examples =
        &[("tasks", "all of them"), ("tasks --user ana --limit 10", "the newest ten of ana")];
    const RUN: Run<Self> = Run::OnStore(Needs { lists: true, ..Needs::GLANCES_LONG }, run);
}

/// Order of a list of tasks: most first, names from A to Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TaskOrder {
    Created,
    Changed,
    Name,
    Steps,
    Failed,
    Tokens,
    Cost,
}

fn run(source: &dyn Backend, args: &TasksArgs, out: &mut Out) -> Result<()> {
    let listed = listed(source, args);
    let (all, next) = listed.map_err(|failure| of_cursor(failure, args.cursor.as_deref()))?;
    if out.json {
        return Ok(out.json(&Listed { items: all, next })?);
    }
    if all.is_empty() {
        let is_any = !source.tasks(None, 1, None)?.items.is_empty();
        match is_any {
            true => note("no such task; `milepost tasks` lists all"),
            false => out.advice("no tasks; `milepost record FILE` records one")?,
        }
    } else {
        table(&all, args.utc, out)?;
        // A program that reads the table adds up its rows itself.
        if all.len() > 1 && out.is_terminal() {
            out.line(out.style(Style::Dim, &total(&all)))?;
        }
    }
    if let Some(cursor) = next {
        hint(&format!("there is more: --cursor {cursor}"));
    }
    Ok(())
}

/// Returns the wanted tasks in their order, and the cursor of the next page.
fn listed(source: &dyn Backend, args: &TasksArgs) -> Result<(Vec<SummaryForm>, Option<String>)> {
    let is_filtered = args.failed || args.pattern.is_some() || args.sort.is_some();
    let mut all = Vec::new();
    let mut cursor = args.cursor.clone();
    loop {
        // A page of a list that is filtered or sorted here says nothing about its rows.
        let limit = args.limit.filter(|_| !is_filtered).unwrap_or(PAGE);
        let (user, prefix) = (args.user.as_deref(), args.prefix.as_deref());
        let page = source.summaries(user, prefix, limit, cursor)?;
        let pattern = args.pattern.as_deref();
        all.extend(page.items.into_iter().filter(|task| {
            is_named(&task.id, pattern) && (!args.failed || task.lineages.iter().any(is_bad))
        }));
        cursor = page.next;
        if cursor.is_none() || (args.limit.is_some() && !is_filtered) {
            break;
        }
    }
    if let Some(order) = args.sort {
        all.sort_by(|a, b| compare(a, b, order));
    }
    if let Some(limit) = args.limit
        && all.len() > limit
    {
        let more = count((all.len() - limit) as u64, "task");
        hint(&format!("{more} more: a larger --limit lists them"));
        all.truncate(limit);
    }
    Ok((all, cursor))
}

/// Returns `true` for a task whose active lineage failed, or that cannot be read.
fn is_marked(task: &SummaryForm) -> bool {
    task.unreadable.is_some() || task.active().is_some_and(is_bad)
}

fn is_bad(lineage: &LineageSummaryForm) -> bool {
    lineage.outcome.good == Some(false)
}

/// Compares two tasks: the one with more comes first, names in their order.
fn compare(a: &SummaryForm, b: &SummaryForm, order: TaskOrder) -> Ordering {
    let cost =
        |task: &SummaryForm| task.usage.as_ref().and_then(|usage| usage.cost).unwrap_or(-1.0);
    match order {
        TaskOrder::Name => a.id.cmp(&b.id),
        TaskOrder::Created => b.created_us.cmp(&a.created_us),
        TaskOrder::Changed => b.changed_us.cmp(&a.changed_us),
        TaskOrder::Steps => b.steps.cmp(&a.steps),
        TaskOrder::Failed => b.failed.cmp(&a.failed),
        TaskOrder::Tokens => tokens(b).cmp(&tokens(a)),
        TaskOrder::Cost => cost(b).total_cmp(&cost(a)),
    }
}

fn tokens(task: &SummaryForm) -> Option<u64> {
    task.usage.as_ref().and_then(|usage| usage.tokens())
}

fn table(all: &[SummaryForm], stamps: bool, out: &mut Out) -> Result<()> {
    let now = now_us();
    let is_of_many = all.windows(2).any(|pair| matches!(pair, [a, b] if a.user != b.user));
    let row = |task: &SummaryForm| FittedRow {
        name: words::encode(&task.id),
        cells: cells(task, is_of_many, (!stamps).then_some(now)),
        text: match &task.unreadable {
            Some(why) => format!("cannot be read: {why}"),
            None => task.title.clone().unwrap_or_default(),
        },
        style: is_marked(task).then_some(Style::Bad),
    };
    let table = FittedTable {
        name: "TASK",
        titles: vec![
            "USER",
            "OUTCOME",
            "STEPS",
            "FAILED",
            "TOKENS",
            "COST",
            if stamps { "CHANGED" } else { "AGE" },
        ],
        text: "TITLE",
        rows: all.iter().map(row).collect(),
    };
    Ok(table.print(out)?)
}

/// Returns the cells between the name and the title.
fn cells(task: &SummaryForm, with_user: bool, now: Option<u64>) -> Vec<String> {
    vec![
        if with_user { task.user.clone() } else { none() },
        outcomes(&task.lineages),
        number(task.steps.0),
        number(task.failed.0),
        tokens(task).map_or_else(none, grouped_short),
        cost(task.usage.as_ref()),
        match now {
            Some(now) => age(now.saturating_sub(task.changed_us.0)),
            None => time_short(task.changed_us.0),
        },
    ]
}

/// Returns the outcome, steps, calls, failures, tokens and cost of a lineage, as cells.
pub fn outcome_and_counts(lineage: Option<&LineageSummaryForm>) -> Vec<String> {
    let Some(lineage) = lineage else {
        return vec![NONE.to_owned(); 6];
    };
    let outcome = match &lineage.outcome.value {
        Some(value) => format!("{} {}", outcome_mark(lineage), excerpt(&value.to_string(), 12)),
        None => outcome_mark(lineage).to_string(),
    };
    let usage = lineage.usage.as_ref();
    vec![
        outcome,
        number(lineage.steps.0),
        number(lineage.calls.0),
        number(lineage.failed.0),
        usage.and_then(UsageForm::tokens).map_or_else(none, grouped_short),
        cost(usage),
    ]
}

/// Returns the sums of a list: outcomes of lineages, tokens, and the cost if all have one currency.
fn total(all: &[SummaryForm]) -> String {
    let outcomes = || all.iter().flat_map(|task| &task.lineages).map(|it| it.outcome.good);
    let of = |good| outcomes().filter(|it| *it == Some(good)).count() as u64;
    let (good, bad) = (of(true), of(false));
    let mut parts = vec![count(all.len() as u64, "task")];
    if good + bad > 0 {
        parts.push(format!("{} good and {} bad", count(good, "lineage"), grouped(bad)));
    }
    match all.iter().filter_map(tokens).sum() {
        0 => {}
        sum => parts.push(format!("{} tokens", grouped(sum))),
    }
    let usages = || all.iter().filter_map(|task| task.usage.as_ref());
    let costs = || usages().filter(|usage| usage.cost.is_some());
    let first = costs().next().map(|usage| usage.currency.as_deref());
    let is_one = costs().all(|usage| Some(usage.currency.as_deref()) == first);
    if let (Some(currency), true) = (first, is_one) {
        let sum = costs().filter_map(|usage| usage.cost).sum();
        parts.push(format!("cost {}", units::cost(sum, currency.map(printable).as_deref())));
    }
    parts.join(", ")
}

fn none() -> String {
    NONE.to_owned()
}

fn number(number: u64) -> String {
    if number == 0 { none() } else { grouped_short(number) }
}

/// Returns the cost of a usage, as a cell. Costs in several currencies have no sum.
pub fn cost(usage: Option<&UsageForm>) -> String {
    match usage.map(|usage| (usage.cost, usage.currency.as_deref())) {
        Some((Some(cost), currency)) => units::cost(cost, currency.map(printable).as_deref()),
        Some((None, Some(MIXED_CURRENCIES))) => MIXED_CURRENCIES.to_owned(),
        _ => none(),
    }
}
