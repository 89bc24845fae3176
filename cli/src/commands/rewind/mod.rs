//! `rewind`: takes a coding agent back to before a prompt, files and conversation.
//!
//! ```text
//! place        the session and the prompt that the user names
//! catch_up     what waits: documents in the spool, lines of the session file, a capture
//! history      the prompts of a session
//! route        the route back: its plan, and what is done
//! new_session  the new session file
//! print        the prompts and the plan, printed
//! ```

mod catch_up;
mod history;
mod new_session;
mod place;
mod print;
mod route;

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use milepost::events::MarkCause;
use milepost_api::TaskForm;

use self::history::History;
use self::new_session::Resume;
pub use self::new_session::remove_unused;
use self::place::{Named, Place};
use self::route::Route;
use super::checkpoint::{self, CheckpointArgs};
use super::command::{CliCommand, Examples, Run};
use super::confirm::confirm;
use super::under_agent;
use crate::args::FolderOptions;
use crate::backend::{Attempt, Backend, CheckpointsRequest, Local, asking_again};
use crate::error::{Failure, Result};
use crate::output::{Out, StoreOption, note, printable, words};
use crate::outside;
use crate::store_locator::{self, Opened, StoreArgs};
use crate::terminal;

/// Number of checkpoints among which the last prompt is looked for, and the size of a page of them.
const LOOKED_AT: usize = 50_000;
const PAGE: usize = 500;

/// Hint for a rewind without a conversation.
const FILES_ONLY: &str = "`--files-only` takes back the files";

/// Number of stores of folders that are gone that a hint names.
const NAMED: usize = 3;

/// Take a coding agent back to before a prompt: files and conversation. See docs/AGENTS.md.
#[derive(Debug, clap::Args)]
pub struct RewindArgs {
    /// The prompt: `prompt-2`, or `~1` for the last one, `~2` for the one before it. With the
    /// session in front: `SESSION@prompt-2`, `SESSION~1`. `@NAME` is a mark of yours. Default: pick
    /// one of the last session of this project.
    #[arg(value_name = "PROMPT")]
    pub place: Option<String>,
    /// List the prompts and marks of the session with the files that changed within each, and do
    /// nothing.
    #[arg(long, conflicts_with_all = ["files_only", "conversation_only", "yes", "resume"])]
    pub list: bool,
    /// Take back the files, and leave the conversation.
    #[arg(long, conflicts_with = "conversation_only")]
    pub files_only: bool,
    /// Take back the conversation, and leave the files.
    #[arg(long)]
    pub conversation_only: bool,
    #[command(flatten)]
    pub options: FolderOptions,
    /// Do it without a question.
    #[arg(short = 'y', long)]
    pub yes: bool,
    /// Start the agent in the conversation from before the prompt.
    #[arg(long, conflicts_with_all = ["files_only", "dry_run"])]
    pub resume: bool,
}

impl CliCommand for RewindArgs {
    const EXAMPLES: Examples = &[
        ("rewind", "list the prompts of this project's last session, and ask"),
        ("rewind --list", "the prompts, with the number of files that each changed"),
        ("rewind ~1 --dry-run", "what the last prompt did, and what would be taken back"),
        ("rewind prompt-2 --yes", "files and conversation as before the second prompt"),
    ];
    const RUN: Run<Self> = Run::Alone(run);
}

fn run(store: &StoreArgs, args: &RewindArgs, out: &mut Out) -> Result<()> {
    if is_bare(store, args)
        && terminal::is_possible(out)
        && recorded(store, args).is_err()
        && !store.is_nowhere()
        && !may_be_renamed()?
    {
        note("no session of a coding agent was recorded here: these are the checkpoints");
        let pick = CheckpointArgs { task: None, yes: false, description: None };
        return checkpoint::pick(store, &pick, out);
    }
    let resume = asking_again(|| taken_back(store, args, out))?;
    match resume.filter(|_| args.resume) {
        Some(resume) => {
            out.flush()?;
            start(&resume)
        }
        None => Ok(()),
    }
}

/// Returns `true` if the user names neither a store, a session, nor what to do with one.
fn is_bare(store: &StoreArgs, args: &RewindArgs) -> bool {
    let names_part = args.files_only || args.conversation_only || args.resume || args.yes;
    let is_named = store.named().is_some() || args.place.is_some();
    !is_named && !args.list && !names_part && !args.options.is_given()
}

