//! The lock of a store: one process at a time, and the next one is told who holds it.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use milepost_codec::{Error, ErrorKind, Result};

use crate::files;

/// A lock that is held until it is dropped, or the process dies.
#[derive(Debug)]
pub(crate) struct StoreLock {
    file: File,
}

/// The system lets go of the lock of a killed process a moment after its death.
const PATIENCE: Duration = Duration::from_millis(50);
const TRIES: u32 = 20;

impl StoreLock {
    /// Takes the lock; `Unavailable` with the holder's pid where another process has it.
    pub(crate) fn take(path: &Path, now_us: u64) -> Result<Self> {
        let mut file = files::open_rw(path)?;
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries < TRIES && !alive(&mut file) => {
                    tries += 1;
                    thread::sleep(PATIENCE);
                }
                Err(TryLockError::WouldBlock) => return Err(held(path, &mut file)),
                Err(TryLockError::Error(e)) => return Err(files::io("lock", path, &e)),
            }
        }
        let text = format!("{} {now_us}\n", std::process::id());
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(|e| files::io("write", path, &e))?;
        Ok(Self { file })
    }
}

impl Drop for StoreLock {
    /// Said out loud: a child of this process that is just being started still has the file open.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

fn holder(file: &mut File) -> Option<(u32, u64)> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(100).read_to_string(&mut text).ok()?;
    let (pid, since) = text.trim().split_once(' ')?;
    Some((pid.parse().ok()?, since.parse().ok()?))
}

/// Whether the process that wrote the lock file still runs, as far as can be told.
fn alive(file: &mut File) -> bool {
    holder(file).is_some_and(|(pid, _)| {
        !Path::new("/proc").exists() || Path::new("/proc").join(pid.to_string()).exists()
    })
}

fn held(path: &Path, file: &mut File) -> Error {
    let store = path.parent().unwrap_or(path).display();
    let message = match holder(file) {
        Some((pid, since_us)) => format!(
            "the store {store} is open in process {pid}, since {} s after the Unix epoch",
            since_us / 1_000_000
        ),
        None => format!("the store {store} is open in another process"),
    };
    Error::new(ErrorKind::Unavailable, message)
}
