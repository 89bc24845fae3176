//! Current time of the file system: the stamp of a file just written. This time and the stamps of
//! the workspace come from one clock, independent of the time of day.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use milepost::{Error, ErrorKind, Result};
use rustix::fs::{OFlags, fstat};

use super::dir::stamp_of;
use super::platform::{self, device_of};
use super::stamp::Moment;
use crate::error;

/// File name in the store's folder for workspaces.
const NAME: &str = "moment";

/// A file that is written to read the clock.
#[derive(Debug)]
pub(crate) struct Probe {
    file: File,
    /// Device of the file; `None` if it is in memory.
    device: Option<u64>,
}

impl Probe {
    /// Creates the file in a folder that must exist.
    pub(crate) fn in_folder(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(|e| error::io("open", &path, &e))?;
        let stat = fstat(&file).map_err(|e| error::io("look at", &path, &e.into()))?;
        Ok(Self { file, device: Some(device_of(&stat)) })
    }

    /// Creates the file in memory, or where the system has its temporary files: no workspace counts
    /// as on its device.
    pub(crate) fn in_memory() -> Result<Self> {
        let file = platform::file_in_memory().map_err(|e| {
            let message = format!("cannot make a file in memory: {e}");
            Error::new(ErrorKind::Unavailable, message)
        })?;
        Ok(Self { file, device: None })
    }

    /// Returns `true` if the file is on this device.
    pub(crate) fn is_on(&self, device: u64) -> bool {
        self.device == Some(device)
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Result<Moment> {
        let written = self.file.write_all_at(b".", 0);
        let stat = written.and_then(|()| Ok(fstat(self.file.as_fd())?));
        let stat = stat.map_err(|e| {
            let message = format!("cannot write to `{NAME}` in the store: {e}");
            Error::new(ErrorKind::Unavailable, message)
        })?;
        Ok(stamp_of(&stat).ctime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_goes_on_and_is_that_of_files_written_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let probe = Probe::in_folder(dir.path()).unwrap();
        let before = probe.now().unwrap();
        std::fs::write(dir.path().join("beside"), "x").unwrap();
        let beside = rustix::fs::stat(dir.path().join("beside")).unwrap();
        let after = probe.now().unwrap();
        assert!(before <= stamp_of(&beside).ctime && stamp_of(&beside).ctime <= after);
        assert!(probe.is_on(device_of(&beside)));
        let memory = Probe::in_memory().unwrap();
        assert!(memory.now().unwrap() >= after);
        assert!(!memory.is_on(device_of(&beside)));
    }
}
