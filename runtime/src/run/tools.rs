//! Tool calls: recorded, and run concurrently if they only read, exclusively otherwise.

use milepost::events::{ToolCalled, ToolReturned};
use milepost::{Append, Error, Json, Result};

use super::Run;
use super::policy::ToolEffects;

/// The access of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads only: other such calls may run at the same time.
    Reads,
    /// Changes something: the call runs alone.
    Changes(ToolEffects),
}

impl Run {
    /// Records a call, does the work, and records the return. Calls that only read run
    /// concurrently; a call that changes something runs alone. Its effects count for the policy,
    /// which is asked before each call. If the work fails, its error is returned, and recorded as
    /// the output of a return that is not `ok`.
    ///
    /// ```
    /// use milepost_runtime::run::{Access, Run, RunOptions};
    /// use milepost::{Engine, Error, Json, Options};
    /// use milepost::events::ToolCalled;
    /// use milepost_runtime::run::ToolEffects;
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
    /// Errors of the work, and of [`Run::finish_step`]. The work is not done if the call cannot be
    /// recorded.
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
            Access::Reads => {
                self.append(call)?;
            }
            Access::Changes(_) => self.append_after_capture(call)?,
        }
        self.touched(touches.files, touches.destructive);
        let done = work();
        let (ok, output) = match &done {
            Ok(output) => (true, output.clone()),
            Err(error) => (false, Json::string(&error.to_string())),
        };
        self.append(ToolReturned { call: id, tool, ok, output: Some(output) })?;
        done
    }

    /// Records a call after captures of the state before it, even if the policy marks no
    /// checkpoint. While the store fails there are no captures; without a failover engine a
    /// capture that fails is an error, whatever the reason.
    fn append_after_capture(&self, call: ToolCalled) -> Result<()> {
        let append = self.shared.in_context(Append::from(call));
        if self.shared.failing().is_none() {
            match self.task().append(append.clone().after_capture()) {
                Err(error) if self.shared.reopens() && self.shared.continues_without(&error) => {
                    self.shared.report(&error);
                }
                recorded => return recorded.map(|_| ()),
            }
        }
        self.shared.write(append).map(|_| ())
    }
}
