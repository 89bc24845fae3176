//! `run`: a command, recorded with its output, its exit status and its changes to the folder.
//!
//! ```text
//! mod.rs       checkpoints before and after       signals.rs  signals for the command
//! process.rs   the process and its time limit     tee.rs      passing output through
//! recorder.rs  its output, within bounds          outcome.rs  its result, as recorded
//! report.rs    messages about it
//! ```
//!
//! The store is closed while the command runs: the command may open it.

mod outcome;
mod process;
mod recorder;
mod report;
mod signals;
mod tee;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use milepost::{Json, LineageId, Options};
use milepost_api::{
    JobRequest, JobResult, ToolCallForm, ToolCallRequest, ToolMark, ToolReturnForm,
    ToolReturnRequest,
};
use milepost_runtime::run::is_destructive;
use serde_json::json;

use self::outcome::{Outcome, TOOL};
use self::process::{Asked, Ended, GRACE};
use self::recorder::Recorder;
use self::signals::Taken;
use super::capture;
use super::command::{CliCommand, Examples, Run};
use super::on_store::or_elsewhere;
use crate::args::{ScanOptions, duration};
use crate::backend::jobs::{self, JobFailed, absolute};
use crate::backend::{Backend, Local, hints, recovery};
use crate::defaults;
use crate::error::{Failure, Result};
use crate::output::{JobBar, Out, note, shell_word, words};
use crate::secrets::Secrets;
use crate::store_locator::{Opened, StoreArgs, WAIT, attach, found_at, patiently};

/// Exit code if a command ran and a part of it is not recorded.
const NOT_RECORDED: u8 = 125;

/// The default of `--wait` for the record of the outcome.
const WAIT_AFTERWARDS: Duration = Duration::from_secs(30);

/// Record of an outcome.
#[derive(Default)]
struct Done {
    form: ToolReturnForm,
    /// The file with the outcome, if it is not in the store.
    saved_to: Option<PathBuf>,
    /// The part that is not recorded, and the reason.
    failure: Option<Failure>,
}

/// The store, to open again.
struct Store<'a> {
    args: &'a StoreArgs,
    dir: PathBuf,
    options: Options,
    /// Commands are hooks of it: they read it through its socket.
    has_hooks: bool,
}

/// Largest output that is recorded, in bytes. An event has room for it, even as base64.
const OUTPUT_MAX: u64 = 8 << 20;

const MORE: &str = "\
Exit codes: that of the command; 128 and its number where a signal ended it; 124 the time was over;
125 it ran, and something of it is not recorded; 126 it could not be started; 127 it was not found.
Where it was not run they are those of `milepost capture`.";

/// Run a command, and record its output and its changes to the folder. The exit status is
/// recorded too, with a checkpoint before and after.
#[derive(Debug, clap::Args)]
#[command(after_long_help = MORE)]
pub struct RunArgs {
    /// The task to record into. Default: the task named after the working directory, started if
    /// there is none.
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// The working directory of the command, captured before and after.
    #[arg(long, alias = "files", value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// When to mark a checkpoint before and after, with the files: `always`, or at `risk`, which is
    /// a command that may remove or overwrite files, a --label, or no capture in the last five
    /// minutes.
    #[arg(long, value_name = "WHEN", default_value = "always")]
    pub when: RunWhen,
    /// Label the checkpoints `before-TEXT` and `after-TEXT`.
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
    /// End the command and its process group after this time: `500ms`, `90s`, `30m` or `12h`.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Capture no files: record only the command, its output and its exit status.
    #[arg(long, conflicts_with_all = ["max_file", "max_total", "anyway", "forget_ignored",
                                      "no_default_ignores"])]
    pub no_files: bool,
    /// The most output to record, in bytes: its first half and its last half.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20,
          value_parser = clap::value_parser!(u64).range(..=OUTPUT_MAX))]
    pub output_max: u64,
    /// Pass MILEPOST_KEY to the command, if it opens the store itself.
    #[arg(long)]
    pub pass_key: bool,
    #[command(flatten)]
    pub scan: ScanOptions,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl CliCommand for RunArgs {
    const EXAMPLES: Examples = &[
        ("run -- make test", "what it printed, how it ended, what it did to this folder"),
        ("run --when risk -- make clean", "checkpoints only where files may be lost"),
    ];
    const RUN: Run<Self> =
        Run::Alone(|store, args, out| or_elsewhere(store, run(store, args, out)));
}

/// When `run` marks checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RunWhen {
    Always,
    Risk,
}

