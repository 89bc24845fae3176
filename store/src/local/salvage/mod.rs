//! Salvage: merges the rest of both damaged copies into one.
//!
//! ```text
//! sources.rs   commits from damaged files
//! merge.rs     log batches that still fit, and losses
//! ```
//!
//! The result is a new archive, from which opening rebuilds sled. It is written to `archive.new`;
//! then journal, sled and archive are moved to `damaged/` and it takes their place. A marker file
//! makes opening finish that after a crash.

pub(crate) mod merge;
pub(crate) mod sources;

use std::fs;
use std::path::{Path, PathBuf};

use milepost_codec::{Result, Seq};

use crate::files;
use crate::liveness::Liveness;
use crate::local::archive::from_index::Files;
use crate::local::compaction::finish_switch;
use crate::local::index::kv::Kv;
use crate::local::layout::{self, Layout};
use crate::local::markers::acked::AckMarker;
use crate::local::recovery::replay::REPORT_INTERVAL;
pub use crate::local::salvage::merge::LostRange;
use crate::local::salvage::merge::Merge;
use crate::local::salvage::sources::Sources;
use crate::local::settings::StoreConfig;
use crate::open_report::Progress;
use crate::options::OpenOptions;

/// The result of a salvage.
#[derive(Debug, Default)]
pub struct Salvaged {
    /// Events that were lost.
    pub lost: Vec<LostRange>,
    /// The last commit that was found.
    pub last: Seq,
    /// The last commit that was acknowledged; `None` if its marker is missing or damaged.
    pub acked: Option<Seq>,
    /// The paths of the replaced files.
    pub kept: Vec<PathBuf>,
}

/// Merges the rest of a store into a new archive, which replaces the old one. The caller holds the
/// lock.
pub fn salvage(layout: &Layout, config: &StoreConfig, options: &OpenOptions) -> Result<Salvaged> {
    let new_archive = layout.archive_new();
    if new_archive.exists() {
        fs::remove_dir_all(&new_archive).map_err(|e| files::io("remove", &new_archive, &e))?;
    }
    files::make_dir(&new_archive)?;
    files::make_dir(&layout.damaged())?;
    let orphans = layout::free_name(&layout.damaged(), "orphans.jsonl");
    finish_switch(layout)?;
    // A sled that cannot be opened contributes nothing.
    let kv = Kv::open(&layout.sled(), options.cache_bytes, config.sled_segment).ok();
    let key = options.key.as_ref();
    let mut sources = Sources::of(layout, config.store, key, kv.as_ref())?;
    let last = sources.last();
    // Withdrawn content is not lost. The control records come after the events that they withdraw.
    let mut live = Liveness::default();
    for seq in 1..=last {
        live.take_readable(&sources.payload(seq)?);
    }
    let mut sources = Sources::of(layout, config.store, key, kv.as_ref())?;
    let mut weave = Merge::new(&orphans, live)?;
    let files = Files { dir: &new_archive, store: config.store, key };
    files.write(1, last, 1.., |seq, frame| {
        if let Some(report) = options.progress.as_deref()
            && seq.is_multiple_of(REPORT_INTERVAL)
        {
            let (done, all) = (seq, last);
            report(Progress { done, all });
        }
        let payload = sources.payload(seq)?;
        weave.commit(seq, &payload, frame)
    })?;
    drop(sources);
    if let Some(kv) = kv {
        kv.close(true);
    }
    files::sync_dir(&layout.root)?;
    let lost = weave.finish()?;
    let acked = AckMarker::read(&layout.acked(), config.store)?;
    files::write_whole(&layout.repairing(), b"")?;
    let mut kept = finish_swap(layout)?;
    if orphans.exists() {
        kept.push(orphans);
    }
    Ok(Salvaged { lost, last, acked, kept })
}

/// Moves the old files to `damaged/` and the new archive to its place; returns the new paths of the
/// old files. Each step may have been done before.
pub fn finish_swap(layout: &Layout) -> Result<Vec<PathBuf>> {
    let mut kept = Vec::new();
    let mut move_away = |path: &Path| -> Result<()> {
        if path.exists() {
            kept.push(layout::set_aside(layout, path)?);
        }
        Ok(())
    };
    move_away(&layout.sled())?;
    for (_, path) in files::numbered(&layout.journal(), "seg")? {
        move_away(&path)?;
    }
    let new_archive = layout.archive_new();
    if new_archive.exists() {
        move_away(&layout.archive())?;
        fs::rename(&new_archive, layout.archive())
            .map_err(|e| files::io("move", &new_archive, &e))?;
        files::sync_dir(&layout.root)?;
    }
    // Lost commits were acknowledged, so the marker starts over.
    for path in [layout.acked(), layout.suspect(), layout.sled_closed(), layout.repairing()] {
        if path.exists() {
            fs::remove_file(&path).map_err(|e| files::io("remove", &path, &e))?;
        }
    }
    files::sync_dir(&layout.root)?;
    Ok(kept)
}
