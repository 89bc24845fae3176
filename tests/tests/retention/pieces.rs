//! Pieces of states that are made again of events: what withdraws events leaves all states
//! readable.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use milepost::events::Message;
use milepost::query::CheckpointQuery;
use milepost::retention::Policy;
use milepost::state::MessageRange;
use milepost::{Append, CheckpointId, Engine, LineageId, Mark, Offset, Options};
use milepost_tests::bodies;
use milepost_tests::seed::{Random, number, seed};
use serde_json::{Value, json};

use super::assert_clean;

/// A message: the lineage and the offset of its event, and its number.
type Said = (LineageId, Offset, u64);

/// A task whose messages seal pieces every few events, and the messages before each checkpoint.
struct Walk {
    root: PathBuf,
    engine: Option<Engine>,
    random: Random,
    history: Vec<Said>,
    marked: BTreeMap<CheckpointId, Vec<Said>>,
    erased: BTreeSet<(LineageId, Offset)>,
    read: usize,
}

/// Returns the text of a message. Texts of messages of one branch and of another that replaces it
/// are often the same at the same offset: a repeated run has the same texts.
fn text(n: u64) -> String {
    bodies::text(n, 12_000 + (n % 7) as usize * 9_000)
}

impl Walk {
    fn new(root: PathBuf, random: Random) -> Self {
        let (marked, erased) = (BTreeMap::new(), BTreeSet::new());
        let mut walk =
            Self { root, engine: None, random, history: Vec::new(), marked, erased, read: 0 };
        walk.open();
        walk.engine().start_task("t", "ana").unwrap();
        walk
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    fn open(&mut self) {
        self.engine = None;
        self.engine = Some(Engine::open(&self.root, Options::default()).unwrap());
    }

    fn append(&mut self) {
        let task = self.engine().task("t").unwrap();
        let head = task.head().unwrap().next;
        let numbers: Vec<u64> =
            (0..1 + self.random.below(5)).map(|n| head + n + 1000 * self.random.below(2)).collect();
        let said = numbers.iter().map(|n| Message::text("user", &text(*n)));
        let appended = task.append(Append::batch(said)).unwrap();
        let lineage = task.lineage().id();
        self.history.extend((appended.first..).zip(numbers).map(|(at, n)| (lineage, at, n)));
    }

    fn mark(&mut self) {
        let marked = self.engine().task("t").unwrap().checkpoint(Mark::new()).unwrap();
        self.marked.insert(marked.id, self.history.clone());
    }

    fn checkpoints(&self) -> Vec<CheckpointId> {
        let query = CheckpointQuery { limit: Some(10_000), ..CheckpointQuery::default() };
        let found = self.engine().query().checkpoints(&query).unwrap();
        found.items.iter().map(|one| one.id).collect()
    }

    fn fork(&mut self) {
        let all = self.checkpoints();
        let Some(id) = all.get(self.random.below(all.len().max(1) as u64) as usize) else { return };
        let point = self.engine().point(&format!("@{id}")).unwrap();
        self.engine().restore(&point).run().unwrap();
        self.history.clone_from(&self.marked[id]);
    }

    fn erase(&mut self) {
        let Some((lineage, offset, _)) = self.history.last().copied() else { return };
        let task = self.engine().task("t").unwrap();
        // The parts of a base cannot be erased.
        let erased = self.engine().retention().erase(&task.point(offset).unwrap(), None);
        if erased.is_ok() {
            self.erased.insert((lineage, offset));
        }
    }

    fn retain(&mut self) {
        let keep = 1 + self.random.below(5) as usize;
        let policy = Policy::new().keep(keep).keep_lineages(self.random.below(2) == 0);
        let report = self.engine().retention().retain(&policy).unwrap();
        assert!(report.tasks[0].error.is_none(), "{report:?}");
    }

    /// Compares the messages of a state with those that were said.
    fn check(&mut self, id: &CheckpointId) {
        let point = self.engine().point(&format!("@{id}")).unwrap();
        let state = self.engine().run_state(&point).unwrap();
        let chunks = self.engine().chunks();
        let found = state.to_json(chunks.as_ref(), MessageRange::All).unwrap();
        let of = |(lineage, offset, n): &Said| match self.erased.contains(&(*lineage, *offset)) {
            true => Value::Null,
            false => json!(text(*n)),
        };
        let expected: Vec<Value> = self.marked[id].iter().map(of).collect();
        let found = found["messages"].as_array().unwrap().iter();
        let found: Vec<Value> = found.map(|one| one["content"].clone()).collect();
        assert!(found == expected, "{id}: {} of {} messages", found.len(), expected.len());
        self.read += found.len();
    }

    fn step(&mut self) {
        match self.random.below(40) {
            0..=13 => self.append(),
            14..=21 => self.mark(),
            22..=25 => self.fork(),
            26 | 27 => self.erase(),
            28..=30 => self.retain(),
            31 | 32 => drop(self.engine().retention().compact(&mut |_| {}).unwrap()),
            33 => self.open(),
            34 => {
                self.engine = None;
                // The sources of pieces are gone with the index.
                for name in ["sled", "sled.next"] {
                    let _ = std::fs::remove_dir_all(self.root.join(name));
                }
                self.open();
            }
            _ => {
                let all = self.checkpoints();
                let at = self.random.below(all.len().max(1) as u64) as usize;
                all.get(at).copied().iter().for_each(|id| self.check(id));
            }
        }
    }
}

#[test]
fn the_messages_of_each_checkpoint_stay_the_same_whatever_is_withdrawn_around_them() {
    let cases = number("MILEPOST_CASES").unwrap_or(6);
    let mut read = 0;
    for case in 0..cases {
        let dir = tempfile::tempdir().unwrap();
        let random = Random::new(seed().wrapping_add(case));
        let mut walk = Walk::new(dir.path().join("store"), random);
        (0..120).for_each(|_| walk.step());
        walk.checkpoints().iter().for_each(|id| walk.check(id));
        assert_clean(walk.engine());
        read += walk.read;
    }
    assert!(read > 100 * cases as usize, "{read}");
}

#[test]
fn the_messages_of_states_are_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().snapshots(false);
    let engine = Engine::open(dir.path().join("store"), options).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let message = |n| Message::text("user", &bodies::text(n, 20_000));
    task.append(Append::batch((0..200).map(message))).unwrap();
    let state = task.state().unwrap();
    assert!(state.messages.bytes_in_chunks() > 3_900_000);
    let stored = engine.store().stats().unwrap().disk.packs;
    assert_eq!(stored, 0, "no piece is a chunk");
    let chunks = engine.chunks();
    assert_eq!(state.messages.get(0, chunks.as_ref()).unwrap().unwrap().offset(), 1);
    assert_eq!(state.messages.iter(chunks.as_ref()).filter(Result::is_ok).count(), 200);
}
