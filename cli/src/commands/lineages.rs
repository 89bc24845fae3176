//! `lineages`: the lineages of a task as a tree.

// tidy: one command

use crate::backend::Backend;
use crate::error::Result;
use crate::output::lineage_tree::{describe, tree};
use crate::output::{Out, Style, printable, time_short};

pub fn run(source: &dyn Backend, id: &str, out: &mut Out) -> Result<()> {
    let task = source.task(id)?;
    let lineages = source.lineages(&task.id)?;
    if out.json {
        return Ok(out.json(&lineages)?);
    }
    let title = format!("{} (user {})", printable(&task.id), printable(&task.user));
    out.line(out.style(Style::Bold, &title))?;
    Ok(tree(&lineages, out, |lineage, out| {
        let opened = out.style(Style::Dim, &time_short(lineage.opened_us.0));
        format!("{}  {opened}", describe(lineage, out))
    })?)
}
