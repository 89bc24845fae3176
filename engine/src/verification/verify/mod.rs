//! Verification: recomputes every chain and every checkpoint's digest, compares every copy and
//! every index entry, and reads every snapshot and file.
//!
//! ```text
//! report    the faults found, and their remedies
//! chain     one range of a log: its chain, marks, index entries and sections
//! control   compares control logs with the index built from them
//! captures  captured workspaces and the chunks that they need
//! copies    the second copy of a section, for comparison
//! entries   the number of index entries, compared with the events
//! snapshots the snapshots, and the points that they name
//! ```

mod captures;
mod chain;
mod control;
mod copies;
mod entries;
mod report;
mod snapshots;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost_codec::{Error, Head, LogId, LogKind, Offset, Origin, Result, Seq, TaskNo};
use milepost_store::digest::Digest;
use milepost_store::index::LogHead;
use milepost_store::index::keys::{self, KeyKind};
use milepost_store::liveness::Liveness;
use milepost_store::threads;
use milepost_store::{Fault, Remedy, StorageCheck};

use self::chain::{Range, Ranged};
pub use self::report::VerifyReport;
use self::snapshots::Snapshots;
use crate::history::catalog::Catalog;
use crate::history::state::DynReducer;

/// Events in one range of a log. Ranges of a long log are verified in parallel.
const RANGE: u64 = 1 << 14;

/// A log to be verified.
#[derive(Debug, Clone, Copy)]
struct Target {
    id: LogId,
    head: LogHead,
}

/// Maximum number of runs while content is being withdrawn.
const RUNS: usize = 4;

/// Verifies one task, or all tasks and the store's own log and files. `progress` gets the number of
/// events verified and the total. If faults are found while content is withdrawn, they may concern
/// withdrawn content: then everything is verified again.
pub(crate) fn verify(
    catalog: &Catalog,
    store: Origin,
    task: Option<TaskNo>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<VerifyReport> {
    let mut runs = 1;
    loop {
        let before = catalog.withdrawals();
        catalog.log().forget_unpacked();
        let mut verification = Verification::new(catalog, store, task)?;
        verification.run(progress);
        let report = verification.finish()?;
        catalog.log().check_unmoved()?;
        if report.is_clean() || runs == RUNS || catalog.withdrawals() == before {
            return Ok(report);
        }
        runs += 1;
    }
}

/// Folds every lineage from its beginning with each reducer, and compares the states with the
/// snapshots.
pub(crate) fn verify_states(
    catalog: &Catalog,
    reducers: &[Arc<dyn DynReducer>],
    task: Option<TaskNo>,
) -> Result<Vec<Fault>> {
    let prefix = match task {
        Some(task) => keys::of_task(KeyKind::Head, task),
        None => keys::all(KeyKind::Head),
    };
    let heads = (catalog.log()).scan(&prefix, &keys::after_prefix(&prefix), false, usize::MAX)?;
    let mut faults = Vec::new();
    let live = catalog.log().live()?;
    for (key, _) in heads {
        let log = keys::log_of(&key);
        if live.is_gone(log) {
            continue;
        }
        for reducer in reducers {
            match reducer.check_snapshots(catalog, log) {
                Ok(wrong) => faults.extend(
                    wrong
                        .into_iter()
                        .map(|(name, error)| Fault::of(log, &error).mended_by(Remedy::Note(name))),
                ),
                Err(error) => faults.push(Fault::of(log, &error)),
            }
        }
    }
    Ok(faults)
}

struct Verification<'a> {
    catalog: &'a Catalog,
    store: Origin,
    /// The only task to verify; `None` for all.
    task: Option<TaskNo>,
    whole: bool,
    /// The last commit that is compared with the other copy.
    until: Seq,
    targets: Vec<Target>,
    work: Vec<Work>,
    report: VerifyReport,
    snapshots: HashMap<LogId, Snapshots>,
    /// The results of each log, by the first offset of each range.
    ranged: HashMap<LogId, BTreeMap<Offset, Ranged>>,
    storage: StorageCheck,
    live: Arc<Liveness>,
}

/// A unit of work.
#[derive(Debug, Clone, Copy)]
enum Work {
    /// The store's own files, and the other copy in them.
    Storage,
    /// Events of a log from one offset to another, and the log's head.
    Range(LogId, Offset, Offset, Offset),
    Snapshots(LogId),
}

/// Result of a unit of work.
enum WorkResult {
    Storage(Result<()>, Box<StorageCheck>),
    Range(LogId, Box<Ranged>),
    Snapshots(LogId, Vec<(Vec<u8>, Head)>, Vec<Fault>),
}

