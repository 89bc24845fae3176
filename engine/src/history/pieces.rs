//! Pieces of states: chunks stored by a fold, which a caller may read as long as it holds the
//! state.
//!
//! A compaction keeps them. Only the pieces of the last folds are kept, up to a limit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost_codec::{ChunkId, TaskNo};
use parking_lot::Mutex;

/// Pieces and tasks of a generation: some 4 GiB of states, and 4 MiB of memory.
const GENERATION: usize = 64 << 10;

/// The pieces of one task, in one generation.
type Set = Arc<Mutex<HashSet<ChunkId>>>;

/// The pieces of two generations of folds.
#[derive(Clone)]
pub(crate) struct Pieces {
    sets: Arc<Mutex<Sets>>,
    /// Approximate number of pieces and tasks in the younger generation.
    count: Arc<AtomicUsize>,
    most: usize,
}

#[derive(Default)]
struct Sets {
    young: HashMap<TaskNo, Set>,
    old: Vec<(TaskNo, Set)>,
    /// `true` if a generation was forgotten since the last compaction.
    forgot: bool,
}

/// A running fold. Its pieces are kept until it ends, unless the pieces of its task are forgotten;
/// then pieces stored later are not kept either.
pub(crate) struct Folding {
    set: Set,
    count: Arc<AtomicUsize>,
}

impl Default for Pieces {
    fn default() -> Self {
        Self::of(GENERATION)
    }
}

impl Pieces {
    fn of(most: usize) -> Self {
        Self { sets: Arc::default(), count: Arc::default(), most }
    }

    /// Registers the start of a fold of a task.
    pub(crate) fn folding(&self, task: TaskNo) -> Folding {
        let mut sets = self.sets.lock();
        if self.count.load(Ordering::Relaxed) >= self.most {
            self.count.store(0, Ordering::Relaxed);
            sets.grow_old();
        }
        let set = sets.young.entry(task).or_insert_with(|| {
            self.count.fetch_add(1, Ordering::Relaxed);
            Set::default()
        });
        Folding { set: Arc::clone(set), count: Arc::clone(&self.count) }
    }

    /// Forgets the pieces of a task, which may hold withdrawn content.
    pub(crate) fn forget(&self, task: TaskNo) {
        let mut sets = self.sets.lock();
        sets.young.remove(&task);
        sets.old.retain(|(of, _)| *of != task);
    }

    /// Returns all pieces, and `true` if a generation was forgotten since the last call: pieces of
    /// an older state may be missing then.
    pub(crate) fn all(&self) -> (HashSet<ChunkId>, bool) {
        let mut sets = self.sets.lock();
        let old = sets.old.iter().map(|(_, set)| set);
        let mut all = HashSet::new();
        for set in sets.young.values().chain(old) {
            all.extend(set.lock().iter().copied());
        }
        (all, std::mem::take(&mut sets.forgot))
    }
}

impl Sets {
    /// Forgets the older generation, except for running folds. The younger one takes its place.
    fn grow_old(&mut self) {
        let before = self.old.len();
        self.old.retain(|(_, set)| Arc::strong_count(set) > 1);
        self.forgot |= self.old.len() < before;
        self.old.extend(self.young.drain());
    }
}

impl Folding {
    /// Records a piece that the fold stored.
    pub(crate) fn stored(&self, id: ChunkId) {
        if self.set.lock().insert(id) {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Message;
    use crate::state::MessageRange;
    use crate::{Append, Engine, Mark, Options};

    fn id(n: usize) -> ChunkId {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&n.to_le_bytes());
        ChunkId(id)
    }

    #[test]
    fn pieces_of_states_are_bounded_and_those_of_folds_under_way_stay() {
        let pieces = Pieces::of(10);
        let under_way = pieces.folding(TaskNo(1));
        under_way.stored(id(0));
        for n in 1..1000 {
            // Tasks without pieces count too.
            let _ = pieces.folding(TaskNo(n as u64 % 7 + 10 * n as u64));
            let folding = pieces.folding(TaskNo(n as u64 % 3));
            folding.stored(id(n));
            let (all, _) = pieces.all();
            assert!(all.len() <= 22, "{} pieces", all.len());
            assert!(all.contains(&id(0)) && all.contains(&id(n)));
            let sets = pieces.sets.lock();
            assert!(sets.young.len() + sets.old.len() <= 23);
        }
        drop(under_way);
        for n in 0..30 {
            pieces.folding(TaskNo(2)).stored(id(n + 1000));
        }
        let (all, forgot) = pieces.all();
        assert!(forgot && !all.contains(&id(0)));
        assert!(!pieces.all().1);
        pieces.forget(TaskNo(2));
        assert_eq!(pieces.all().0, HashSet::new());
    }

    #[test]
    fn a_state_that_is_kept_in_memory_has_its_pieces_behind_a_compaction() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options::default().snapshots(false);
        let engine = Engine::open(dir.path().join("store"), options).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let text = "word ".repeat(4000);
        let say = |n: u32| Message::text("user", &format!("{n} {text}"));
        task.append(Append::batch((0..20).map(say))).unwrap();
        let mark = task.checkpoint(Mark::new().label("kept")).unwrap();
        let point = engine.point(&format!("@{}", mark.id)).unwrap();
        let read = || {
            let state = engine.run_state(&point).unwrap();
            state.to_json(engine.chunks().as_ref(), MessageRange::All)
        };
        let before = read().unwrap();
        let pieces = &engine.inner.catalog.pieces;
        assert!(!pieces.all().0.is_empty());
        for _ in 0..2 {
            pieces.sets.lock().grow_old();
        }
        engine.retention().compact(&mut |_| {}).unwrap();
        assert_eq!(read().unwrap(), before);
    }
}
