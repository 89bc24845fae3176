//! Repair of damage that opening does not mend, and the report of events lost from all copies.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind as ErrorOf;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use milepost_codec::{
    Activated, ActivationCause, Body, Control, Error, ErrorKind, LineageId, LineageRegistered,
    LogId, LogKind, Lost, Offset, Result, TaskNo,
};
use milepost_store::files;
use milepost_store::index::keys::{self, KeyKind};
pub use milepost_store::local::repairs_on_record;
use milepost_store::local::{LostRange, Salvaged, salvage_store, with_lock_unwritten};
use milepost_store::open_report::{Finding, Outcome};
use milepost_store::{Fault, Remedy};

use crate::handles::engine::Engine;
use crate::handles::options::Options;
use crate::verification::verify::VerifyReport;

/// Result of a repair or of a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// `true` if nothing was changed.
    pub dry_run: bool,
    /// Repaired damage.
    pub mended: Vec<Finding>,
    /// Lost events.
    pub lost: Vec<LostEvents>,
    /// A loss of which no event is known: commits that no copy has. `lost` may have some of their
    /// events.
    pub unknown: Option<String>,
    /// Files that were replaced, and files with salvaged events that fit nowhere in the store.
    pub kept: Vec<PathBuf>,
    /// Result of a verification after the repair. Its faults could not be mended.
    pub verified: VerifyReport,
}

/// Events that are lost because damage hit both copies, or the only one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostEvents {
    /// The task; `None` if even its name is lost.
    pub task: Option<String>,
    /// The lineage; `None` for the control log of the task or of the store.
    pub lineage: Option<LineageId>,
    /// The first offset.
    pub from: Offset,
    /// The offset after the last lost event that was seen. There may have been more.
    pub to: Offset,
    /// The number of these events that a file of [`RepairReport::kept`] holds.
    pub kept: u64,
    /// The reason.
    pub message: String,
}

/// Folder of a store that holds the stat caches of captured folders, and extension of its files.
const STATS: &str = "workspace";
const STAT: &str = "stat";

/// Maximum number of times that a store is opened and verified, until nothing more is mended.
const ROUNDS: usize = 4;

/// Repairs a store that no process has open: damage that opening mends, archive files damaged
/// inside, and snapshots and chunks that cannot be read. If commits are lost, the store continues
/// with the salvage of both copies. Replaced files are kept in the store's folder `damaged`.
///
/// With `dry_run` nothing is written to the store. The repair works on a copy in the folder for
/// temporary files (`TMPDIR`), which needs as much room there and is removed at the end.
///
/// # Errors
///
/// `NotFound`: there is no store. `Unavailable`: a process has it open, or the disk fails.
/// `Corrupt`: the store's settings are lost, so it cannot be repaired.
pub fn repair(dir: impl AsRef<Path>, options: &Options, dry_run: bool) -> Result<RepairReport> {
    let dir = dir.as_ref();
    let mut options = options.clone().create(false);
    // With lost events the store is behind the anchor, and opening would fail. `verify` reports
    // that.
    options.anchor = None;
    if !dry_run {
        return mend(dir, &options);
    }
    let copy = std::env::temp_dir().join(format!("milepost-dry-run-{}", files::digits()?));
    let done = with_lock_unwritten(dir, || copy_store(dir, &copy));
    let done = done.and_then(|()| mend(&copy, &options));
    remove(&copy)?;
    let mut report = done?;
    report.dry_run = true;
    report.rename(&copy, dir);
    Ok(report)
}

impl RepairReport {
    /// Returns `true` if events are lost, also if it is not known which.
    pub fn loses_events(&self) -> bool {
        !self.lost.is_empty() || self.unknown.is_some()
    }

    /// Returns `true` if nothing is lost, and everything that was damaged is mended.
    pub fn is_whole(&self) -> bool {
        !self.loses_events() && self.verified.faults.is_empty()
    }

    /// Replaces paths of the copy by paths of the store.
    fn rename(&mut self, copy: &Path, store: &Path) {
        for path in &mut self.kept {
            if let Ok(inside) = path.strip_prefix(copy) {
                *path = store.join(inside);
            }
        }
        let (from, to) = (copy.display().to_string(), store.display().to_string());
        let findings = (self.mended.iter_mut()).flat_map(|f| [&mut f.place, &mut f.message]);
        let lost = self.lost.iter_mut().map(|lost| &mut lost.message);
        let faults = self.verified.faults.iter_mut();
        let faults = faults.flat_map(|fault| [&mut fault.place, &mut fault.message]);
        for text in findings.chain(lost).chain(faults) {
            *text = text.replace(&from, &to);
        }
    }
}

fn remove(copy: &Path) -> Result<()> {
    match fs::remove_dir_all(copy) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(files::io("remove", copy, &e)),
        _ => Ok(()),
    }
}

