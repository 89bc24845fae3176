//! External commands as hooks of one engine.

use std::sync::Arc;

use milepost_replay::Event;
use milepost_store::clock::Clock;

use super::command::{CommandHook, HookPoint};
use super::document::{About, Document, RestoreForm, Where};
use super::process::{self, Failed};
use super::queue::DeliveryQueue;
use super::{Alert, AlertKind, Hook, TaskId, WorkspaceChange};
use crate::handles::task::Task;
use crate::history::checkpoint::{Checkpoint, Mark};
use crate::history::point::Point;

/// A command bound to one engine. Cheap to clone.
#[derive(Clone)]
pub(super) struct CommandRunner {
    shared: Arc<Shared>,
}

struct Shared {
    hook: CommandHook,
    name: String,
    /// The position among the hooks of the engine.
    place: usize,
    store: Option<String>,
    clock: Arc<dyn Clock>,
    feed: Arc<DeliveryQueue>,
}

impl CommandRunner {
    pub(super) fn new(
        hook: CommandHook,
        place: usize,
        store: Option<String>,
        clock: Arc<dyn Clock>,
        feed: Arc<DeliveryQueue>,
    ) -> Self {
        let name = hook.argv().first().cloned().unwrap_or_default();
        let shared = Arc::new(Shared { hook, name, place, store, clock, feed });
        Self { shared }
    }

    fn is_on(&self, point: HookPoint) -> bool {
        self.shared.hook.points().contains(&point)
    }

    fn document(&self, point: HookPoint, place: Where<'_>, about: About<'_>) -> Vec<u8> {
        let store = self.shared.store.as_deref();
        Document::new(point, store, place, self.shared.clock.now_us(), about).line()
    }

    fn run(&self, point: HookPoint, document: &[u8]) -> Result<(), Failed> {
        let hook = &self.shared.hook;
        process::run(hook.argv(), point.name(), document, hook.time_limit())
    }

    /// Runs the command. A failure is reported to the other hooks on the hooks' own thread.
    fn run_told(
        &self,
        point: HookPoint,
        task: Option<&str>,
        document: &[u8],
    ) -> Result<(), Failed> {
        let failed = match self.run(point, document) {
            Ok(()) => return Ok(()),
            Err(failed) => failed,
        };
        let alert = Alert {
            kind: AlertKind::HookFailed,
            task: task.map(str::to_owned),
            message: format!("the hook {} at {point} failed: {failed}", self.shared.name),
        };
        tracing::warn!("{}", alert.message);
        let place = self.shared.place;
        self.shared.feed.call(Box::new(move |hooks| hooks.failed(place, &alert)));
        Err(failed)
    }

    /// Runs the command for a `before` point, on the caller's thread.
    fn before(&self, point: HookPoint, task: &str, document: &[u8]) -> Result<(), String> {
        match self.run_told(point, Some(task), document) {
            Err(failed) if self.shared.hook.has_veto() => Err(failed.reason().to_owned()),
            _ => Ok(()),
        }
    }

    /// Queues the command for the hooks' own thread.
    fn later(&self, point: HookPoint, task: Option<String>, document: Vec<u8>) {
        let bound = self.clone();
        self.shared.feed.call(Box::new(move |_| {
            let _ = bound.run_told(point, task.as_deref(), &document);
        }));
    }
}

impl Hook for CommandRunner {
    fn name(&self) -> &str {
        &self.shared.name
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
        let document = self.document(point, place, About::Checkpoint(mark.into()));
        self.before(point, task.id(), &document)
    }

    fn after_checkpoint(&self, checkpoint: &Checkpoint) {
        let point = HookPoint::AfterCheckpoint;
        if !self.is_on(point) {
            return;
        }
        let place = Where {
            task: Some(&checkpoint.task),
            lineage: Some(checkpoint.lineage),
            offset: Some(checkpoint.at),
        };
        let document = self.document(point, place, About::Checkpoint(checkpoint.into()));
        self.later(point, Some(checkpoint.task.clone()), document);
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
        let document = self.document(point, place, About::Restore(restore));
        self.before(point, &to.task, &document)
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
            epoch: Some(task.epoch().to_string()),
        };
        let document = self.document(point, place, About::Restore(restore));
        self.later(point, Some(task.id().to_owned()), document);
    }

    fn on_workspace(&self, change: &WorkspaceChange) {
        let point = HookPoint::Workspace;
        if !self.is_on(point) {
            return;
        }
        let place = Where { task: Some(&change.task), ..Where::default() };
        let document = self.document(point, place, About::Workspace(change.into()));
        self.later(point, Some(change.task.clone()), document);
    }

    fn on_alert(&self, alert: &Alert) {
        let point = HookPoint::Alert;
        if !self.is_on(point) {
            return;
        }
        let place = Where { task: alert.task.as_deref(), ..Where::default() };
        let document = self.document(point, place, About::Alert(alert.into()));
        if alert.kind != AlertKind::HookFailed {
            self.later(point, alert.task.clone(), document);
            return;
        }
        // A failure of this call is only logged. Otherwise two failing hooks would alert each other
        // for ever.
        let bound = self.clone();
        self.shared.feed.call(Box::new(move |_| {
            if let Err(failed) = bound.run(point, &document) {
                let name = &bound.shared.name;
                tracing::warn!("the hook {name} at {point} failed: {failed}");
            }
        }));
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
        let document = self.document(point, place, About::Event(event.into()));
        let _ = self.run_told(point, Some(&task.id), &document);
    }
}
