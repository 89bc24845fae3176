//! `verify`: checks every hash, and both copies of every event.

use std::path::PathBuf;

use milepost::Json;
use milepost::integrity::Anchor;
use milepost_api::{RepairForm, VerifyRequest};
use serde_json::json;

use super::command::{CliCommand, Examples, Needs, Run};
use crate::backend::Backend;
use crate::error::{CORRUPT, Failure, Result};
use crate::output::{Out, Style, bar, big, count, plural, printable};

/// Number of events from which on a bar is shown.
const LONG: u64 = 100_000;

/// Check every hash and both copies of every event.
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Verify only this task.
    pub task: Option<String>,
    /// Also fold every lineage from its beginning, and compare the snapshots.
    #[arg(long)]
    pub states: bool,
    /// Also compare with an earlier anchor.
    #[arg(long, value_name = "FILE", conflicts_with = "task")]
    pub anchor: Option<PathBuf>,
    /// Acknowledge repairs of earlier damage: they are shown once more, and then not counted.
    #[arg(long)]
    pub acknowledge: bool,
}

impl CliCommand for VerifyArgs {
    const EXAMPLES: Examples = &[
        ("verify", "all of the store"),
        ("verify run --states", "a task, folded from its beginning too"),
        ("verify --anchor heads.json", "also that nothing was taken away since"),
        ("verify --acknowledge", "and no longer count damage that was repaired"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs { attached: true, ..Needs::READS }, run);
}

fn run(source: &dyn Backend, args: &VerifyArgs, out: &mut Out) -> Result<()> {
    // The anchor is read first: a wrong file need not wait for the verification.
    let anchor = args.anchor.as_deref().map(Anchor::read).transpose().map_err(|error| {
        Failure::from(error).hint("give a file that `milepost anchor > FILE` wrote")
    })?;
    let task = args.task.as_deref().map(|id| source.task(id)).transpose()?;
    let compared = anchor.as_ref().map(|anchor| Json::new(anchor.to_json())).transpose()?;
    let (task, states, acknowledge) = (task.map(|task| task.id), args.states, args.acknowledge);
    let asked = VerifyRequest { task, states, acknowledge, anchor: compared };
    let mut shown = None;
    let report = source.verify(asked, &mut |done, all| {
        let bar = shown.get_or_insert_with(|| bar(all, "verify", all >= LONG, false));
        bar.set_position(done);
    })?;
    if let Some(bar) = shown {
        bar.finish_and_clear();
    }
    let counts = [
        ("task", report.tasks),
        ("lineage", report.lineages),
        ("event", report.events),
        ("checkpoint", report.checkpoints),
        ("block", report.blocks),
        ("entry", report.entries),
        ("snapshot", report.snapshots),
        ("frame", report.frames),
        ("chunk", report.chunks),
    ];
    if out.json {
        let mut form = serde_json::Map::new();
        for (name, number) in counts {
            form.insert(plural(name), json!(number));
        }
        let faults = report.faults.iter();
        let faults = faults.map(|f| json!({"place": f.place, "message": f.message})).collect();
        form.insert("faults".into(), faults);
        form.insert("repairs".into(), json!(report.repairs));
        if let Some(anchor) = &anchor {
            let form_of =
                json!({"digest": anchor.digest, "seq": big(anchor.seq), "logs": anchor.logs.len()});
            form.insert("anchor".into(), form_of);
        }
        form.insert("ok".into(), report.ok.into());
        out.json(&form)?;
    } else {
        let checked = counts.map(|(name, number)| count(number.0, name)).join(", ");
        out.line(format!("checked {checked}"))?;
        if let Some(anchor) = &anchor {
            let logs = count(anchor.logs.len() as u64, "log");
            out.line(format!("compared with the anchor of commit {}, {logs}", anchor.seq))?;
        }
        for fault in &report.faults {
            let place = out.style(Style::Bad, &printable(&fault.place));
            out.line(format!("{place}: {}", printable(&fault.message)))?;
        }
        for repair in &report.repairs {
            print_repair(repair, out)?;
        }
        if report.faults.is_empty() {
            let now = if report.repairs.is_empty() { "" } else { " now" };
            out.line(out.style(Style::Good, &format!("no fault found{now}")))?;
        }
    }
    let repairs = report.repairs.iter().filter(|repair| repair.acknowledged_at.is_none()).count();
    verdict(report.faults.len() as u64, repairs as u64)
}

/// Returns a failure for faults, and for repairs that are not acknowledged.
fn verdict(faults: u64, repairs: u64) -> Result<()> {
    match (faults, repairs) {
        (0, 0) => Ok(()),
        (0, repairs) => Err(Failure::new(format!(
            "the store was damaged: {} on record, not acknowledged",
            count(repairs, "repair")
        ))
        .code_of(CORRUPT)
        .hint("`milepost verify --acknowledge` ends this, once you know what changed the files")),
        (faults, _) => Err(Failure::new(format!("{} found", count(faults, "fault")))
            .code_of(CORRUPT)
            .hint("copy the store's folder as it is before anything else is done to it")),
    }
}

/// Prints the record of repaired damage.
fn print_repair(repair: &RepairForm, out: &mut Out) -> Result<()> {
    out.line(out.style(Style::Bad, &sentence(repair)))?;
    out.line(format!("    {}", when(repair)))?;
    Ok(())
}

/// Returns a sentence on the damage of a repair.
pub fn sentence(repair: &RepairForm) -> String {
    let (place, message) = (printable(&repair.place), printable(&repair.message));
    match message.contains(&*place) {
        true => message.into_owned(),
        false => format!("{place}: {message}"),
    }
}

/// Returns a sentence on the times of a repair, and on the copy that it read.
pub fn when(repair: &RepairForm) -> String {
    let found = repair.found_at.as_deref().unwrap_or("at an unknown time");
    let whole = match &repair.whole_at {
        Some(whole) => format!("known whole {whole}"),
        None => "never verified before".to_owned(),
    };
    let done = if repair.complete { "mended" } else { "not mended yet: the next opening mends it" };
    let acknowledged = match &repair.acknowledged_at {
        Some(at) => format!(", acknowledged {at}"),
        None => String::new(),
    };
    let from = printable(&repair.mended_from);
    format!("found {found} ({whole}), {done} from {from}{acknowledged}")
}
