//! `compare`: histories next to each other, turn by turn, or as a table.
//!
//! ```text
//! side      one of the histories: its turns and its summary
//! rows      two to six histories, aligned with the first
//! table     any number of histories, a line each
//! ```

mod rows;
mod side;
mod table;

use milepost::reading::{AlignOptions, Aligned, AlignedOp, Turn, align, common};
use milepost_api::Big;
use serde_json::{Value, json};

use self::rows::{AlignedRow, aligned_rows};
use self::side::Side;
use super::command::{CliCommand, Examples, Needs, Run};
use super::diff::is_position;
use super::turn_text::{result, what};
use crate::backend::Backend;
use crate::error::{Failure, Result};
use crate::output::{Out, Style, count, fitted, shell_word};

/// Equal turns that are shown before and after a difference.
const CONTEXT: usize = 1;

/// The most histories that have room next to each other.
const SIDES: usize = 6;

/// Compare two runs, turn by turn.
#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// The addresses of the ends of the histories, see `milepost --help`; names of tasks in which
    /// `*` matches any text; or one task, for all its lineages.
    #[arg(required = true, value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    /// Print a line for each history: outcome, counts, and where it parts from the first.
    #[arg(long, conflicts_with = "all")]
    pub table: bool,
    /// Compare what was said also in turns with calls.
    #[arg(short, long)]
    pub texts: bool,
    /// Print all turns, not only those that differ.
    #[arg(long)]
    pub all: bool,
}

