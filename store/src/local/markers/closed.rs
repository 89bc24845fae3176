//! The state of sled's files, and of the block files, at the last close. If they have changed
//! since, they are read and compared before they are trusted.

use std::fs;
use std::path::Path;

use milepost_codec::Result;
use serde::{Deserialize, Serialize};

use crate::files;
use crate::local::index::block_files;
use crate::local::layout::Layout;

/// The maximum size of a file that is hashed; of a larger one only the length is kept.
const HASHED_MAX: u64 = 1 << 20;

#[derive(Serialize, Deserialize, PartialEq, Eq)]
struct FileState {
    name: String,
    len: u64,
    /// BLAKE3 of the content, in hexadecimal digits.
    hash: Option<String>,
}

/// Records sled's files, after sled was closed.
pub(crate) fn note(layout: &Layout, sled: &Path) -> Result<()> {
    // sled writes when it is closed, and does not sync that. A record that outlives it in a loss of
    // power would call it damage.
    sync_files(sled)?;
    let text = serde_json::to_vec(&state(sled)).expect("names and numbers are JSON");
    files::write_whole(&layout.sled_closed(), &text)
}

/// Removes the record, before sled is opened.
pub(crate) fn forget(layout: &Layout) -> Result<()> {
    let path = layout.sled_closed();
    match fs::remove_file(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(files::io("remove", &path, &e)),
        // A record that survived a power cut would call the interrupted work damage.
        Ok(()) => files::sync_dir(&layout.root),
    }
}

/// Returns `true` if sled's files match the record.
pub(crate) fn matches(layout: &Layout) -> bool {
    let noted = fs::read(layout.sled_closed()).ok();
    let noted = noted.and_then(|text| serde_json::from_slice::<Vec<FileState>>(&text).ok());
    noted.is_some_and(|noted| !noted.is_empty() && noted == state(&layout.sled()))
}

fn sync_files(sled: &Path) -> Result<()> {
    for entry in fs::read_dir(sled).map_err(|e| files::io("read", sled, &e))?.flatten() {
        let path = entry.path();
        if path.is_file() {
            let file = files::open_read(&path)?;
            file.sync_all().map_err(|e| files::io("sync", &path, &e))?;
        }
    }
    files::sync_dir(sled)
}

fn state(sled: &Path) -> Vec<FileState> {
    let folders = [sled.to_owned(), sled.join(block_files::FOLDER)];
    let entries = folders.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
    let mut states: Vec<FileState> = files.filter_map(|path| state_of(&path)).collect();
    states.sort_by(|a, b| a.name.cmp(&b.name));
    states
}

fn state_of(path: &Path) -> Option<FileState> {
    let len = fs::metadata(path).ok()?.len();
    let content = (len <= HASHED_MAX).then(|| fs::read(path).ok()).flatten();
    Some(FileState {
        name: path.file_name()?.to_string_lossy().into_owned(),
        len,
        hash: content.map(|content| blake3::hash(&content).to_hex().to_string()),
    })
}
