//! The index of a share: answers of the service about the task, by name. `docs/SHARE.md` lists
//! them.
//!
//! ```text
//! lineage    answers about a lineage
//! alignment  two lineages, turn by turn
//! states     states, as changes
//! ```

mod alignment;
mod lineage;
mod states;

use std::collections::BTreeMap;

use milepost::clock::ManualClock;
use milepost::{Engine, Lineage, Task};
use milepost_formats::Result;
use milepost_service::{forms, reader::Reader};
use serde::Serialize;

use crate::packing::Shown;
use crate::pieces::Pieces;
use lineage::LineageDocuments;

/// The length at which a piece ends.
const PIECE: usize = 256 << 10;

/// Documents in pieces, and the numbers of their pieces.
#[derive(Debug, Default)]
pub struct Index {
    pub pieces: Pieces,
    pub directory: BTreeMap<String, usize>,
}

impl Index {
    /// Makes the index of a task.
    pub fn of(shown: &Shown) -> Result<Self> {
        let mut index = Self::default();
        let task = shown.engine.task(&shown.task.id)?;
        let summary = shown.engine.query().summary(&shown.task.id)?;
        index.put("summary", &forms::summary(summary))?;
        let lineages = task.lineages()?;
        let forms: Vec<_> =
            lineages.iter().map(|info| shown.with_hashes(forms::lineage(info.clone()))).collect();
        index.put("lineages", &serde_json::json!({ "items": forms }))?;
        // A clock that stays: each answer is complete.
        let reader = Reader::with_clock(Box::new(ManualClock::at(0)));
        let source = Source { shown, task: &task, reader: &reader };
        for info in &lineages {
            let lineage = task.lineage_named(info.id)?;
            let fork = info.parent.as_ref().map_or(0, |parent| parent.offset);
            let documents = LineageDocuments { source: &source, lineage, fork };
            documents.put(&mut index)?;
        }
        alignment::put(&source, &mut index)?;
        index.close()?;
        Ok(index)
    }

    /// Adds a document.
    fn put(&mut self, name: &str, document: &impl Serialize) -> Result<()> {
        let open = self.pieces.open();
        open.push(if open.is_empty() { b'{' } else { b',' });
        serde_json::to_writer(&mut *open, name).map_err(failed)?;
        open.push(b':');
        serde_json::to_writer(&mut *open, document).map_err(failed)?;
        let is_full = open.len() >= PIECE;
        self.directory.insert(name.to_owned(), self.pieces.len());
        match is_full {
            true => self.close(),
            false => Ok(()),
        }
    }

    fn close(&mut self) -> Result<()> {
        if !self.pieces.open().is_empty() {
            self.pieces.open().push(b'}');
            self.pieces.close()?;
        }
        Ok(())
    }
}

fn failed(error: serde_json::Error) -> std::io::Error {
    std::io::Error::other(error)
}

/// The source of the answers.
struct Source<'a> {
    shown: &'a Shown,
    task: &'a Task,
    reader: &'a Reader,
}

impl Source<'_> {
    fn engine(&self) -> &Engine {
        &self.shown.engine
    }

    fn active(&self) -> &Lineage {
        self.task.lineage()
    }
}
