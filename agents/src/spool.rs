//! The spool: documents of hooks that wait, one synced file each.
//!
//! ```text
//! STATE/spool/TIME-PID-N-HEX16.json   a document; the names are in the order of time
//! STATE/spool/.milepost-*             one that is being written
//! STATE/spool/dropped                 a byte for each document that found no room
//! ```
//!
//! Only the user can read it. The documents of a process are in the order of their counter N, and
//! HEX16 begins the BLAKE3 hash of the project's path.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use milepost_api::HookAsked;

use crate::environment::Environment;

/// Most bytes of all documents.
const ROOM: u64 = 256 << 20;

/// Most documents: the names of so many are read in a tenth of a second.
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
    pub fn put(&self, entry: &HookAsked) -> io::Result<SpoolResult> {
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
    /// Errors of the file system. A spool that is not there has no documents.
    pub fn waiting(&self, project: &Path) -> io::Result<Vec<PathBuf>> {
        let ending = ending(project.as_os_str().as_bytes());
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries.take(COUNT_MAX + 1) {
            let name = entry?.file_name();
            if name.as_bytes().ends_with(ending.as_bytes()) {
                found.push(self.folder.join(name));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Reads a document that waits.
    ///
    /// # Errors
    ///
    /// `InvalidData`: the file is none that [`Spool::put`] wrote. Errors of the file system.
    pub fn read(&self, place: &Path) -> io::Result<HookAsked> {
        let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(place)?;
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

    fn write(&self, entry: &HookAsked) -> io::Result<SpoolResult> {
        let bytes = serde_json::to_vec(entry)?;
        let (used, count) = self.used()?;
        if count >= COUNT_MAX || used.saturating_add(bytes.len() as u64) > self.room {
            return Ok(SpoolResult::Dropped);
        }
        let name = format!("{}{}", entry.id, ending(entry.project.as_bytes()));
        // Only the user can read a temporary file.
        let mut file = tempfile::Builder::new().prefix(".milepost-").tempfile_in(&self.folder)?;
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
            let Ok(there) = entry.and_then(|entry| entry.metadata()) else { continue };
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

/// Returns the end of the names of a project's documents.
fn ending(project: &[u8]) -> String {
    let hash = blake3::hash(project).to_hex();
    format!("-{}.json", hash.get(..16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::hook::HookCall;

    fn spool(room: u64) -> (tempfile::TempDir, Spool) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state/spool");
        (dir, Spool { folder, room })
    }

    fn entry(payload: &[u8]) -> HookAsked {
        of_project("/work/p1", payload)
    }

    fn of_project(project: &str, payload: &[u8]) -> HookAsked {
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
        let (one, other) = (Path::new("/work/p1"), Path::new("/work/p2"));
        assert!(spool.waiting(one).unwrap().is_empty());
        for n in 0..20 {
            spool.put(&of_project("/work/p1", format!("{n}").as_bytes())).unwrap();
            spool.put(&of_project("/work/p2", b"other")).unwrap();
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
        let place = spool.waiting(Path::new("/work/p1")).unwrap().remove(0);
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
}
