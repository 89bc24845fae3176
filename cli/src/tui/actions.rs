//! Actions: the plan of each, asked before, and its effect.

use std::path::Path;

use milepost::events::RunControl;
use milepost::{CheckpointId, LineageId, Scope};
use milepost_api::calls::Pin;
use milepost_api::{
    CheckpointForm, ChoicesRequest, FilesForm, FilesRequest, FolderRequest, JobRequest, JobResult,
    MarkRequest, PinRequest, PointForm, Remedy, UndoRequest,
};
use milepost_service::forms;
use milepost_service::jobs::{place, recovered_text};
use milepost_workspace::PathConflict;

use super::plan::{ActionPlan, Deed, PlanChoice, PlanError};
use super::sharing;
use super::task::TaskView;
use crate::backend::jobs::{self, JobFailed, Wording};
use crate::backend::{Backend, CheckpointsRequest, named, recovery};
use crate::error::{Failure, Result};
use crate::output::{JobBar, count, excerpt, printable, shell_word, words};

/// Checkpoints of a page that is searched for a mark, and the most pages.
const CHECKPOINTS: usize = 1000;
const PAGES: usize = 100;

/// The most files that are counted, and the lines of a plan that are shown.
const FILES: u64 = 10_000;
const LINES: usize = 8;

type Planned<T> = std::result::Result<T, PlanError>;

/// The effect of an action.
pub struct Effect {
    pub text: String,
    /// The lineage to show from now on.
    pub see: Option<LineageId>,
}

/// Makes the plan of an action at the cursor of a task.
pub fn plan(source: &dyn Backend, view: &TaskView, deed: Deed) -> Planned<ActionPlan> {
    let (task, at) = (excerpt(&view.form.id, 60), view.address());
    let shown = printable(&at).into_owned();
    let mut plan = ActionPlan::new(deed, at);
    let at = &plan.address;
    plan.question = match &plan.deed {
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
            "Pin {}, so that every cleanup keeps it? `milepost unpin @{}` takes it back.",
            printable(&mark_address(view)?),
            words::short_id(&checkpoint(source, view)?)
        ),
        Deed::Fork => format!(
            "Open a lineage at {shown}? {task} stays on lineage {}; the new one is in the log.",
            view.form.active
        ),
        Deed::RollBack => {
            let (text, has_files) = roll_back(source, view, at)?;
            plan.has_files = has_files;
            text
        }
        Deed::RollBackFiles(folder) => {
            let (text, conflicts) = roll_back_files(source, at, folder.as_deref())?;
            plan.choices = conflicts;
            text
        }
        Deed::Share(path) => sharing::question(source, &view.form.id, path)?,
        Deed::Undo(folder) => {
            let (text, conflicts) = plan_undo(source, view, folder.as_deref())?;
            plan.choices = conflicts;
            text
        }
    };
    Ok(plan)
}

