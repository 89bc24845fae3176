//! Arguments of `states`, `blame` and `bisect`.

use std::ffi::OsString;

use clap::{ArgGroup, Args as ClapArgs, Subcommand};

const RUNS: &str = "\
A state is good where it is not so yet, and bad where it is. What turned bad is taken to stay bad.

The command of --run gets the state as JSON on its standard input and says by its exit code what it
is, as with `git bisect run`: 0 good, 1 to 124, 126 and 127 bad, 125 cannot be said: a neighbour is
looked at, 64 times at most. Other codes, and a signal that ends it, end the search. What it prints
goes to standard error.
docs/COMMAND_LINE.md has the grammar of --when.";

#[derive(Debug, ClapArgs)]
pub struct States {
    /// The address of a lineage: TASK or TASK/N. With a place, only the checkpoints before it.
    pub address: String,
    /// A part of the state, as a JSON pointer: `/variables/score`. Default: `/variables`.
    pub pointer: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct Blame {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// A part of the state, as a JSON pointer: `/prompt`, `/variables/best`, `/messages/3`.
    pub pointer: String,
    /// List every event that changed it, newest first.
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
    /// The address of a point where the condition holds.
    #[arg(required = true)]
    pub address: Option<String>,
    /// The condition on the state, as `/variables/score < 0.5`.
    #[arg(long, value_name = "EXPR")]
    pub when: Option<String>,
    /// Test the condition with the command behind `--`.
    #[arg(long, requires = "command")]
    pub run: bool,
    /// The address of an earlier point where the condition does not hold. Default: the beginning.
    #[arg(long, value_name = "ADDRESS")]
    pub good: Option<String>,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND", requires = "run")]
    pub command: Vec<OsString>,
    #[command(subcommand)]
    pub by_hand: Option<ByHand>,
}

/// One step of a search by hand.
#[derive(Debug, Clone, Subcommand)]
pub enum ByHand {
    /// Begin a search by hand between a bad point, where the condition holds, and an earlier good
    /// one.
    Start {
        /// The address of a point where the condition holds.
        bad: String,
        /// The address of an earlier point where it does not hold.
        good: String,
    },
    /// Answer that the condition does not hold at the point named last.
    Good,
    /// Answer that the condition holds at the point named last.
    Bad,
    /// Skip a point that cannot be judged: a neighbour is tested instead.
    Skip,
    /// End the search, and discard it.
    Reset,
}
