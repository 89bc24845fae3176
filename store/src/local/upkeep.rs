//! Functions for the repair of a store, open or not.

use std::path::Path;
use std::slice::from_ref;

use milepost_codec::{Error, Result, StoreId};

use crate::files::own::check_store;
#[cfg(feature = "fuzzing")]
use crate::local::archive;
#[cfg(feature = "fuzzing")]
use crate::local::journal::scan;
use crate::local::layout::Layout;
use crate::local::lock::StoreLock;
use crate::local::open;
use crate::local::repairs::copies;
use crate::local::salvage::{self, Salvaged};
use crate::local::settings::StoreConfig;
use crate::open_report::{Finding, Outcome, Repair};
use crate::options::OpenOptions;

/// Finds the frames of a segment, for fuzz targets.
#[cfg(feature = "fuzzing")]
pub fn survey_segment(path: &Path, store: StoreId) -> Result<usize> {
    let (segment, bytes) = scan::Segment::survey(path, store, None)?;
    for frame in &segment.frames {
        scan::payload(&bytes, frame)?;
    }
    let _ = segment.sound();
    Ok(segment.frames.len())
}

/// Reads an archive file, for fuzz targets. Returns the number of its commits with log batches.
#[cfg(feature = "fuzzing")]
pub fn read_archive(path: &Path, store: StoreId) -> Result<u64> {
    let mut reader = archive::Reader::open(path, store, None)?;
    let mut commits = 0;
    while let Some(round) = reader.next_round()? {
        commits += round.commits().count() as u64;
    }
    Ok(commits)
}

/// Returns the layout of a store's folder, after a check of every name in it.
fn at(dir: &Path) -> Result<Layout> {
    check_store(dir)?;
    let layout = Layout::new(dir);
    match layout.exists() {
        true => Ok(layout),
        false => Err(Error::not_found(format!("there is no Milepost store in {}", dir.display()))),
    }
}

/// Returns the id of the store in a folder. The store may be open.
pub fn store_id(dir: &Path) -> Result<StoreId> {
    Ok(StoreConfig::look(&at(dir)?)?.0.store)
}

/// Returns the id of the key of the store in a folder, as hexadecimal digits; `None` if it has no
/// key. The store may be open.
pub fn store_key_id(dir: &Path) -> Result<Option<String>> {
    Ok(StoreConfig::look(&at(dir)?)?.0.key)
}

/// Returns the records of repaired damage of the store in a folder. The store may be open, or may
/// be refused by an opening.
pub fn repairs_on_record(dir: &Path) -> Result<Vec<Repair>> {
    at(dir)?.read_repairs()
}

/// Runs `work`, which changes nothing in the store, while no other process can have it open.
pub fn with_lock_unwritten<T>(dir: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let layout = at(dir)?;
    let _lock = StoreLock::acquire(&layout.lock())?;
    work()
}

/// Runs `work` while no other process can have the store open.
fn with_lock<T>(dir: &Path, options: &OpenOptions, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let layout = at(dir)?;
    let _lock = StoreLock::take(&layout.lock(), options.clock.now_us())?;
    work()
}

/// Salvages a store that cannot be opened because of `refused`.
pub fn salvage_store(dir: &Path, options: &OpenOptions, refused: &Error) -> Result<Salvaged> {
    let layout = Layout::new(dir);
    with_lock(dir, options, || {
        let config = open::settings(&layout, options, &mut Vec::new())?;
        tracing::warn!("{}: going on with what is left: {refused}", dir.display());
        let lost = Finding::new("the store", refused.to_string(), Outcome::Repaired);
        layout.record(from_ref(&lost), copies::BOTH, options.clock.now_us())?;
        salvage::salvage(&layout, &config, options)
    })
}
