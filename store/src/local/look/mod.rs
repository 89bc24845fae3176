//! A store that is opened for reading only: on a read-only mount, or while another process has it
//! open.
//!
//! ```text
//! mod.rs      builds a private index from the archive and the journal
//! scan.rs     the files as of one moment, while another process writes them
//! opened.rs   the files that were read, to notice that one was replaced
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
pub(crate) mod opened;
mod scan;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use milepost_codec::{Error, ErrorKind, Result, Seq};

use crate::files;
use crate::files::own::check_store;
use crate::index::keys;
use crate::local::chunks::packs::Packs;
use crate::local::index::kv::Kv;
use crate::local::index::local_index::LocalIndex;
use crate::local::inner::Inner;
use crate::local::layout::Layout;
use crate::local::location::Location;
use crate::local::lock::StoreLock;
use crate::local::look::folder::Folder;
use crate::local::look::opened::{Look, Stamp, changed_error, changed_path};
use crate::local::look::scan::StoreScan;
use crate::local::markers::applied::{AppliedPosition, UNKNOWN};
use crate::local::markers::closed;
use crate::local::recovery::decide;
use crate::local::recovery::replay::Position;
use crate::local::rounds;
use crate::local::settings::{StoreConfig, key_id};
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
    let supplied_key = options.key.as_ref().map(key_id);
    config.check_key(layout, supplied_key.as_deref())?;
    let mut findings = Vec::new();
    findings.extend(mismatch.map(|(path, error)| Finding {
        place: path.display().to_string(),
        message: error.to_string(),
        outcome: Outcome::Left,
    }));
    let mut tries = 1;
    loop {
        match build(layout, &config, options)? {
            Ok(shared) => return Ok((shared, findings)),
            Err(_) if tries < TRIES => tries += 1,
            Err(path) => return Err(changed_error(root, &path)),
        }
    }
}

/// Builds an index in a private folder. Returns the path of a file that was replaced meantime.
fn build(
    layout: &Layout,
    config: &StoreConfig,
    options: &OpenOptions,
) -> Result<std::result::Result<Arc<Inner>, PathBuf>> {
    let scan = StoreScan::take(layout, config, options.key.as_ref())?;
    let stamps = scan.stamps(layout)?;
    let built = fill(layout, config, options, &scan, stamps.clone());
    match (changed_path(&stamps), built) {
        (Some(path), _) => Ok(Err(path)),
        (None, Err(error)) if error.kind() == ErrorKind::Corrupt => Err(error.at(
            "for reading only, the store is built from its archive and journal: where they are \
                 damaged, open it for writing, or a copy of it, which repairs them from sled",
        )),
        (None, built) => built.map(Ok),
    }
}

fn fill(
    layout: &Layout,
    config: &StoreConfig,
    options: &OpenOptions,
    scan: &StoreScan,
    stamps: Vec<Stamp>,
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
    let index = LocalIndex::new(
        (kv, Arc::new(packs)),
        (options.key, options.backlog_bytes),
        AppliedPosition::none(config.store),
        true,
        meters,
    );
    let look = Look { root: layout.root.clone(), stamps, folder };
    let shared = Inner::new(layout, config, options, index, Some(look));
    let last = replay(&shared.index, layout, scan, options)?;
    shared.index.set_applied(last);
    shared.seq.store(last, Ordering::Release);
    Ok(Arc::new(shared))
}

/// Applies every commit to the index. Returns the last.
fn replay(
    index: &LocalIndex,
    layout: &Layout,
    scan: &StoreScan,
    options: &OpenOptions,
) -> Result<Seq> {
    let all = scan.survey.last_seen();
    let report = |done: Seq| {
        if let Some(progress) = &options.progress {
            let done = done.min(all);
            progress(Progress { done, all });
        }
        Ok(())
    };
    let bytes_of = |segment: &_| scan.bytes_of(segment);
    let begin = Position { seq: 0, check: UNKNOWN };
    let (failed, (end, _)) =
        decide::replay(index, layout, &scan.survey, begin, &bytes_of, &report)?;
    if let Some(error) = failed {
        return Err(error);
    }
    rounds::all(index)?;
    Ok(end.seq)
}
