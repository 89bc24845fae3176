//! `lineages`: the lineages of a task as a tree.

// tidy: one command

use super::command::{CliCommand, Examples, Needs, Run};
use crate::args::at_least_one;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::lineage_tree::{describe, tree};
use crate::output::{Out, Style, count, hint, printable, time_short, words};

/// Draw the lineages of a task as a tree.
#[derive(Debug, clap::Args)]
pub struct LineagesArgs {
    /// The task's id.
    pub task: String,
    /// The newest N lineages only. `-20` is `-n 20`.
    #[arg(short = 'n', long, alias = "last", value_name = "N", value_parser = at_least_one,
          allow_negative_numbers = true)]
    pub limit: Option<usize>,
}

impl CliCommand for LineagesArgs {
    const EXAMPLES: Examples = &[("lineages run", "each fork of the task, and its active lineage")];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &LineagesArgs, out: &mut Out) -> Result<()> {
    let task = source.task(&args.task)?;
    let mut lineages = source.lineages(&task.id)?;
    let older = lineages.len().saturating_sub(args.limit.unwrap_or(usize::MAX));
    lineages.drain(..older);
    if out.json {
        return Ok(out.json(&lineages)?);
    }
    let title = format!("{} (user {})", words::encode(&task.id), printable(&task.user));
    out.line(out.style(Style::Bold, &title))?;
    tree(&lineages, out, |lineage, out| {
        let opened = out.style(Style::Dim, &time_short(lineage.opened_us.0));
        format!("{}  {opened}", describe(lineage, out))
    })?;
    if older > 0 {
        let older = count(older as u64, "older lineage");
        hint(&format!("{older}: a larger --limit draws more"));
    }
    Ok(())
}
