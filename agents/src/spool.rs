//! The spool: documents of hooks that wait, one synced file each.
//!
//! ```text
//! STATE/spool/TIME-PID-N-HEX16.json   a document; the names are in the order of time
//! STATE/spool/NAME.failed             one that cannot be recorded, kept for a person to look at
//! STATE/spool/.milepost-*             one that is being written
//! STATE/spool/dropped                 a byte for each document that found no room
//! ```
//!
//! Only the user can read it. The documents of a process are in the order of their counter N, and
//! HEX16 begins the BLAKE3 hash of the project's path.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use milepost_api::HookRequest;

use crate::environment::Environment;

/// Most bytes of all documents.
const ROOM: u64 = 256 << 20;

/// Beginning of the names of files that are being written.
const PART: &str = ".milepost-";

/// End of the names of documents that cannot be recorded.
const FAILED: &str = ".failed";

/// Age of a file that nothing writes any more, in seconds.
const PART_AGE: u64 = 3600;

/// Maximum number of documents: the names of so many are read in a tenth of a second.
const COUNT_MAX: usize = 100_000;

/// The result of putting a document into the spool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpoolResult {
    /// The document is on the disk.
    Kept(PathBuf),
    /// The document found no room, and was counted.
    Dropped,
}

/// The folder with the documents that wait.
#[derive(Debug, Clone)]
pub struct Spool {
    folder: PathBuf,
    room: u64,
}

impl Spool {
    /// Returns the spool of the user. `None` if the environment has no place for it.
    pub fn of(environment: &Environment) -> Option<Self> {
        Some(Self { folder: environment.state_folder()?.join("spool"), room: ROOM })
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a document, and returns after it is on the disk.
    pub fn put(&self, entry: &HookRequest) -> io::Result<SpoolResult> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let written = self.write(entry);
        if !matches!(written, Ok(SpoolResult::Kept(_))) {
            self.count_dropped();
        }
        written
    }

    /// Returns the number of documents that found no room.
    pub fn dropped(&self) -> u64 {
        fs::metadata(self.folder.join("dropped")).map_or(0, |there| there.len())
    }

    /// Returns the documents of a project that wait, in the order of time.
    ///
    /// # Errors
    ///
    /// Errors of the file system. A missing spool has no documents.
    pub fn waiting(&self, project: &Path) -> io::Result<Vec<PathBuf>> {
        let ending = ending(project.as_os_str().as_bytes());
        let mut found = self.names()?;
        found.retain(|name| name.as_bytes().ends_with(ending.as_bytes()));
        found.sort();
        let found = found.into_iter().map(|name| self.folder.join(name)).collect();
        Ok(found)
    }

