//! `verify`: checks every hash, and both copies of every event.

use std::path::{Path, PathBuf};

use milepost::integrity::Anchor;
use serde_json::json;

use crate::args::Verify;
use crate::backend::{Backend, VerifyAsked};
use crate::error::{CORRUPT, Failure, Result};
use crate::output::{Out, Style, bar, big, count, plural, printable};
use crate::store_locator::now_us;

use super::doctor::note_verified;

/// Number of events from which on a bar is shown.
const LONG: u64 = 100_000;

pub fn run(source: &dyn Backend, args: &Verify, out: &mut Out) -> Result<()> {
    // The anchor is read first: a wrong file need not wait for the verification.
    let anchor = args.anchor.as_deref().map(Anchor::read).transpose().map_err(|error| {
        Failure::from(error).hint("give a file that `milepost anchor > FILE` wrote")
    })?;
    let task = args.task.as_deref().map(|id| source.task(id)).transpose()?;
    let asked = VerifyAsked { task, states: args.states, anchor };
    let mut shown = None;
    let report = source.verify(&asked, &mut |done, all| {
        let bar = shown.get_or_insert_with(|| bar(all, "verify", all >= LONG, false));
        bar.set_position(done);
    })?;
    if let Some(bar) = shown {
        bar.finish_and_clear();
    }
    if let (Some(folder), None) = (folder(source), &asked.task) {
        note_verified(&folder, &report, now_us());
    }
    let anchor = asked.anchor;
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
        if let Some(anchor) = &anchor {
            let form_of =
                json!({"digest": anchor.digest, "seq": big(anchor.seq), "logs": anchor.logs.len()});
            form.insert("anchor".into(), form_of);
        }
        form.insert("ok".into(), report.faults.is_empty().into());
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
        if report.faults.is_empty() {
            out.line(out.style(Style::Good, "no fault found"))?;
        }
    }
    if report.faults.is_empty() {
        return Ok(());
    }
    let faults = count(report.faults.len() as u64, "fault");
    Err(Failure::new(format!("{faults} found"))
        .code_of(CORRUPT)
        .hint("copy the store's folder as it is before anything else is done to it"))
}

/// Returns the folder of a store that this process has open for writing.
fn folder(source: &dyn Backend) -> Option<PathBuf> {
    let store = source.engine()?.store().chunks();
    store.check_writable().ok()?;
    store.folder().map(Path::to_owned)
}
