//! Atomic writes of a file: a temporary file in the same folder is written, synced and renamed. A
//! failed write leaves no trace.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tempfile::NamedTempFile;

/// Size of the write buffer, in bytes.
const BUFFER: usize = 1 << 20;

/// Largest number of links that are followed, as in Linux.
const LINKS_MAX: u32 = 40;

/// A file that is being written. A regular target does not change before [`WholeFile::end`].
pub struct WholeFile {
    to: To,
    waiting: Waiting,
}

/// Returns an error of the system without the name of the temporary file.
fn unnamed(error: io::Error) -> io::Error {
    let source = error.get_ref().and_then(|error| error.source());
    let number = source.and_then(|source| source.downcast_ref::<io::Error>()?.raw_os_error());
    number.map_or_else(|| io::Error::from(error.kind()), io::Error::from_raw_os_error)
}

enum To {
    /// A temporary file in the folder of the target, and the target.
    Beside(BufWriter<NamedTempFile>, PathBuf),
    /// A pipe or a device. Written bytes cannot be undone.
    Straight(BufWriter<File>),
}

impl WholeFile {
    /// Begins a file. A link is followed. An existing file keeps its permissions; only its owner
    /// can read a new one. Signals that would end the process are held until [`WholeFile::write`]
    /// or the end, unless the target is a pipe or a device.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let place = followed(path)?;
        let there = fs::metadata(&place).ok();
        let kind = there.as_ref().map(|there| there.file_type());
        if kind.is_some_and(|kind| kind.is_fifo() || kind.is_char_device() || kind.is_socket()) {
            let file = File::options().write(true).open(&place)?;
            return Ok(Self {
                to: To::Straight(BufWriter::with_capacity(BUFFER, file)),
                waiting: Waiting::default(),
            });
        }
        if kind.is_some_and(|kind| !kind.is_file()) {
            return Err(io::Error::other("it is no file"));
        }
        let waiting = Waiting::begin()?;
        let beside = tempfile::Builder::new()
            .prefix(".milepost-")
            .suffix(".part")
            .tempfile_in(folder_of(&place))
            .map_err(unnamed)?;
        if let Some(there) = there {
            let mode = there.permissions().mode() & 0o777;
            beside.as_file().set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(Self { to: To::Beside(BufWriter::with_capacity(BUFFER, beside), place), waiting })
    }

    /// Writes more bytes. Fails if a signal came.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.waiting.signal().is_some() {
            return Err(io::Error::other("interrupted"));
        }
        match &mut self.to {
            To::Beside(file, _) => file.write_all(bytes),
            To::Straight(file) => file.write_all(bytes),
        }
    }

    /// Syncs the file, and renames it to the target.
    pub fn end(self) -> io::Result<()> {
        match self.to {
            To::Straight(mut file) => file.flush(),
            To::Beside(file, place) => {
                let beside = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                beside.as_file().sync_all()?;
                beside.persist(&place).map_err(|error| error.error)?;
                File::open(folder_of(&place))?.sync_all()
            }
        }
    }

    /// Discards the written bytes, and ends the process if a signal asked for it.
    pub fn take_back(self) {
        drop(self.to);
        if let Some(signal) = self.waiting.signal() {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

/// Follows links. The last one may lead to a missing file.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..LINKS_MAX {
        let link = fs::symlink_metadata(&place).is_ok_and(|there| there.is_symlink());
        // A link to an unnamed pipe (`/dev/stdout`) leads to no path.
        if !link || fs::metadata(&place).is_ok_and(|there| !there.is_file()) {
            return Ok(place);
        }
        place = folder_of(&place).join(fs::read_link(&place)?);
    }
    Err(io::Error::other("too many links lead on from it"))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Signals that are held back.
#[derive(Default)]
struct Waiting {
    /// The signal that came; 0 for none.
    came: Arc<AtomicUsize>,
    held: Vec<signal_hook::SigId>,
}

impl Waiting {
    fn begin() -> io::Result<Self> {
        let mut waiting = Self::default();
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let (came, number) = (Arc::clone(&waiting.came), signal.unsigned_abs() as usize);
            waiting.held.push(signal_hook::flag::register_usize(signal, came, number)?);
        }
        Ok(waiting)
    }

    fn signal(&self) -> Option<i32> {
        let came = self.came.load(Ordering::SeqCst);
        i32::try_from(came).ok().filter(|signal| *signal > 0)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        for held in self.held.drain(..) {
            signal_hook::low_level::unregister(held);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::symlink;

    use super::*;

    fn written(path: &Path) -> io::Result<()> {
        let mut file = WholeFile::begin(path)?;
        file.write(b"new")?;
        file.end()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries.map(|entry| name(entry).into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_there_stays_until_all_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let mut file = WholeFile::begin(&path).unwrap();
        file.write(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.take_back();
        assert_eq!(names(folder.path()), ["a"]);
        written(&path).unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"new".to_vec(), 0o640));
        written(&folder.path().join("b")).unwrap();
        assert_eq!(mode(&folder.path().join("b")), 0o600);
        assert_eq!(names(folder.path()), ["a", "b"]);
    }

    #[test]
    fn links_stay_and_lead_to_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("deep")).unwrap();
        symlink("two", at("one")).unwrap();
        symlink("deep/file", at("two")).unwrap();
        for _ in 0..2 {
            written(&at("one")).unwrap();
            assert!(at("one").is_symlink() && at("two").is_symlink());
            assert_eq!(fs::read(at("deep/file")).unwrap(), b"new");
            assert_eq!(names(&at("deep")), ["file"]);
        }
        symlink("round", at("round")).unwrap();
        assert!(written(&at("round")).is_err());
    }

    #[test]
    fn a_folder_and_what_has_none_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(written(folder.path()).is_err());
        assert!(written(&folder.path().join("no/file")).is_err());
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn a_device_is_written_straight() {
        written(Path::new("/dev/null")).unwrap();
        assert!(!Path::new("/dev/null").is_file());
    }
}
