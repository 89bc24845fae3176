//! Random runs against a plain model: whatever is kept can still be gone back to and verified.
//!
//! `MILEPOST_CASES` sets how many runs are tried, `MILEPOST_SEED` which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use milepost::Task;
use milepost::retention::Policy;
use milepost::state::RunReducer;
use milepost::{Append, CheckpointId, Engine, LineageId, Mark, Options, Reducer};
use milepost_tests::seed::{Random, number, seed};
use milepost_tests::{bodies, folder};

use super::states::check_pass;
use super::{assert_clean, message};

/// A checkpoint, and the state it had when it was marked.
struct Marked {
    id: CheckpointId,
    state: Vec<u8>,
    pinned: bool,
}

/// A key that a lineage sees: its use, and the place of it.
type Keys = BTreeMap<u64, u64>;

struct World {
    dir: tempfile::TempDir,
    copies: u64,
    root: PathBuf,
    engine: Option<Engine>,
    /// In the order of their commits.
    marks: Vec<Marked>,
    keys: BTreeMap<LineageId, Keys>,
    next_key: u64,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("store");
        let engine = Engine::open(&root, Options::default()).unwrap();
        engine.start_task("t", "ana").unwrap();
        Self {
            dir,
            copies: 0,
            root,
            engine: Some(engine),
            marks: Vec::new(),
            keys: BTreeMap::new(),
            next_key: 0,
        }
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    fn task(&self) -> Task {
        self.engine().task("t").unwrap()
    }

    fn state(&self, address: &str) -> Vec<u8> {
        let engine = self.engine();
        let state = engine.run_state(&engine.point(address).unwrap()).unwrap();
        RunReducer.encode(&state).unwrap()
    }

    fn step(&mut self, random: &mut Random) {
        match random.below(20) {
            0..=6 => self.append(random),
            7..=10 => self.mark(random),
            11 | 12 => self.restore(random),
            13 => drop(self.engine().undo("t").run()),
            14 => self.pin(random),
            15 => self.branch(random),
            16 | 17 => self.retain(random),
            18 => self.compact(),
            _ => self.reopen(random),
        }
    }

    fn append(&mut self, random: &mut Random) {
        let task = self.task();
        for _ in 0..1 + random.below(8) {
            let size = if random.below(20) == 0 { 300_000 } else { 200 };
            let body = bodies::body(random.below(12) as u8, random.below(1000), size);
            task.append(body).unwrap();
        }
        if random.below(2) == 0 {
            let key = self.next_key;
            self.next_key += 1;
            let done = task.append(keyed(key)).unwrap();
            let keys = self.keys.entry(task.lineage().id()).or_default();
            keys.insert(key, done.first);
        }
    }

    fn mark(&mut self, random: &mut Random) {
        let task = self.task();
        let mut mark = Mark::new();
        if random.below(4) == 0 {
            let begin = task.read(..).unwrap().next().unwrap().unwrap().offset;
            let head = task.head().unwrap().next;
            mark = mark.at(begin + random.below(head - begin));
        }
        let id = task.checkpoint(mark).unwrap().id;
        self.remember(id);
    }

    fn remember(&mut self, id: CheckpointId) {
        let state = self.state(&format!("@{id}"));
        self.marks.push(Marked { id, state, pinned: false });
    }

    fn some_mark(&self, random: &mut Random) -> Option<usize> {
        let all = self.marks.len() as u64;
        (all > 0).then(|| random.below(all) as usize)
    }

    fn restore(&mut self, random: &mut Random) {
        let Some(at) = self.some_mark(random) else {
            return;
        };
        let engine = self.engine();
        let point = engine.point(&format!("@{}", self.marks[at].id)).unwrap();
        let task = engine.restore(&point).run().unwrap();
        self.inherit(&task, task.lineage().id());
        assert_eq!(self.state("t"), self.marks[at].state);
    }

    fn branch(&mut self, random: &mut Random) {
        let Some(at) = self.some_mark(random) else {
            return;
        };
        let engine = self.engine();
        let point = engine.point(&format!("@{}", self.marks[at].id)).unwrap();
        let branch = engine.branch(&point).run().unwrap();
        let task = self.task();
        self.inherit(&task, branch.id());
        let id = branch.checkpoint(Mark::new()).unwrap().id;
        self.remember(id);
    }

    /// A new lineage sees the keys of the one it forked from before the fork, and the mark that it
    /// may have begun with.
    fn inherit(&mut self, task: &Task, lineage: LineageId) {
        let all = task.lineages().unwrap();
        let found = all.iter().find(|l| l.id == lineage).unwrap();
        let parent = found.parent.unwrap();
        let of_parent = self.keys.get(&parent.lineage).cloned().unwrap_or_default();
        // One that the fork kept a part of is taken, and nothing is the same.
        let seen = of_parent.into_iter().filter(|(_, at)| *at + 1 < parent.offset);
        self.keys.insert(lineage, seen.collect());
        let query = milepost::query::CheckpointQuery {
            task: Some("t".into()),
            lineage: Some(lineage),
            ..Default::default()
        };
        for found in self.engine().query().checkpoints(&query).unwrap().items {
            self.remember(found.id);
        }
    }

    fn pin(&mut self, random: &mut Random) {
        let Some(at) = self.some_mark(random) else {
            return;
        };
        let mark = &mut self.marks[at];
        mark.pinned = !mark.pinned;
        let (id, pinned) = (mark.id, mark.pinned);
        match pinned {
            true => self.engine().retention().pin(&id, Some("test")).unwrap(),
            false => self.engine().retention().unpin(&id).unwrap(),
        }
    }

