//! Restores that are cut short, as by a process that died.

use std::path::Path;
use std::sync::Arc;

use milepost::restore::{CaptureContext, PendingRestore, PrepareContext};
use milepost::{Body, Engine, Error, ErrorKind, Options, Participant, Result};
use milepost_workspace::{Workspace, WorkspaceOptions};

/// A workspace that restores and then fails like one whose process died.
struct Dying(Arc<dyn Participant>, When);

/// When it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before the commit.
    Applied,
    /// After the commit.
    Clearing,
}

fn dead<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Unavailable, "it died"))
}

impl Participant for Dying {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capture(&self, at: &CaptureContext<'_>) -> Result<Vec<Body>> {
        self.0.capture(at)
    }

    fn prepare(&self, going: &PrepareContext<'_>) -> Result<milepost_codec::RestorePart> {
        self.0.prepare(going)
    }

    fn apply(&self, engine: &Engine, pending: &PendingRestore) -> Result<Vec<Body>> {
        let bodies = self.0.apply(engine, pending)?;
        match self.1 {
            When::Applied => dead(),
            When::Clearing => Ok(bodies),
        }
    }

    fn abort(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        dead()
    }

    fn finish(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        dead()
    }
}

/// Does something with a folder and a store, as a process that dies.
pub fn dying<T>(
    (store, folder): (&Path, &Path),
    when: When,
    work: impl FnOnce(&Engine, Arc<dyn Participant>) -> T,
) -> T {
    let engine = Engine::open(store, Options::default()).unwrap();
    let workspace = Workspace::open(folder, WorkspaceOptions::default()).unwrap();
    let done = work(&engine, Arc::new(Dying(workspace.participant(), when)));
    engine.close().unwrap();
    done
}

/// Restores a task and its folder to a point, as a process that dies.
pub fn restore(places: (&Path, &Path), when: When, address: &str) {
    let done = dying(places, when, |engine, with| {
        let to = engine.point(address).unwrap();
        engine.restore(&to).with(with).run().map(|_| ())
    });
    assert_eq!(done.is_err(), when == When::Applied, "{done:?}");
}
