//! Repeated scans of files that changed during the scan, after the clock has advanced.

use std::time::Duration;

use milepost::{Error, ErrorKind, Result};
use milepost_codec::SkipReason;

use super::SharedDir;
use super::file_reader::TRIES;
use super::walk::{Walk, is_denied, link_item};
use super::workers::{JobFile, Ticket};
use crate::error;
use crate::fs::{Dir, Errno, Kind, Probe};

/// Number of clock reads within a grain.
const POLLS: u32 = 8;

impl Walk<'_, '_, '_> {
    /// Reads changed files again.
    pub(super) fn read_again(&mut self, grain_ns: i128) -> Result<()> {
        let mut again = std::mem::take(&mut self.again);
        // Sort by folder, so that each is opened once.
        again.sort_unstable();
        go_on(self.input.probe, grain_ns)?;
        self.now = self.input.probe.now()?;
        let mut opened: Option<(u32, SharedDir)> = None;
        let mut done = Vec::new();
        for (ticket, attempt) in again {
            let path = self.assembly.path_of(ticket);
            let (folder, name) = split(&path);
            let dir = match opened.take().filter(|(number, _)| *number == ticket.0) {
                Some((_, dir)) => dir,
                None => match self.open(folder) {
                    Ok(dir) => SharedDir::new(dir),
                    Err(e) if is_missing(e) => {
                        self.assembly.place(ticket, None, None)?;
                        continue;
                    }
                    Err(e) if is_denied(e) => {
                        self.skip_ticket(ticket, SkipReason::Denied, 0)?;
                        continue;
                    }
                    Err(e) => return Err(error::below("open", folder, e)),
                },
            };
            let len = dir.look(name).map_or(0, |found| found.stamp.size);
            let file = JobFile { ticket, dir: SharedDir::clone(&dir), name: name.into(), attempt };
            opened = Some((ticket.0, dir));
            self.jobs.take(file, len, self.now, &mut done)?;
        }
        self.jobs.flush(self.now, &mut done)?;
        self.place_all(done)?;
        self.finish_jobs()
    }

    /// Scans an entry that is no longer a file.
    pub(super) fn something_else(&mut self, ticket: Ticket, attempt: u8) -> Result<()> {
        let path = self.assembly.path_of(ticket);
        let (folder, name) = split(&path);
        let result = self.open(folder).and_then(|dir| {
            let found = dir.look(name)?;
            let target = match found.kind {
                Kind::Link => Some(dir.target(name)?),
                _ => None,
            };
            Ok((found, target))
        });
        match result {
            Ok((found, Some(target))) => match link_item(target, found.stamp.bits()) {
                Some(item) => self.assembly.place(ticket, Some(item), None),
                None => self.skip_ticket(ticket, SkipReason::Name, 0),
            },
            Ok((found, None)) => match found.kind {
                Kind::Special => self.skip_ticket(ticket, SkipReason::Special, 0),
                Kind::File if attempt < TRIES => {
                    self.again.push((ticket, attempt + 1));
                    Ok(())
                }
                _ => self.skip_ticket(ticket, SkipReason::Unstable, 0),
            },
            Err(e) if is_missing(e) => self.assembly.place(ticket, None, None),
            Err(_) => self.skip_ticket(ticket, SkipReason::Denied, 0),
        }
    }

    /// Opens a folder of the workspace, one name at a time.
    fn open(&self, path: &[u8]) -> Result<Dir, Errno> {
        let mut dir = self.input.root.reopen()?;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            dir = dir.directory(name)?;
        }
        Ok(dir)
    }
}

fn is_missing(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::STALE | Errno::NOTDIR | Errno::LOOP | Errno::INVAL)
}

/// Splits a path into folder and name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => {
            let (folder, name) = path.split_at_checked(at).unwrap_or_default();
            (folder, name.strip_prefix(b"/").unwrap_or(name))
        }
        None => (&[], path),
    }
}

/// Waits until the clock has advanced by more than a grain: earlier writes are settled then.
fn go_on(probe: &Probe, grain_ns: i128) -> Result<()> {
    let start = probe.now()?;
    let step = u64::try_from(grain_ns).unwrap_or_default() / u64::from(POLLS);
    for _ in 0..POLLS * 4 {
        if start.behind(probe.now()?) > grain_ns {
            return Ok(());
        }
        std::thread::sleep(Duration::from_nanos(step));
    }
    Err(Error::new(
        ErrorKind::Unavailable,
        "the clock of the store's file system does not advance, so nothing can be captured that \
         was just written",
    ))
}