impl CliCommand for CompareArgs {
    const EXAMPLES: Examples = &[
        ("compare airline-0/0 airline-0/3", "two trials, side by side"),
        ("compare fix other --texts", "two tasks, with what was said"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &CompareArgs, out: &mut Out) -> Result<()> {
    let addresses = side::addresses(source, &args.addresses)?;
    let options = AlignOptions { texts: args.texts };
    if args.table {
        return table::run(source, &addresses, options, out);
    }
    let names = args.addresses.join(" ");
    match addresses.len() {
        0 | 1 => {
            return Err(Failure::new(format!("`{names}` is one history"))
                .hint("name two, as in `milepost compare A B`, or a task with several lineages"));
        }
        more if more > SIDES => {
            return Err(Failure::new(format!("{more} histories have no room in a line"))
                .hint("`milepost compare --table ..` has a line for each"));
        }
        _ => {}
    }
    let sides = addresses.iter().map(|address| Side::read(source, address));
    let sides = sides.collect::<Result<Vec<_>>>()?;
    let Some((first, others)) = sides.split_first() else {
        return Ok(());
    };
    let lines: Vec<Vec<Aligned>> =
        others.iter().map(|side| align(&first.turns, &side.turns, options)).collect();
    let rows = aligned_rows(first.turns.len(), &lines);
    let same = rows.iter().take_while(|row| row.is_same()).count();
    // Turns show calls and texts only; a state may hold what no turn shows.
    let differ = match same == rows.len() {
        true => Some(differing_values(source, first, others)?),
        false => None,
    };
    if out.json {
        let form = match (others, lines.as_slice()) {
            ([second], [lines]) => pair_form(first, second, lines, differ),
            _ => rows_form(&sides, same, &rows, differ),
        };
        return Ok(out.json(&form)?);
    }
    side::head(&sides, out)?;
    side::trimmed(&sides, out)?;
    match differ {
        Some(differ) => alike(&sides, &rows, differ, out)?,
        None => parting(first, &rows, same, out)?,
    }
    if same < rows.len() || args.all {
        print_rows(&sides, &rows, args.all, out)?;
    }
    Ok(())
}

/// Returns the number of values in which the states at the ends of the other histories differ from
/// that of the first.
fn differing_values(source: &dyn Backend, first: &Side, others: &[Side]) -> Result<u64> {
    let mut differ = 0;
    for other in others {
        let changes = source.changes(&first.point, &other.point)?.items;
        differ += changes.iter().filter(|change| !is_position(change)).count() as u64;
    }
    Ok(differ)
}

/// Prints the result for histories in which no turn differs: they are the same only if their states
/// are, too.
fn alike(sides: &[Side], rows: &[AlignedRow], differ: u64, out: &mut Out) -> Result<()> {
    let turns = count(rows.len() as u64, "turn");
    let said = rows.iter().filter(|row| row.is_said_otherwise()).count() as u64;
    match (said, differ) {
        (0, 0) => return Ok(out.advice(format!("the same: {turns}"))?),
        (0, _) => out.advice(format!("no turn differs: {turns}"))?,
        (said, _) => out.advice(format!(
            "no call differs: {turns}, {said} said otherwise; with --texts these are compared"
        ))?,
    }
    if differ > 0 {
        let points: Vec<_> =
            sides.iter().take(2).map(|side| shell_word(&side.point.address)).collect();
        let values = count(differ, "value");
        let points = points.join(" ");
        out.advice(format!("the states differ in {values}: `milepost diff {points}` prints them"))?;
    }
    Ok(())
}

/// Prints where the histories part, and for two how many turns differ.
fn parting(first: &Side, rows: &[AlignedRow], same: usize, out: &mut Out) -> Result<()> {
    let turns = count(same as u64, "turn");
    let step =
        same.checked_sub(1).and_then(|last| first.turns.get(rows.get(last)?.turns(0)?)?.step);
    out.advice(match (same, step) {
        (0, _) => "the first turn differs".to_owned(),
        (_, Some(step)) => format!("the same up to step {step} of A: {turns}"),
        (_, None) => format!("the same: {turns}"),
    })?;
    let number = |op| rows.iter().filter(|row| row.ops() == [Some(op)]).count();
    if rows.first().is_some_and(|row| row.ops().len() == 1) {
        out.advice(format!(
            "then {} changed, {} only in A, {} only in B, {} moved",
            number(AlignedOp::Changed),
            number(AlignedOp::OnlyA),
            number(AlignedOp::OnlyB),
            number(AlignedOp::Moved) / 2,
        ))?;
    }
    Ok(())
}

/// Prints the rows that differ, with equal ones next to them, or all.
fn print_rows(sides: &[Side], rows: &[AlignedRow], all: bool, out: &mut Out) -> Result<()> {
    let differs = |at: usize| rows.get(at).is_some_and(|row| !row.is_same());
    let near = |at: usize| (at.saturating_sub(CONTEXT)..=at + CONTEXT).any(differs);
    let mut last = None;
    for (at, row) in rows.iter().enumerate().filter(|(at, _)| all || near(*at)) {
        let between = last.map_or(at, |last: usize| at - last - 1);
        if between > 0 {
            out.line(format!("    … {} the same", count(between as u64, "turn")))?;
        }
        last = Some(at);
        let line = row_text(sides, row, out.columns());
        out.line(match row.ops() {
            [Some(AlignedOp::OnlyA)] => out.style(Style::Bad, &line),
            [Some(AlignedOp::OnlyB)] => out.style(Style::Good, &line),
            _ => line,
        })?;
    }
    Ok(())
}

fn row_text(sides: &[Side], row: &AlignedRow, columns: usize) -> String {
    let between = 3 * sides.len().saturating_sub(1);
    let each = columns.saturating_sub(between) / sides.len().max(1);
    let mut line = String::new();
    for (at, side) in sides.iter().enumerate() {
        if let Some(op) = at.checked_sub(1).and_then(|at| row.ops().get(at)) {
            line.push_str(match op {
                None | Some(AlignedOp::Same) => "   ",
                Some(AlignedOp::Said) => " ≈ ",
                Some(AlignedOp::Changed) => " ~ ",
                Some(AlignedOp::OnlyA) => " < ",
                Some(AlignedOp::OnlyB) => " > ",
                Some(AlignedOp::Moved) => " ^ ",
            });
        }
        let turn = row.turns(at).and_then(|at| side.turns.get(at));
        line.push_str(&fitted(&turn.map_or_else(String::new, cell), each));
    }
    line.trim_end().to_owned()
}

fn cell(turn: &Turn) -> String {
    let step = turn.step.map_or_else(String::new, |step| step.to_string());
    let mark = if turn.failed.is_some() { "✗" } else { " " };
    format!("{step:>3} {mark} {}", what(turn))
}

fn turn_form(turn: &Turn) -> Value {
    json!({
        "step": turn.step.map(Big),
        "first": Big(turn.first),
        "next": Big(turn.next),
        "what": what(turn),
        "result": result(turn),
        "failed": turn.failed,
    })
}

fn pair_form(a: &Side, b: &Side, lines: &[Aligned], differ: Option<u64>) -> Value {
    let common = common(lines) as u64;
    let turn = |side: &Side, at: Option<usize>| at.and_then(|at| side.turns.get(at)).map(turn_form);
    let item = |line: &Aligned| {
        json!({
            "op": line.op,
            "a": turn(a, line.a),
            "b": turn(b, line.b),
            "other": line.other.map(|at| Big(at as u64)),
        })
    };
    let items: Vec<_> = lines.iter().map(item).collect();
    json!({
        "a": a.point.address,
        "b": b.point.address,
        "common": Big(common),
        "differing_values": differ.map(Big),
        "items": items,
    })
}

fn rows_form(sides: &[Side], same: usize, rows: &[AlignedRow], differ: Option<u64>) -> Value {
    let row = |row: &AlignedRow| {
        let turn = |(at, side): (usize, &Side)| {
            row.turns(at).and_then(|at| side.turns.get(at)).map(turn_form)
        };
        let turns: Vec<_> = sides.iter().enumerate().map(turn).collect();
        json!({ "ops": row.ops(), "turns": turns })
    };
    json!({
        "addresses": sides.iter().map(|side| &side.point.address).collect::<Vec<_>>(),
        "common": Big(same as u64),
        "differing_values": differ.map(Big),
        "items": rows.iter().map(row).collect::<Vec<_>>(),
    })
}
