//! The switch between two sled folders. A compaction builds the second; a marker file, written when
//! that is complete and durable, names it as the one in use. The next opening gives it the first
//! one's name.

use std::fs;
use std::path::Path;

use milepost_codec::Result;

use crate::files;
use crate::local::layout::Layout;

/// Marks a folder as the one in use.
pub(crate) fn write_now(layout: &Layout, dir: &Path) -> Result<()> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    files::write_whole(&layout.sled_now(), name.as_bytes())?;
    files::sync_dir(&layout.root)
}

/// Finishes an interrupted switch at opening: one folder is left, under the first name.
pub(crate) fn finish_switch(layout: &Layout) -> Result<()> {
    let (first, second, now) = (layout.sled(), layout.sled_next(), layout.sled_now());
    let said = fs::read(&now).unwrap_or_default();
    let is_second = second.file_name().is_some_and(|name| name.as_encoded_bytes() == said);
    if is_second && second.exists() {
        remove(&first)?;
        fs::rename(&second, &first).map_err(|e| files::io("rename", &second, &e))?;
        files::sync_dir(&layout.root)?;
    }
    // A folder that was not finished, or not removed.
    remove(&second)?;
    match fs::remove_file(&now) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(files::io("remove", &now, &e)),
        Ok(()) => files::sync_dir(&layout.root),
        _ => Ok(()),
    }
}

/// Removes a sled folder, if it exists.
pub(crate) fn remove(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(files::io("remove", dir, &e)),
        _ => Ok(()),
    }
}
