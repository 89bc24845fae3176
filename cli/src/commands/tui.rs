//! `tui`: the full-screen view of a store.

// tidy: one command

use super::command::{CliCommand, Examples, Needs, Run};
use crate::error::Result;
use crate::output::Out;
use crate::store_locator::StoreArgs;
use crate::tui;

/// Look at tasks, steps and states on the whole screen, and go back; see docs/PAGE.md.
#[derive(Debug, clap::Args)]
pub struct TuiArgs {
    /// The address of the point to begin at; see `milepost --help`. Default: the list of tasks.
    pub address: Option<String>,
}

impl CliCommand for TuiArgs {
    const EXAMPLES: Examples = &[
        ("tui", "the tasks; Enter opens one, ? has the keys"),
        ("tui run@12", "the task `run`, at event 12"),
    ];
    const RUN: Run<Self> =
        Run::OnStore(Needs { lists: true, ..Needs::PICKS }, |source, args, out| {
            tui::run(source, args.address.as_deref(), out)
        });

    fn begin(&self, _store: &StoreArgs, out: &mut Out) -> Result<bool> {
        tui::check(out).map(|()| true)
    }
}