fn run(store: &StoreArgs, args: &RunArgs, out: &mut Out) -> Result<()> {
    if store.is_missing() {
        store.open_or_create(Options::default())?.close()?;
    }
    let (dir, options) = store.there_with_hooks()?;
    let store = Store { args: store, dir, options, has_hooks: store.has_hooks() };
    let folder = folder(args)?;
    let begun = begin(&store, args, &folder, out)?;
    // No early return from here on: the outcome is recorded or reported.
    let signals = Taken::new();
    let mut recorder = Recorder::new(args.output_max, Secrets::of_environment());
    let dir = std::fs::canonicalize(&store.dir).unwrap_or_else(|_| store.dir.clone());
    let asked = Asked {
        argv: &args.command,
        folder: &folder,
        store: &dir,
        timeout: args.timeout,
        grace: GRACE,
        pass_key: args.pass_key,
        to_stderr: out.json,
    };
    let mut ended = match &signals {
        Ok(signals) => process::run(&asked, signals, &mut recorder),
        Err(error) => Ended::not_started(error, &args.command),
    };
    if let Some(why) = ended.not_passed.take() {
        note(&why);
    }
    let outcome = Outcome::new(ended, recorder.finish());
    let given_up = || signals.as_ref().is_ok_and(Taken::came);
    let done = end(&store, args, &folder, (&begun, &outcome), &given_up, out);
    let told = report::tell(&begun, &outcome, &done, out);
    match (done.failure, outcome.code()) {
        (Some(failure), _) => Err(failure.code_of(NOT_RECORDED)),
        // Even if the report cannot be written, the exit code tells the outcome.
        (None, 0) => told,
        (None, code) => Err(Failure::reported(code)),
    }
}

/// Returns the working directory. One that is captured is checked with the capture.
fn folder(args: &RunArgs) -> Result<PathBuf> {
    let place = args.dir.display();
    match std::fs::canonicalize(&args.dir) {
        Ok(folder) if folder.is_dir() || !args.no_files => Ok(folder),
        Ok(_) => Err(Failure::new(format!("{place} is no folder"))),
        Err(_) if !args.no_files => return absolute(&args.dir),
        Err(error) => Err(Failure::new(format!("cannot open {place}: {error}"))),
    }
    .map_err(|failure| failure.hint("DIR is a folder that is there; default: this one"))
}

/// Records the call, with a checkpoint before it, and closes the store.
fn begin(store: &Store<'_>, args: &RunArgs, folder: &Path, out: &Out) -> Result<ToolCallForm> {
    let wait = store.args.wait.unwrap_or(WAIT);
    let opened = patiently(wait, &mut |_| true, || store.open())?;
    store.with(opened, |source| {
        capture::check_name(folder, args.task.as_deref())?;
        let is_sure =
            args.when == RunWhen::Always || args.label.is_some() || is_destructive(&args.command);
        let asked = JobRequest::ToolCall(ToolCallRequest {
            folder: folder.to_owned(),
            task: args.task.as_deref().map(|id| capture::task_id(source, id)).transpose()?,
            user: Some(defaults::current_user()),
            tool: TOOL.to_owned(),
            arguments: outcome::arguments(&args.command, folder, &Secrets::of_environment())?,
            options: (!args.no_files).then(|| args.scan.asked()),
            only_if_old: !is_sure,
            label: label(args, "before"),
        });
        let form = match source.job(&asked, JobBar::new(!out.json)) {
            Ok(JobResult::ToolCall(form)) => form,
            Ok(_) => return Err(jobs::no_such_result()),
            Err(failed) => return Err(capture::worded(failed, args.label.is_some())),
        };
        recovery::tell(form.recovered.as_ref());
        if form.is_new {
            note(&hints::started(&form.task));
        }
        if let Some(left_out) = &form.left_out {
            capture::tell_left_out(left_out);
        }
        Ok(form)
    })
}

/// Returns the label of one of the two checkpoints.
fn label(args: &RunArgs, when: &str) -> Option<String> {
    args.label.as_ref().map(|label| format!("{when}-{label}"))
}

