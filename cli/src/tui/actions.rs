//! Actions: the plan of each, asked before, and its effect.

use std::path::PathBuf;

use milepost::events::{MarkStatus, RunControl};
use milepost::{CheckpointId, LineageId, Scope};
use milepost_api::{
    CheckpointForm, FilesAsked, FilesForm, FolderAsked, JobAsked, JobResult, PointForm, UndoAsked,
    plan_of_files,
};

use super::sharing;
use super::task::TaskView;
use crate::backend::jobs::{self, Wording};
use crate::backend::{Backend, CheckpointsAsked, MarkAsked, named};
use crate::error::{Failure, Result};
use crate::output::{JobBar, count, excerpt, printable, words};

/// Checkpoints of a page that is searched for a mark, and the most pages.
const CHECKPOINTS: usize = 1000;
const PAGES: usize = 100;

/// The most files that are counted, and the lines of a plan that are shown.
const FILES: u64 = 10_000;
const LINES: usize = 8;

/// An action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    Control(RunControl),
    Guide(String),
    Mark(String),
    Pin,
    Fork,
    RollBack,
    /// Rolls the files back, too.
    RollBackFiles,
    Undo,
    /// Writes the task as an HTML file.
    Share(PathBuf),
}

/// An action with its plan. The answer that changes nothing is chosen first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionPlan {
    pub deed: Deed,
    /// The address that the action is for.
    pub address: String,
    pub question: String,
    /// The files can be rolled back, too: `f`.
    pub has_files: bool,
    /// The answer that `Enter` gives.
    pub is_yes: bool,
}

/// The effect of an action.
pub struct Effect {
    pub text: String,
    /// The lineage to show from now on.
    pub see: Option<LineageId>,
}

/// Makes the plan of an action at the cursor of a task.
pub fn plan(source: &dyn Backend, view: &TaskView, deed: Deed) -> Result<ActionPlan> {
    let (task, at) = (excerpt(&view.form.id, 60), view.address());
    let shown = printable(&at).into_owned();
    let name = words::encode(&view.form.id);
    let mut has_files = false;
    let question = match &deed {
        Deed::Control(RunControl::Paused) => {
            format!("Pause {task} at its next safe point? `p` resumes it.")
        }
        Deed::Control(control) => format!("Set {task} to {}? `p` pauses it.", control.name()),
        Deed::Guide(text) => format!(
            "Send \"{}\" to {task}? It is an event of the active lineage, and stays in the log.",
            excerpt(text, 200)
        ),
        Deed::Mark(label) => format!(
            "Mark {shown} as \"{}\"? The mark is an event, and stays in the log.",
            excerpt(label, 80)
        ),
        Deed::Pin => format!(
            "Pin {}, so that every cleanup keeps it? `milepost unpin` takes it back.",
            printable(&mark_address(view)?)
        ),
        Deed::Fork => format!(
            "Open a lineage at {shown}? {task} stays on lineage {}; the new one is in the log, \
             and `milepost switch` goes there.",
            view.form.active
        ),
        Deed::RollBack => {
            let (text, files) = roll_back(source, view, &at)?;
            has_files = files;
            text
        }
        Deed::RollBackFiles => roll_back_files(source, &at)?,
        Deed::Share(path) => sharing::question(source, &view.form.id, path)?,
        Deed::Undo => format!(
            "Take the last restore or switch of {task} back? Lineage {} stays; `milepost redo \
             {name}` goes there again.",
            view.form.active
        ),
    };
    Ok(ActionPlan { deed, address: at, question, has_files, is_yes: false })
}

/// Returns the question before a restore of the state; `true` if files can be restored, too.
fn roll_back(source: &dyn Backend, view: &TaskView, at: &str) -> Result<(String, bool)> {
    let name = words::encode(&view.form.id);
    let (head, to) = (source.point(&name)?, source.point(at)?);
    if (head.lineage, head.offset) == (to.lineage, to.offset) {
        return Err(Failure::new(format!("{} is at this point already", printable(&name))));
    }
    let changes = source.changes(&head, &to)?;
    let more = if changes.more { " or more" } else { "" };
    let changed = count(changes.items.len() as u64, "change");
    let files = source.differing_files(&head, &to, FILES);
    let has_files = matches!(files, Ok(Some(_))) && source.has_folders();
    let of_files = match files {
        Ok(Some(number)) => format!(" {} other than now, and stay as they are.", files_are(number)),
        Ok(None) => String::new(),
        Err(failure) => {
            format!(" The captured files cannot be compared: {}.", printable(&failure.to_string()))
        }
    };
    let question = format!(
        "Roll {} back to {}? {changed}{more} of the state; it continues on a new lineage, and \
         lineage {} stays.{of_files} `u` takes it back.",
        excerpt(&view.form.id, 60),
        printable(at),
        head.lineage
    );
    Ok((question, has_files))
}

fn files_are(number: u64) -> String {
    match number {
        1 => "1 file was captured".into(),
        FILES => format!("{} or more were captured", count(number, "file")),
        _ => format!("{} were captured", count(number, "file")),
    }
}