impl<'a> Verification<'a> {
    fn new(catalog: &'a Catalog, store: Origin, task: Option<TaskNo>) -> Result<Self> {
        let until = catalog.log().seq();
        let prefix = match task {
            Some(task) => keys::of_task(KeyKind::Head, task),
            None => keys::all(KeyKind::Head),
        };
        let end = keys::after_prefix(&prefix);
        let (mut targets, mut work) = (Vec::new(), Vec::new());
        if task.is_none() {
            work.push(Work::Storage);
        }
        let mut report = VerifyReport::default();
        let mut snapshots = HashMap::new();
        let live = Arc::new(catalog.log().live()?);
        for (key, value) in catalog.log().scan(&prefix, &end, false, usize::MAX)? {
            let (id, head) = (keys::log_of(&key), LogHead::decode(&value)?);
            if live.is_given_up(id.task) {
                continue;
            }
            match id.kind {
                LogKind::Control => report.tasks += u64::from(id.task != TaskNo::STORE),
                LogKind::Lineage(_) => report.lineages += 1,
            }
            let mut from = head.start;
            while from < head.head.next {
                let to = from.saturating_add(RANGE).min(head.head.next);
                work.push(Work::Range(id, from, to, head.head.next));
                from = to;
            }
            if let LogKind::Lineage(lineage) = id.kind {
                snapshots.insert(id, Snapshots::of(catalog, id.task, lineage)?);
                work.push(Work::Snapshots(id));
            }
            targets.push(Target { id, head });
        }
        Ok(Self {
            catalog,
            store,
            task,
            whole: task.is_none(),
            until,
            targets,
            work,
            report,
            snapshots,
            ranged: HashMap::new(),
            storage: StorageCheck::new(until, Arc::clone(&live)),
            live,
        })
    }

