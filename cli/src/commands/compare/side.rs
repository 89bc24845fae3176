//! One of the histories of a comparison.

use milepost::reading::{Turn, Turns};
use milepost_api::calls::Summary;
use milepost_api::{LineageSummaryForm, PointForm};

use crate::backend::{Backend, event_of};
use crate::commands::name_pattern::is_named;
use crate::commands::tasks::outcome_and_counts;
use crate::commands::turn_text::begin_of;
use crate::error::{Failure, Result};
use crate::output::{FittedRow, FittedTable, Out, words};

/// Tasks of one read.
const PAGE: usize = 200;

/// Letters of the histories in a heading.
const LETTERS: [&str; 6] = ["A", "B", "C", "D", "E", "F"];

/// A history: its end, its turns, and its summary, if it ends at the head of its lineage.
#[derive(Debug)]
pub struct Side {
    pub point: PointForm,
    /// The offset of the first event that is there: over 0 if a cleanup removed earlier ones.
    pub begin: u64,
    pub turns: Vec<Turn>,
    pub summary: Option<LineageSummaryForm>,
}

impl Side {
    pub fn read(source: &dyn Backend, address: &str) -> Result<Self> {
        let point = source.point(address)?;
        let summaries = source.call(Summary::new(&point.task))?.lineages;
        let summary = summaries.into_iter().find(|lineage| lineage.id == point.lineage);
        Self::at(source, point, summary)
    }

    /// Reads the turns before a point.
    pub fn at(
        source: &dyn Backend,
        point: PointForm,
        summary: Option<LineageSummaryForm>,
    ) -> Result<Self> {
        let begin = begin_of(source, &point)?;
        let (mut turns, mut all) = (Turns::default(), Vec::new());
        source.events(&point, begin..point.offset.0, &mut |event| {
            all.extend(turns.add(&event_of(event)));
            Ok(())
        })?;
        all.extend(turns.end());
        let summary = summary.filter(|summary| summary.head == point.offset);
        Ok(Self { point, begin, turns: all, summary })
    }
}

/// Names the histories whose beginning is not there: their turns are not those that another one
/// begins with.
pub fn trimmed(sides: &[Side], out: &mut Out) -> Result<()> {
    let begin = sides.first().map_or(0, |side| side.begin);
    if sides.iter().all(|side| side.begin == begin) {
        return Ok(());
    }
    for (side, letter) in sides.iter().zip(LETTERS).filter(|(side, _)| side.begin > 0) {
        out.advice(format!(
            "a cleanup removed the beginning of {letter}: it has no turns before @{}",
            side.begin
        ))?;
    }
    Ok(())
}

/// Returns the addresses that arguments name: an address, a pattern of tasks with `*`, and a task
/// alone, which names all its lineages if nothing else is named.
pub fn addresses(source: &dyn Backend, given: &[String]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for argument in given {
        if !argument.contains('*') {
            let task = source.task(argument).ok().filter(|_| given.len() == 1);
            match task {
                Some(task) => add_lineages(source, &task.id, &mut all)?,
                None => all.push(argument.clone()),
            }
            continue;
        }
        let mut cursor = None;
        let before = all.len();
        loop {
            let page = source.tasks(None, PAGE, cursor)?;
            for task in page.items.iter().filter(|task| is_named(&task.id, Some(argument))) {
                add_lineages(source, &task.id, &mut all)?;
            }
            match page.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        if all.len() == before {
            return Err(Failure::new(format!("no task is named `{argument}`"))
                .hint("`milepost tasks` lists the tasks of the store"));
        }
    }
    Ok(all)
}

/// Adds the addresses of a task's lineages.
fn add_lineages(source: &dyn Backend, task: &str, all: &mut Vec<String>) -> Result<()> {
    let lineages = source.lineages(task)?;
    let address = |id| format!("{}/{id}", words::encode(task));
    all.extend(lineages.into_iter().map(|lineage| address(lineage.id)));
    Ok(())
}

/// Prints a line for each history.
pub fn head(sides: &[Side], out: &mut Out) -> Result<()> {
    let row = |(side, letter): (&Side, &&str)| FittedRow {
        name: format!("{letter}  {}", side.point.address),
        cells: outcome_and_counts(side.summary.as_ref()),
        text: String::new(),
        style: None,
    };
    let table = FittedTable {
        name: "",
        titles: vec!["OUTCOME", "STEPS", "CALLS", "FAILED", "TOKENS", "COST"],
        text: "",
        rows: sides.iter().zip(&LETTERS).map(row).collect(),
    };
    Ok(table.print(out)?)
}
