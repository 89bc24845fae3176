//! The lock of a store: one process at a time. Another one learns which process holds it.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use milepost_codec::{Detail, Error, ErrorKind, Result};

use crate::files;
use crate::platform;

/// A lock that is held until it is dropped or the process dies.
#[derive(Debug)]
pub(crate) struct StoreLock {
    file: File,
}

/// The system releases the lock of a killed process a moment after its death.
const PATIENCE: Duration = Duration::from_millis(50);
const TRIES: u32 = 20;

impl StoreLock {
    /// Takes the lock. `Unavailable` with the holder's pid: another process has it.
    pub(crate) fn take(path: &Path, now_us: u64) -> Result<Self> {
        let mut lock = Self::locked(path, files::open_rw(path)?)?;
        let text = format!("{} {now_us}\n", std::process::id());
        let file = &mut lock.file;
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(|e| files::io("write", path, &e))?;
        Ok(lock)
    }

    /// Takes the lock without writing to the file. Returns `None` if no process ever took it.
    pub(crate) fn acquire(path: &Path) -> Result<Option<Self>> {
        match files::open_read(path) {
            Ok(file) => Self::locked(path, file).map(Some),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Returns `true` if a process holds the lock. It is tried by a shared lock.
    pub(crate) fn is_held(path: &Path) -> bool {
        let Ok(file) = files::open_read(path) else { return false };
        let shared = file.try_lock_shared();
        let _ = file.unlock();
        matches!(shared, Err(TryLockError::WouldBlock))
    }

    fn locked(path: &Path, mut file: File) -> Result<Self> {
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file }),
                Err(TryLockError::WouldBlock) if tries < TRIES && !has_live_owner(&mut file) => {
                    tries += 1;
                    thread::sleep(PATIENCE);
                }
                Err(TryLockError::WouldBlock) => return Err(locked_error(path, &mut file)),
                Err(TryLockError::Error(e)) => return Err(files::io("lock", path, &e)),
            }
        }
    }
}

impl Drop for StoreLock {
    /// Unlocks explicitly: a child process that is just starting may still have the file open.
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

/// Returns `true` if the process that wrote the lock file may still run.
fn has_live_owner(file: &mut File) -> bool {
    holder(file).is_some_and(|(pid, _)| platform::may_run(pid))
}

fn locked_error(path: &Path, file: &mut File) -> Error {
    let store = path.parent().unwrap_or(path).display().to_string();
    let holder = holder(file);
    let message = match holder {
        Some((pid, since_us)) => format!(
            "the store {store} is open in process {pid}, since {}",
            utc(since_us / 1_000_000)
        ),
        None => format!("the store {store} is open in another process"),
    };
    let in_use = Detail::InUse { path: store, pid: holder.map(|(pid, _)| pid) };
    Error::new(ErrorKind::Unavailable, message).with_detail(in_use)
}

/// Formats seconds since the Unix epoch as date and time in UTC, with Howard Hinnant's
/// `civil_from_days`.
fn utc(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use crate::local::lock::utc;
    use crate::platform::may_run;

    #[test]
    fn a_process_that_is_not_there_does_not_run() {
        assert!(may_run(std::process::id()) && may_run(1));
        // No process has the highest number.
        assert!(!may_run(i32::MAX.unsigned_abs()) && !may_run(u32::MAX));
    }

    #[test]
    fn seconds_are_said_as_dates() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(4_102_444_799), "2099-12-31 23:59:59 UTC");
    }
}
