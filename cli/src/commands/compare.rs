//! `compare`: two histories, turn by turn.

use milepost::reading::{AlignOptions, Aligned, AlignedOp, Turn, align};
use milepost_api::{Big, PointForm};
use serde_json::{Value, json};

use super::turn_text::{result, turns_before, what};
use crate::args::Compare;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, Style, count, fitted, printable};

/// Equal turns that are shown before and after a difference.
const CONTEXT: usize = 1;

/// One of the two histories.
struct Side {
    point: PointForm,
    turns: Vec<Turn>,
}

pub fn run(source: &dyn Backend, args: &Compare, out: &mut Out) -> Result<()> {
    let (a, b) = (side(source, &args.a)?, side(source, &args.b)?);
    let lines = align(&a.turns, &b.turns, AlignOptions { texts: args.texts });
    if out.json {
        return Ok(out.json(&form(&a, &b, &lines))?);
    }
    let same = lines.iter().take_while(|line| line.op == AlignedOp::Same).count();
    head(&a, &b, &lines, same, out)?;
    let shown = shown(&lines, args.all);
    let mut last = None;
    for at in shown {
        if last.is_some_and(|last| at > last + 1) {
            let between = last.map_or(0, |last| at - last - 1) as u64;
            out.line(format!("    … {} the same", count(between, "turn")))?;
        }
        if let Some(line) = lines.get(at) {
            let text = text(&a, &b, line, out);
            out.line(text.trim_end())?;
        }
        last = Some(at);
    }
    Ok(())
}

fn side(source: &dyn Backend, address: &str) -> Result<Side> {
    let point = source.point(address)?;
    let turns = turns_before(source, &point)?;
    Ok(Side { point, turns })
}

/// Prints where the histories part, and the counts.
fn head(a: &Side, b: &Side, lines: &[Aligned], same: usize, out: &mut Out) -> Result<()> {
    let number = |op| lines.iter().filter(|line| line.op == op).count() as u64;
    let moved = number(AlignedOp::Moved) / 2;
    out.line(printable(&format!("A  {}", a.point.address)))?;
    out.line(printable(&format!("B  {}", b.point.address)))?;
    if same == lines.len() {
        return Ok(out.line(format!("the same: {}", count(same as u64, "turn")))?);
    }
    let from = match lines.get(same).and_then(|line| line.a.and_then(|at| a.turns.get(at))) {
        Some(Turn { step: Some(step), .. }) => format!(" up to step {step} of A"),
        _ => String::new(),
    };
    out.line(match same {
        0 => "the first turn differs".to_owned(),
        same => format!("the same{from}: {}", count(same as u64, "turn")),
    })?;
    out.line(format!(
        "then {} changed, {} only in A, {} only in B, {moved} moved",
        number(AlignedOp::Changed),
        number(AlignedOp::OnlyA),
        number(AlignedOp::OnlyB)
    ))?;
    Ok(())
}

/// Returns the indices of the lines to print: differences, and equal turns next to them.
fn shown(lines: &[Aligned], all: bool) -> Vec<usize> {
    let differs = |at: usize| lines.get(at).is_some_and(|line| line.op != AlignedOp::Same);
    let near = |at: usize| (at.saturating_sub(CONTEXT)..=at + CONTEXT).any(differs);
    (0..lines.len()).filter(|at| all || near(*at)).collect()
}

fn text(a: &Side, b: &Side, line: &Aligned, out: &Out) -> String {
    let half = (out.columns() - 3) / 2;
    let cell = |turns: &[Turn], at: Option<usize>| match at.and_then(|at| turns.get(at)) {
        Some(turn) => fitted(&cell_text(turn), half),
        None => fitted("", half),
    };
    let (left, right) = (cell(&a.turns, line.a), cell(&b.turns, line.b));
    match line.op {
        AlignedOp::Same => format!("{left}   {right}"),
        AlignedOp::Changed => format!("{left} ~ {right}"),
        AlignedOp::OnlyA => out.style(Style::Bad, &format!("{left} <")),
        AlignedOp::OnlyB => out.style(Style::Good, &format!("{left} > {right}")),
        AlignedOp::Moved => format!("{left} ^ {right}"),
    }
}

fn cell_text(turn: &Turn) -> String {
    let step = turn.step.map_or_else(String::new, |step| step.to_string());
    let mark = if turn.failed.is_some() { "✗" } else { " " };
    format!("{step:>3} {mark} {}", what(turn))
}

fn form(a: &Side, b: &Side, lines: &[Aligned]) -> Value {
    let common = lines.iter().take_while(|line| line.op == AlignedOp::Same).count() as u64;
    let turn = |turns: &[Turn], at: Option<usize>| {
        at.and_then(|at| turns.get(at)).map(|turn| {
            json!({
                "step": turn.step.map(Big),
                "first": Big(turn.first),
                "next": Big(turn.next),
                "what": what(turn),
                "result": result(turn),
                "failed": turn.failed,
            })
        })
    };
    let items: Vec<_> = lines
        .iter()
        .map(|line| {
            json!({
                "op": line.op,
                "a": turn(&a.turns, line.a),
                "b": turn(&b.turns, line.b),
                "other": line.other.map(|at| Big(at as u64)),
            })
        })
        .collect();
    json!({
        "a": a.point.address,
        "b": b.point.address,
        "common": Big(common),
        "items": items,
    })
}
