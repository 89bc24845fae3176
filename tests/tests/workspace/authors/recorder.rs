//! Records calls of tools of an agent as a recorder does: a capture before and after each.

use milepost::events::{MarkCause, Message, ToolCalled, ToolReturned};
use milepost::{Append, Json, Mark, Offset};
use milepost_workspace::CaptureReport;

use crate::workspace::Scene;

/// Declaration of a mark about the changes around it.
pub const SHARED: &str = r#"{"shared": true}"#;
pub const UNCAPTURED: &str = r#"{"uncaptured": true}"#;

/// Declaration of a mark after a part of a call.
pub const RUNNING: &str = r#"{"running": true}"#;

impl Scene {
    /// Captures the folder with a mark of this cause.
    fn mark(&self, mark: Mark, actor: &str, says: Option<&str>) -> CaptureReport {
        let task = self.engine.task("t").unwrap();
        let mark = mark.actor(actor);
        let mark = match says {
            Some(says) => mark.metadata(Json::new(says).unwrap()),
            None => mark,
        };
        self.workspace.capture_for_call(&self.engine, &task, mark, None).unwrap()
    }

    /// Captures before a call, as the first part of one that begins.
    pub fn before(&self, actor: &str, call: &str, says: Option<&str>) -> CaptureReport {
        let mark = Mark::new().cause(MarkCause::BeforeTool).alias(call).correlation(call);
        self.mark(mark, actor, says)
    }

    /// Records that a call began.
    pub fn called(&self, actor: &str, call: &str) {
        let (tool, arguments) = ("shell".into(), Json::new("{}").unwrap());
        let called = ToolCalled { call: call.into(), tool, arguments };
        self.append(Append::from(called).actor(actor).correlation(call));
    }

    /// Records that a call returned.
    pub fn returned(&self, actor: &str, call: &str) {
        let returned = ToolReturned { call: call.into(), tool: None, ok: true, output: None };
        self.append(Append::from(returned).actor(actor).correlation(call));
    }

    /// Captures after a call.
    pub fn after(&self, actor: &str, call: &str, says: Option<&str>) -> CaptureReport {
        let mark = Mark::new().cause(MarkCause::Step).correlation(call);
        self.mark(mark, actor, says)
    }

    /// Captures without a call, as at a prompt.
    pub fn prompt(&self) -> CaptureReport {
        self.append(Append::from(Message::text("user", "go on")).actor("user"));
        self.mark(Mark::new(), "agent", None)
    }

    /// Records a whole call in which the run does something.
    pub fn call(&self, call: &str, work: impl FnOnce()) {
        self.before("agent", call, None);
        self.called("agent", call);
        work();
        self.returned("agent", call);
        self.after("agent", call, None);
    }

    pub fn append(&self, append: Append) {
        self.engine.task("t").unwrap().append(append).unwrap();
    }

    /// Erases an event of the active lineage.
    pub fn erase(&self, offset: Offset) {
        let task = self.engine.task("t").unwrap();
        let point = task.point(offset).unwrap();
        self.engine.retention().erase(&point, None).unwrap();
    }
}
