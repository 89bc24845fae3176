//! `record`: turns runs of other programs into tasks.

// tidy: one command

use std::path::PathBuf;

use super::command::{CliCommand, Examples, Run};
use super::import::{ImportJob, asked};
use super::on_store::or_elsewhere;
use crate::args::InputArgs;
use crate::error::Result;
use crate::output::Out;
use crate::store_locator::StoreArgs;

/// Record runs of other programs. Formats: JSON Lines, Claude Code, OpenAI's messages,
/// LangGraph, SWE-agent, tau-bench.
#[derive(Debug, clap::Args)]
pub struct RecordArgs {
    /// The files, `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub runs: InputArgs,
    /// Print one JSON line for each durable event, with its offset and hash.
    #[arg(long)]
    pub ack: bool,
}

impl CliCommand for RecordArgs {
    const EXAMPLES: Examples = &[
        ("record run.jsonl", "each line is an event of the task `run`"),
        ("agent | milepost record - --task run", "events as a program prints them"),
        ("record *.traj", "runs of SWE-agent, a task each"),
        ("record ~/.claude/projects/site/*.jsonl", "sessions of Claude Code, a task each"),
    ];
    const RUN: Run<Self> =
        Run::Alone(|store, args, out| or_elsewhere(store, run(store, args, out)));
}

fn run(store: &StoreArgs, args: &RecordArgs, out: &mut Out) -> Result<()> {
    // A pipe may stay open for days, so other processes can attach.
    let is_pipe = |path: &PathBuf| !path.metadata().is_ok_and(|metadata| metadata.is_file());
    let attaches = args.files.iter().any(is_pipe);
    let asked = asked(&args.files, &args.runs, true);
    ImportJob { store, asked, ack: args.ack, attaches }.run(out)
}
