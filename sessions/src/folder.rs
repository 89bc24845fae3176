//! Captures of the project's folder.

use std::collections::BTreeSet;
use std::path::Path;

use milepost::calls::Conditions;
use milepost::events::{MarkCause, MarkStatus};
use milepost::limits::ID_MAX;
use milepost::{Engine, ErrorKind, Json, Mark, Result, Task};
use milepost_workspace::Workspace;
use serde_json::{Map, Value};

use crate::reach::Reach;

/// The actor of the events of an agent.
pub(crate) const ACTOR: &str = "agent";

/// The fact of a mark after a part of a call that runs on.
pub(crate) const RUNNING: &str = "running";

/// Number of attempts to append to the active lineage, which a restore may change.
const TRIES: usize = 3;

/// Facts about a call, for the mark of a capture.
#[derive(Debug, Clone)]
pub(crate) struct CallMark<'a> {
    /// The id of the call.
    pub(crate) call: &'a str,
    /// `agent`, or `agent:ID` for a sub-agent.
    pub(crate) actor: &'a str,
    pub(crate) tool: &'a str,
    /// Other sessions, calls of which ran at the same time.
    pub(crate) shared: &'a BTreeSet<String>,
    /// Paths that it may change, and those that the calls of these sessions may change.
    pub(crate) reach: &'a Reach,
    pub(crate) others: &'a Reach,
    /// True if the tool ran before the capture was done.
    pub(crate) is_uncaptured: bool,
    /// True for a mark after a part of the call: it runs on.
    pub(crate) is_running: bool,
    /// The folder that the call ran in, if captures of the project do not have it.
    pub(crate) elsewhere: Option<&'a Path>,
}

impl CallMark<'_> {
    fn mark(&self, mark: Mark) -> Mark {
        let mut facts = Map::new();
        facts.insert("tool".into(), self.tool.into());
        let is_shared = !self.shared.is_empty();
        let all =
            [("shared", is_shared), ("uncaptured", self.is_uncaptured), (RUNNING, self.is_running)];
        for (name, is) in all {
            if is {
                facts.insert(name.into(), true.into());
            }
        }
        if is_shared {
            facts.insert("with".into(), self.shared.iter().cloned().collect());
            facts.extend(self.others.fact().map(|paths| ("others".into(), paths)));
        }
        facts.extend(self.reach.fact().map(|paths| ("paths".into(), paths)));
        if let Some(folder) = self.elsewhere.and_then(Path::to_str) {
            facts.insert("folder".into(), folder.into());
        }
        let mark = mark.actor(self.actor).correlation(self.call);
        match Json::from_value(&Value::Object(facts)) {
            Ok(facts) => mark.metadata(facts),
            Err(_) => mark,
        }
    }

    /// Returns the mark before the call, which has the call's id as its alias.
    pub(crate) fn before(&self) -> Mark {
        let mark = self.mark(Mark::new().cause(MarkCause::BeforeTool));
        let is_alias = self.call.len() <= ID_MAX && !self.call.chars().any(char::is_control);
        if is_alias { mark.alias(self.call) } else { mark }
    }

    /// Returns the mark after the call.
    pub(crate) fn after(&self) -> Mark {
        self.mark(Mark::new().cause(MarkCause::Step).status(MarkStatus::Success))
    }
}

/// Returns the working directory of a call if captures of a project do not have it: it is outside,
/// or in another work tree of git, such as one that the session entered.
pub(crate) fn elsewhere<'a>(folder: Option<&'a Path>, project: &Path) -> Option<&'a Path> {
    let folder = folder.filter(|folder| folder.is_absolute())?;
    let real = milepost_agents::real(folder);
    let Ok(inside) = real.strip_prefix(project) else { return Some(folder) };
    let mut at = project.to_owned();
    let has_git = inside.components().any(|name| {
        at.push(name);
        at.join(".git").symlink_metadata().is_ok()
    });
    has_git.then_some(folder)
}

/// Captures the folder before or after a call, or marks a checkpoint without a folder.
pub(crate) fn capture_for_call(
    (engine, task): (&Engine, &str),
    workspace: Option<&Workspace>,
    mark: &Mark,
    key: &str,
) -> Result<()> {
    on_active(engine, task, |task| match workspace {
        Some(workspace) => {
            workspace.capture_for_call(engine, task, mark.clone(), Some(key)).map(|_| ())
        }
        None => {
            let mark = mark.clone().conditions(Conditions::new().key(key));
            task.checkpoint(mark).map(|_| ())
        }
    })
}

/// Captures the folder outside of calls.
pub(crate) fn capture(
    (engine, task): (&Engine, &str),
    workspace: Option<&Workspace>,
) -> Result<()> {
    let Some(workspace) = workspace else { return Ok(()) };
    on_active(engine, task, |task| workspace.capture_by(ACTOR, engine, task).map(|_| ()))
}

/// Works on the active lineage of a task, and again if a restore made another one active.
pub(crate) fn on_active<T>(
    engine: &Engine,
    task: &str,
    work: impl Fn(&Task) -> Result<T>,
) -> Result<T> {
    let mut tries = 0;
    loop {
        tries += 1;
        match work(&engine.task(task)?) {
            Err(error) if error.kind() == ErrorKind::Conflict && tries < TRIES => {}
            done => return done,
        }
    }
}
