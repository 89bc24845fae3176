//! `capture`: the present content of a folder, for a task.

use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use milepost::{Detail, Engine, Error, ErrorKind, Mark, Task};
use milepost_workspace::{CaptureReport, Choices, PathBytes, Workspace, WorkspaceOptions};
use serde_json::json;

use super::first_capture;
use crate::args;
use crate::backend::{hints, recovery};
use crate::error::{Failure, Result};
use crate::output::{Out, big, count, counter, grouped, note, printable, size, words};

/// Time before the bar is shown.
const SOON: Duration = Duration::from_millis(500);

/// Interval between updates of the bar.
const STEP: Duration = Duration::from_millis(100);

pub fn run(engine: &Engine, args: &args::Capture, out: &mut Out) -> Result<()> {
    let workspace = open(&args.folder, args.scan.options())?;
    let task = hints::task_or_start(engine, args.task.as_deref(), workspace.folder())?;
    recovery::recover(engine, &task, Some((&workspace, &Choices::default())))?;
    let mark = args.label.as_deref().map(|label| Mark::new().label(label));
    let captured = captured(engine, &task, &workspace, mark, out);
    let report = captured.map_err(|error| failed(error, args.label.is_some()))?;
    if out.json {
        let folder = PathBytes::from(workspace.folder().as_os_str().as_bytes());
        return Ok(out.json(&json!({
            "task": task.id(),
            "folder": folder,
            "root": report.root,
            "appended": report.appended.map(big),
            "checkpoint": report.checkpoint,
            "files": big(report.files),
            "bytes": big(report.bytes),
            "read": big(report.read),
            "stored": big(report.stored),
            "skips": big(report.skips),
        }))?);
    }
    match report.appended {
        Some(_) => out.line(line(&report, task.id()))?,
        None => out.line("nothing changed")?,
    }
    if let (Some(id), Some(label)) = (report.checkpoint, &args.label) {
        out.line(format!("marked as `{}`", printable(label)))?;
        out.line(format!("checkpoint @{id}"))?;
    }
    Ok(())
}

/// Captures the folder. Shows a bar if it takes a while, and prints what is left out by default
/// if the capture before left out nothing so.
pub fn captured(
    engine: &Engine,
    task: &Task,
    workspace: &Workspace,
    mark: Option<Mark>,
    out: &Out,
) -> milepost::Result<CaptureReport> {
    let head = task.point(task.head()?.next)?;
    let before = engine.workspace_at(&head)?;
    let report = with_bar(workspace, !out.json, || workspace.capture(engine, task, mark))?;
    if report.skips > 0 && report.appended.is_some() {
        // The note is about a capture that is recorded, and does not fail it.
        let told = first_capture::tell(engine, before, report.root, workspace.folder());
        if let Err(error) = told {
            note(&format!("what was left out by default is not known: {error}"));
        }
    }
    Ok(report)
}

/// Opens the folder. A failure has a hint.
pub fn open(folder: &Path, options: WorkspaceOptions) -> Result<Workspace> {
    Workspace::open(folder, options.clone()).map_err(|error| {
        let kind = error.kind();
        let failure = Failure::from(error);
        let insist = || Workspace::open(folder, options.anyway(true)).is_ok();
        match kind {
            ErrorKind::Invalid if insist() => {
                failure.hint("--anyway captures it all the same; usually DIR is one project")
            }
            ErrorKind::Invalid => failure.hint("DIR is a folder that you work in"),
            ErrorKind::NotFound => failure.hint("DIR is a folder that is there; default: this one"),
            _ => failure.hint("`milepost capture DIR` needs leave to read the folder"),
        }
    })
}

/// Converts the error of a capture to a failure with a hint.
pub fn failed(error: Error, labelled: bool) -> Failure {
    let refused = matches!(error.detail(), Some(Detail::Refused { .. }));
    let pending = matches!(error.detail(), Some(Detail::Pending { .. }));
    let kind = error.kind();
    let failure = Failure::from(error);
    match kind {
        ErrorKind::Invalid if refused => failure,
        ErrorKind::Invalid if labelled => failure
            .hint("a label is a name, as in `before-fix`, and the folder is one that you work in"),
        ErrorKind::Invalid => failure.hint("name a folder that you work in"),
        ErrorKind::Unavailable if !pending => failure
            .hint("nothing was recorded: mend what it says, or wait for the other, and ask again"),
        _ => failure,
    }
}

fn line(report: &CaptureReport, task: &str) -> String {
    let mut line = format!(
        "captured {}, {}: {} read, {} stored",
        count(report.files, "file"),
        size(report.bytes),
        grouped(report.read),
        count(report.stored, "chunk")
    );
    if report.skips > 0 {
        let (skips, task) = (grouped(report.skips), words::encode(task));
        line.push_str(&format!(", {skips} left out (milepost files {task} --skips)"));
    }
    line
}

/// Does the work, and shows a bar if it takes a while.
fn with_bar<T>(workspace: &Workspace, wanted: bool, work: impl FnOnce() -> T) -> T {
    if !wanted || !io::stderr().is_terminal() {
        return work();
    }
    let (working, worked) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let goes_on =
                |at_most| matches!(worked.recv_timeout(at_most), Err(RecvTimeoutError::Timeout));
            if !goes_on(SOON) {
                return;
            }
            let bar = counter("capture");
            loop {
                let status = workspace.status();
                let (files, bytes) = (count(status.files, "file"), size(status.bytes));
                bar.set_message(format!("{files}, {bytes}"));
                if !goes_on(STEP) {
                    return bar.finish_and_clear();
                }
            }
        });
        // The bar ends when this is dropped, however the work ends.
        let _working = working;
        work()
    })
}
