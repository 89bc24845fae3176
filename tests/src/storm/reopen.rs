//! Opens a store and compares it with the model; closes it.

use milepost::Engine;
use milepost_runtime::failover::{FailoverEngine, FailoverOptions};

use super::acts::{Acts, lock};
use super::call::Call;
use super::count::Count;
use super::settle::settle;

/// The end of the life before, and the way in which the store is opened.
#[derive(Debug, Default)]
pub struct Reopened {
    /// The store is opened with the reducer [`Count`].
    pub counted: bool,
    pub supervised: bool,
    /// Calls whose answers are not known: they were done or not.
    pub unknown: Vec<Call>,
    /// They were made where the reducer was there.
    pub unknown_counted: bool,
    /// The life before had no clean end.
    pub cut_short: bool,
}

impl Acts {
    pub fn reopen(&mut self, how: Reopened) -> Result<(), String> {
        self.count = how.counted.then(Count::default);
        let (root, options) = (&self.root, self.options());
        let engine = if how.supervised {
            let supervisor = FailoverEngine::open(root, options, FailoverOptions::default());
            let supervisor = supervisor.map_err(|e| format!("I1: open: {e}"))?;
            let engine = supervisor.engine();
            self.supervisor = Some(supervisor);
            engine
        } else {
            Engine::open(root, options)
        };
        let engine = engine.map_err(|e| format!("I1: open: {e}"))?;
        if how.cut_short {
            // Stored states are a cache: they may be lost.
            let mut model = lock(&self.model);
            model.tasks.values_mut().for_each(|task| task.counted.clear());
        }
        let exactly = how.unknown.is_empty();
        self.engine = Some(engine.clone());
        self.adopt(exactly).map_err(|e| format!("opened: {e}"))?;
        let before = how.unknown_counted;
        let settled = settle(&engine, &mut lock(&self.model), how.unknown, before);
        settled.map_err(|e| format!("opened: {e}"))?;
        self.check("opened")
    }

    pub fn close(&mut self) -> Result<(), String> {
        lock(&self.watches).clear();
        let engine = self.engine.take().unwrap();
        let closed = match self.supervisor.take() {
            Some(supervisor) => {
                drop(engine);
                supervisor.close()
            }
            None => engine.close(),
        };
        closed.map_err(|e| format!("close: {e}"))?;
        self.glance().map_err(|e| format!("read after the close: {e}"))
    }

    /// Reads the closed store as a command does that prints and ends.
    fn glance(&mut self) -> Result<(), String> {
        let opened = Engine::open(&self.root, self.options().only_reads(true));
        self.engine = Some(opened.map_err(|e| format!("I1: open: {e}"))?);
        self.check("opened")?;
        let closed = self.engine.take().map_or(Ok(()), |engine| engine.close());
        closed.map_err(|e| format!("close: {e}"))
    }
}
