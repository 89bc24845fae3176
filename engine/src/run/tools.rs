//! Tool calls: recorded, those that read side by side, those that change something alone.

use milepost_codec::{Error, Json, Result, ToolCalled, ToolReturned};

use super::Run;
use crate::commit::append::Append;

/// What a call is going to touch, as far as that is known before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolEffects {
    /// How many files.
    pub files: u64,
    /// Whether something goes that cannot be made again: a delete, an overwrite.
    pub destructive: bool,
}

/// What a tool call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It reads only: others may run beside it.
    Reads,
    /// It changes something: it runs alone.
    Changes(ToolEffects),
}

impl Run {
    /// Records a call, does the work, records the return. Calls that read run side by side; one
    /// that changes something runs alone, and what it touches counts for the policy, which is asked
    /// before each call. Where the work fails, its error is the output of a return that is not
    /// `ok`, and comes back.
    ///
    /// ```
    /// use milepost::{Access, Engine, Error, Json, Options, Run, RunOptions, ToolCalled, ToolEffects};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let run = Run::of(engine.start_task("agent", "ana")?, RunOptions::default())?;
    /// let call = ToolCalled {
    ///     call: "call-1".into(),
    ///     tool: "remove".into(),
    ///     arguments: Json::new(r#"{"path": "old.txt"}"#)?,
    /// };
    /// let touches = ToolEffects { files: 1, destructive: true };
    /// run.tool(call, Access::Changes(touches), || Ok::<_, Error>(Json::string("removed")))?;
    /// assert_eq!(run.state()?.finished_calls, 1);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What the work gives; as [`Run::finish_step`] else. Where the call cannot be recorded the
    /// work is not done.
    pub fn tool<E>(
        &self,
        call: ToolCalled,
        access: Access,
        work: impl FnOnce() -> Result<Json, E>,
    ) -> Result<Json, E>
    where
        E: From<Error> + std::fmt::Display,
    {
        let (_reading, _alone);
        let touches = match access {
            Access::Reads => {
                _reading = self.shared.gate.read();
                ToolEffects::default()
            }
            Access::Changes(touches) => {
                _alone = self.shared.gate.write();
                touches
            }
        };
        self.shared.before_tool(&call.tool, touches)?;
        let (id, tool) = (call.call.clone(), Some(call.tool.clone()));
        match access {
            Access::Reads => self.append(call)?,
            // As it is before the call, whether the policy marks it or not.
            Access::Changes(_) => {
                let task = self.task();
                let mut captured = task.engine().captured(&task, |_| true)?;
                let mut bodies = std::mem::take(&mut captured.bodies);
                bodies.push(call.into());
                self.append(Append::batch(bodies))?
            }
        };
        self.touched(touches.files, touches.destructive);
        let done = work();
        let (ok, output) = match &done {
            Ok(output) => (true, output.clone()),
            Err(error) => (false, Json::string(&error.to_string())),
        };
        self.append(ToolReturned { call: id, tool, ok, output: Some(output) })?;
        done
    }
}