/// Takes the session back, and returns the command that resumes it.
fn taken_back(
    store: &StoreArgs,
    args: &RewindArgs,
    out: &mut Out,
) -> Result<Attempt<Option<Resume>>> {
    let (opened, folder) = match store.named().is_some() {
        true => {
            // A folder that was moved is captured under its old path.
            let moved = args.options.moved.then(super::agent::project).transpose()?;
            (store.find(false, false, false)?, moved)
        }
        false => {
            let (project, dir) = recorded(store, args)?;
            if !args.conversation_only && super::agent::has_no_files(&project) {
                let shown = project.display();
                return Err(Failure::new(format!(
                    "no files are recorded in {shown}: it is no project"
                ))
                .hint("`--conversation-only` takes back the conversation"));
            }
            catch_up::spool(&project);
            store.name_of_project(&dir);
            (store.find_at(&dir)?, Some(project))
        }
    };
    let folder = folder.as_deref();
    match opened {
        Opened::Remote(there) => {
            let done = on(&there, folder, args, out);
            Ok(there.asked(done))
        }
        Opened::Local(engine) => {
            let done = on(&Local::new(&engine), folder, args, out);
            let closed = engine.close();
            let resume = done?;
            closed?;
            Ok(Attempt::Done(Ok(resume)))
        }
    }
}

/// Returns the project and its store: this one, or else the nearest folder above it that has
/// sessions. The home folder and those above it have sessions without files. Of a project whose
/// folder is gone, the store is found from a folder above it.
fn recorded(store: &StoreArgs, args: &RewindArgs) -> Result<(PathBuf, PathBuf)> {
    let project = super::agent::project()?;
    let store_of = |folder: &Path| outside::store_of(folder).filter(|store| store.is_dir());
    let above =
        project.ancestors().skip(1).take_while(|folder| !super::agent::has_no_files(folder));
    let found = std::iter::once(project.as_path()).chain(above).find_map(|folder| {
        let store = store_of(folder)?;
        Some((folder.to_owned(), store))
    });
    let session = Place::parse(args.place.as_deref())?.session;
    let has_session = |dir: &Path| match &session {
        Some(session) => is_in(store, dir, session),
        None => true,
    };
    if let Some(found) = found.as_ref().filter(|(_, dir)| has_session(dir)) {
        return Ok(found.clone());
    }
    let here = store_locator::here()?;
    let gone = outside::gone();
    let below = gone.iter().filter(|(project, _)| project.starts_with(&here));
    let mut below = below.filter(|(_, dir)| has_session(dir));
    match (below.next(), below.next(), found) {
        (Some(gone), None, None) => Ok(gone.clone()),
        (Some(gone), None, Some(_)) if session.is_some() => Ok(gone.clone()),
        (_, _, Some(found)) => Ok(found),
        (_, _, None) => Err(not_recorded(&project, &gone)),
    }
}

/// Returns `true` if a store has a session.
fn is_in(store: &StoreArgs, dir: &Path, session: &str) -> bool {
    match store.find_at(dir) {
        Ok(Opened::Remote(there)) => there.task(session).is_ok(),
        Ok(Opened::Local(engine)) => {
            let is_in = Local::new(&engine).task(session).is_ok();
            engine.close().is_ok() && is_in
        }
        Err(_) => false,
    }
}

/// Returns `true` if a folder with sessions, of which this one may be the new name, is gone.
fn may_be_renamed() -> Result<bool> {
    let project = super::agent::project()?;
    Ok(outside::gone().iter().any(|(old, _)| old.parent() == project.parent()))
}

