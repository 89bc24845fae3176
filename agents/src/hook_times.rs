//! Times of the calls of hooks, for `milepost agent status`.
//!
//! A file for each agent in the folder of state, `hooks/NAME`, with 16 bytes for each call:
//!
//! ```text
//! 0   8  the time of the call, in microseconds since the Unix epoch, little endian
//! 8   4  its length in microseconds, without the start of the process
//! 12  4  0: a daemon took the document; 1: it is in the spool, or lost
//! ```
//!
//! A full file becomes `NAME.old`, in place of the one before. Nothing is synced: a call that is
//! lost here is recorded nevertheless.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::agent::Agent;
use crate::environment::Environment;

/// Number of bytes of a call.
const CALL: usize = 16;

/// Number of bytes from which on a file is full: 2,048 calls.
const FULL: u64 = 32 << 10;

/// One call of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedHook {
    /// The time of the call, in microseconds since the Unix epoch.
    pub time_us: u64,
    /// Its length in microseconds, without the start of the process.
    pub took_us: u32,
    /// True if a daemon took the document.
    pub is_taken: bool,
}

/// The times of the hooks of all agents.
#[derive(Debug, Clone)]
pub struct HookTimes {
    folder: PathBuf,
}

impl HookTimes {
    /// Returns the times in the folder of state. `None` if the environment has no home.
    pub fn of(environment: &Environment) -> Option<Self> {
        Some(Self { folder: environment.state_folder()?.join("hooks") })
    }

    /// Adds a call.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn add(&self, agent: Agent, call: TimedHook) -> io::Result<()> {
        let file = self.folder.join(agent.name());
        let open = || {
            let mut options = OpenOptions::new();
            // A pipe in its place would hold up the agent.
            let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
            options.append(true).create(true).mode(0o600).custom_flags(flags).open(&file)
        };
        let mut to = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
                open()?
            }
            opened => opened?,
        };
        if to.metadata()?.len() >= FULL {
            // Two calls may do so at once: the second one finds a file that was just begun.
            fs::rename(&file, old(&file))?;
            to = open()?;
        }
        let mut bytes = [0; CALL];
        let (time, rest) = bytes.split_at_mut(8);
        let (took, state) = rest.split_at_mut(4);
        time.copy_from_slice(&call.time_us.to_le_bytes());
        took.copy_from_slice(&call.took_us.to_le_bytes());
        state.copy_from_slice(&u32::from(!call.is_taken).to_le_bytes());
        to.write_all(&bytes)
    }

    /// Returns the last calls of an agent, at most 4,096, in the order they ended. A file that
    /// cannot be read has none.
    pub fn read(&self, agent: Agent) -> Vec<TimedHook> {
        let file = self.folder.join(agent.name());
        let mut calls = Vec::new();
        for file in [old(&file), file] {
            let mut bytes = Vec::new();
            let read =
                File::open(file).and_then(|from| from.take(2 * FULL).read_to_end(&mut bytes));
            if read.is_ok() {
                calls.extend(bytes.chunks_exact(CALL).filter_map(parsed));
            }
        }
        calls
    }
}

fn old(file: &Path) -> PathBuf {
    file.with_extension("old")
}

fn parsed(bytes: &[u8]) -> Option<TimedHook> {
    let (time, rest) = bytes.split_first_chunk()?;
    let (took, rest) = rest.split_first_chunk()?;
    let state = u32::from_le_bytes(*rest.first_chunk()?);
    Some(TimedHook {
        time_us: u64::from_le_bytes(*time),
        took_us: u32::from_le_bytes(*took),
        is_taken: state == 0,
    })
}

/// Returns the length that a part of the calls does not exceed, in microseconds: 50 for the median,
/// 95 for all but the longest twentieth. `None` without a call.
pub fn percentile_us(calls: &[TimedHook], percent: usize) -> Option<u32> {
    let mut took: Vec<u32> = calls.iter().map(|call| call.took_us).collect();
    took.sort_unstable();
    let rank = (took.len() * percent.min(100)).div_ceil(100);
    took.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn call(time_us: u64) -> TimedHook {
        let took_us = u32::try_from(time_us).unwrap();
        TimedHook { time_us, took_us, is_taken: !time_us.is_multiple_of(3) }
    }

    #[test]
    fn the_last_calls_are_kept_in_order_and_the_files_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let times = HookTimes { folder: dir.path().join("hooks") };
        assert!(times.read(Agent::Codex).is_empty());
        for time in 0..7000 {
            times.add(Agent::Codex, call(time)).unwrap();
        }
        let calls = times.read(Agent::Codex);
        assert!((2048..=4096).contains(&calls.len()), "{}", calls.len());
        let from = 7000 - calls.len() as u64;
        assert!(calls.iter().copied().eq((from..7000).map(call)));
        assert!(times.read(Agent::ClaudeCode).is_empty());
        // A truncated entry does not count.
        fs::write(dir.path().join("hooks/codex"), [1; CALL + 3]).unwrap();
        assert_eq!(times.read(Agent::Codex).len(), 2048 + 1);
    }

    #[test]
    fn a_percentile_is_one_of_the_lengths() {
        let calls: Vec<_> = (1..=100).map(call).collect();
        assert_eq!([0, 50, 95, 100].map(|p| percentile_us(&calls, p).unwrap()), [1, 50, 95, 100]);
        assert_eq!(percentile_us(&calls[..1], 95), Some(1));
        assert_eq!(percentile_us(&[], 95), None);
    }
}
