//! Calls of tools: the call and the return, each with a checkpoint of the folder.

use std::collections::BTreeMap;
use std::path::Path;

use milepost::clock::{Clock as _, SystemClock};
use milepost::events::{MarkCause, MarkStatus, ToolCalled, ToolReturned};
use milepost::{Body, Checkpoint, Engine, Error, ErrorKind, Hash, Json, Mark, Task};
use milepost_api::{
    Big, CaptureOptions, FileCounts, JobResult, LeftOutForm, ToolCallForm, ToolCallRequest,
    ToolMark, ToolReturnForm, ToolReturnRequest,
};
use milepost_runtime::run::Risk;
use milepost_workspace::{Choices, Item, Snapshot, Workspace};

use crate::forms;
use crate::jobs::Told;
use crate::jobs::capture::{captured, options, task_of};
use crate::jobs::failure::{JobFailure, Result};
use crate::jobs::folder;
use crate::jobs::recovery;

/// Number of events among which the last capture is looked for.
const LOOKED_BACK: u64 = 256;

/// A marked checkpoint, with the capture before it.
struct Marked {
    checkpoint: Checkpoint,
    root: Option<Hash>,
    left_out: Option<LeftOutForm>,
}

/// Records a call, with a checkpoint before it.
pub(crate) fn call(
    engine: &Engine,
    asked: &ToolCallRequest,
    user: &str,
    told: Told<'_>,
) -> Result<ToolCallForm> {
    let workspace = workspace(Some(&asked.folder), asked.options.as_ref())?;
    let place = workspace.as_ref().map_or(&*asked.folder, Workspace::folder);
    let user = asked.user.as_deref().unwrap_or(user);
    let (task, is_new) = task_of(engine, asked.task.as_deref(), place, user)?;
    let choices = Choices::default();
    let at = workspace.as_ref().map(|workspace| (workspace, &choices));
    let recovered = recovery::recover(engine, &task, at)?;
    // The offset makes the name unique in the lineage and its ancestors.
    let call = format!("{}-{}", asked.tool, task.head()?.next);
    let marked = match !asked.only_if_old || is_old(&task, workspace.is_some())? {
        true => {
            let metadata = Json::from_value(&BTreeMap::from([("tool", &asked.tool)]))?;
            let mark = Mark::new().metadata(metadata).cause(MarkCause::BeforeTool);
            let mark = mark.correlation(&call);
            Some(mark_of(engine, &task, workspace.as_ref(), labelled(mark, &asked.label), told)?)
        }
        false => None,
    };
    let called = task.append(ToolCalled {
        call: call.clone(),
        tool: asked.tool.clone(),
        arguments: asked.arguments.clone(),
    })?;
    let (before, root, left_out) = match marked {
        Some(Marked { checkpoint, root, left_out }) => {
            (Some(forms::checkpoint(checkpoint)), root, left_out)
        }
        None => (None, None, None),
    };
    Ok(ToolCallForm {
        task: task.id().to_owned(),
        is_new,
        lineage: task.lineage().id(),
        call,
        at: Big(called.first),
        before,
        root,
        left_out,
        recovered: recovered.folder,
    })
}

/// Records a return in the lineage of its call, even if another one is active now, with a
/// checkpoint after it. A failure after the return is recorded has the result so far.
pub(crate) fn returned(
    engine: &Engine,
    asked: &ToolReturnRequest,
    told: Told<'_>,
) -> Result<ToolReturnForm> {
    let task = engine.task(&asked.task)?;
    task.lineage_named(asked.lineage)?.append(ToolReturned {
        call: asked.call.clone(),
        tool: Some(asked.tool.clone()),
        ok: asked.ok,
        output: asked.output.clone(),
    })?;
    let mut form = ToolReturnForm::default();
    let active = task.lineage().id();
    if active != asked.lineage {
        form.moved_to = Some(active);
        return Ok(form);
    }
    let Some(mark) = &asked.after else {
        return Ok(form);
    };
    match after(engine, &task, asked, mark, told, &mut form) {
        Ok(()) => Ok(form),
        Err(failure) => Err(failure.result(JobResult::ToolReturn(form))),
    }
}

