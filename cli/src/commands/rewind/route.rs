//! The route back: its plan, and what is done.

use std::path::Path;

use milepost::Scope;
use milepost_api::{FilesForm, FilesRequest, FolderRequest, JobRequest, PointForm, TaskForm};
use milepost_formats::session_description;
use milepost_workspace::{ConflictWhy, LeftWhy, PathConflict, Plan, TreePath};

use super::FILES_ONLY;
use super::RewindArgs;
use super::history::History;
use super::new_session::{NewSession, Resume};
use super::print;
use crate::backend::jobs::{JobFailed, Wording};
use crate::backend::{Backend, named};
use crate::commands::workspace_args;
use crate::error::{Failure, Result};
use crate::output::{JobBar, Out, count, note, words};

/// The route back to before a prompt, or to a mark.
pub(super) struct Route {
    task: String,
    to: PointForm,
    scope: Scope,
    /// The folder, and what is decided about its paths.
    files: FolderRequest,
    /// The plan of the files, unless they stay.
    pub plan: Option<Plan>,
    /// Paths whose changes are not the agent's alone, and that stay, with the reason of each.
    stay: Vec<PathConflict>,
    /// Other sessions, calls of which ran at the same time.
    pub at_once: Vec<String>,
    /// The new session, unless the conversation stays or has no beginning.
    pub session: Option<NewSession>,
    /// The command that continues, unless the conversation stays.
    pub resume: Option<Resume>,
    /// True if the agent's conversation stays since no session file can be written for it.
    pub has_no_file: bool,
}

impl Route {
    pub fn of(
        source: &dyn Backend,
        args: &RewindArgs,
        (task, history): (&TaskForm, &History),
        at: u64,
        folder: Option<&Path>,
    ) -> Result<Self> {
        let to = source.point(&words::address(&task.id, task.active, at))?;
        let scope = match (args.files_only, args.conversation_only) {
            (true, _) => Scope::Files,
            (_, true) => Scope::State,
            _ => Scope::All,
        };
        let has_no_file = scope == Scope::All && history.is_of_documents;
        if scope == Scope::State && history.is_of_documents {
            let text = "hooks told the conversation of this session: no file of it is written";
            return Err(Failure::new(text).hint(FILES_ONLY));
        }
        if scope != Scope::Files && history.is_in_turn(at) {
            let text = "the mark is within the answer to a prompt, where no conversation ends";
            return Err(Failure::new(text).hint(FILES_ONLY));
        }
        // The agent keeps its conversation, so the log keeps it, too.
        let scope = if has_no_file { Scope::Files } else { scope };
        let (session, resume) = match (scope, &history.facts) {
            (Scope::Files, _) => (None, None),
            (_, Some(facts)) => {
                let session = NewSession::of(source, facts, &to, new_id()?)?;
                let resume = session.resume(facts.root.clone());
                (Some(session).filter(|session| session.has_message), Some(resume))
            }
            (_, None) => {
                return Err(
                    Failure::new("no hook told where the session's file is").hint(FILES_ONLY)
                );
            }
        };
        let mut files = workspace_args::folder(folder, &args.options)?;
        files.choices.leave_others = true;
        let (task, plan, stay) = (task.id.clone(), None, Vec::new());
        let at_once = history.at_once(at);
        Ok(Self { task, to, scope, files, plan, stay, at_once, session, resume, has_no_file })
    }

    /// Makes the plan. Paths that the agent and others changed are decided by the user, or stay.
    /// Other conflicts are printed, and end it.
    pub fn make_plan(&mut self, source: &dyn Backend, asks: bool, out: &mut Out) -> Result<()> {
        if self.scope == Scope::State {
            return Ok(());
        }
        loop {
            let done = source.job(&self.job(true), JobBar::new(!out.json));
            let contested = match &done {
                Err(failed) => contested(failed)?,
                Ok(_) => Vec::new(),
            };
            if contested.is_empty() {
                let form = workspace_args::done(done, &Wording::default(), out)?;
                self.plan = self.plan_of(&form)?;
                return Ok(());
            }
            for conflict in contested {
                let Some(path) = conflict.path.clone() else { continue };
                match asks && print::asks_to_take(&conflict, &self.at_once, out)? {
                    true => self.files.choices.theirs.push(path),
                    false => {
                        self.files.choices.keep_mine.push(path);
                        self.stay.push(conflict);
                    }
                }
            }
        }
    }

