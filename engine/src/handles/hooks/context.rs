//! The open store, as hooks see it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use milepost_store::clock::Clock;

use super::{Alert, AlertKind, Hook, caught};
use crate::handles::options::Options;
use crate::history::catalog::Catalog;

/// The store that a hook is used with: see [`Hook::opened`]. It does not keep the store open. Cheap
/// to clone.
#[derive(Clone)]
pub struct HookContext {
    store: Option<Arc<PathBuf>>,
    clock: Arc<dyn Clock>,
    /// The hooks of the engine. The reference is weak, so a hook may keep this context.
    hooks: Weak<Vec<Arc<dyn Hook>>>,
    /// The position of this hook among them.
    place: usize,
}

impl std::fmt::Debug for HookContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookContext").field("store", &self.store).finish_non_exhaustive()
    }
}

impl HookContext {
    pub(super) fn new(
        hooks: &Weak<Vec<Arc<dyn Hook>>>,
        place: usize,
        options: &Options,
        catalog: &Catalog,
    ) -> Self {
        let absolute = |dir: &Path| std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        Self {
            store: catalog.log().folder().map(|dir| Arc::new(absolute(dir))),
            clock: Arc::clone(&options.log.clock),
            hooks: Weak::clone(hooks),
            place,
        }
    }

    /// Returns the context for the hook at this position among those that [`Hook::opened`] returns.
    #[must_use]
    pub fn nth(&self, position: usize) -> Self {
        Self { place: self.place + position, ..self.clone() }
    }

    /// Returns the absolute path of the store's folder; `None` for a store in memory.
    pub fn store(&self) -> Option<&Path> {
        self.store.as_deref().map(PathBuf::as_path)
    }

    /// Returns the clock for the times of events.
    pub fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// Reports a failure of this hook to all other hooks, as an alert
    /// [`AlertKind::HookFailed`]. They are called on this thread.
    pub fn failed(&self, task: Option<String>, message: String) {
        let alert = Alert { kind: AlertKind::HookFailed, task, message };
        let Some(hooks) = self.hooks.upgrade() else {
            return;
        };
        for (at, hook) in hooks.iter().enumerate() {
            if at != self.place {
                let _ = caught("an alert", hook.as_ref(), |hook| hook.on_alert(&alert));
            }
        }
    }
}
