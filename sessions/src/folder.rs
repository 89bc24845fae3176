//! Captures of the project's folder.

use milepost::calls::Conditions;
use milepost::events::{MarkCause, MarkStatus};
use milepost::limits::ID_MAX;
use milepost::{Engine, ErrorKind, Json, Mark, Result, Task};
use milepost_workspace::Workspace;
use serde_json::{Map, Value};

/// The actor of the events of an agent.
pub(crate) const ACTOR: &str = "agent";

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
    /// True if a call of another session ran at the same time.
    pub(crate) is_shared: bool,
    /// True if the tool ran before the capture was done.
    pub(crate) is_uncaptured: bool,
}

impl CallMark<'_> {
    fn mark(&self, mark: Mark) -> Mark {
        let mut facts = Map::new();
        facts.insert("tool".into(), self.tool.into());
        for (name, is) in [("shared", self.is_shared), ("uncaptured", self.is_uncaptured)] {
            if is {
                facts.insert(name.into(), true.into());
            }
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

/// Captures the folder before or after a call, or marks a checkpoint if there is no folder.
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
            let mark = || task.checkpoint(mark.clone()).map(|_| ());
            Conditions::new().key(key).during(mark)
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
