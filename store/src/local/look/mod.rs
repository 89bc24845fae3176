//! A store that is opened for reading only: on a read-only mount, or while another process has it
//! open.
//!
//! ```text
//! mod.rs      builds a private index from the archive and the journal
//! seen.rs     the files as of one moment, while another process writes them
//! folder.rs   the private folder of the index
//! ```
//!
//! sled writes to its folder when it is opened, and a folder that another process writes cannot be
//! copied at one moment. So sled's folder is not read. Archive and journal hold every commit; the
//! code that rebuilds sled at opening builds the index from them, in a temporary folder, or in
//! memory if they are small. Packs are read in place.
//!
//! A compaction or a repair by the other process replaces archive files and moves chunks. Each file
//! that was read is noted with its inode. If one is replaced while the index is built, the index is
//! built again; later an error asks to open the store again.

mod folder;
mod scan;

use std::sync::Arc;

use milepost_codec::{Detail, Error, ErrorKind, Result, Seq};

use crate::files;
use crate::files::own::check_store;
use crate::index::keys;
use crate::local::applier;
use crate::local::chunks::packs::Packs;
use crate::local::index::kv::Kv;
use crate::local::inner::{Inner, StoreParts};
use crate::local::layout::Layout;
use crate::local::location::Location;
use crate::local::lock::StoreLock;
use crate::local::look::folder::Folder;
use crate::local::look::scan::{Stamps, StoreScan};
use crate::local::markers::applied::{AppliedPosition, UNKNOWN};
use crate::local::markers::closed;
use crate::local::open;
use crate::local::recovery::decide;
use crate::local::recovery::parallel_apply::ParallelApplier;
use crate::local::recovery::replay::{Position, Replay};
use crate::local::settings::StoreConfig;
use crate::metrics::Meters;
use crate::open_report::{Finding, Outcome, Progress};
use crate::options::OpenOptions;

/// The maximum number of attempts to build an index while files are being replaced.
const TRIES: usize = 3;

/// The number of chunk locations that are put into the index together.
const PLACES: usize = 512;

/// The maximum bytes of a store whose index is built in memory. Building it takes as long as
/// opening sled and closing it.
const SMALL: u64 = 2 << 20;

/// The events of an archive file are larger by this factor.
const UNPACKED: u64 = 6;

/// Returns `true` if a store is small, was closed cleanly, and no process has it open: building an
/// index in memory is then quicker than opening sled, and nothing is to be recovered.
pub(crate) fn is_quick(layout: &Layout) -> bool {
    let is_open = || StoreLock::is_held(&layout.lock());
    is_small(layout) && !layout.sled_now().exists() && closed::matches(layout) && !is_open()
}

fn is_small(layout: &Layout) -> bool {
    let [journal, archive, packs] =
        [layout.journal(), layout.archive(), layout.packs()].map(|dir| files::disk_bytes(&dir));
    journal + archive * UNPACKED + packs <= SMALL
}

/// A store opened for reading.
#[derive(Debug)]
pub(crate) struct Look {
    root: std::path::PathBuf,
    /// The files that the index was built from, and the packs.
    stamps: Stamps,
    folder: Folder,
}

impl Look {
    /// Returns the error of every write.
    pub(crate) fn refusal(&self) -> Error {
        let path = self.root.display().to_string();
        let message = format!(
            "the store {path} was opened for reading only, and nothing was written: open it \
             without `read_only`, once no other process has it open and its folder can be written \
             to"
        );
        Error::new(ErrorKind::Unavailable, message).with_detail(Detail::ReadOnly { path })
    }

    /// Fails if files of the store were replaced since it was opened.
    pub(crate) fn check_unmoved(&self) -> Result<()> {
        match self.stamps.changed_path() {
            None => Ok(()),
            Some(path) => Err(changed_error(&self.root, &path)),
        }
    }

    /// Returns the error for damage in the private index.
    pub(crate) fn index_damaged(&self, error: &Error) -> Error {
        let place = self.folder.path().display();
        let message = format!("the index in {place} is damaged, open the store again: {error}");
        Error::new(ErrorKind::Unavailable, message)
    }

    /// Removes the folder of the index.
    pub(crate) fn close(&self) -> Result<()> {
        self.folder.remove()
    }
}

fn changed_error(root: &std::path::Path, path: &std::path::Path) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!(
            "{} was replaced since the store {} was opened for reading, by a compaction or a \
             repair of the process that has it: open the store again",
            path.display(),
            root.display()
        ),
    )
}

