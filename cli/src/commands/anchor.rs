//! `anchor`: the heads of the store, to keep elsewhere.

// tidy: one command

use milepost_api::calls::Anchor;

use super::command::{CliCommand, Examples, Needs, Run};
use crate::backend::Backend;
use crate::error::Result;
use crate::output::Out;

/// Print the heads of the store, to keep elsewhere for a later `verify --anchor`.
#[derive(Debug, clap::Args)]
pub struct AnchorArgs;

impl CliCommand for AnchorArgs {
    const EXAMPLES: Examples =
        &[("anchor > heads.json", "keep it somewhere else, for `verify --anchor`")];
    const RUN: Run<Self> = Run::OnStore(Needs::READS, |source, _, out| run(source, out));
}

fn run(source: &dyn Backend, out: &mut Out) -> Result<()> {
    // The output is the same with and without --json: it is meant for a file.
    Ok(out.line(source.call(Anchor::new())?.text().trim_end())?)
}
