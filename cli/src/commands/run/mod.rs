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

use std::path::{Path, PathBuf};
use std::time::Duration;

use milepost::events::{MarkCause, ToolReturned};
use milepost::{Body, Checkpoint, Engine, Hash, Json, LineageId, Mark, Options, Task};
use milepost_runtime::run::{Risk, is_destructive};
use milepost_workspace::{Choices, Workspace};
use serde_json::{Value, json};

use self::outcome::{Outcome, TOOL};
use self::process::{Asked, Ended, GRACE};
use self::recorder::Recorder;
use self::report::Changes;
use self::signals::Taken;
use super::capture;
use crate::args::{self, RunWhen};
use crate::backend::{hints, recovery};
use crate::error::{Failure, Result};
use crate::output::{Out, note, words};
use crate::secrets::Secrets;
use crate::store_locator::{StoreArgs, WAIT, attach, now_us, open_at, patiently};

/// Exit code if a command ran and a part of it is not recorded.
const NOT_RECORDED: u8 = 125;

/// Number of events among which the last capture is looked for.
const LOOKED_BACK: u64 = 256;

/// The default of `--wait` for the record of the outcome.
const WAIT_AFTERWARDS: Duration = Duration::from_secs(30);

/// Working directory of the command.
enum Folder {
    Captured(Workspace),
    Left(PathBuf),
}

/// Record of a call, made before the command runs.
struct Begun {
    /// The task's id as the store has it.
    task: String,
    lineage: LineageId,
    call: String,
    /// The checkpoint before the command, and the offset of the call.
    before: Option<Checkpoint>,
    at: u64,
    /// Root of the capture before the command.
    root: Option<Hash>,
}

/// Record of an outcome.
#[derive(Default)]
struct Done {
    after: Option<Checkpoint>,
    root: Option<Hash>,
    changes: Option<Changes>,
    /// The file with the outcome, if it is not in the store.
    saved_to: Option<PathBuf>,
    /// The part that is not recorded, and the reason.
    failure: Option<Failure>,
}

/// The store, to open again.
struct Store {
    dir: PathBuf,
    options: Options,
    wait: Option<Duration>,
    /// Commands are hooks of it: they read it through its socket.
    has_hooks: bool,
}

