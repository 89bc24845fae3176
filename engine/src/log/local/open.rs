//! Opening a folder: its lock, its settings, sled, and what to do where sled cannot be used.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use milepost_codec::{Error, ErrorKind, Result, StoreId};
use parking_lot::{Condvar, Mutex, RwLock};

use super::applied::{self, Applied};
use super::journal::{JournalEnd, Shelf};
use super::kv::Kv;
use super::layout::{self, Layout, StoreConfig};
use super::lock::StoreLock;
use super::packs::Packs;
use super::recovery;
use super::shared::Shared;
use crate::entropy::Entropy;
use crate::index::keys;
use crate::options::Options;

pub(super) fn prepare(layout: &Layout, options: &Options, entropy: &Entropy) -> Result<StoreLock> {
    let root = &layout.root;
    if !layout.exists() {
        if !options.create {
            let message = format!("there is no Milepost store in {}", root.display());
            return Err(Error::not_found(message));
        }
        if root.exists() && !root.is_dir() {
            return Err(Error::invalid(format!(
                "{} is not a folder",
                root.display()
            )));
        }
        layout.check_free()?;
        layout::make_dir(root)?;
    }
    let lock = StoreLock::take(&layout.lock(), options.clock.now_us())?;
    if !layout.exists() {
        layout.create(&StoreConfig::new(StoreId(entropy.bytes16())))?;
    }
    Ok(lock)
}

/// Opens sled and takes back what the journal holds beyond it. Where the two do not fit together
/// and the journal is sound, sled is set aside and built anew from archive and journal.
pub(super) fn bring_back_or_rebuild(
    layout: &Layout,
    config: &StoreConfig,
    options: &Options,
) -> Result<(Arc<Shared>, JournalEnd)> {
    let suspect = layout.suspect().exists();
    let mut had = Applied::default();
    let mut journal_sound = true;
    let mut error = Error::corrupt("sled", "a store it can read", "damage met when it was read");
    if !suspect {
        error = match bring_back(layout, config, options, &mut had, &mut journal_sound) {
            Err(error) if error.kind() == ErrorKind::Corrupt && journal_sound => error,
            done => return done,
        };
    }
    set_aside(layout)?;
    match bring_back(layout, config, options, &mut Applied::default(), &mut true) {
        Ok((shared, end)) if end.last >= had.seq => {
            if suspect {
                std::fs::remove_file(layout.suspect())
                    .map_err(|e| layout::io("remove", &layout.suspect(), &e))?;
            }
            Ok((shared, end))
        }
        built => {
            // The archive does not reach that far: what sled has is not thrown away for it.
            drop(built);
            put_back(layout)?;
            if suspect {
                return bring_back(layout, config, options, &mut had, &mut journal_sound);
            }
            Err(error)
        }
    }
}

fn put_back(layout: &Layout) -> Result<()> {
    if !layout.aside().exists() {
        return Ok(());
    }
    let io = |e| layout::io("put back", &layout.sled(), &e);
    if layout.sled().exists() {
        std::fs::remove_dir_all(layout.sled()).map_err(io)?;
    }
    std::fs::rename(layout.aside(), layout.sled()).map_err(io)?;
    layout::sync_dir(&layout.root)
}

fn bring_back(
    layout: &Layout,
    config: &StoreConfig,
    options: &Options,
    had: &mut Applied,
    journal_sound: &mut bool,
) -> Result<(Arc<Shared>, JournalEnd)> {
    let kv = open_sled(layout, config, options)?;
    let applied = applied::read(&kv)?;
    *had = applied;
    let (packs, chunks) = Packs::open(&layout.packs(), applied.packs)?;
    kv.apply(
        chunks
            .iter()
            .map(|(id, at)| (keys::chunk(id), Some(at.encode())))
            .collect(),
    )?;
    let shared = Arc::new(Shared {
        layout: layout.clone(),
        config: config.clone(),
        kv,
        packs,
        shelf: Shelf::default(),
        tail: RwLock::default(),
        backlog_bytes: options.backlog_bytes,
        journal: Mutex::new(None),
        applied: AtomicU64::new(applied.seq),
        seq: AtomicU64::new(applied.seq),
        poison: Mutex::new(None),
        closed: AtomicBool::new(false),
        recovered: AtomicU64::new(0),
        torn: AtomicBool::new(false),
        suspect: AtomicBool::new(false),
        indexing: RwLock::new(()),
        waiting: Mutex::new(()),
        progress: Condvar::new(),
    });
    let end = recovery::recover(&shared, journal_sound)?;
    Ok((shared, end))
}

/// Moves sled's folder out of the way.
fn set_aside(layout: &Layout) -> Result<()> {
    let (dir, aside) = (layout.sled(), layout.aside());
    if !dir.exists() {
        return Ok(());
    }
    let _ = std::fs::remove_dir_all(&aside);
    std::fs::rename(&dir, &aside).map_err(|e| layout::io("set aside", &dir, &e))?;
    layout::sync_dir(&layout.root)
}

/// Opens sled. One that cannot be opened is set aside, and recovery builds it anew.
fn open_sled(layout: &Layout, config: &StoreConfig, options: &Options) -> Result<Kv> {
    let dir = layout.sled();
    let first = Kv::open(&dir, options.cache_bytes, config.sled_segment);
    let Err(error) = first else { return first };
    // A full disk or too many open files are no reason to build it anew.
    if error.kind() != ErrorKind::Corrupt || set_aside(layout).is_err() {
        return Err(error);
    }
    Kv::open(&dir, options.cache_bytes, config.sled_segment)
}
