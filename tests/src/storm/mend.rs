//! Stores that are mended: a copy that nothing is wrong with, one file with a bit flipped, a store
//! without sled.

use std::path::{Path, PathBuf};

use milepost::repair::repair;
use milepost::{Engine, Options};

use super::check::{check, verify};
use super::model::Model;
use crate::folder;

/// Repairs a copy of a store that is closed, and looks whether it is the same.
pub fn copied(root: &Path, to: &Path, options: &Options, model: &Model) -> Result<(), String> {
    folder::copy(root, to).unwrap();
    mended(to, options)?;
    let engine = Engine::open(to, options.clone());
    let engine = engine.map_err(|e| format!("I1: open a repaired copy: {e}"))?;
    let looked = check(&engine, &mut model.clone(), None).and_then(|()| verify(&engine));
    looked.map_err(|e| format!("a repaired copy: {e}"))?;
    engine.close().map_err(|e| format!("close a repaired copy: {e}"))
}

/// Flips one bit of one file that has another copy, and repairs the store.
pub fn flipped(root: &Path, at: u32, options: &Options) -> Result<(), String> {
    let mut files: Vec<PathBuf> = Vec::new();
    for (name, ending) in [("archive", ""), ("journal", ""), ("sled", "db")] {
        files.extend(folder::files(&root.join(name), ending).unwrap_or_default());
    }
    files.retain(|path| path.metadata().is_ok_and(|meta| meta.len() > 0 && meta.is_file()));
    let Some(path) = files.get(at as usize % files.len().max(1)) else {
        return Ok(());
    };
    let place = u64::from(at).wrapping_mul(0x9e37_79b9) % path.metadata().unwrap().len();
    folder::flip(path, place).unwrap();
    let name = path.strip_prefix(root).unwrap_or(path).display();
    mended(root, options).map_err(|e| format!("bit {place} of {name}: {e}"))
}

/// Repairs a store of which nothing may be lost.
fn mended(root: &Path, options: &Options) -> Result<(), String> {
    let report = repair(root, options, false).map_err(|e| format!("repair: {e}"))?;
    match (report.lost.first(), report.verified.faults.first()) {
        (None, None) => Ok(()),
        (lost, fault) => Err(format!("repair: lost {lost:?}, fault {fault:?}")),
    }
}
