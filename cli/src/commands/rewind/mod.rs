//! `rewind`: takes a coding agent back to before a prompt, files and conversation.
//!
//! ```text
//! place     the session and the prompt that the user names
//! history   the prompts of a session, and the new session file
//! print     the prompts and the plan, printed
//! ```

mod history;
mod place;
mod print;

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use milepost::{LineageId, Scope};
use milepost_agents::Environment;
use milepost_api::{FilesAsked, FilesForm, FolderAsked, JobAsked, JobResult, PointForm, TaskForm};
use milepost_formats::session_description;
use milepost_workspace::{ConflictWhy, PathConflict, Plan, TreePath};

use self::history::{History, NewSession, Prompt};
use self::place::{Named, Place};
use super::confirm::confirm;
use super::workspace_args;
use crate::args;
use crate::backend::jobs::{JobFailed, Wording};
use crate::backend::{Backend, Local, named};
use crate::error::{Failure, Result};
use crate::output::{JobBar, Out, note, words};
use crate::outside;
use crate::store_locator::{Opened, StoreArgs};

/// Number of tasks among which the last session is looked for.
const LOOKED_AT: usize = 100;

/// Variables that agents set for the programs that they run.
const AGENTS: [&str; 5] =
    ["CLAUDECODE", "CODEX_SESSION_ID", "GEMINI_CLI", "QWEN_CODE", "COPILOT_CLI"];

pub fn run(store: &StoreArgs, args: &args::Rewind, out: &mut Out) -> Result<()> {
    let (opened, folder) = match store.named().is_some() {
        true => (store.find(false, false)?, None),
        false => {
            let project = super::agent::project()?;
            let dir = outside::store_of(&project).filter(|dir| dir.is_dir()).ok_or_else(|| {
                Failure::new(format!("no session was recorded in {}", project.display()))
                    .hint("`milepost agent install NAME` records the next ones")
            })?;
            (store.find_at(&dir)?, Some(project))
        }
    };
    let folder = folder.as_deref();
    match opened {
        Opened::Remote(there) => on(&there, folder, args, out),
        Opened::Local(engine) => {
            let done = on(&Local(&engine), folder, args, out);
            let closed = engine.close();
            done?;
            Ok(closed?)
        }
    }
}

/// The way back that was chosen.
struct Way<'a> {
    task: &'a TaskForm,
    to: PointForm,
    scope: Scope,
    /// The folder, and what is decided about its paths.
    files: FolderAsked,
    /// The new session, unless only files are taken back.
    session: Option<NewSession>,
}

fn on(
    source: &dyn Backend,
    folder: Option<&Path>,
    args: &args::Rewind,
    out: &mut Out,
) -> Result<()> {
    let place = Place::parse(args.place.as_deref())?;
    let (task, history) = session(source, place.session.as_deref())?;
    let chosen = match chosen(&history, &place.prompt)? {
        Some(chosen) => chosen,
        None => match print::pick(&task, &history, out)? {
            Some(chosen) => chosen,
            None => return Ok(()),
        },
    };
    let gone = history.prompts.get(chosen..).unwrap_or_default();
    let Some(prompt) = gone.first() else { return Err(no_prompt(&history)) };
    let mut way = way(source, (args, folder), (&task, &history), prompt)?;
    let plan = plan(source, args, &mut way, out)?;
    print::plan(&way.task.id, gone, plan.as_ref(), way.session.as_ref(), out)?;
    if args.options.dry_run {
        return print::dry(out);
    }
    if let Some(agent) = AGENTS.iter().find(|name| std::env::var_os(name).is_some()) {
        let again = format!("milepost rewind {}@{}", words::encode(&task.id), prompt.label);
        return Err(Failure::new(format!("an agent runs this ({agent} is set): nothing was done"))
            .hint(format!("the user goes back with `{again}`")));
    }
    confirm(args.yes, "", "Go back?")?;
    go(source, args, &way, out)
}

