//! `lineages`: the lineages of a task as a tree.

// tidy: one command

use super::command::{CliCommand, Examples, Needs, Run};
use crate::backend::Backend;
use crate::error::Result;
use crate::output::lineage_tree::{describe, tree};
use crate::output::{Out, Style, printable, time_short, words};

/// Draw the lineages of a task as a tree.
#[derive(Debug, clap::Args)]
pub struct LineagesArgs {
    /// The task's id.
    pub task: String,
}

impl CliCommand for LineagesArgs {
    const EXAMPLES: Examples = &[("lineages run", "each fork of the task, and its active lineage")];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &LineagesArgs, out: &mut Out) -> Result<()> {
    let task = source.task(&args.task)?;
    let lineages = source.lineages(&task.id)?;
    if out.json {
        return Ok(out.json(&lineages)?);
    }
    let title = format!("{} (user {})", words::encode(&task.id), printable(&task.user));
    out.line(out.style(Style::Bold, &title))?;
    Ok(tree(&lineages, out, |lineage, out| {
        let opened = out.style(Style::Dim, &time_short(lineage.opened_us.0));
        format!("{}  {opened}", describe(lineage, out))
    })?)
}
