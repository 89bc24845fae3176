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
    files::write_whole(&layout.sled_now(), files::name_of(dir).as_bytes())?;
    files::sync_dir(&layout.root)
}

/// Finishes an interrupted switch at opening: one folder is left, under the first name.
pub(crate) fn finish_switch(layout: &Layout) -> Result<()> {
    let (first, second, now) = (layout.sled(), layout.sled_next(), layout.sled_now());
    // An unreadable file must not look like a switch that never began: the new folder would go.
    let recorded = match fs::read(&now) {
        Ok(recorded) => Some(recorded),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => return Err(files::io("read", &now, &e)),
    };
    let is_second = recorded.is_some_and(|name| name == files::name_of(&second).as_bytes());
    if is_second && second.try_exists().map_err(|e| files::io("look at", &second, &e))? {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_whose_marker_cannot_be_read_removes_neither_folder() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        for folder in [layout.sled(), layout.sled_next()] {
            fs::create_dir(&folder).unwrap();
        }
        // A folder exists, and cannot be read as a file.
        fs::create_dir(layout.sled_now()).unwrap();
        finish_switch(&layout).unwrap_err();
        assert!(layout.sled().exists() && layout.sled_next().exists());
        fs::remove_dir(layout.sled_now()).unwrap();
        write_now(&layout, &layout.sled_next()).unwrap();
        fs::write(layout.sled_next().join("new"), "").unwrap();
        finish_switch(&layout).unwrap();
        assert!(layout.sled().join("new").exists() && !layout.sled_next().exists());
    }
}