/// Returns a session, or the last one that has prompts.
fn session(source: &dyn Backend, id: Option<&str>) -> Result<(TaskForm, History)> {
    if let Some(id) = id {
        let task = source.task(id)?;
        let history = History::of(source, &task)?;
        return Ok((task, history));
    }
    let mut tasks = source.summaries(None, LOOKED_AT, None)?.items;
    tasks.sort_by_key(|task| std::cmp::Reverse(task.changed_us.0));
    for task in tasks {
        let task = source.task(&words::encode(&task.id))?;
        let history = History::of(source, &task)?;
        if !history.prompts.is_empty() && history.facts.is_some() {
            return Ok((task, history));
        }
    }
    Err(Failure::new("no session with a prompt was recorded here")
        .hint("`milepost tasks` lists what was"))
}

/// Returns the index of the chosen prompt. `None`: none was named.
fn chosen(history: &History, named: &Named) -> Result<Option<usize>> {
    let found = match named {
        Named::None => return Ok(None),
        Named::Back(back) => history.prompts.len().checked_sub(*back),
        Named::Label(label) => history.prompts.iter().rposition(|prompt| prompt.label == *label),
    };
    found.map(Some).ok_or_else(|| no_prompt(history))
}

fn no_prompt(history: &History) -> Failure {
    let failure = Failure::new("the session has no such prompt");
    match (history.prompts.first(), history.prompts.last()) {
        (Some(first), Some(last)) => {
            failure.hint(format!("it has {} to {}", first.label, last.label))
        }
        _ => failure.hint("`milepost rewind` without a prompt takes the last session"),
    }
}

fn way<'a>(
    source: &dyn Backend,
    (args, folder): (&args::Rewind, Option<&Path>),
    (task, history): (&'a TaskForm, &History),
    prompt: &Prompt,
) -> Result<Way<'a>> {
    let to = source.point(&words::address(&task.id, task.active, prompt.at))?;
    let scope = match (args.files_only, args.conversation_only) {
        (true, _) => Scope::Files,
        (_, true) => Scope::State,
        _ => Scope::All,
    };
    let session = match (scope, &history.facts) {
        (Scope::Files, _) => None,
        (_, Some(facts)) => {
            let environment = Environment::new(|name| std::env::var_os(name));
            Some(NewSession::of(source, facts, &to, new_id()?, &environment)?)
        }
        (_, None) => {
            return Err(Failure::new("no hook told where the session's file is")
                .hint("`--files-only` takes back the files"));
        }
    };
    let mut files = workspace_args::folder(folder, &args.options)?;
    files.choices.leave_others = true;
    Ok(Way { task, to, scope, files, session })
}