/// Plans a restore with its files: the changes of the folder.
fn roll_back_files(source: &dyn Backend, at: &str) -> Result<String> {
    let form = files_job(source, at, true)?;
    let folder = form.folder.as_ref().map(milepost_jobs::place);
    let folder = folder.map(|folder| folder.display().to_string()).unwrap_or_default();
    let plan = form.files.map(plan_of_files).transpose()?.unwrap_or_default();
    let text = plan.to_string();
    let lines: Vec<&str> = text.lines().collect();
    let mut shown: Vec<String> =
        lines.iter().take(LINES).map(|line| printable(line).into_owned()).collect();
    if lines.len() > LINES {
        let whole = format!("`milepost rollback {} --dry-run`", printable(at));
        shown.push(format!("… {} more: {whole}", count((lines.len() - LINES) as u64, "line")));
    }
    if shown.is_empty() {
        shown.push("the files are as they were then".into());
    }
    Ok(format!(
        "{}\nRoll the state and these files of {} back to {}? `u` takes it back.",
        shown.join("\n"),
        printable(&folder),
        printable(at)
    ))
}

fn files_job(source: &dyn Backend, at: &str, dry_run: bool) -> Result<FilesForm> {
    let files = FolderAsked { dry_run, ..FolderAsked::default() };
    let to = named(&source.point(at)?);
    let asked = FilesAsked { to, scope: Scope::All, files, description: None };
    of_job(source, &JobAsked::Restore(asked), at)
}

fn of_job(source: &dyn Backend, asked: &JobAsked, at: &str) -> Result<FilesForm> {
    match source.job(asked, JobBar::new(false)) {
        Ok(JobResult::Restore(form) | JobResult::Undo(form)) => Ok(form),
        Ok(_) => Err(jobs::no_such_result()),
        Err(failed) => Err(failed.worded(&Wording { address: Some(at), ..Wording::default() })),
    }
}

/// Does an action.
pub fn act(source: &dyn Backend, view: &TaskView, plan: &ActionPlan) -> Result<Effect> {
    let at = &plan.address;
    let said = |text: String| Effect { text, see: None };
    Ok(match &plan.deed {
        Deed::Control(to) => {
            source.control(&view.form, *to, None)?;
            said(format!("set to {}", to.name()))
        }
        Deed::Guide(text) => {
            let appended = source.guide(&view.form, text.clone(), None)?;
            said(format!("sent: event @{}", appended.first))
        }
        Deed::Mark(label) => {
            let marked = source.mark(&source.point(at)?, mark_of(label))?;
            said(format!("marked: checkpoint @{}", short(&marked.id)))
        }
        Deed::Pin => {
            let id = checkpoint(source, view)?;
            source.pin(&id, None)?;
            said(format!("pinned: checkpoint @{}", short(&id)))
        }
        Deed::Fork => {
            let opened = source.branch(&source.point(at)?, None)?;
            let to = format!("{}/{}", words::encode(&view.form.id), opened.id);
            let text = format!("lineage {} opened; `milepost switch {to}` goes there", opened.id);
            Effect { text, see: Some(opened.id) }
        }
        Deed::RollBack => {
            let to = source.point(at)?;
            let restored = source.restore(&to, None)?;
            went(restored.lineage.id, &to)
        }
        Deed::RollBackFiles => {
            let form = files_job(source, at, false)?;
            let restored = form.restored.ok_or_else(jobs::no_such_result)?;
            went(restored.lineage.id, &source.point(at)?)
        }
        Deed::Share(path) => said(sharing::write(source, &view.form.id, path)?),
        Deed::Undo => {
            let lineage = undo(source, view)?;
            let text = format!("undone: {} is active", lineage_name(lineage));
            Effect { text, see: Some(lineage) }
        }
    })
}

fn undo(source: &dyn Backend, view: &TaskView) -> Result<LineageId> {
    if !source.has_folders() {
        return Ok(source.undo(&view.form)?.lineage.id);
    }
    let asked = UndoAsked { task: view.form.id.clone(), files: FolderAsked::default() };
    let form = of_job(source, &JobAsked::Undo(asked), &words::encode(&view.form.id))?;
    Ok(form.restored.ok_or_else(jobs::no_such_result)?.lineage.id)
}

fn went(lineage: LineageId, to: &PointForm) -> Effect {
    let text = format!(
        "back at {}, on {}; `u` takes it back",
        printable(&to.address),
        lineage_name(lineage)
    );
    Effect { text, see: Some(lineage) }
}

fn lineage_name(lineage: LineageId) -> String {
    format!("lineage {lineage}")
}

fn mark_of(label: &str) -> MarkAsked {
    MarkAsked {
        label: label.to_owned(),
        aliases: Vec::new(),
        status: MarkStatus::Success,
        metadata: None,
    }
}

/// Returns the address of the mark at the cursor.
fn mark_address(view: &TaskView) -> Result<String> {
    match view.chosen_mark() {
        Some(mark) => Ok(words::address(&view.form.id, view.owner_of(mark.at.0), mark.at.0)),
        None => Err(Failure::new("there is no mark here: `a` marks, `m` goes to the next one")),
    }
}

/// Finds the checkpoint of the mark at the cursor.
fn checkpoint(source: &dyn Backend, view: &TaskView) -> Result<CheckpointId> {
    let address = mark_address(view)?;
    let (task, mut cursor) = (Some(view.form.id.clone()), None);
    for _ in 0..PAGES {
        let asked = CheckpointsAsked {
            task: task.clone(),
            limit: CHECKPOINTS,
            cursor,
            ..CheckpointsAsked::default()
        };
        let page = source.checkpoints(&asked)?;
        let is_it = |mark: &&CheckpointForm| {
            words::address(&mark.task, mark.lineage, mark.mark.0) == address
        };
        if let Some(found) = page.items.iter().find(is_it) {
            return Ok(found.id);
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Err(Failure::new("the checkpoint of this mark is not in the list any more"))
}

fn short(id: &CheckpointId) -> String {
    id.to_string().chars().take(12).collect()
}
