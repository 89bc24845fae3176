//! `branch`: a new lineage at a point, which does not become active.

// tidy: one command

use serde_json::json;

use super::command::{CliCommand, Examples, Needs, Run};
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, printable, words};

/// Open a new lineage at a point, and leave the task on its active one.
#[derive(Debug, clap::Args)]
pub struct BranchArgs {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// A description of the new lineage.
    #[arg(short = 'm', long, alias = "message", value_name = "TEXT")]
    pub description: Option<String>,
}

impl CliCommand for BranchArgs {
    const EXAMPLES: Examples = &[
        ("branch run@good", "another lineage from there; the task stays where it is"),
        ("branch run~1 -m 'a smaller step'", "from the last checkpoint, and why"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::NONE, run);
}

fn run(source: &dyn Backend, args: &BranchArgs, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    let lineage = source.branch(&point, args.description.as_deref())?;
    if out.json {
        let mut form = serde_json::to_value(&lineage)?;
        if let Some(fields) = form.as_object_mut() {
            fields.insert("task".into(), json!(point.task));
        }
        return Ok(out.json(&form)?);
    }
    let task = source.task(&words::encode(&point.task))?;
    let from = words::address(&point.task, point.lineage, point.offset.0);
    out.line(printable(&format!("branched from {from}")))?;
    out.line(format!(
        "lineage {} of {}, head @{}; the task stays on lineage {}",
        lineage.id,
        printable(&point.task),
        lineage.head,
        task.active
    ))?;
    let name = format!("{}/{}", words::encode(&point.task), lineage.id);
    let hint = format!("`milepost switch {name}` continues on it, `milepost log {name}` shows it");
    Ok(out.advice(hint)?)
}