/// Returns the question before a restore of the state; `true` if files can be restored, too.
fn roll_back(source: &dyn Backend, view: &TaskView, at: &str) -> Result<(String, bool)> {
    let name = words::encode(&view.form.id);
    let (head, to) = (source.point(&name)?, source.point(at)?);
    if (head.lineage, head.offset) == (to.lineage, to.offset) {
        return Err(Failure::new(format!("{} is at this point already", printable(&name))));
    }
    let changed = changes_between(source, &head, &to)?;
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
        "Roll {} back to {}? {changed} of the state; it continues on a new lineage, and \
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

/// Plans a restore with its files: the changes of the folder, and the conflicts.
fn roll_back_files(
    source: &dyn Backend,
    at: &str,
    folder: Option<&Path>,
) -> Planned<(String, Vec<PlanChoice>)> {
    let job = |files| restore_job(source, at, files);
    let (form, choices) = plan_files(source, at, folder, job)?;
    let whole = format!("`milepost rollback {} --dry-run`", shell_word(at));
    let text = format!(
        "{}\nRoll the state and these files of {} back to {}? `u` takes it back.",
        changes_of(&form, &whole)?,
        folder_of(&form),
        printable(at)
    );
    Ok((text, choices))
}

/// Plans an undo: the point that it restores, with the changes of the state or folder.
fn plan_undo(
    source: &dyn Backend,
    view: &TaskView,
    folder: Option<&Path>,
) -> Planned<(String, Vec<PlanChoice>)> {
    let (task, name) = (excerpt(&view.form.id, 60), words::encode(&view.form.id));
    let (to, takes_files) = source.undo_target(&view.form)?;
    let changes = changes_between(source, &source.point(&name)?, &to)?;
    let (to, left) = (printable(&to.address), view.form.active);
    let question = format!(
        "Take the last restore or switch of {task} back? It goes to {to}: {changes} of the state."
    );
    if !takes_files {
        let again = format!("Lineage {left} stays; `milepost redo {name}` goes there again.");
        return Ok((format!("{question} {again}"), Vec::new()));
    }
    if !source.has_folders() {
        return Err(jobs::on_another_machine("an undo of files").into());
    }
    let task = &view.form.id;
    let (form, choices) = plan_files(source, &name, folder, |files| Ok(undo_job(task, files)))?;
    let whole = format!("`milepost undo {name} --dry-run`");
    let text = format!(
        "{}\n{question} These files of {} go with it. Lineage {left} stays.",
        changes_of(&form, &whole)?,
        folder_of(&form)
    );
    Ok((text, choices))
}

/// Returns the number of changes between two states in words.
fn changes_between(source: &dyn Backend, from: &PointForm, to: &PointForm) -> Result<String> {
    let changes = source.changes(from, to)?;
    let more = if changes.more { " or more" } else { "" };
    Ok(format!("{}{more}", count(changes.items.len() as u64, "change")))
}

fn folder_of(form: &FilesForm) -> String {
    let folder = form.folder.as_ref().map(place);
    let folder = folder.map(|folder| folder.display().to_string()).unwrap_or_default();
    printable(&folder).into_owned()
}

/// Returns the first lines of a plan of files, and the command that prints the whole.
fn changes_of(form: &FilesForm, whole: &str) -> Result<String> {
    let plan = form.files.clone().map(forms::plan_of_files).transpose()?.unwrap_or_default();
    let text = plan.to_string();
    let lines: Vec<&str> = text.lines().collect();
    let mut shown: Vec<String> =
        lines.iter().take(LINES).map(|line| printable(line).into_owned()).collect();
    if lines.len() > LINES {
        shown.push(format!("… {} more: {whole}", count((lines.len() - LINES) as u64, "line")));
    }
    shown.push(printable(&plan.summary()).into_owned());
    shown.extend(recovery::first(form));
    Ok(shown.join("\n"))
}

/// Plans a job with a folder. A conflict gets the choice that keeps what is on the disk, and the
/// plan is that of these choices.
fn plan_files(
    source: &dyn Backend,
    at: &str,
    folder: Option<&Path>,
    job: impl Fn(FolderRequest) -> Result<JobRequest>,
) -> Planned<(FilesForm, Vec<PlanChoice>)> {
    let mut choices: Vec<PlanChoice> = Vec::new();
    loop {
        let files = FolderRequest { dry_run: true, ..folder_asked(folder, &choices)? };
        let failed = match source.job(&job(files)?, JobBar::new(false)) {
            Ok(JobResult::Restore(form) | JobResult::Undo(form)) => return Ok((form, choices)),
            Ok(_) => return Err(jobs::no_such_result().into()),
            Err(failed) => failed,
        };
        if let Some(Remedy::NameFolder { folder }) = &failed.remedy {
            return Err(PlanError::NameFolder(folder.as_ref().map(place)));
        }
        let new = conflicts(&failed).into_iter().map(PlanChoice::of).collect::<Option<Vec<_>>>();
        let is_new = |choice: &PlanChoice| choices.iter().all(|had| had.path != choice.path);
        match new.filter(|new| !new.is_empty() && new.iter().all(is_new)) {
            Some(new) => choices.extend(new),
            None => return Err(worded(failed, at).into()),
        }
    }
}

/// Returns the conflicts that a job failed by.
fn conflicts(failed: &JobFailed) -> Vec<PathConflict> {
    let form = failed.result.as_ref().and_then(|result| result.restore());
    form.and_then(|form| form.files.clone())
        .and_then(|files| forms::plan_of_files(files).ok())
        .map(|it| it.conflicts)
        .unwrap_or_default()
}

/// Returns the failure of a job, with the recovery that preceded it and the first conflict.
fn worded(failed: JobFailed, at: &str) -> Failure {
    let form = failed.result.as_ref().and_then(|result| result.restore());
    let recovered = form.and_then(|form| form.recovered.as_ref()).map(recovered_text);
    let failure = match conflicts(&failed).first() {
        Some(conflict) => Failure::new(format!("{}: {conflict}", failed.failure)),
        None => failed.worded(&Wording { address: Some(at), ..Wording::default() }),
    };
    match recovered {
        Some(recovered) => failure.at(recovered),
        None => failure,
    }
}

fn folder_asked(folder: Option<&Path>, choices: &[PlanChoice]) -> Result<FolderRequest> {
    let of = |takes: bool| {
        let chosen = choices.iter().filter(|choice| choice.takes == takes);
        chosen.map(|choice| choice.path.clone()).collect()
    };
    let choices = ChoicesRequest { theirs: of(true), keep_mine: of(false), ..Default::default() };
    let folder = folder.map(jobs::absolute).transpose()?;
    Ok(FolderRequest { folder, choices, ..FolderRequest::default() })
}

fn restore_job(source: &dyn Backend, at: &str, files: FolderRequest) -> Result<JobRequest> {
    let to = named(&source.point(at)?);
    Ok(JobRequest::Restore(FilesRequest { to, scope: Scope::All, files, description: None }))
}

fn undo_job(task: &str, files: FolderRequest) -> JobRequest {
    JobRequest::Undo(UndoRequest { task: task.to_owned(), files })
}

/// Does a job with a folder. Returns the lineage that the task continues on.
fn done(source: &dyn Backend, asked: &JobRequest, at: &str) -> Result<LineageId> {
    let form = match source.job(asked, JobBar::new(false)) {
        Ok(JobResult::Restore(form) | JobResult::Undo(form)) => form,
        Ok(_) => return Err(jobs::no_such_result()),
        Err(failed) => return Err(worded(failed, at)),
    };
    Ok(form.restored.ok_or_else(jobs::no_such_result)?.lineage.id)
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
            said(format!("marked: checkpoint @{}", words::short_id(&marked.id)))
        }
        Deed::Pin => {
            let id = checkpoint(source, view)?;
            source.call(Pin::new(id.to_string(), PinRequest::default()))?;
            said(format!("pinned: checkpoint @{}", words::short_id(&id)))
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
        Deed::RollBackFiles(folder) => {
            let files = folder_asked(folder.as_deref(), &plan.choices)?;
            let asked = restore_job(source, at, files)?;
            went(done(source, &asked, at)?, &source.point(at)?)
        }
        Deed::Share(path) => said(sharing::write(source, &view.form.id, path)?),
        Deed::Undo(folder) => {
            let files = folder_asked(folder.as_deref(), &plan.choices)?;
            let asked = undo_job(&view.form.id, files);
            let lineage = match source.has_folders() {
                true => done(source, &asked, &words::encode(&view.form.id))?,
                false => source.undo(&view.form)?.lineage.id,
            };
            let text = format!("undone: {} is active", lineage_name(lineage));
            Effect { text, see: Some(lineage) }
        }
    })
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

fn mark_of(label: &str) -> MarkRequest {
    MarkRequest { label: Some(label.to_owned()), ..MarkRequest::default() }
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
        let asked = CheckpointsRequest {
            task: task.clone(),
            limit: CHECKPOINTS,
            cursor,
            ..CheckpointsRequest::default()
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