/// Returns a random UUID.
fn new_id() -> Result<String> {
    let secret = milepost::internals::new_secret()?;
    let hex: String = secret.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
    // Version 4, variant 1.
    Ok(format!(
        "{}-{}-4{}-8{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    ))
}

fn job(way: &Way<'_>, dry_run: bool) -> JobAsked {
    JobAsked::Restore(FilesAsked {
        to: named(&way.to),
        scope: way.scope,
        files: FolderAsked { dry_run, ..way.files.clone() },
        description: way.session.as_ref().map(|session| session_description(&session.id)),
    })
}

/// Returns the plan of the files, unless they stay. Paths that the agent and others changed are
/// decided by the user. Other conflicts are printed, and end it.
fn plan(
    source: &dyn Backend,
    args: &args::Rewind,
    way: &mut Way<'_>,
    out: &mut Out,
) -> Result<Option<Plan>> {
    if way.scope == Scope::State {
        return Ok(None);
    }
    loop {
        let done = source.job(&job(way, true), JobBar::new(!out.json));
        let contested = match &done {
            Err(failed) => contested(failed)?,
            Ok(_) => Vec::new(),
        };
        if contested.is_empty() || args.options.dry_run {
            let form = workspace_args::done(done, &Wording::default(), out)?;
            return workspace_args::plan(&form);
        }
        for path in contested {
            match args.yes || !print::asks_to_take(&path)? {
                true => way.files.choices.keep_mine.push(path),
                false => way.files.choices.theirs.push(path),
            }
        }
    }
}

/// Returns the paths of a plan that others changed, too, if these are all that is in the way.
fn contested(failed: &JobFailed) -> Result<Vec<TreePath>> {
    let plan = match failed.result.as_deref() {
        Some(JobResult::Restore(form)) => workspace_args::plan(form)?,
        _ => None,
    };
    let conflicts = plan.map(|plan| plan.conflicts).unwrap_or_default();
    let is_contested = |conflict: &PathConflict| {
        matches!(conflict.why, ConflictWhy::Outside | ConflictWhy::AuthorUnknown)
    };
    Ok(match conflicts.iter().all(is_contested) {
        true => conflicts.into_iter().filter_map(|conflict| conflict.path).collect(),
        false => Vec::new(),
    })
}

/// Writes the new session file and goes back.
fn go(source: &dyn Backend, args: &args::Rewind, way: &Way<'_>, out: &mut Out) -> Result<()> {
    if let Some(session) = &way.session {
        write(session)?;
    }
    let done = match way.scope {
        Scope::State => {
            let description = way.session.as_ref().map(|session| session_description(&session.id));
            source.restore(&way.to, description.as_deref()).map(|restored| FilesForm {
                task: way.task.id.clone(),
                folder: None,
                files: None,
                restored: Some(restored),
                recovered: None,
            })
        }
        _ => {
            let done = source.job(&job(way, false), JobBar::new(!out.json));
            workspace_args::done(done, &Wording::default(), out)
        }
    };
    let form = match done {
        Ok(form) => form,
        Err(failure) => {
            if let Some(session) = &way.session {
                // Nothing was taken back: the file has no use.
                let _ = std::fs::remove_file(&session.path);
            }
            return Err(failure);
        }
    };
    print::went(way.task, &form, way.session.as_ref(), out)?;
    if args.resume
        && let Some(session) = &way.session
    {
        out.flush()?;
        let [program, arguments @ ..] = session.command();
        let error = std::process::Command::new(program).args(arguments).exec();
        note(&format!("{program} cannot be started: {error}"));
    }
    Ok(())
}

/// Removes the session file that a rewind wrote, after the undo of that rewind, unless the agent
/// used it. Returns its place.
pub fn remove_unused(source: &dyn Backend, task: &str, left: LineageId) -> Result<Option<PathBuf>> {
    let lineages = source.lineages(task)?;
    let Some(lineage) = lineages.into_iter().find(|lineage| lineage.id == left) else {
        return Ok(None);
    };
    let begin = session_description("");
    let id = lineage.description.as_deref().and_then(|text| text.strip_prefix(&begin));
    let (Some(id), Some(parent)) = (id, lineage.parent) else { return Ok(None) };
    let task = source.task(&words::encode(task))?;
    let Some(facts) = History::of(source, &task)?.facts else { return Ok(None) };
    let to = source.point(&words::address(&task.id, parent.lineage, parent.offset.0))?;
    let environment = Environment::new(|name| std::env::var_os(name));
    let session = NewSession::of(source, &facts, &to, id.to_owned(), &environment)?;
    match std::fs::read(&session.path) {
        Ok(bytes) if bytes == session.bytes => {
            std::fs::remove_file(&session.path)?;
            Ok(Some(session.path))
        }
        _ => Ok(None),
    }
}

/// Writes a session file under a name that is not there.
fn write(session: &NewSession) -> Result<()> {
    let failed = |error: std::io::Error| {
        Failure::new(format!("cannot write {}: {error}", session.path.display()))
    };
    let folder = session.path.parent().unwrap_or(&session.path);
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(&session.bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist_noclobber(&session.path).map_err(|error| failed(error.error))?;
    Ok(())
}