    fn retain(&mut self, random: &mut Random) {
        let mut keep = random.below(6) as usize;
        let mut policy = Policy::new();
        let mut others = BTreeSet::new();
        match random.below(6) {
            0 | 1 => {
                let named = self.marks.iter().filter(|_| random.below(3) == 0).map(|mark| mark.id);
                others = named.collect();
                let goes = self.marks.iter().map(|mark| mark.id).filter(|id| !others.contains(id));
                policy = policy.remove("t", goes);
            }
            2 => {
                let task = self.task();
                let begin = task.lineage().info().unwrap().begin;
                let head = task.head().unwrap().next;
                let point = task.point(begin + random.below(head - begin + 1)).unwrap();
                others = self.behind(&point);
                policy = policy.trim_before(&point);
            }
            _ => policy = policy.keep(keep),
        }
        if policy != Policy::new().keep(keep) && random.below(2) == 0 {
            policy = policy.keep(keep);
        } else if policy != Policy::new().keep(keep) {
            keep = 0;
        }
        policy = policy.undo(random.below(4) as u32).marks_only(random.below(3) == 0);
        let before = self.state("t");
        let report = self.engine().retention().retain(&policy).unwrap();
        assert!(report.tasks[0].error.is_none(), "{report:?}");
        let mut left = keep;
        let mut kept = Vec::new();
        for mark in std::mem::take(&mut self.marks).into_iter().rev() {
            let newest = !mark.pinned && left > 0;
            left -= usize::from(newest);
            if mark.pinned || newest || others.contains(&mark.id) {
                kept.push(mark);
            }
        }
        kept.reverse();
        self.marks = kept;
        assert_eq!(self.state("t"), before);
        self.check();
    }

    /// Returns the checkpoints that are not before a point in its history.
    fn behind(&self, point: &milepost::Point) -> BTreeSet<CheckpointId> {
        let lineages = self.task().lineages().unwrap();
        let mut spans = BTreeMap::new();
        let (mut at, mut to) = (point.lineage, u64::MAX);
        loop {
            let info = lineages.iter().find(|info| info.id == at).unwrap();
            let fork = info.parent.filter(|parent| info.begin < parent.offset);
            spans.insert(at, (fork.map_or(info.begin, |parent| parent.offset), to));
            match fork {
                Some(parent) => (at, to) = (parent.lineage, parent.offset.min(to)),
                None => break,
            }
        }
        let query = milepost::query::CheckpointQuery {
            task: Some("t".into()),
            limit: Some(10_000),
            ..Default::default()
        };
        let all = self.engine().query().checkpoints(&query).unwrap().items.into_iter();
        let is_before = |checkpoint: &milepost::Checkpoint| {
            let span = spans.get(&checkpoint.lineage);
            span.is_some_and(|(from, to)| (*from..*to).contains(&checkpoint.mark))
                && checkpoint.at < point.offset
        };
        all.filter(|checkpoint| !is_before(checkpoint)).map(|checkpoint| checkpoint.id).collect()
    }

    fn compact(&self) {
        let before = self.state("t");
        self.engine().retention().compact(&mut |_| {}).unwrap();
        assert_eq!(self.state("t"), before);
        self.check();
    }

    fn reopen(&mut self, random: &mut Random) {
        let closes = random.below(2) == 0;
        if closes {
            self.engine.take().unwrap().close().unwrap();
        } else {
            self.copies += 1;
            let killed = self.dir.path().join(format!("killed-{}", self.copies));
            folder::copy_store(&self.root, &killed).unwrap();
            self.engine.take();
            self.root = killed;
        }
        if random.below(3) == 0 {
            folder::remove_sled(&self.root).unwrap();
        }
        self.engine = Some(Engine::open(&self.root, Options::default()).unwrap());
        self.check();
    }

    fn check(&self) {
        let engine = self.engine();
        let query = milepost::query::CheckpointQuery {
            task: Some("t".into()),
            limit: Some(10_000),
            ..Default::default()
        };
        let listed = engine.query().checkpoints(&query).unwrap().items;
        let listed: Vec<_> = listed.iter().rev().map(|found| found.id).collect();
        let expected: Vec<_> = self.marks.iter().map(|mark| mark.id).collect();
        assert_eq!(listed, expected);
        assert_eq!(engine.store().stats().unwrap().checkpoints, expected.len() as u64);
        for mark in &self.marks {
            assert_eq!(self.state(&format!("@{}", mark.id)), mark.state);
        }
        let pinned = engine.retention().pins("t").unwrap().len();
        assert_eq!(pinned, self.marks.iter().filter(|mark| mark.pinned).count());
        // Keys are taken still, whether their events are there or not.
        let task = self.task();
        for lineage in task.lineages().unwrap() {
            let handle = task.lineage_named(lineage.id).unwrap();
            check_pass(engine, &handle, ..);
            for (key, first) in self.keys.get(&lineage.id).into_iter().flatten() {
                let again = handle.append(keyed(*key)).unwrap();
                assert_eq!((again.repeated, again.first), (true, *first), "key {key}");
            }
        }
        assert_clean(engine);
    }
}

fn keyed(key: u64) -> Append {
    Append::batch([message(key), message(key + 1)]).key(format!("k-{key}"))
}

#[test]
fn whatever_is_kept_can_be_gone_back_to_and_verified() {
    let cases = number("MILEPOST_CASES").unwrap_or(12);
    let seed = seed();
    for case in 0..cases {
        let mut random = Random::new(seed.wrapping_add(case));
        let mut world = World::new();
        for _ in 0..60 {
            world.step(&mut random);
        }
        world.check();
    }
}