    /// Does all work, on as many threads as there are processors.
    fn run(&mut self, progress: &mut dyn FnMut(u64, u64)) {
        let all = (self.targets.iter()).map(|t| t.head.head.next - t.head.start).sum();
        let threads = threads::processors();
        let (done, results) = crossbeam_channel::unbounded();
        let next = AtomicUsize::new(0);
        let work = std::mem::take(&mut self.work);
        std::thread::scope(|scope| {
            let (next, work, this) = (&next, &work, &*self);
            let take_work = |done: crossbeam_channel::Sender<WorkResult>| {
                while let Some(work) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let _ = done.send(this.one(*work));
                }
            };
            let start = |_: &usize| {
                let done = done.clone();
                threads::start_in(scope, "verify", move || take_work(done)).is_ok()
            };
            // If no other thread can be started, this one does the work.
            if (0..threads.min(work.len())).filter(start).count() == 0 {
                take_work(done.clone());
            }
            drop(done);
            let (mut seen, mut kept) = (0, Vec::new());
            for result in results {
                if let WorkResult::Range(_, ranged) = &result {
                    seen += ranged.events;
                    progress(seen, all);
                }
                kept.push(result);
            }
            kept
        })
        .into_iter()
        .for_each(|result| self.take(result));
    }

    fn one(&self, work: Work) -> WorkResult {
        match work {
            Work::Storage => {
                let mut check = StorageCheck::new(self.until, Arc::clone(&self.live));
                let result = self.catalog.log().check_storage(&mut check);
                WorkResult::Storage(result, Box::new(check))
            }
            Work::Range(id, from, to, limit) => {
                let verified = || -> Result<Ranged> {
                    let range = Range {
                        catalog: self.catalog,
                        id,
                        from,
                        to,
                        limit,
                        until: self.until,
                        begin: self.begin(id)?,
                        points: self.snapshots.get(&id).map_or(&[], |of| &of.points),
                        live: &self.live,
                    };
                    Ok(range.verify(self.origin(id)?))
                };
                let ranged = verified().unwrap_or_else(Ranged::failed);
                WorkResult::Range(id, Box::new(ranged))
            }
            Work::Snapshots(id) => {
                let mut faults = Vec::new();
                let intact = self.read_snapshots(id, &mut faults).unwrap_or_else(|error| {
                    faults.push(Fault::of(id, &error));
                    Vec::new()
                });
                WorkResult::Snapshots(id, intact, faults)
            }
        }
    }

    fn take(&mut self, done: WorkResult) {
        match done {
            WorkResult::Storage(result, check) => {
                self.storage = *check;
                if let Err(error) = result {
                    self.storage.fault(&error);
                }
            }
            WorkResult::Range(id, ranged) => {
                self.ranged.entry(id).or_default().insert(ranged.from, *ranged);
            }
            WorkResult::Snapshots(id, intact, faults) => {
                self.snapshots.entry(id).or_default().intact = intact;
                self.report.faults.extend(faults);
            }
        }
    }

    fn origin(&self, id: LogId) -> Result<Origin> {
        if id.task == TaskNo::STORE {
            return Ok(self.store);
        }
        Ok(self.catalog.task_ever(id.task)?.origin)
    }

    /// Returns the first offset of a log after a trim; `Offset::MAX` for a dropped lineage.
    fn begin(&self, id: LogId) -> Result<Offset> {
        let LogKind::Lineage(lineage) = id.kind else {
            return Ok(0);
        };
        if self.catalog.lineage_ever(id.task, lineage)?.dropped {
            return Ok(Offset::MAX);
        }
        let base = self.catalog.base(id.task, lineage)?;
        Ok(base.map_or(0, |base| base.head.next))
    }

    fn finish(mut self) -> Result<VerifyReport> {
        let mut kinds = [0; 256];
        let (mut differ, mut captures) = (HashSet::new(), Vec::new());
        let targets = std::mem::take(&mut self.targets);
        self.controls(&targets, &mut kinds);
        for target in targets {
            // A log without events has no ranges.
            let mut ranged = std::mem::take(self.ranged.entry(target.id).or_default());
            for one in ranged.values_mut() {
                captures.append(&mut one.captures);
            }
            let mut digest = Digest::default();
            for one in ranged.values() {
                self.report.events += one.events;
                self.report.bytes += one.bytes;
                self.report.blocks += one.blocks;
                self.report.checkpoints += one.checkpoints;
                self.report.entries += one.entries.iter().sum::<u64>();
                for (all, new) in kinds.iter_mut().zip(one.entries.iter()) {
                    *all += new;
                }
                digest.join(&one.sections);
                self.report.faults.extend(one.faults.iter().cloned());
            }
            if let Err(error) = self.link(&target, &ranged) {
                self.report.faults.push(Fault::of(target.id, &error));
            }
            self.check_points(target.id, &ranged);
            let broken = ranged.values().any(|one| one.broken);
            if !broken && self.storage.has_copy() && self.storage.digest(target.id) != digest {
                differ.insert(target.id);
            }
        }
        self.captures(captures)?;
        if self.whole {
            self.finish_whole(&kinds, differ)?;
        }
        Ok(self.report)
    }

    /// Checks that captured workspaces have all chunks that they need.
    fn captures(&mut self, mut captures: Vec<captures::Named>) -> Result<()> {
        let of_bases = captures::of_bases(self.catalog, self.task, &mut self.report.faults)?;
        captures.extend(of_bases);
        self.report.captures = captures.len() as u64;
        let lost = self.storage.lost_chunks();
        let faults = captures::check(self.catalog, &captures, lost)?;
        self.report.faults.extend(faults);
        Ok(())
    }

    /// Checks that the ranges of a log join: the first begins where the log does, each later one
    /// where the range before it ended, and the last ends at the head.
    fn link(&self, target: &Target, ranged: &BTreeMap<Offset, Ranged>) -> Result<()> {
        if ranged.values().any(|one| one.broken) {
            return Ok(());
        }
        let Target { id, head } = *target;
        if head.start == head.head.next && self.begin(id)? == Offset::MAX {
            // Dropped with its base, before which all its events were trimmed.
            return Ok(());
        }
        let origin = self.origin(id)?;
        let hash = chain::start_hash(self.catalog, origin, id, head.start)?;
        let mut at = Head { next: head.start, hash };
        let mut bytes = 0;
        for one in ranged.values() {
            // A range in which no extent begins has no events of its own.
            let Some((start, end)) = one.span else {
                continue;
            };
            if start != at {
                return Err(Error::corrupt(
                    format!("{id} at offset {}", at.next),
                    format!("chain hash {} at {}", at.hash, at.next),
                    format!("{} at {}", start.hash, start.next),
                ));
            }
            at = end;
            bytes += one.bytes;
        }
        if at != head.head || bytes != head.bytes {
            return Err(Error::corrupt(
                id.to_string(),
                format!("head {} {}, {} bytes", head.head.next, head.head.hash, head.bytes),
                format!("head {} {}, {bytes} bytes", at.next, at.hash),
            ));
        }
        Ok(())
    }

    fn finish_whole(&mut self, kinds: &[u64; 256], differ: HashSet<LogId>) -> Result<()> {
        let log = self.catalog.log();
        self.report.frames = self.storage.frames;
        self.report.chunks = self.storage.chunks;
        let storage = self.storage.take_faults();
        // If a file of the other copy is damaged, its missing content is already reported.
        let compared = storage.is_empty();
        self.report.faults.extend(storage);
        self.report.faults.append(&mut self.storage.lost);
        if compared && !differ.is_empty() {
            copies::locate(self.catalog, self.until, &differ, &mut self.report.faults)?;
        }
        // Entries without an event can be counted only if nothing was appended since the start.
        if log.seq() == self.until && self.report.faults.is_empty() {
            self.forged_entries(kinds)?;
        }
        Ok(())
    }

    /// Compares the control logs with the index, and with the checkpoints in lineages.
    fn controls(&mut self, targets: &[Target], kinds: &mut [u64; 256]) {
        let controls = targets.iter().filter(|t| t.id.kind == LogKind::Control);
        for target in controls {
            let task = target.id.task;
            let marks: Vec<_> = (self.ranged.iter())
                .filter(|(id, _)| id.task == task)
                .flat_map(|(id, ranged)| ranged.values().map(|one| (*id, one)))
                .collect();
            if marks.iter().any(|(_, one)| one.broken) {
                continue;
            }
            match control::check(self.catalog, task, &marks, self.until, kinds) {
                Ok((entries, faults)) => {
                    self.report.entries += entries;
                    self.report.faults.extend(faults);
                }
                Err(error) => self.report.faults.push(Fault::of(target.id, &error)),
            }
        }
    }
}