fn copy_store(from: &Path, to: &Path) -> Result<()> {
    DirBuilder::new().mode(0o700).create(to).map_err(|e| files::io("create", to, &e))?;
    for entry in fs::read_dir(from).map_err(|e| files::io("list", from, &e))? {
        let entry = entry.map_err(|e| files::io("list", from, &e))?;
        let (path, name) = (entry.path(), entry.file_name());
        if name == "damaged" {
            continue;
        }
        let beside = to.join(name);
        let meta = fs::symlink_metadata(&path).map_err(|e| files::io("look at", &path, &e))?;
        if meta.is_dir() {
            copy_store(&path, &beside)?;
        } else if meta.is_file() {
            fs::copy(&path, &beside).map_err(|e| files::io("copy", &path, &e))?;
        }
    }
    Ok(())
}

fn mend(dir: &Path, options: &Options) -> Result<RepairReport> {
    let mut report = RepairReport::default();
    let mut salvaged = false;
    for round in 1..=ROUNDS {
        let engine = match Engine::open(dir, options.clone()) {
            Ok(engine) => engine,
            Err(error) if error.kind() == ErrorKind::Corrupt && !salvaged => {
                salvaged = true;
                let salvaged = salvage_store(dir, &options.log, &error)?;
                report.unknown = unknown_loss(&salvaged, &error);
                let Salvaged { lost, kept, .. } = salvaged;
                report.kept.extend(kept);
                let engine = Engine::open(dir, options.clone())?;
                engine.reattach(&lost)?;
                report.lost.extend(lost.iter().map(|lost| describe(lost, &error)));
                engine
            }
            Err(error) => return Err(error),
        };
        report.mended.extend(engine.store().report().findings.iter().cloned());
        report.verified = engine.integrity().verify(None, &mut |_, _| {})?;
        // Runs before `mend_faults`, so that no stat cache names a chunk that it drops.
        if loses_chunks(&report) {
            report.mended.extend(forget_stats(dir)?);
        }
        let again = round < ROUNDS && engine.mend_faults(&mut report)?;
        engine.close()?;
        if !again {
            break;
        }
    }
    let faults = std::mem::take(&mut report.verified.faults);
    let (events, faults): (Vec<_>, Vec<_>) = faults.into_iter().partition(|f| f.event.is_some());
    report.lost.extend(events.iter().filter_map(|fault| {
        let event = fault.event?;
        Some(LostEvents {
            task: None,
            lineage: event.lineage,
            from: event.offset,
            to: event.offset + 1,
            kept: 0,
            message: fault.message.clone(),
        })
    }));
    name_tasks(dir, options, &mut report, &events)?;
    report.verified.faults = events.into_iter().chain(faults).collect();
    Ok(report)
}

/// Returns the loss of which no event is known, where a store was salvaged.
fn unknown_loss(salvaged: &Salvaged, refused: &Error) -> Option<String> {
    let Salvaged { lost, last, acked, .. } = salvaged;
    match acked {
        Some(acked) if acked > last => Some(match acked - last {
            1 => format!("commit {acked} was acknowledged, and no copy has it"),
            _ => format!("commits {} to {acked} were acknowledged, and no copy has them", last + 1),
        }),
        // Opening refuses only if commits are lost.
        None if lost.is_empty() => Some(format!("what was lost is not known: {refused}")),
        _ => None,
    }
}

/// Returns `true` if chunks are lost that the stat cache of a folder may name.
fn loses_chunks(report: &RepairReport) -> bool {
    let hits = |fault: &Fault| match &fault.remedy {
        Remedy::Note(key) => keys::chunk_id(key).is_some(),
        _ => fault.event.is_some(),
    };
    report.loses_events() || report.verified.faults.iter().any(hits)
}

/// Removes the stat caches of captured folders. A chunk that a cache names counts as stored without
/// a check, so a lost one would never be stored again. The caches are projections: the next capture
/// reads every file and writes them again.
fn forget_stats(dir: &Path) -> Result<Option<Finding>> {
    let place = dir.join(STATS);
    let entries = match fs::read_dir(&place) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorOf::NotFound => return Ok(None),
        Err(e) => return Err(files::io("list", &place, &e)),
    };
    let mut removed = 0_u64;
    for entry in entries {
        let path = entry.map_err(|e| files::io("list", &place, &e))?.path();
        if path.extension().is_some_and(|is| is == STAT) {
            fs::remove_file(&path).map_err(|e| files::io("remove", &path, &e))?;
            removed += 1;
        }
    }
    if removed == 0 {
        return Ok(None);
    }
    files::sync_dir(&place)?;
    let what = match removed {
        1 => "1 stat cache of a captured folder is".to_owned(),
        _ => format!("{removed} stat caches of captured folders are"),
    };
    let message = format!(
        "{what} dropped, because chunks are lost: the next capture reads every file, and stores \
         again what is still there"
    );
    Ok(Some(Finding::new(STATS, message, Outcome::Repaired)))
}