/// Opens a store for reading.
pub(crate) fn open(layout: &Layout, options: &OpenOptions) -> Result<(Arc<Inner>, Vec<Finding>)> {
    let root = &layout.root;
    check_store(root)?;
    if !layout.exists() {
        let message = format!("there is no Milepost store in {}", root.display());
        return Err(Error::not_found(message));
    }
    if layout.repairing().exists() {
        let message = format!(
            "a repair of the store {} is under way or was interrupted: open it for writing, which \
             ends that",
            root.display()
        );
        return Err(Error::new(ErrorKind::Unavailable, message));
    }
    let (config, mismatch) = StoreConfig::look(layout)?;
    let supplied_key = options.key.as_ref().map(open::key_id);
    config.check_key(layout, supplied_key.as_deref())?;
    let mut findings = Vec::new();
    findings.extend(mismatch.map(|(path, error)| Finding {
        place: path.display().to_string(),
        message: error.to_string(),
        outcome: Outcome::Left,
    }));
    let mut tries = 1;
    loop {
        match build(layout, &config, options) {
            Ok(shared) => return Ok((shared, findings)),
            Err(Failed::Moved(_)) if tries < TRIES => tries += 1,
            Err(Failed::Moved(path)) => return Err(changed_error(root, &path)),
            Err(Failed::Other(error)) => return Err(error),
        }
    }
}

enum Failed {
    /// A file was replaced while it was read.
    Moved(std::path::PathBuf),
    Other(Error),
}

/// Builds an index in a private folder.
fn build(
    layout: &Layout,
    config: &StoreConfig,
    options: &OpenOptions,
) -> std::result::Result<Arc<Inner>, Failed> {
    let scan = StoreScan::take(layout, config, options.key.as_ref()).map_err(Failed::Other)?;
    let stamps = scan.stamps(layout).map_err(Failed::Other)?;
    let built = fill(layout, config, options, &scan, stamps.clone());
    match (stamps.changed_path(), built) {
        (Some(path), _) => Err(Failed::Moved(path)),
        (None, Ok(shared)) => Ok(shared),
        (None, Err(error)) if error.kind() == ErrorKind::Corrupt => Err(Failed::Other(error.at(
            "for reading only, the store is built from its archive and journal: where they are \
                 damaged, open it for writing, or a copy of it, which repairs them from sled",
        ))),
        (None, Err(error)) => Err(Failed::Other(error)),
    }
}

fn fill(
    layout: &Layout,
    config: &StoreConfig,
    options: &OpenOptions,
    scan: &StoreScan,
    stamps: Stamps,
) -> Result<Arc<Inner>> {
    let folder = Folder::make()?;
    let kv = match is_small(layout) {
        true => Kv::in_memory(folder.path()),
        false => Kv::open(&folder.path().join("sled"), options.cache_bytes, config.sled_segment)?,
    };
    kv.blocks()?.resume(Location::default(), config.store, true)?;
    let meters = Arc::new(Meters::new(config.store.to_string()));
    // A chunk is stored before a commit names it, so after the survey of the journal all exist.
    let packs = Packs::look(
        &layout.packs(),
        folder.path().to_owned(),
        Arc::clone(&meters),
        &mut |found| {
            for some in found.chunks(PLACES) {
                let puts = some.iter().map(|(id, at)| (keys::chunk(id), Some(at.encode())));
                kv.apply(puts.collect())?;
            }
            Ok(())
        },
    )?;
    let shared = Arc::new(Inner::new(StoreParts {
        layout: layout.clone(),
        config: config.clone(),
        kv,
        packs: Arc::new(packs),
        key: options.key,
        backlog_bytes: options.backlog_bytes,
        cache_bytes: options.cache_bytes,
        applied: AppliedPosition::none(config.store),
        // This process has just created it.
        audited: true,
        meters,
        clock: Arc::clone(&options.clock),
        look: Some(Look { root: layout.root.clone(), stamps, folder }),
    }));
    let last = replay(&shared, scan, options)?;
    shared.set_applied(last);
    shared.seq.store(last, std::sync::atomic::Ordering::Release);
    Ok(shared)
}

/// Applies every commit to the index. Returns the last.
fn replay(shared: &Inner, scan: &StoreScan, options: &OpenOptions) -> Result<Seq> {
    let all = scan.survey.last_seen();
    let report = |done: Seq| {
        if let Some(progress) = &options.progress {
            let done = done.min(all);
            progress(Progress { done, all });
        }
        Ok(())
    };
    let bytes_of = |segment: &_| scan.bytes_of(segment);
    let live = decide::live(shared, &scan.survey, 0, &bytes_of)?;
    let begin = Position { seq: 0, check: UNKNOWN };
    let (failed, end) = std::thread::scope(|scope| -> Result<_> {
        let applier = ParallelApplier::start(scope, shared);
        let mut replay = Replay::new(shared, applier, begin, &report, &live);
        let failed = decide::replay_all(shared, &scan.survey, &mut replay, &bytes_of)?;
        Ok((failed, replay.finish()?.0))
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    applier::all(shared)?;
    Ok(end.seq)
}