    /// Reads a document that waits.
    ///
    /// # Errors
    ///
    /// `InvalidData`: [`Spool::put`] did not write the file. Errors of the file system.
    pub fn read(&self, place: &Path) -> io::Result<HookRequest> {
        // A pipe has no end, and its opening waits for a writer.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let flags = flags.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(place)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(ROOM).read_to_end(&mut bytes)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Removes a document that was recorded.
    ///
    /// # Errors
    ///
    /// Errors of the file system.
    pub fn remove(&self, place: &Path) -> io::Result<()> {
        fs::remove_file(place)
    }

    /// Renames a document that cannot be recorded: it waits no longer, and is kept.
    ///
    /// # Errors
    ///
    /// Errors of the file system.
    pub fn set_aside(&self, place: &Path) -> io::Result<()> {
        let mut name = place.as_os_str().to_owned();
        name.push(FAILED);
        fs::rename(place, name)
    }

    /// Returns the number of documents of all projects that could not be recorded.
    ///
    /// # Errors
    ///
    /// Errors of the file system. A missing spool has no documents.
    pub fn failed(&self) -> io::Result<usize> {
        let names = self.names()?;
        Ok(names.iter().filter(|name| name.as_bytes().ends_with(FAILED.as_bytes())).count())
    }

    /// Removes what processes left that ended while they wrote a document, more than an hour before
    /// `now_us`, in microseconds since the Unix epoch.
    ///
    /// # Errors
    ///
    /// Errors of the file system.
    pub fn remove_parts(&self, now_us: u64) -> io::Result<()> {
        for name in self.names()?.iter().filter(|name| is_part(name)) {
            let path = self.folder.join(name);
            let time = path.symlink_metadata().ok().map(|there| there.mtime());
            let time = time.and_then(|time| u64::try_from(time).ok());
            if time.is_some_and(|time| time.saturating_add(PART_AGE) < now_us / 1_000_000) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Returns the names of all files.
    fn names(&self) -> io::Result<Vec<OsString>> {
        match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            entries => entries?.take(COUNT_MAX + 1).map(|entry| Ok(entry?.file_name())).collect(),
        }
    }

    fn write(&self, entry: &HookRequest) -> io::Result<SpoolResult> {
        let bytes = serde_json::to_vec(entry)?;
        let (used, count) = self.used()?;
        if count >= COUNT_MAX || used.saturating_add(bytes.len() as u64) > self.room {
            return Ok(SpoolResult::Dropped);
        }
        let name = format!("{}{}", entry.id, ending(entry.project.as_bytes()));
        // Only the user can read a temporary file.
        let mut file = tempfile::Builder::new().prefix(PART).tempfile_in(&self.folder)?;
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        let place = self.folder.join(name);
        file.persist_noclobber(&place).map_err(|error| error.error)?;
        File::open(&self.folder)?.sync_all()?;
        Ok(SpoolResult::Kept(place))
    }

    /// Returns the bytes and the number of the documents.
    fn used(&self) -> io::Result<(u64, usize)> {
        let (mut bytes, mut count) = (0, 0);
        for entry in fs::read_dir(&self.folder)?.take(COUNT_MAX + 1) {
            // A document may be taken in at this moment.
            let Ok(entry) = entry else { continue };
            let Ok(there) = entry.metadata() else { continue };
            if is_part(&entry.file_name()) {
                continue;
            }
            bytes += there.len();
            count += 1;
        }
        Ok((bytes, count))
    }

    /// Counts a document that was dropped, if at least that can be written.
    fn count_dropped(&self) {
        let path = self.folder.join("dropped");
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let _ = file.and_then(|mut file| file.write_all(b"."));
    }
}

/// Returns `true` for the name of a file that is being written.
fn is_part(name: &OsStr) -> bool {
    name.as_bytes().starts_with(PART.as_bytes())
}

/// Returns the end of the names of a project's documents.
fn ending(project: &[u8]) -> String {
    let hash = blake3::hash(project).to_hex();
    format!("-{}.json", hash.get(..16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::hook::HookCall;

    fn spool(room: u64) -> (tempfile::TempDir, Spool) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state/spool");
        (dir, Spool { folder, room })
    }

    fn entry(payload: &[u8]) -> HookRequest {
        of_project("/home/ana/p1", payload)
    }

    fn of_project(project: &str, payload: &[u8]) -> HookRequest {
        let (agent, payload) = ("codex".to_owned(), payload.to_vec());
        let call = HookCall { agent, time_us: 1_700_000_000_000_000, payload, is_cut: false };
        call.with(Path::new(project), |_| None)
    }

    fn names(spool: &Spool) -> Vec<String> {
        let entries = fs::read_dir(&spool.folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries.map(|entry| name(entry).into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn documents_of_a_project_come_back_in_order_and_only_the_user_can_read_them() {
        let (_dir, spool) = spool(ROOM);
        let (one, other) = (Path::new("/home/ana/p1"), Path::new("/home/ana/p2"));
        assert!(spool.waiting(one).unwrap().is_empty());
        for n in 0..20 {
            spool.put(&of_project("/home/ana/p1", format!("{n}").as_bytes())).unwrap();
            spool.put(&of_project("/home/ana/p2", b"other")).unwrap();
        }
        let read = |place: &PathBuf| {
            assert_eq!(fs::metadata(place).unwrap().permissions().mode() & 0o777, 0o600);
            spool.read(place).unwrap().payload
        };
        let payloads: Vec<_> = spool.waiting(one).unwrap().iter().map(read).collect();
        assert_eq!(payloads, (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
        let mode = fs::metadata(&spool.folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        for place in spool.waiting(other).unwrap() {
            spool.remove(&place).unwrap();
        }
        assert_eq!(names(&spool).len(), 20);
    }

    #[test]
    fn what_is_no_document_is_not_read() {
        let (dir, spool) = spool(ROOM);
        spool.put(&entry(b"{}")).unwrap();
        let place = spool.waiting(Path::new("/home/ana/p1")).unwrap().remove(0);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&place, &link).unwrap();
        assert!(spool.read(&link).is_err());
        fs::write(&place, b"{}").unwrap();
        assert_eq!(spool.read(&place).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let (_dir, spool) = spool(1000);
        assert!(matches!(spool.put(&entry(b"{}")), Ok(SpoolResult::Kept(_))));
        for _ in 0..3 {
            let dropped = spool.put(&entry(&[b' '; 900])).unwrap();
            assert_eq!(dropped, SpoolResult::Dropped);
        }
        assert_eq!((spool.dropped(), names(&spool).len()), (3, 2));
    }

    #[test]
    fn a_document_that_was_set_aside_is_kept_and_waits_no_longer() {
        let (_dir, spool) = spool(ROOM);
        assert_eq!(spool.failed().unwrap(), 0);
        spool.put(&entry(b"one")).unwrap();
        spool.put(&entry(b"two")).unwrap();
        let project = Path::new("/home/ana/p1");
        let place = spool.waiting(project).unwrap().remove(0);
        spool.set_aside(&place).unwrap();
        let waiting = spool.waiting(project).unwrap();
        assert_eq!(waiting.len(), 1);
        assert_eq!(spool.read(&waiting[0]).unwrap().payload, "two");
        assert_eq!((spool.failed().unwrap(), names(&spool).len()), (1, 2));
    }

    #[test]
    fn files_that_are_being_written_take_no_room_and_old_ones_are_removed() {
        let (_dir, spool) = spool(1000);
        spool.remove_parts(0).unwrap();
        fs::create_dir_all(&spool.folder).unwrap();
        let part = spool.folder.join(".milepost-abc");
        fs::write(&part, vec![b' '; 5000]).unwrap();
        assert!(matches!(spool.put(&entry(b"{}")), Ok(SpoolResult::Kept(_))));
        let written_us = fs::metadata(&part).unwrap().mtime().cast_unsigned() * 1_000_000;
        spool.remove_parts(written_us + 3_599_000_000).unwrap();
        assert_eq!(names(&spool).len(), 2);
        spool.remove_parts(written_us + 3_602_000_000).unwrap();
        assert!(!part.exists());
        assert_eq!(spool.waiting(Path::new("/home/ana/p1")).unwrap().len(), 1);
    }
}