/// Sets the names of the tasks whose events are lost in packs.
fn name_tasks(
    dir: &Path,
    options: &Options,
    report: &mut RepairReport,
    events: &[Fault],
) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let engine = Engine::open(dir, options.clone())?;
    let from = report.lost.len() - events.len();
    for (lost, fault) in report.lost.iter_mut().skip(from).zip(events) {
        if let Some(event) = fault.event {
            lost.task = engine.inner.catalog.task(event.task).ok().map(|task| task.name);
        }
    }
    engine.close()
}

fn describe(lost: &LostRange, error: &Error) -> LostEvents {
    LostEvents {
        task: lost.name.clone(),
        lineage: match lost.log.kind {
            LogKind::Lineage(lineage) => Some(lineage),
            LogKind::Control => None,
        },
        from: lost.from,
        to: lost.to,
        kept: lost.kept,
        message: error.to_string(),
    }
}

impl Engine {
    /// Repairs the faults of a verification where possible. Returns `true` if the store has to be
    /// opened and verified again.
    fn mend_faults(&self, report: &mut RepairReport) -> Result<bool> {
        let log = self.inner.catalog.log();
        let (mut archive, mut sled, mut chunk, mut again) = (false, None, None, false);
        for fault in &report.verified.faults {
            match &fault.remedy {
                Remedy::Files => archive = true,
                Remedy::Sled => sled = sled.or(Some(fault)),
                // The pack may hold the chunk at another place: a rebuild reads all packs.
                Remedy::Note(key) if keys::chunk_id(key).is_some() => chunk = chunk.or(Some(fault)),
                Remedy::Note(key) => {
                    let found = Finding::new(&fault.place, &fault.message, Outcome::Repaired);
                    log.record_damage(&[found], "the events: the snapshot is made again")?;
                    log.drop_note(key.clone())?;
                    again = true;
                }
                Remedy::None => {}
            }
        }
        let distrust = |fault: &Fault| {
            log.distrust_index(&format!("{}: {}", fault.place, fault.message))?;
            Ok(true)
        };
        if let Some(fault) = sled {
            return distrust(fault);
        }
        if archive {
            let mended = log.mend_files()?;
            again |= !mended.is_empty();
            report.mended.extend(mended);
        }
        match chunk {
            // A rebuild reads the archive, which is whole by the next round.
            Some(fault) if !archive => distrust(fault),
            _ => Ok(again || (chunk.is_some() && archive)),
        }
    }

    /// Completes a salvage: registers lineages whose registration is lost, activates a lineage of a
    /// task without any activation, and records the lost events.
    fn reattach(&self, lost: &[LostRange]) -> Result<()> {
        let inner = &self.inner;
        let prefix = keys::all(KeyKind::Task);
        let log = inner.catalog.log();
        for (key, _) in log.scan(&prefix, &keys::after_prefix(&prefix), false, usize::MAX)? {
            let task = TaskNo(keys::first_u64(&key));
            let mut controls = self.registrations(task)?;
            for lost in lost.iter().filter(|lost| lost.log.task == task) {
                let lineage = match lost.log.kind {
                    LogKind::Lineage(lineage) => Some(lineage),
                    LogKind::Control => None,
                };
                let (from, to) = (lost.from, lost.to);
                controls.push(Lost { lineage, from, to }.into());
            }
            if controls.is_empty() {
                continue;
            }
            let origin = inner.catalog.task(task)?.origin;
            let id = LogId::control(task);
            let mut append = match log.head(id)? {
                Some(_) => self.log_append(id, origin),
                None => self.opening_append(id, origin),
            };
            for control in &controls {
                append.control(control, inner.now_us())?;
            }
            inner.commit(append)?;
        }
        Ok(())
    }

    fn registrations(&self, task: TaskNo) -> Result<Vec<Control>> {
        let inner = &self.inner;
        let prefix = keys::of_task(KeyKind::Head, task);
        let mut controls = Vec::new();
        let mut newest = None;
        let heads =
            (inner.catalog.log()).scan(&prefix, &keys::after_prefix(&prefix), false, usize::MAX)?;
        for (key, _) in heads {
            let LogKind::Lineage(lineage) = keys::log_of(&key).kind else {
                continue;
            };
            newest = newest.max(Some(lineage));
            if inner.catalog.lineage(task, lineage).is_ok() {
                continue;
            }
            let id = LogId::lineage(task, lineage);
            let start = inner.catalog.log().head(id)?.map_or(0, |head| head.start);
            let mut cursor = crate::history::events::Cursor::new(inner.catalog.log(), id, start);
            let opened = cursor
                .next_record(|_, record| Body::decode(record.header()?.kind, record.payload))?;
            if let Some(Body::LineageOpened(opened)) = opened {
                let registered = LineageRegistered {
                    lineage,
                    lineage_type: opened.lineage_type,
                    description: opened.description,
                    parent: opened.parent,
                };
                controls.push(registered.into());
            }
        }
        if let (Some(lineage), Err(_)) = (newest, inner.catalog.active(task)) {
            let activated =
                Activated { lineage, epoch: 1, cause: ActivationCause::Chosen, back: None };
            controls.push(activated.into());
        }
        Ok(controls)
    }
}
