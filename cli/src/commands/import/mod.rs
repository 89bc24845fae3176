//! `import`: restores exports, and turns folders of JSON checkpoint files and runs of other
//! programs into tasks. `record` does the last alone.
//!
//! ```text
//! here       into a store that this process opens
//! elsewhere  into a store that another program has open
//! lines      lines of a pipe, into such a store
//! failures   failed inputs, worded with the options
//! report     the report
//! dry_run    an import into memory
//! ```

mod dry_run;
mod elsewhere;
mod failures;
mod here;
mod lines;
mod report;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use milepost_api::{Big, ImportPath, ImportRequest};

use super::command::{CliCommand, Examples, Run};
use super::on_store::or_elsewhere;
use crate::args::InputArgs;
use crate::backend::{Attempt, Remote, asking_again};
use crate::error::{Failure, INTERRUPTED, Result};
use crate::output::{JobBar, Out, note};
use crate::store_locator::StoreArgs;

/// Import files and folders: exports, JSON checkpoints, runs that `record` reads.
/// The kind of input is detected.
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// Files of `export` and `share`, or `-` for standard input; files that `record` reads;
    /// folders: a project with `persistence/checkpoint/`, its `persistence` folder, a folder of
    /// ckpt-*.json files, a folder with several projects, or one with any of these files.
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub from: Vec<PathBuf>,
    #[command(flatten)]
    pub runs: InputArgs,
    /// Read exports and shares into memory, verify them, and print what an import would add. The
    /// store stays as it is.
    #[arg(long, conflicts_with_all = ["user", "format", "strict", "allow_unknown", "event_max"])]
    pub dry_run: bool,
}

impl CliCommand for ImportArgs {
    const EXAMPLES: Examples = &[
        ("import run.jsonl", "what `milepost export` made"),
        ("import run.jsonl --as copy", "the same under another name"),
        ("import run.html --dry-run", "what an import of a share would add, verified"),
        ("import ~/project", "the JSON checkpoints of a project"),
        ("import ~/.cache/engine", "those of all projects in it"),
        ("import ~/.claude/projects", "all sessions of Claude Code, a task each"),
        ("import checkpoints.sqlite", "what LangGraph's SqliteSaver keeps, a task for each thread"),
        ("import runs/ old.jsonl", "every run in a folder, and an export"),
        ("import pause_state.json", "the context of a paused run"),
    ];
    const RUN: Run<Self> =
        Run::Alone(|store, args, out| or_elsewhere(store, run(store, args, out)));
}

fn run(store: &StoreArgs, args: &ImportArgs, out: &mut Out) -> Result<()> {
    if args.dry_run {
        return dry_run::run(store, args, out);
    }
    let job = ImportJob {
        store,
        asked: asked(&args.from, &args.runs, false),
        ack: false,
        attaches: true,
    };
    job.run(out)
}

/// An import into the store of the command line.
pub struct ImportJob<'a> {
    pub store: &'a StoreArgs,
    /// The inputs, with paths as the user gave them.
    pub asked: ImportRequest,
    /// `true` prints an acknowledgement of each event, and no report.
    pub ack: bool,
    /// `true` if other processes can query the store in the meantime.
    pub attaches: bool,
}

impl ImportJob<'_> {
    pub fn run(self, out: &mut Out) -> Result<()> {
        let is_typed = self.asked.paths.iter().any(|input| input.path.as_os_str() == "-");
        if is_typed && io::stdin().is_terminal() && !out.json {
            note("reading standard input: Ctrl-D ends it");
        }
        let form = asking_again(|| {
            let there = match self.store.holder()? {
                Some(there) => there,
                None => match here::import(&self, out)? {
                    here::Done::Form(form) => return Ok(Attempt::Done(Ok(form))),
                    // It was opened by a program that answers, just before.
                    here::Done::HeldBy(there) => there,
                },
            };
            Ok(match elsewhere::import(&self, &there, out) {
                // The repetition recognizes what was recorded before.
                Err(failure) if self.is_to_repeat(&there, &failure) => Attempt::Lost(failure),
                done => Attempt::Done(done),
            })
        })?;
        let is_empty = form.tasks.is_empty() && !form.failed.is_empty();
        if !self.ack && (form.inputs.0 > 1 || !is_empty) {
            report::print(&form, out)?;
        }
        report::end(&form, self.asked.strict)
    }

    /// Returns `true` if the program that has the store took no job, or did not say how it ended,
    /// since it ends.
    fn is_to_repeat(&self, there: &Remote, failure: &Failure) -> bool {
        let is_of_program = failure.kind().is_none() && failure.code() != INTERRUPTED;
        is_of_program && !self.is_read_once() && there.ends()
    }

    /// Returns `true` if the inputs, or the acknowledgements of their events, come only once.
    fn is_read_once(&self) -> bool {
        self.ack || self.asked.paths.iter().any(|input| elsewhere::is_stream(&input.path))
    }

    /// Returns the bar of the import, which also prints its notes.
    fn bar(out: &Out) -> JobBar {
        JobBar::new(!out.json).on_note(failures::tell, out.error_style())
    }
}

/// Returns the arguments as a request.
pub fn asked(paths: &[PathBuf], args: &InputArgs, runs_only: bool) -> ImportRequest {
    let path = |path: &PathBuf| ImportPath { path: path.clone(), name: None };
    ImportRequest {
        paths: paths.iter().map(path).collect(),
        runs_only,
        task: args.task.clone(),
        user: args.user.clone(),
        default_user: None,
        format: args.format.into_format().map(|format| format.name().to_owned()),
        strict: args.strict,
        allow_unknown: args.allow_unknown,
        event_max: args.event_max.map(|bytes| Big(bytes as u64)),
    }
}