    /// Returns the plan of a result, with the reasons why paths stay that were not chosen.
    pub fn plan_of(&self, form: &FilesForm) -> Result<Option<Plan>> {
        let mut plan = workspace_args::plan(form)?;
        if let Some(plan) = &mut plan {
            plan.leave(&self.stay);
            let late = plan.late;
            let of_others = self.at_once.join(", ");
            for left in &mut plan.left {
                left.text = match left.why {
                    LeftWhy::AuthorUnknown if !of_others.is_empty() => format!(
                        "it stays: it may be of session {of_others}, which ran at the same time"
                    ),
                    LeftWhy::AuthorUnknown if late > 0 => format!(
                        "it stays: the author of the change is not known, since {} came late",
                        count(late, "capture")
                    ),
                    LeftWhy::Made | LeftWhy::Changed | LeftWhy::Removed if late > 0 => {
                        format!("{}, or a call did before a late capture", left.text)
                    }
                    _ => continue,
                };
            }
        }
        Ok(plan)
    }

    /// Returns the paths that stay though the user did not choose it.
    pub fn stay(&self) -> Vec<&TreePath> {
        self.stay.iter().filter_map(|conflict| conflict.path.as_ref()).collect()
    }

    fn description(&self) -> Option<String> {
        self.session.as_ref().map(|session| session_description(&session.id))
    }

    fn job(&self, dry_run: bool) -> JobRequest {
        JobRequest::Restore(FilesRequest {
            to: named(&self.to),
            scope: self.scope,
            files: FolderRequest { dry_run, ..self.files.clone() },
            description: self.description(),
        })
    }

    /// Writes the new session file and restores.
    pub fn go(&self, source: &dyn Backend, out: &mut Out) -> Result<FilesForm> {
        self.check_plan(source, out)?;
        if let Some(session) = &self.session {
            session.write()?;
        }
        let done = match self.scope {
            Scope::State => {
                let restored = source.restore(&self.to, self.description().as_deref());
                restored.map(|restored| FilesForm {
                    task: self.task.clone(),
                    folder: None,
                    files: None,
                    restored: Some(restored),
                    recovered: None,
                    recovers: None,
                })
            }
            _ => {
                let done = source.job(&self.job(false), JobBar::new(!out.json));
                workspace_args::done(done, &Wording::default(), out)
            }
        };
        if done.is_err() {
            self.remove_file(source);
        }
        done
    }

    /// Fails if the files changed since the plan was shown.
    fn check_plan(&self, source: &dyn Backend, out: &mut Out) -> Result<()> {
        let Some(plan) = &self.plan else { return Ok(()) };
        let done = source.job(&self.job(true), JobBar::new(!out.json));
        let form = workspace_args::done(done, &Wording::default(), out)?;
        let now = workspace_args::plan(&form)?.unwrap_or_default();
        let paths = |plan: &Plan| {
            let Plan { creates, changes, deletes, modes, .. } = plan.clone();
            (creates, changes, deletes, modes)
        };
        match paths(&now) == paths(plan) {
            true => Ok(()),
            false => Err(Failure::new("files were changed since the plan: nothing was done")
                .hint("`milepost rewind` makes a new plan")),
        }
    }

    /// Removes the new session file after a restore that failed. It stays if the restore may be
    /// done all the same, as after a lost connection.
    fn remove_file(&self, source: &dyn Backend) {
        let Some(session) = &self.session else { return };
        let description = self.description();
        let is_done = source
            .lineages(&self.task)
            .map(|lineages| lineages.iter().any(|lineage| lineage.description == description));
        match is_done {
            Ok(false) => drop(std::fs::remove_file(&session.path)),
            _ => note(&format!("the conversation from before is in {}", session.path.display())),
        }
    }
}

/// Returns the conflicts of a plan about whose changes they are, if these are all that is in the
/// way.
fn contested(failed: &JobFailed) -> Result<Vec<PathConflict>> {
    let form = failed.result.as_ref().and_then(|result| result.restore());
    let plan = form.map(workspace_args::plan).transpose()?.flatten();
    let conflicts = plan.map(|plan| plan.conflicts).unwrap_or_default();
    let is_contested = |conflict: &PathConflict| {
        matches!(conflict.why, ConflictWhy::Outside | ConflictWhy::AuthorUnknown)
    };
    Ok(match conflicts.iter().all(is_contested) {
        true => conflicts,
        false => Vec::new(),
    })
}

/// Returns a random UUID.
fn new_id() -> Result<String> {
    let secret = milepost::internals::new_secret()?;
    let hex: String = secret.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let (time, rest) = (part(0, 8), part(20, 32));
    // Version 4, variant 1.
    Ok(format!("{time}-{}-4{}-8{}-{rest}", part(8, 12), part(13, 16), part(17, 20)))
}
