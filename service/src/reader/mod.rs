//! Reading lineages: maps that are kept, and answers made from them.
//!
//! ```text
//! search     texts and kinds that are looked for
//! hits       a search in all tasks
//! rows       events on one line each
//! turns      pages of turns
//! overviews  counts and metrics
//! alignment  two histories, turn by turn
//! ```

mod alignment;
mod hits;
mod overviews;
mod rows;
mod search;
mod turns;

use std::collections::HashMap;
use std::sync::Arc;

use milepost::clock::{Clock, SystemClock};
use milepost::ids::TaskNo;
use milepost::reading::HistoryMap;
use milepost::{Lineage, LineageId, Offset, Result, Task};
use parking_lot::Mutex;

pub use hits::HitsRequest;
pub use overviews::SeriesAxis;
pub use rows::RowsRequest;
pub use search::{EventSearch, is_failed};
pub use turns::{TurnPlace, TurnsRequest};

/// The longest time for which a request reads, in microseconds.
const SLICE_US: u64 = 250_000;

/// The memory of all maps, in bytes.
const BYTES: usize = 64 << 20;

/// A lineage whose map is kept.
type Key = (TaskNo, LineageId);

/// Reads lineages, and keeps their maps: at most 64 MiB, and the one last used.
pub struct Reader {
    kept: Mutex<Kept>,
    clock: Box<dyn Clock>,
}

#[derive(Debug, Default)]
struct Kept {
    maps: HashMap<Key, Used>,
    /// Number of requests so far.
    requests: u64,
}

/// A kept map.
#[derive(Debug)]
struct Used {
    map: Arc<Mutex<LineageMap>>,
    weight: usize,
    /// The number of its last request.
    last: u64,
}

/// A map of a lineage, for one state of its history.
#[derive(Debug)]
struct LineageMap {
    history: HistoryMap,
    /// The first event, and the number of erased events of the task.
    made_for: (Offset, u64),
}

/// The progress of a map, with an answer.
#[derive(Debug)]
struct Read<T> {
    answer: T,
    read: Offset,
    head: Offset,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("kept", &self.kept).finish_non_exhaustive()
    }
}

impl Default for Reader {
    fn default() -> Self {
        Self::with_clock(Box::new(SystemClock))
    }
}

impl Reader {
    /// Creates a reader that measures with a clock.
    pub fn with_clock(clock: Box<dyn Clock>) -> Self {
        Self { kept: Mutex::default(), clock }
    }

    /// Drops all maps: the engine was opened anew.
    pub fn clear(&self) {
        self.kept.lock().maps.clear();
    }

    /// Returns the time when a request that begins now has read enough.
    fn deadline(&self) -> Deadline<'_> {
        let end_us = self.clock.now_us().saturating_add(SLICE_US);
        Deadline { clock: &*self.clock, end_us }
    }

    /// Reads on in a lineage, and answers from its map.
    fn mapped<T>(
        &self,
        task: &Task,
        lineage: &Lineage,
        deadline: &Deadline<'_>,
        answer: impl FnOnce(&HistoryMap) -> T,
    ) -> Result<Read<T>> {
        let key = (task.no(), lineage.id());
        let map = {
            let mut kept = self.kept.lock();
            kept.requests += 1;
            let last = kept.requests;
            let used = kept.maps.entry(key).or_insert_with(|| {
                let map = LineageMap { history: HistoryMap::new(0), made_for: (0, 0) };
                Used { map: Arc::new(Mutex::new(map)), weight: 0, last }
            });
            used.last = last;
            Arc::clone(&used.map)
        };
        let mut map = map.lock();
        // Read before the events: an event that is erased in between is read again. Read while the
        // map is held: an earlier head would be less than the map's.
        let erased = task.erased();
        let info = lineage.info()?;
        let (made_for, head) = ((info.begin, erased), info.head.next);
        if map.made_for != made_for || map.history.read() > head {
            *map = LineageMap { history: HistoryMap::new(made_for.0), made_for };
        }
        for event in lineage.read(map.history.read()..head)? {
            map.history.add(&event?);
            if deadline.is_over() {
                break;
            }
        }
        let read = map.history.read();
        let (answer, weight) = (answer(&map.history), map.history.weight());
        drop(map);
        self.kept.lock().weighed(key, weight);
        Ok(Read { answer, read, head })
    }
}

impl Kept {
    /// Notes the weight of a map, and drops those that were not used for longest.
    fn weighed(&mut self, key: Key, weight: usize) {
        if let Some(used) = self.maps.get_mut(&key) {
            used.weight = weight;
        }
        loop {
            let all: usize = self.maps.values().map(|used| used.weight).sum();
            let others = self.maps.iter().filter(|(other, _)| **other != key);
            let oldest = others.min_by_key(|(_, used)| used.last).map(|(other, _)| *other);
            match oldest.filter(|_| all > BYTES) {
                Some(oldest) => self.maps.remove(&oldest),
                None => return,
            };
        }
    }
}

/// The end of the time of a request.
struct Deadline<'a> {
    clock: &'a dyn Clock,
    end_us: u64,
}

impl Deadline<'_> {
    /// Returns `true` if the time is over. An event may be long, so each is followed by a look.
    fn is_over(&self) -> bool {
        self.clock.now_us() >= self.end_us
    }
}

/// Returns a lineage of a task, the active one unless another is named.
fn lineage_of(task: &Task, id: Option<LineageId>) -> Result<Lineage> {
    match id {
        Some(id) => task.lineage_named(id),
        None => Ok(task.lineage().clone()),
    }
}

#[cfg(test)]
mod tests;
