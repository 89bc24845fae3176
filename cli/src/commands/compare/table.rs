//! Any number of histories, a line each.

use std::collections::HashMap;

use milepost::reading::{AlignOptions, Turn, align, common};
use milepost_api::calls::Summary;
use milepost_api::{Big, LineageSummaryForm};
use serde_json::json;

use super::side::Side;
use super::turn_form;
use crate::backend::Backend;
use crate::commands::tasks::outcome_and_counts;
use crate::commands::turn_text::what;
use crate::error::Result;
use crate::output::{FittedRow, FittedTable, NONE, Out, Style};

/// A history, and where it parts from the first one of its task, or of all if each has another
/// task.
struct Line {
    address: String,
    summary: Option<LineageSummaryForm>,
    common: usize,
    /// The first turn that differs, if there is one.
    parts: Option<Turn>,
    is_first: bool,
}

pub fn run(
    source: &dyn Backend,
    addresses: &[String],
    options: AlignOptions,
    out: &mut Out,
) -> Result<()> {
    let lines = lines(source, addresses, options)?;
    if out.json {
        let forms: Vec<_> = lines.iter().map(form).collect();
        return Ok(out.json(&json!({ "items": forms }))?);
    }
    let row = |line: &Line| {
        let mut cells = outcome_and_counts(line.summary.as_ref());
        let step = line.parts.as_ref().and_then(|turn| turn.step);
        cells.push(match step {
            Some(step) if !line.is_first => step.to_string(),
            _ => NONE.to_owned(),
        });
        let is_bad = line.summary.as_ref().is_some_and(|found| found.outcome.good == Some(false));
        FittedRow {
            name: line.address.clone(),
            cells,
            text: line.parts.as_ref().filter(|_| !line.is_first).map(what).unwrap_or_default(),
            style: is_bad.then_some(Style::Bad),
        }
    };
    let table = FittedTable {
        name: "HISTORY",
        titles: vec!["OUTCOME", "STEPS", "CALLS", "FAILED", "TOKENS", "COST", "PARTS AT"],
        text: "WITH",
        rows: lines.iter().map(row).collect(),
    };
    Ok(table.print(out)?)
}

fn lines(source: &dyn Backend, addresses: &[String], options: AlignOptions) -> Result<Vec<Line>> {
    let mut summaries: HashMap<String, Vec<LineageSummaryForm>> = HashMap::new();
    let mut first: HashMap<String, Vec<Turn>> = HashMap::new();
    let points = addresses.iter().map(|address| source.point(address));
    let points = points.collect::<Result<Vec<_>>>()?;
    // Several lineages of a task are compared with each other, and tasks of one with the first.
    let by_task = points.windows(2).any(|pair| matches!(pair, [a, b] if a.task == b.task));
    let mut lines = Vec::with_capacity(points.len());
    for point in points {
        let task = point.task.clone();
        if !summaries.contains_key(&task) {
            summaries.clear();
            summaries.insert(task.clone(), source.call(Summary::new(&task))?.lineages);
        }
        let mut of_task = summaries.get(&task).into_iter().flatten();
        let summary = of_task.find(|lineage| lineage.id == point.lineage).cloned();
        let address = point.address.clone();
        let Side { turns, summary, .. } = Side::at(source, point, summary)?;
        let key = if by_task { task } else { String::new() };
        let (common, is_first) = match first.get(&key) {
            Some(first) => (common(&align(first, &turns, options)), false),
            None => (turns.len(), true),
        };
        let parts = turns.get(common).cloned();
        lines.push(Line { address, summary, common, parts, is_first });
        if is_first {
            first.insert(key, turns);
        }
    }
    Ok(lines)
}

fn form(line: &Line) -> serde_json::Value {
    json!({
        "address": line.address,
        "summary": line.summary,
        "common": Big(line.common as u64),
        "parts": line.parts.as_ref().map(turn_form),
    })
}