/// Returns the failure for a folder without sessions. It names the stores of folders that are gone:
/// this one may be one of them, renamed.
fn not_recorded(project: &Path, gone: &[(PathBuf, PathBuf)]) -> Failure {
    let failure = Failure::new(format!("no session was recorded in {}", project.display()));
    // A folder is renamed more often than it is moved far away.
    let beside = |(old, _): &&(PathBuf, PathBuf)| old.parent() == project.parent();
    let likely = gone.iter().filter(beside).chain(gone.iter().filter(|one| !beside(one)));
    let named: Vec<String> = likely
        .take(NAMED)
        .map(|(old, store)| {
            let option = StoreOption::store(store);
            format!("those of {}: `milepost {option} rewind --list`", old.display())
        })
        .collect();
    match named.is_empty() {
        true => failure.hint("`milepost agent install NAME` records the next ones"),
        false => failure.hint(format!(
            "sessions of folders that are gone: {}; with `--moved` files go back in this folder",
            named.join("; ")
        )),
    }
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

/// Rewinds in a store. Returns the command that continues there.
fn on(
    source: &dyn Backend,
    folder: Option<&Path>,
    args: &RewindArgs,
    out: &mut Out,
) -> Result<Option<Resume>> {
    let place = Place::parse(args.place.as_deref())?;
    let (task, history) = session(source, place.session.as_deref())?;
    if history.prompts.is_empty() && history.has_prompts {
        return Err(before_the_first(&task));
    }
    if history.prompts.is_empty() && history.facts.is_some() {
        return Err(without_prompts(&task, &history));
    }
    if args.list {
        print::list(source, &task, &history, out)?;
        return Ok(None);
    }
    let target = match &place.prompt {
        Named::None => match print::pick(source, &task, &history, out)? {
            Some(named) => chosen(&history, &named)?,
            None => return Ok(None),
        },
        named => chosen(&history, named)?,
    };
    let gone = history.prompts.get(history.prompts_before(target.at)..).unwrap_or_default();
    if let Some(folder) = folder.filter(|_| !args.conversation_only) {
        catch_up::calls(source, folder, &task.id, &history);
    }
    let agent = under_agent::variable();
    let is_dry = args.options.dry_run || agent.is_some();
    let mut route = Route::of(source, args, (&task, &history), target.at, folder)?;
    // Without a terminal, and for a plan only, contested paths stay.
    let asks = !args.yes && !is_dry;
    route.make_plan(source, asks, out)?;
    print::plan(&task.id, (&target, gone), &route, is_dry, out)?;
    if let Some(agent) = agent {
        let again =
            format!("milepost rewind {}@{}", words::encode(&task.id), words::encode(&target.label));
        return Err(under_agent::failure(agent).hint(format!("the user goes back with `{again}`")));
    }
    if is_dry {
        return Ok(None);
    }
    confirm(args.yes, "", "Go back?", out)?;
    let form = route.go(source, out)?;
    print::went(&task, &form, &route, (&target, gone), out)?;
    Ok(route.resume)
}

/// Returns a session, or the one of the last prompt, with all that its file has by now.
fn session(source: &dyn Backend, id: Option<&str>) -> Result<(TaskForm, History)> {
    let task = match id {
        Some(id) => source.task(id)?,
        None => last_session(source)?,
    };
    let history = History::of(source, &task)?;
    if !catch_up::file(source, &history) {
        return Ok((task, history));
    }
    let task = source.task(&words::encode(&task.id))?;
    let history = History::of(source, &task)?;
    Ok((task, history))
}

/// Returns the session of the last prompt, in the order of the log: times are those of clocks, and
/// the end of another session is no prompt. A call is one where hooks tell no prompts.
fn last_session(source: &dyn Backend) -> Result<TaskForm> {
    let (mut cursor, mut seen) = (None, BTreeMap::new());
    for _ in 0..LOOKED_AT / PAGE {
        let asked = CheckpointsRequest { limit: PAGE, cursor, ..CheckpointsRequest::default() };
        let page = source.checkpoints(&asked)?;
        for mark in page.items {
            let is_prompt = history::is_prompt(&mark);
            if !is_prompt && mark.cause != MarkCause::BeforeTool {
                continue;
            }
            let (is_session, has_prompts) = match seen.get(&mark.task) {
                Some(known) => *known,
                None => {
                    let task = source.task(&words::encode(&mark.task))?;
                    let history = History::of(source, &task)?;
                    let known = (history.facts.is_some(), history.has_prompts);
                    seen.insert(mark.task.clone(), known);
                    known
                }
            };
            if is_session && (is_prompt || !has_prompts) {
                return source.task(&words::encode(&mark.task));
            }
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Err(Failure::new("no session with a prompt was recorded here")
        .hint("`milepost tasks` lists what was"))
}

/// The point to go back to: before a prompt, or at a mark of the user.
struct Target {
    label: String,
    at: u64,
    is_mark: bool,
}

/// Returns the named point.
fn chosen(history: &History, named: &Named) -> Result<Target> {
    let prompt = match named {
        Named::None => None,
        Named::Back(back) => history.prompts.len().checked_sub(*back),
        Named::Label(label) => history.prompts.iter().rposition(|prompt| prompt.label == *label),
    };
    let prompt = prompt.and_then(|place| history.prompts.get(place));
    let prompt = prompt.map(|it| Target { label: it.label.clone(), at: it.at, is_mark: false });
    let is_named = |own: &str| match named {
        Named::Label(label) => label == own || *label == words::encode(own),
        _ => false,
    };
    let mark = || history.marks.iter().rfind(|mark| is_named(&mark.label));
    let mark = || mark().map(|it| Target { label: it.label.clone(), at: it.at, is_mark: true });
    prompt.or_else(mark).ok_or_else(|| no_prompt(history))
}

/// The failure for a session that was rewound to before its first prompt.
fn before_the_first(task: &TaskForm) -> Failure {
    let id = words::encode(&task.id);
    let text = format!("session {} was taken back to before its first prompt", task.id);
    Failure::new(printable(&text).to_string()).hint(format!(
        "`milepost undo {id}` brings it back, `milepost lineages {id}` shows what was left"
    ))
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
    match (history.prompts.first(), history.prompts.last()) {
        (Some(first), Some(last)) => Failure::new("the session has no such prompt or mark")
            .hint(format!("it has {} to {}", first.label, last.label)),
        _ => Failure::new("the task has no prompts: it is no session of a coding agent")
            .hint("`milepost tasks` lists the tasks of the store"),
    }
}

/// Prints that a file stays after an undo, or is removed.
pub fn after_undo(source: &dyn Backend, task: &str, left: milepost::LineageId) {
    match remove_unused(source, task, left) {
        Ok(Some(path)) => note(&format!("{} is removed: no agent used it", path.display())),
        Ok(None) => {}
        Err(failure) => note(&format!("the session file of the rewind stays: {failure}")),
    }
}
