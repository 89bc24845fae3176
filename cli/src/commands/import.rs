//! `import`: restores exports, and turns folders of JSON checkpoint files and runs of other
//! programs into tasks.

use std::path::PathBuf;

use milepost::Options;
use milepost_formats::checkpoint_folder::{
    self, FolderOptions, FolderPlan, FolderReport, ImportedTask, SkippedFile,
};
use milepost_formats::export_file::{self, ExportImport, ExportInput, ImportedExport};
use milepost_formats::input::{self, Input};
use serde_json::{Value, json};

use super::conversion::Bars;
use super::record;
use crate::args::{Import, Record};
use crate::backend::hints::current_user;
use crate::error::{Failure, Result};
use crate::output::{Out, big, count, printable};
use crate::store_locator::{StoreArgs, attach};

/// Minimum number of bytes for a progress bar.
const LONG: u64 = 16 << 20;

pub fn run(store: &StoreArgs, args: &Import, out: &mut Out) -> Result<()> {
    match input::look(&args.from, args.format.into_format(), &mut Bars::new(LONG, out))? {
        Input::Export(input) => exported(store, args, input, out),
        Input::Runs(files) => runs(store, args, files, out),
        Input::Checkpoints => folder(store, args, out),
    }
}

/// Imports runs of other programs, with the code of `record`.
fn runs(store: &StoreArgs, args: &Import, files: Vec<PathBuf>, out: &mut Out) -> Result<()> {
    if args.name.is_some() && files.len() > 1 {
        let sessions = count(files.len() as u64, "session");
        return Err(Failure::new(format!("--as names one task, and there are {sessions}"))
            .hint("import it without --as, or one session alone"));
    }
    let record = Record {
        files,
        task: args.name.clone(),
        user: args.user.clone(),
        format: args.format,
        strict: args.strict,
        ack: false,
        event_max: checkpoint_folder::EVENT_MAX,
    };
    record::import(store, &record, out)
}

/// Imports a folder of JSON checkpoint files.
fn folder(store: &StoreArgs, args: &Import, out: &mut Out) -> Result<()> {
    let files = checkpoint_folder::files(&args.from)?;
    if args.name.is_some() {
        return Err(Failure::new("--as is for an export, or for one run of another program")
            .hint("of a folder each execution becomes a task of its name"));
    }
    let plan = FolderPlan::read(&files, &mut Bars::new(LONG, out));
    // Without anything to import, no store is created.
    let ends = args.strict && !plan.is_complete();
    let (report, closed) = match plan.is_empty() || ends {
        true => (plan.into_report(), Ok(())),
        false => written(store, args, plan, out)?,
    };
    let FolderReport { tasks, skipped, failed } = report;
    let done = failed.map_or(closed, |error| Err(error.into()));
    if done.is_ok() || !tasks.is_empty() {
        report_folder(&tasks, &skipped, out)?;
    }
    done?;
    if skipped.is_empty() {
        return Ok(());
    }
    let files = count(skipped.len() as u64, "file");
    Err(Failure::new(format!("{files} could not be imported"))
        .hint("mend them and import the folder again: what is in already stays as it is"))
}

/// Writes a plan to the store. Returns the report, and the result of the close.
fn written(
    store: &StoreArgs,
    args: &Import,
    plan: FolderPlan,
    out: &Out,
) -> Result<(FolderReport, Result<()>)> {
    let options =
        FolderOptions { user: args.user.clone().unwrap_or_else(current_user), strict: args.strict };
    let limits = Options::default().event_max(checkpoint_folder::EVENT_MAX);
    let engine = store.open_or_create_with_hooks(limits)?;
    let attached = attach(&engine);
    let report = checkpoint_folder::import(&engine, plan, &options, &mut Bars::new(LONG, out));
    drop(attached);
    Ok((report, engine.close().map_err(Failure::from)))
}

fn report_folder(tasks: &[ImportedTask], skipped: &[SkippedFile], out: &mut Out) -> Result<()> {
    if out.json {
        let tasks: Vec<Value> = tasks.iter().map(form).collect();
        let skipped: Vec<Value> =
            skipped.iter().map(|file| json!({"path": file.path, "reason": file.reason})).collect();
        return Ok(out.json(&json!({"tasks": tasks, "skipped": skipped}))?);
    }
    if tasks.is_empty() {
        return Ok(());
    }
    let row = |task: &ImportedTask| {
        vec![
            printable(&task.task).into_owned(),
            task.events.to_string(),
            task.checkpoints.to_string(),
            task.repeated.to_string(),
            format!("@{}", task.head),
        ]
    };
    let rows: Vec<Vec<String>> = tasks.iter().map(row).collect();
    Ok(out.table(&["TASK", "EVENTS", "CHECKPOINTS", "REPEATED", "HEAD"], &rows)?)
}

fn form(task: &ImportedTask) -> Value {
    json!({
        "id": task.task,
        "format": "checkpoints",
        "events": big(task.events),
        "checkpoints": big(task.checkpoints),
        "repeated": big(task.repeated),
        "head": big(task.head),
    })
}

/// Imports an export: all of it, or nothing.
fn exported(store: &StoreArgs, args: &Import, input: ExportInput, out: &mut Out) -> Result<()> {
    if args.user.is_some() {
        return Err(Failure::new("--user is not for an export: it says whose its tasks are")
            .hint("import it without --user"));
    }
    let import = ExportImport::begin(input)?;
    let (name, tasks) = (import.name(), import.header().tasks.0);
    if args.name.is_some() && tasks != 1 {
        return Err(Failure::new(format!("--as names one task, and {name} has {tasks}"))
            .hint("import it without --as, or export the task alone"));
    }
    let engine = store.open_or_create(Options::default().event_max(export_file::EVENT_MAX))?;
    let attached = attach(&engine);
    let done = import.run(&engine, args.name.as_deref(), &mut Bars::new(LONG, out));
    let reported = done.map_err(Failure::from).and_then(|imported| report_export(&imported, out));
    drop(attached);
    let closed = engine.close();
    reported?;
    Ok(closed?)
}

fn report_export(imported: &ImportedExport, out: &mut Out) -> Result<()> {
    let ImportedExport { tasks, copies } = imported;
    if out.json {
        let mut forms: Vec<Value> = Vec::new();
        for task in tasks {
            let (head, checkpoints) = (task.head()?, task.checkpoints()?);
            forms.push(json!({
                "id": task.id(),
                "format": "export",
                "user": task.user(),
                "events": big(task.info()?.events),
                "checkpoints": big(checkpoints),
                "head": big(head.next),
                "hash": head.hash,
            }));
        }
        return Ok(out.json(&json!({"tasks": forms, "copies": copies}))?);
    }
    let mut rows = Vec::new();
    for task in tasks {
        rows.push(vec![
            printable(task.id()).into_owned(),
            task.info()?.events.to_string(),
            task.checkpoints()?.to_string(),
            format!("@{}", task.head()?.next),
        ]);
    }
    out.table(&["TASK", "EVENTS", "CHECKPOINTS", "HEAD"], &rows)?;
    if *copies {
        out.line("with hashes of their own: `milepost show TASK@0` says where each comes from")?;
    }
    Ok(())
}
