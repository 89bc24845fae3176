//! `repair`: repairs damage, and reports losses.

use milepost::ErrorKind;
use milepost::repair::{LostEvents, RepairReport};
use serde_json::json;

use super::command::{CliCommand, Examples, Run};
use crate::error::{CORRUPT, Failure, Result};
use crate::output::{Out, Style, big, printable};
use crate::store_locator::StoreArgs;

/// Repair damage, and report losses.
#[derive(Debug, clap::Args)]
pub struct RepairArgs {
    /// Change nothing: repair a copy, which needs as much space, and print the result.
    #[arg(long)]
    pub dry_run: bool,
}

impl CliCommand for RepairArgs {
    const EXAMPLES: Examples =
        &[("repair --dry-run", "what it would do"), ("repair", "mend it, and say what is lost")];
    const RUN: Run<Self> = Run::Alone(run);

    fn left_to_user(&self) -> Option<&'static str> {
        let hint =
            "the user decides on what is lost: `milepost repair --dry-run` says what that is";
        (!self.dry_run).then_some(hint)
    }
}

fn run(store: &StoreArgs, args: &RepairArgs, out: &mut Out) -> Result<()> {
    let (dir, options) = store.there()?;
    let report = milepost::repair::repair(&dir, &options, args.dry_run).map_err(|error| {
        let is_damaged = error.kind() == ErrorKind::Corrupt;
        let failure = Failure::from(error);
        match is_damaged {
            true => failure.hint(
                "this cannot be mended: put back a copy of the store's folder, or import an export \
                 of its tasks into another store",
            ),
            false => failure,
        }
    })?;
    if out.json {
        print_json(&report, out)?;
    } else {
        print_text(&report, out)?;
    }
    let what = match (!report.loses_events(), report.verified.faults.is_empty()) {
        (true, true) => return Ok(()),
        (true, false) => "not everything could be mended",
        (false, _) => "events are lost",
    };
    Err(Failure::new(what).code_of(CORRUPT))
}

fn print_json(report: &RepairReport, out: &mut Out) -> Result<()> {
    let mended = report.mended.iter();
    let mended: Vec<_> = mended
        .map(|f| json!({"place": f.place, "message": f.message, "outcome": f.outcome.to_string()}))
        .collect();
    let lost: Vec<_> = (report.lost.iter())
        .map(|lost| {
            json!({
                "task": lost.task,
                "lineage": lost.lineage,
                "from": big(lost.from),
                "to": big(lost.to),
                "kept": big(lost.kept),
                "message": lost.message,
            })
        })
        .collect();
    let faults = report.verified.faults.iter();
    let faults: Vec<_> = faults.map(|f| json!({"place": f.place, "message": f.message})).collect();
    out.json(&json!({
        "dry_run": report.dry_run,
        "mended": mended,
        "lost": lost,
        "kept": report.kept,
        "faults": faults,
        "unknown": report.unknown,
        "ok": report.is_whole(),
    }))
    .map_err(Into::into)
}

fn print_text(report: &RepairReport, out: &mut Out) -> Result<()> {
    let (mended, lost) =
        if report.dry_run { ("would be mended", "would be lost") } else { ("mended", "lost") };
    for finding in &report.mended {
        let style = out.style(Style::Good, mended);
        let (message, outcome) = (printable(&finding.message), finding.outcome);
        out.line(format!("{style}: {message} ({outcome})"))?;
    }
    if !report.mended.is_empty() && !report.dry_run {
        out.advice("the store keeps a record of it: `milepost verify --acknowledge` ends that")?;
    }
    for one in &report.lost {
        let style = out.style(Style::Bad, lost);
        out.line(format!("{style}: {}", range(one)))?;
    }
    if let Some(unknown) = &report.unknown {
        let style = out.style(Style::Bad, lost);
        out.line(format!("{style}: {}; which events they had is not known", printable(unknown)))?;
    }
    for path in &report.kept {
        out.line(format!("kept: {}", path.display()))?;
    }
    for fault in &report.verified.faults {
        let style = out.style(Style::Bad, "still damaged");
        let (place, message) = (printable(&fault.place), printable(&fault.message));
        out.line(format!("{style}: {place}: {message}"))?;
    }
    if report.is_whole() && report.mended.is_empty() && report.kept.is_empty() {
        out.line(out.style(Style::Good, "nothing to mend"))?;
    }
    Ok(())
}

fn range(lost: &LostEvents) -> String {
    let task = match &lost.task {
        Some(task) => format!("task {}", printable(task)),
        None => "a task whose name is lost, or the store's own log".into(),
    };
    let log = match lost.lineage {
        Some(lineage) => format!("lineage {lineage}"),
        None => "the log of its lineages".into(),
    };
    let kept = match lost.kept {
        0 => String::new(),
        kept => format!("; {kept} of them are written down"),
    };
    let (from, to) = (lost.from, lost.to);
    let message = printable(&lost.message);
    format!("{task}, {log}, events {from} to {}{kept}: {message}", to.saturating_sub(1).max(from))
}