pub fn run(store: &StoreArgs, args: &args::Run, out: &mut Out) -> Result<()> {
    if store.is_nowhere() {
        store.open_or_create(Options::default())?.close()?;
    }
    let (dir, options) = store.there_with_hooks()?;
    let (wait, has_hooks) = (store.wait, store.has_hooks());
    let store = Store { dir, options, wait, has_hooks };
    let (begun, folder) = begin(&store, args, out)?;
    // No early return from here on: the outcome is recorded or reported.
    let signals = Taken::new();
    let mut recorder = Recorder::new(args.output_max, Secrets::of_environment());
    let dir = std::fs::canonicalize(&store.dir).unwrap_or_else(|_| store.dir.clone());
    let asked = Asked {
        argv: &args.command,
        folder: folder.path(),
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

/// Records the call, with a checkpoint before it, and closes the store.
fn begin(store: &Store, args: &args::Run, out: &Out) -> Result<(Begun, Folder)> {
    let engine = store.open()?;
    let attached = store.has_hooks.then(|| attach(&engine)).flatten();
    let begun = call(&engine, args, out);
    drop(attached);
    // The record is durable. A failed close only slows the next open.
    let _ = engine.close();
    begun
}

fn call(engine: &Engine, args: &args::Run, out: &Out) -> Result<(Begun, Folder)> {
    let folder = Folder::of(args)?;
    let task = hints::task_or_start(engine, args.task.as_deref(), folder.path())?;
    let choices = Choices::default();
    recovery::recover(engine, &task, folder.captured().zip(Some(&choices)))?;
    let (before, root) = match marks(&task, args)? {
        true => {
            let mark = mark(args, "before", json!({"tool": TOOL}))?.cause(MarkCause::BeforeTool);
            let marked = folder.mark(engine, &task, mark, out);
            let (before, root) = marked.map_err(|e| capture::failed(e, args.label.is_some()))?;
            (Some(before), root)
        }
        false => (None, None),
    };
    // The offset makes the name unique in the lineage and its ancestors.
    let at = task.head()?.next;
    let call = format!("{TOOL}-{at}");
    task.append(outcome::called(&call, &args.command, folder.path(), &Secrets::of_environment())?)?;
    let begun =
        Begun { task: task.id().to_owned(), lineage: task.lineage().id(), call, before, at, root };
    Ok((begun, folder))
}

/// Decides whether checkpoints are marked before and after the command.
fn marks(task: &Task, args: &args::Run) -> Result<bool> {
    if args.when == RunWhen::Always || args.label.is_some() || is_destructive(&args.command) {
        return Ok(true);
    }
    let last = match args.no_files {
        true => task.lineage().newest_mark()?.map(|(_, time_us)| time_us),
        false => last_capture(task)?,
    };
    Ok(last.is_none_or(|time_us| now_us().saturating_sub(time_us) > Risk::default().since_us))
}

/// Returns the time of the last capture among the last events. A mark without one brings no files
/// back.
fn last_capture(task: &Task) -> Result<Option<u64>> {
    let head = task.head()?.next;
    let from = head.saturating_sub(LOOKED_BACK).max(task.lineage().info()?.begin);
    let mut last = None;
    for event in task.read(from..head)? {
        let event = event?;
        if matches!(event.body, Some(Body::WorkspaceCaptured(_))) {
            last = Some(event.header.time_us);
        }
    }
    Ok(last)
}

/// Returns the mark for one of the two checkpoints.
fn mark(args: &args::Run, when: &str, metadata: Value) -> Result<Mark> {
    let mark = Mark::new().metadata(Json::from_value(&metadata)?);
    Ok(match &args.label {
        Some(label) => mark.label(format!("{when}-{label}")),
        None => mark,
    })
}

/// Records the outcome of the call, or saves it elsewhere.
fn end(
    store: &Store,
    args: &args::Run,
    folder: &Folder,
    (begun, outcome): (&Begun, &Outcome),
    given_up: &dyn Fn() -> bool,
    out: &Out,
) -> Done {
    let returned = match outcome.returned(&begun.call) {
        Ok(returned) => returned,
        Err(failure) => return Done::failed(failure.at(not_recorded(outcome))),
    };
    let failure = match store.reopen(given_up) {
        Err(failure) => failure,
        Ok(engine) => {
            let attached = store.has_hooks.then(|| attach(&engine)).flatten();
            let appended = append(&engine, begun, &returned);
            let done =
                appended.map(|task| after(&engine, &task, args, folder, begun, outcome, out));
            drop(attached);
            let _ = engine.close();
            match done {
                Ok(done) => return done,
                Err(failure) => failure,
            }
        }
    };
    let failure = failure.at(not_recorded(outcome));
    match outcome::save(&store.dir, begun, returned) {
        Ok(file) => {
            let (store, shown) = (store.dir.display(), file.display());
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

fn not_recorded(outcome: &Outcome) -> String {
    format!("the command ran ({}), and that is not recorded", outcome.describe())
}

/// Appends the return to the lineage of its call, even if another one is active now.
fn append(engine: &Engine, begun: &Begun, returned: &ToolReturned) -> Result<Task> {
    let task = engine.task(&begun.task)?;
    let lineage = task.lineage_named(begun.lineage)?;
    lineage.append(returned.clone())?;
    Ok(task)
}

/// Marks the checkpoint after the command, and compares both captures.
fn after(
    engine: &Engine,
    task: &Task,
    args: &args::Run,
    folder: &Folder,
    begun: &Begun,
    outcome: &Outcome,
    out: &Out,
) -> Done {
    let said = outcome.describe();
    let active = task.lineage().id();
    if active != begun.lineage {
        let message = format!(
            "the result is recorded ({said}), and no checkpoint after it: a restore made \
             lineage {active} the active one"
        );
        let hint = format!("`milepost lineages {}` shows both", words::encode(&begun.task));
        return Done::failed(Failure::conflict(message).hint(hint));
    }
    if begun.before.is_none() {
        return Done::default();
    }
    let metadata = json!({
        "tool": TOOL,
        "call": begun.call,
        "exit": outcome.exit,
        "signal": outcome.signal,
    });
    let place = format!("the result is recorded ({said}), and no checkpoint after it");
    let mark = match mark(args, "after", metadata) {
        Ok(mark) => mark.cause(MarkCause::Step).status(outcome.status()),
        Err(failure) => return Done::failed(failure.at(place)),
    };
    let (after, root) = match folder.mark(engine, task, mark, out) {
        Ok(marked) => marked,
        Err(error) => {
            let failure = capture::failed(error, args.label.is_some()).hint(
                "mend what it says; `milepost capture DIR` captures what the folder holds now",
            );
            return Done::failed(failure.at(place));
        }
    };
    let changes = begun.root.zip(root);
    let changes = changes.map(|(from, to)| Changes::between(engine, from, to));
    let (changes, failure) = match changes.transpose() {
        Ok(changes) => (changes, None),
        Err(failure) => (None, Some(failure.at("all is recorded, and cannot be compared"))),
    };
    Done { after: Some(after), root, changes, failure, saved_to: None }
}

impl Done {
    fn failed(failure: Failure) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }
}

impl Store {
    fn open(&self) -> Result<Engine> {
        let wait = self.wait.unwrap_or(WAIT);
        patiently(wait, &mut |_| true, || open_at(&self.dir, self.options.clone()))
    }

    /// Opens the store again, and waits while another process has it open.
    fn reopen(&self, given_up: &dyn Fn() -> bool) -> Result<Engine> {
        let mut is_told = false;
        let mut waits = |failure: &Failure| {
            if !is_told {
                note(&format!("{failure}: waiting for it, to record the result"));
                is_told = true;
            }
            !given_up()
        };
        let wait = self.wait.unwrap_or(WAIT_AFTERWARDS);
        patiently(wait, &mut waits, || open_at(&self.dir, self.options.clone()))
    }
}

impl Folder {
    fn of(args: &args::Run) -> Result<Self> {
        if !args.no_files {
            let options = args.scan.options();
            return Ok(Self::Captured(capture::open(&args.dir, options)?));
        }
        let place = args.dir.display();
        match std::fs::canonicalize(&args.dir) {
            Ok(folder) if folder.is_dir() => Ok(Self::Left(folder)),
            Ok(_) => Err(Failure::new(format!("{place} is no folder"))),
            Err(error) => Err(Failure::new(format!("cannot open {place}: {error}"))),
        }
        .map_err(|failure| failure.hint("DIR is a folder that is there; default: this one"))
    }

    fn captured(&self) -> Option<&Workspace> {
        match self {
            Self::Captured(workspace) => Some(workspace),
            Self::Left(_) => None,
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Captured(workspace) => workspace.folder(),
            Self::Left(folder) => folder,
        }
    }

    /// Marks a checkpoint, with a capture of the folder unless files are left out.
    fn mark(
        &self,
        engine: &Engine,
        task: &Task,
        mark: Mark,
        out: &Out,
    ) -> milepost::Result<(Checkpoint, Option<Hash>)> {
        let Self::Captured(workspace) = self else {
            return Ok((task.checkpoint(mark)?, None));
        };
        let report = capture::captured(engine, task, workspace, Some(mark), out)?;
        let id = report.checkpoint.map(|id| id.to_string());
        let checkpoint = engine.query().checkpoint(&id.unwrap_or_default())?;
        Ok((checkpoint, Some(report.root)))
    }
}
