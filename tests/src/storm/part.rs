//! A participant of restores: a number in memory, which is restored with them. A hook that refuses.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use milepost::events::Data;
use milepost::ids::ChunkId;
use milepost::restore::{CaptureContext, PendingRestore, PrepareContext};
use milepost::{
    Body, Engine, Error, ErrorKind, Hook, Json, Mark, Participant, Point, Result, Task,
};
use milepost_codec::{ChunkList, RestorePart};

use super::acts::lock;

/// Sets a number. One that fails has set half of it before.
#[derive(Debug)]
pub struct Part {
    pub outside: Arc<Mutex<u64>>,
    pub to: u64,
    pub fails: bool,
}

impl Participant for Part {
    fn name(&self) -> &str {
        "test.number"
    }

    fn capture(&self, _: &CaptureContext<'_>) -> Result<Vec<Body>> {
        Ok(Vec::new())
    }

    fn prepare(&self, _: &PrepareContext<'_>) -> Result<RestorePart> {
        let before = lock(&self.outside).to_string();
        Ok(RestorePart {
            participant: self.name().into(),
            place: Data::Json(Json::new("\"memory\"")?),
            note: Some(Json::new(before)?),
            plan: ChunkList::default(),
            roots: Vec::<ChunkId>::new(),
        })
    }

    fn apply(&self, _: &Engine, _: &PendingRestore) -> Result<Vec<Body>> {
        if self.fails {
            *lock(&self.outside) = u64::MAX;
            return Err(Error::new(ErrorKind::Unavailable, "it is told to fail"));
        }
        *lock(&self.outside) = self.to;
        Ok(Vec::new())
    }

    fn abort(&self, _: &Engine, pending: &PendingRestore) -> Result<()> {
        let mut parts = pending.begun.parts.iter();
        let note = parts.find_map(|part| part.note.as_ref());
        if let Some(note) = note {
            let before = note.text().parse();
            let damaged = |_| Error::corrupt("a note", "a number", note.text());
            *lock(&self.outside) = before.map_err(damaged)?;
        }
        Ok(())
    }

    fn finish(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        Ok(())
    }
}

/// Refuses checkpoints and restores on request.
#[derive(Debug)]
pub struct Refusing(pub Arc<AtomicBool>);

impl Refusing {
    fn says(&self) -> std::result::Result<(), String> {
        match self.0.load(Ordering::SeqCst) {
            true => Err("not now".into()),
            false => Ok(()),
        }
    }
}

impl Hook for Refusing {
    fn name(&self) -> &str {
        "refusing"
    }
    fn before_checkpoint(&self, _: &Task, _: &Mark) -> std::result::Result<(), String> {
        self.says()
    }
    fn before_restore(&self, _: &Point) -> std::result::Result<(), String> {
        self.says()
    }
}
