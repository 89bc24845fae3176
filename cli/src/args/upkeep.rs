//! Arguments of `verify`, `repair`, `trust` and `key`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct Verify {
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

#[derive(Debug, ClapArgs)]
pub struct Repair {
    /// Change nothing: repair a copy, which needs as much space, and print the result.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Trust {
    /// Print the effects of trust, and change nothing.
    #[arg(long)]
    pub show: bool,
    /// Revoke the trust.
    #[arg(long, conflicts_with = "show")]
    pub revoke: bool,
    /// Do not ask.
    #[arg(long, conflicts_with_all = ["show", "revoke"])]
    pub yes: bool,
}

#[derive(Debug, ClapArgs)]
pub struct Key {
    /// The file. It must not exist.
    pub file: PathBuf,
}