/// Records the outcome of the call, or saves it elsewhere.
fn end(
    store: &Store<'_>,
    args: &RunArgs,
    folder: &Path,
    (begun, outcome): (&ToolCallForm, &Outcome),
    given_up: &dyn Fn() -> bool,
    out: &Out,
) -> Done {
    let asked = match returned(args, folder, begun, outcome) {
        Ok(asked) => asked,
        Err(failure) => return Done::failed(failure.at(not_recorded(outcome))),
    };
    let job = JobRequest::ToolReturn(asked.clone());
    let recorded = store
        .reopen(given_up)
        .map_err(JobFailed::from)
        .and_then(|opened| store.with(opened, |source| source.job(&job, JobBar::new(!out.json))));
    let failed = match recorded {
        Ok(JobResult::ToolReturn(form)) => return Done::of(form, begun, outcome),
        Ok(_) => jobs::no_such_result().into(),
        Err(failed) => failed,
    };
    let place =
        format!("the result is recorded ({}), and no checkpoint after it", outcome.describe());
    match failed.result.as_deref().cloned() {
        Some(JobResult::ToolReturn(form)) if form.after.is_some() => {
            let failure = failed.failure.at("all is recorded, and cannot be compared");
            return Done { form, saved_to: None, failure: Some(failure) };
        }
        Some(JobResult::ToolReturn(form)) => {
            let failure = capture::worded(failed, args.label.is_some()).hint(
                "mend what it says; `milepost capture DIR` captures what the folder holds now",
            );
            return Done { form, saved_to: None, failure: Some(failure.at(place)) };
        }
        _ => {}
    }
    let failure = failed.failure.at(not_recorded(outcome));
    match outcome::save(&store.dir, begun, &asked) {
        Ok(file) => {
            let word = |path: &Path| shell_word(&path.display().to_string());
            let (store, shown) = (word(&store.dir), word(&file));
            let task = words::encode(&begun.task);
            let hint = format!(
                "it is saved: `milepost --store {store} record --task {task} {shown}` records it"
            );
            Done { saved_to: Some(file), ..Done::failed(failure.hint(hint)) }
        }
        Err(unsaved) => {
            let hint = format!("it is not saved either: {unsaved}");
            Done::failed(failure.hint(hint))
        }
    }
}

/// Returns the return of the call, with the checkpoint after it if there was one before.
fn returned(
    args: &RunArgs,
    folder: &Path,
    begun: &ToolCallForm,
    outcome: &Outcome,
) -> Result<ToolReturnRequest> {
    let metadata = json!({
        "tool": TOOL,
        "call": begun.call,
        "exit": outcome.exit,
        "signal": outcome.signal,
    });
    let after = ToolMark {
        folder: (!args.no_files).then(|| folder.to_owned()),
        options: args.scan.asked(),
        before: begun.root,
        label: label(args, "after"),
        metadata: Some(Json::from_value(&metadata)?),
    };
    Ok(ToolReturnRequest {
        task: begun.task.clone(),
        lineage: begun.lineage,
        call: begun.call.clone(),
        tool: TOOL.to_owned(),
        ok: outcome.is_good(),
        output: Some(Json::from_value(outcome)?),
        after: begun.before.is_some().then_some(after),
    })
}

fn not_recorded(outcome: &Outcome) -> String {
    format!("the command ran ({}), and that is not recorded", outcome.describe())
}

impl Done {
    fn failed(failure: Failure) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }

    /// The record of a return. After a restore to another lineage it has no checkpoint.
    fn of(form: ToolReturnForm, begun: &ToolCallForm, outcome: &Outcome) -> Self {
        let failure = form.moved_to.map(|active: LineageId| {
            let message = format!(
                "the result is recorded ({}), and no checkpoint after it: a restore made lineage \
                 {active} the active one",
                outcome.describe()
            );
            let hint = format!("`milepost lineages {}` shows both", words::encode(&begun.task));
            Failure::conflict(message).hint(hint)
        });
        Self { form, saved_to: None, failure }
    }
}

impl Store<'_> {
    /// Opens the store, or finds the program that has it open.
    fn open(&self) -> Result<Opened> {
        match found_at(&self.dir, self.options.clone(), false)? {
            Opened::Remote(_) if self.args.is_in_its_hook() => {
                let text = "a hook cannot change the store that it is called for";
                Err(Failure::new(text).hint("a hook may read it, and change other stores"))
            }
            opened => Ok(opened),
        }
    }

    /// Opens the store again, and waits while another process has it open and does not answer.
    fn reopen(&self, given_up: &dyn Fn() -> bool) -> Result<Opened> {
        let mut is_told = false;
        let mut waits = |failure: &Failure| {
            if !is_told {
                note(&format!("{failure}: waiting for it, to record the result"));
                is_told = true;
            }
            !given_up()
        };
        let wait = self.args.wait.unwrap_or(WAIT_AFTERWARDS);
        patiently(wait, &mut waits, || self.open())
    }

    /// Works with an opened store, and closes it.
    fn with<T>(&self, opened: Opened, work: impl FnOnce(&dyn Backend) -> T) -> T {
        let engine = match opened {
            Opened::Local(engine) => engine,
            Opened::Remote(there) => return work(&there),
        };
        let attached = self.has_hooks.then(|| attach(&engine)).flatten();
        let done = work(&Local::new(&engine));
        drop(attached);
        // The record is durable. A failed close only slows the next open.
        let _ = engine.close();
        done
    }
}