/// Marks the checkpoint after a call, and compares both captures.
fn after(
    engine: &Engine,
    task: &Task,
    asked: &ToolReturnRequest,
    after: &ToolMark,
    told: Told<'_>,
    form: &mut ToolReturnForm,
) -> Result<()> {
    let status = match asked.ok {
        true => MarkStatus::Success,
        false => MarkStatus::Failure,
    };
    let mark = Mark::new().cause(MarkCause::Step).status(status).correlation(&asked.call);
    let mark = labelled(mark, &after.label);
    let mark = match &after.metadata {
        Some(metadata) => mark.metadata(metadata.clone()),
        None => mark,
    };
    let workspace = workspace(after.folder.as_deref(), Some(&after.options))?;
    let marked = mark_of(engine, task, workspace.as_ref(), mark, told)?;
    form.after = Some(forms::checkpoint(marked.checkpoint));
    form.root = marked.root;
    form.left_out = marked.left_out;
    if let (Some(from), Some(to)) = (after.before, marked.root) {
        form.changes = Some(changes(engine, from, to)?);
    }
    Ok(())
}

/// Opens the folder of a call, if files are captured.
fn workspace(at: Option<&Path>, asked: Option<&CaptureOptions>) -> Result<Option<Workspace>> {
    match (at, asked) {
        (Some(folder), Some(asked)) => folder::open(folder, options(asked)).map(Some),
        _ => Ok(None),
    }
}

fn labelled(mark: Mark, label: &Option<String>) -> Mark {
    match label {
        Some(label) => mark.label(label),
        None => mark,
    }
}

/// Marks a checkpoint, with a capture of the folder if there is one.
fn mark_of(
    engine: &Engine,
    task: &Task,
    workspace: Option<&Workspace>,
    mark: Mark,
    told: Told<'_>,
) -> Result<Marked> {
    let Some(workspace) = workspace else {
        let checkpoint = task.checkpoint(mark)?;
        return Ok(Marked { checkpoint, root: None, left_out: None });
    };
    let (report, left_out) = captured((engine, task, workspace), Some(mark), true, told)?;
    let id = report.checkpoint.ok_or_else(|| {
        JobFailure::from(Error::new(ErrorKind::Unavailable, "the capture marked no checkpoint"))
    })?;
    let checkpoint = engine.query().checkpoint(&id.to_string())?;
    Ok(Marked { checkpoint, root: Some(report.root), left_out })
}

/// Returns `true` if the last capture, or the last checkpoint without files, is old. A checkpoint
/// without a capture brings no files back.
fn is_old(task: &Task, has_files: bool) -> Result<bool> {
    let last = match has_files {
        true => last_capture(task)?,
        false => task.lineage().newest_mark()?.map(|(_, time_us)| time_us),
    };
    let now_us = SystemClock.now_us();
    Ok(last.is_none_or(|time_us| now_us.saturating_sub(time_us) > Risk::default().since_us))
}

/// Returns the time of the last capture among the last events.
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

/// Compares two captures.
fn changes(engine: &Engine, before: Hash, after: Hash) -> Result<FileCounts> {
    if before == after {
        return Ok(FileCounts::default());
    }
    let after = Snapshot::of(engine, after)?;
    let changes = Snapshot::of(engine, before)?.diff(&after)?;
    let mut all_folders = 0;
    let mut count = |all: &mut dyn Iterator<Item = &Item>| {
        let (folders, files): (Vec<_>, Vec<_>) = all.partition(|item| item.kind.is_directory());
        all_folders += folders.len() as u64;
        Big(files.len() as u64)
    };
    let created = count(&mut changes.added.iter().map(|entry| &entry.item));
    let deleted = count(&mut changes.removed.iter().map(|entry| &entry.item));
    let both = changes.changed.iter().chain(&changes.modes);
    let changed = count(&mut both.map(|change| &change.after));
    let renamed = Big(changes.renamed.len() as u64);
    let out = changes.left_out.iter().chain(&changes.taken_in);
    let left_out = count(&mut out.map(|entry| &entry.item));
    Ok(FileCounts { created, changed, deleted, renamed, left_out, folders: Big(all_folders) })
}
