//! Captures of folders in the history of a task.

use std::cmp::Reverse;
use std::collections::HashMap;

use milepost_codec::{
    Body, BodyForm, Hash, LineageId, LogId, Offset, Result, TaskNo, WorkspaceCaptured,
};

use super::Query;
use crate::history::base;
use crate::history::events::Cursor;

/// A capture of a folder, at the last event that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureAt {
    /// The root of the capture.
    pub root: Hash,
    /// The lineage of the event.
    pub lineage: LineageId,
    /// The offset after the event: the point there has the capture.
    pub offset: Offset,
    /// The time of the event, in microseconds since the Unix epoch; 0 for a capture that only the
    /// beginning of a trimmed lineage names.
    pub time_us: u64,
}

impl Query<'_> {
    /// Returns the captures in the history of a task, on all its lineages, each once, the newest
    /// first: at most this many. Of a task that has captures, it reads the headers of all events.
    ///
    /// ```
    /// use milepost::{Engine, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// engine.start_task("essay", "ana")?;
    /// assert!(engine.query().captures("essay", 100)?.is_empty());
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Corrupt`: an event cannot be read.
    pub fn captures(&self, task: &str, most: usize) -> Result<Vec<CaptureAt>> {
        let no = self.view.task_no(task)?;
        let catalog = &self.view.inner.catalog;
        if !base::has_captures(catalog, no)? {
            return Ok(Vec::new());
        }
        let mut found = HashMap::new();
        for (lineage, _) in catalog.lineages(no)? {
            self.captures_of((no, lineage), most, &mut found)?;
        }
        Ok(newest(found, most))
    }

    /// Adds the captures that a lineage itself recorded.
    fn captures_of(
        &self,
        (no, lineage): (TaskNo, LineageId),
        most: usize,
        found: &mut HashMap<Hash, CaptureAt>,
    ) -> Result<()> {
        let catalog = &self.view.inner.catalog;
        let log = LogId::lineage(no, lineage);
        let base = catalog.base(no, lineage)?;
        if let Some(base) = &base
            && let Some(root) = base::workspace(catalog, base)?
        {
            let (root, offset) = (Hash(root.0), base.head.next);
            found.entry(root).or_insert(CaptureAt { root, lineage, offset, time_us: 0 });
        }
        let start = catalog.log().head(log)?.map_or(0, |head| head.start);
        let from = start.max(base.map_or(0, |base| base.head.next));
        let mut cursor = Cursor::new(catalog.log(), log, from);
        while let Some(named) = cursor.next_record(|at, record| {
            let header = record.header()?;
            if header.kind != WorkspaceCaptured::KIND || record.form != BodyForm::Inline {
                return Ok(None);
            }
            Ok(match Body::decode(header.kind, record.payload)? {
                Body::WorkspaceCaptured(WorkspaceCaptured { root, .. }) => {
                    let (offset, time_us) = (at.saturating_add(1), header.time_us);
                    Some(CaptureAt { root, lineage, offset, time_us })
                }
                _ => None,
            })
        })? {
            let Some(named) = named else {
                continue;
            };
            let last = found.entry(named.root).or_insert(named);
            if last.time_us <= named.time_us {
                *last = named;
            }
            // The newest of twice as many are the newest of all.
            if found.len() > most.saturating_mul(2) {
                let kept = newest(std::mem::take(found), most);
                found.extend(kept.into_iter().map(|kept| (kept.root, kept)));
            }
        }
        Ok(())
    }
}

/// Returns the newest captures.
fn newest(found: HashMap<Hash, CaptureAt>, most: usize) -> Vec<CaptureAt> {
    let mut all: Vec<CaptureAt> = found.into_values().collect();
    all.sort_by_key(|at| Reverse((at.time_us, at.lineage, at.offset)));
    all.truncate(most);
    all
}
