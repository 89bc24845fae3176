//! `rewind`: takes a coding agent back to before a prompt, files and conversation.
//!
//! ```text
//! place        the session and the prompt that the user names
//! catch_up     what waits: documents in the spool, lines of the session file, a capture
//! history      the prompts of a session
//! way          the way back: its plan, and what is done
//! new_session  the new session file
//! print        the prompts and the plan, printed
//! ```

mod catch_up;
mod history;
mod new_session;
mod place;
mod print;
mod way;

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use milepost_api::TaskForm;

use self::history::History;
use self::new_session::Resume;
pub use self::new_session::remove_unused;
use self::place::{Named, Place};
use self::way::Way;
use super::confirm::confirm;
use super::under_agent;
use crate::args;
use crate::backend::{Backend, Local};
use crate::error::{Failure, Result};
use crate::output::{Out, note, printable, words};
use crate::outside;
use crate::store_locator::{Opened, StoreArgs};

/// Number of tasks among which the last session is looked for.
const LOOKED_AT: usize = 100;

pub fn run(store: &StoreArgs, args: &args::Rewind, out: &mut Out) -> Result<()> {
    let (opened, folder) = match store.named().is_some() {
        true => (store.find(false, false)?, None),
        false => {
            let (project, dir) = recorded(&super::agent::project()?)?;
            if !args.conversation_only && super::agent::has_no_files(&project) {
                let shown = project.display();
                return Err(Failure::new(format!(
                    "no files are recorded in {shown}: it is no project"
                ))
                .hint("`--conversation-only` takes back the conversation"));
            }
            catch_up::spool(&project);
            (store.find_at(&dir)?, Some(project))
        }
    };
    let folder = folder.as_deref();
    let resume = match opened {
        Opened::Remote(there) => on(&there, folder, args, out)?,
        Opened::Local(engine) => {
            let done = on(&Local(&engine), folder, args, out);
            let closed = engine.close();
            let resume = done?;
            closed?;
            resume
        }
    };
    match resume.filter(|_| args.resume) {
        Some(resume) => {
            out.flush()?;
            start(&resume)
        }
        None => Ok(()),
    }
}

/// Returns the project and its store: this one, or else the nearest folder above it that has
/// sessions. The home folder and those above it have sessions without files.
fn recorded(project: &Path) -> Result<(PathBuf, PathBuf)> {
    let store = |folder: &Path| outside::store_of(folder).filter(|store| store.is_dir());
    let above =
        project.ancestors().skip(1).take_while(|folder| !super::agent::has_no_files(folder));
    let found = std::iter::once(project).chain(above).find_map(|folder| {
        let store = store(folder)?;
        Some((folder.to_owned(), store))
    });
    found.ok_or_else(|| {
        Failure::new(format!("no session was recorded in {}", project.display()))
            .hint("`milepost agent install NAME` records the next ones")
    })
}

/// Becomes the agent, in the folder of the session.
fn start(resume: &Resume) -> Result<()> {
    let mut command = std::process::Command::new(&resume.program);
    command.args(&resume.arguments);
    if let Some(root) = &resume.root {
        command.current_dir(root);
    }
    let error = command.exec();
    Err(Failure::new(format!("{} cannot be started: {error}", resume.program))
        .hint("the way back is done; start the agent yourself"))
}

/// Goes back in a store. Returns the command that continues there.
fn on(
    source: &dyn Backend,
    folder: Option<&Path>,
    args: &args::Rewind,
    out: &mut Out,
) -> Result<Option<Resume>> {
    let place = Place::parse(args.place.as_deref())?;
    let (task, history) = session(source, place.session.as_deref())?;
    if history.prompts.is_empty() && history.facts.is_some() {
        return Err(without_prompts(&task, &history));
    }
    if args.list {
        print::list(source, &task, &history, out)?;
        return Ok(None);
    }
    let chosen = match chosen(&history, &place.prompt)? {
        Some(chosen) => chosen,
        None => match print::pick(source, &task, &history, out)? {
            Some(chosen) => chosen,
            None => return Ok(None),
        },
    };
    let gone = history.prompts.get(chosen..).unwrap_or_default();
    let Some(prompt) = gone.first() else { return Err(no_prompt(&history)) };
    if let Some(folder) = folder.filter(|_| !args.conversation_only) {
        catch_up::folder(source, &task.id, &history, folder);
    }
    let agent = under_agent::variable();
    let is_dry = args.options.dry_run || agent.is_some();
    let mut way = Way::of(source, args, (&task, &history), prompt, folder)?;
    // Without a terminal, and for a plan only, contested paths stay.
    let asks = !args.yes && !is_dry;
    way.make_plan(source, asks, out)?;
    print::plan(&task.id, gone, &way, is_dry, out)?;
    if let Some(agent) = agent {
        let again = format!("milepost rewind {}@{}", words::encode(&task.id), prompt.label);
        return Err(under_agent::failure(agent).hint(format!("the user goes back with `{again}`")));
    }
    if is_dry {
        return Ok(None);
    }
    confirm(args.yes, "", "Go back?", out)?;
    let form = way.go(source, out)?;
    print::went(&task, &form, &way, out)?;
    Ok(way.resume)
}

/// Returns a session, or the last one that has prompts, with all that its file has by now.
fn session(source: &dyn Backend, id: Option<&str>) -> Result<(TaskForm, History)> {
    let caught_up = |task: TaskForm, history: History| -> Result<(TaskForm, History)> {
        if !catch_up::file(source, &history) {
            return Ok((task, history));
        }
        let task = source.task(&words::encode(&task.id))?;
        let history = History::of(source, &task)?;
        Ok((task, history))
    };
    if let Some(id) = id {
        let task = source.task(id)?;
        let history = History::of(source, &task)?;
        return caught_up(task, history);
    }
    let mut tasks = source.summaries(None, None, LOOKED_AT, None)?.items;
    tasks.sort_by_key(|task| std::cmp::Reverse(task.changed_us.0));
    let mut without = None;
    for task in tasks {
        let task = source.task(&words::encode(&task.id))?;
        let history = History::of(source, &task)?;
        if history.facts.is_some() {
            let (task, history) = caught_up(task, history)?;
            // One with calls and no prompt is the last session all the same.
            if !history.prompts.is_empty() || history.has_calls {
                return Ok((task, history));
            }
            without.get_or_insert((task, history));
        }
    }
    // The last session that has files, and no conversation.
    without.ok_or_else(|| {
        Failure::new("no session with a prompt was recorded here")
            .hint("`milepost tasks` lists what was")
    })
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

/// The failure for a session without a prompt.
fn without_prompts(task: &TaskForm, history: &History) -> Failure {
    let id = words::encode(&task.id);
    let agent = history.facts.as_ref().map_or("its agent", |facts| facts.agent.as_str());
    let why = match agent {
        "cline" => ": cline tells Milepost its calls, and not what it is asked",
        _ => "",
    };
    let text = format!("no prompt of session {} is recorded{why}", task.id);
    Failure::new(printable(&text).to_string()).hint(format!(
        "`milepost log {id}` lists the calls; `milepost rollback {id}@CALL --leave-others` takes \
         the files back to before one"
    ))
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

/// Says that a file stays after an undo, or is gone.
pub fn after_undo(source: &dyn Backend, task: &str, left: milepost::LineageId) {
    match remove_unused(source, task, left) {
        Ok(Some(path)) => note(&format!("{} is removed: no agent used it", path.display())),
        Ok(None) => {}
        Err(failure) => note(&format!("the session file of the rewind stays: {failure}")),
    }
}
