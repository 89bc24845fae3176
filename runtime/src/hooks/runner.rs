//! External commands as hooks.

use std::sync::Arc;
use std::time::Duration;

use milepost::hooks::{Alert, AlertKind, HookContext, TaskId, WorkspaceChange};
use milepost::{Checkpoint, Event, Hook, Mark, Point, Task};

use super::command::{CommandHook, HookPoint};
use super::document::{About, Big, Document, RestoreForm, Where};
use super::process::{self, Failed};
use super::queue::CommandQueue;

/// Time beyond its limit that closing waits for a command, since killing takes time.
const GRACE: Duration = Duration::from_secs(5);

/// The commands of a configuration. Each opening of a store has its own runners and queue, since
/// the same options may open several stores.
pub(super) struct Commands(pub(super) Vec<CommandHook>);

impl Hook for Commands {
    fn name(&self) -> &str {
        "commands"
    }

    fn opened(&self, store: &HookContext) -> Option<Vec<Arc<dyn Hook>>> {
        let queue = Arc::new(CommandQueue::default());
        let runner = |(n, hook): (usize, &CommandHook)| {
            let hook = CommandRunner::new(hook.clone(), Arc::clone(&queue), store.nth(n));
            Arc::new(hook) as Arc<dyn Hook>
        };
        Some(self.0.iter().enumerate().map(runner).collect())
    }
}

/// A command as a hook of an open store. Cheap to clone.
#[derive(Clone)]
struct CommandRunner {
    shared: Arc<Shared>,
}

struct Shared {
    hook: CommandHook,
    name: String,
    queue: Arc<CommandQueue>,
    store: HookContext,
}

/// One call of a command.
struct Call {
    runner: CommandRunner,
    point: HookPoint,
    task: Option<String>,
    document: Vec<u8>,
}

impl CommandRunner {
    fn new(hook: CommandHook, queue: Arc<CommandQueue>, store: HookContext) -> Self {
        let name = hook.argv().first().cloned().unwrap_or_default();
        Self { shared: Arc::new(Shared { hook, name, queue, store }) }
    }

    fn is_on(&self, point: HookPoint) -> bool {
        self.shared.hook.points().contains(&point)
    }

    fn call(&self, point: HookPoint, place: Where<'_>, about: About<'_>) -> Call {
        let store = &self.shared.store;
        let dir = store.store().map(|dir| dir.display().to_string());
        let document = Document::new(point, dir.as_deref(), place, store.clock().now_us(), about);
        let document = document.line();
        let task = place.task.map(str::to_owned);
        Call { runner: self.clone(), point, task, document }
    }

    /// Runs a call for a `before` point, on the caller's thread.
    fn before(&self, call: Call) -> Result<(), String> {
        match call.run_and_report() {
            Err(failed) if self.shared.hook.has_veto() => Err(failed.reason().to_owned()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Queues a call for the thread of the commands.
    fn later(&self, call: Call) {
        self.shared.queue.push(Box::new(move || {
            let _ = call.run_and_report();
        }));
    }
}

impl Call {
    fn run(&self) -> Result<(), Failed> {
        let Shared { hook, store, .. } = &*self.runner.shared;
        let store = store.store().and_then(|store| std::path::absolute(store).ok());
        let about = (self.point.name(), store.as_deref());
        process::run(hook.argv(), about, &self.document, hook.time_limit())
    }

    /// Returns the message of a failure, after it is logged.
    fn logged(&self, failed: &Failed) -> String {
        let (name, point) = (&self.runner.shared.name, self.point);
        let message = format!("the hook {name} at {point} failed: {failed}");
        tracing::warn!("{message}");
        message
    }

    /// Runs the command. A failure is reported to the other hooks on the thread of the commands.
    fn run_and_report(self) -> Result<(), Failed> {
        self.run().inspect_err(|failed| {
            let message = self.logged(failed);
            let (store, task) = (self.runner.shared.store.clone(), self.task.clone());
            self.runner.shared.queue.push(Box::new(move || store.failed(task, message)));
        })
    }
}

impl Hook for CommandRunner {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn flush(&self, at_most: Duration) {
        self.shared.queue.flush(at_most);
    }

    fn longest_call(&self) -> Duration {
        self.shared.hook.time_limit() + GRACE
    }

    fn before_checkpoint(&self, task: &Task, mark: &Mark) -> Result<(), String> {
        let point = HookPoint::BeforeCheckpoint;
        if !self.is_on(point) {
            return Ok(());
        }
        let head = || task.head().ok().map(|head| head.next);
        let place = Where {
            task: Some(task.id()),
            lineage: Some(task.lineage().id()),
            offset: mark.offset().or_else(head),
        };
        self.before(self.call(point, place, About::Checkpoint(mark.into())))
    }

    fn after_checkpoint(&self, _: &Task, checkpoint: &Checkpoint) {
        let point = HookPoint::AfterCheckpoint;
        if !self.is_on(point) {
            return;
        }
        let place = Where {
            task: Some(&checkpoint.task),
            lineage: Some(checkpoint.lineage),
            offset: Some(checkpoint.at),
        };
        self.later(self.call(point, place, About::Checkpoint(checkpoint.into())));
    }

    fn before_restore(&self, to: &Point) -> Result<(), String> {
        let point = HookPoint::BeforeRestore;
        if !self.is_on(point) {
            return Ok(());
        }
        let place =
            Where { task: Some(&to.task), lineage: Some(to.lineage), offset: Some(to.offset) };
        let restore =
            RestoreForm { address: to.to_string(), checkpoint: to.checkpoint, epoch: None };
        self.before(self.call(point, place, About::Restore(restore)))
    }

    fn after_restore(&self, task: &Task) {
        let point = HookPoint::AfterRestore;
        if !self.is_on(point) {
            return;
        }
        let head = task.head().ok().map(|head| head.next);
        let place =
            Where { task: Some(task.id()), lineage: Some(task.lineage().id()), offset: head };
        let address = task.point(head.unwrap_or_default());
        let restore = RestoreForm {
            address: address.map_or_else(|_| task.id().to_owned(), |point| point.to_string()),
            checkpoint: None,
            epoch: Some(Big(task.epoch())),
        };
        self.later(self.call(point, place, About::Restore(restore)));
    }

    fn on_workspace(&self, change: &WorkspaceChange) {
        let point = HookPoint::Workspace;
        if !self.is_on(point) {
            return;
        }
        let place = Where { task: Some(&change.task), ..Where::default() };
        self.later(self.call(point, place, About::Workspace(change.into())));
    }

    fn on_alert(&self, alert: &Alert) {
        let point = HookPoint::Alert;
        if !self.is_on(point) {
            return;
        }
        let place = Where { task: alert.task.as_deref(), ..Where::default() };
        let call = self.call(point, place, About::Alert(alert.into()));
        if alert.kind != AlertKind::HookFailed {
            self.later(call);
        } else {
            // A failure of this call is only logged. Otherwise two failing hooks would alert each
            // other for ever.
            self.shared.queue.push(Box::new(move || {
                let _ = call.run().inspect_err(|failed| drop(call.logged(failed)));
            }));
        }
    }

    fn wants_events(&self) -> bool {
        self.is_on(HookPoint::Event)
    }

    fn on_event(&self, task: &TaskId, event: &Event) {
        if !self.shared.hook.wants(event.header.kind) {
            return;
        }
        let place = Where {
            task: Some(&task.id),
            lineage: Some(event.lineage),
            offset: Some(event.offset),
        };
        let point = HookPoint::Event;
        let call = self.call(point, place, About::Event(event.into()));
        let _ = call.run_and_report();
    }
}
