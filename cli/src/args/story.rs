//! What can be asked of the commands that find an event.

use std::ffi::OsString;

use clap::{ArgGroup, Args as ClapArgs, Subcommand};

const RUNS: &str = "\
A state is good where it is not so yet, and bad where it is. What turned bad is taken to stay bad.

The command of --run gets the state as JSON on its standard input and says by its exit code what it
is, as with `git bisect run`: 0 good, 1 to 124, 126 and 127 bad, 125 cannot be said: a neighbour is
looked at, 64 times at most. Other codes, and a signal that ends it, end the search. What it prints
goes to standard error.
docs/COMMANDS.md has the grammar of --when.";

#[derive(Debug, ClapArgs)]
pub struct Blame {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// A part of the state, as a JSON pointer: `/prompt`, `/variables/best`, `/messages/3`.
    pub pointer: String,
    /// Every event that changed it, newest first.
    #[arg(long)]
    pub history: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_long_help = RUNS,
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    group = ArgGroup::new("asked").required(true).args(["when", "run"])
)]
pub struct Bisect {
    /// The address of a point where it is so.
    #[arg(required = true)]
    pub address: Option<String>,
    /// What is so of the state, as `/variables/score < 0.5`.
    #[arg(long, value_name = "EXPR")]
    pub when: Option<String>,
    /// Have a command say it, which stands behind `--`.
    #[arg(long, requires = "command")]
    pub run: bool,
    /// The address of a point before it where it is not so. Default: the beginning.
    #[arg(long, value_name = "ADDRESS")]
    pub good: Option<String>,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND", requires = "run")]
    pub command: Vec<OsString>,
    #[command(subcommand)]
    pub by_hand: Option<ByHand>,
}

/// One step of a search that somebody makes by hand.
#[derive(Debug, Clone, Subcommand)]
pub enum ByHand {
    /// Begin a search by hand, between a point where it is so and one before it where it is not.
    Start {
        /// The address of a point where it is so.
        bad: String,
        /// The address of one before it where it is not.
        good: String,
    },
    /// It is not so yet at the point that was named.
    Good,
    /// It is so at the point that was named.
    Bad,
    /// It cannot be said: look at a neighbour.
    Skip,
    /// End the search, and forget it.
    Reset,
}
