//! Trace of a process's changes to its files, as `tests/faults/src/trace.rs` writes it.
#![allow(clippy::indexing_slicing, missing_docs, reason = "tests")]

use std::fs;
use std::io;
use std::path::Path;

/// One operation. Paths are from the folder that was looked at, which is the empty path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Create {
        inode: u64,
        mode: u32,
        path: String,
    },
    Write {
        inode: u64,
        offset: u64,
        data: Vec<u8>,
    },
    Truncate {
        inode: u64,
        len: u64,
    },
    Sync {
        inode: u64,
    },
    /// Sync of contents and length only.
    SyncData {
        inode: u64,
    },
    /// A sync that was made to fail: the next one does not store its changes.
    SyncFailed {
        inode: u64,
    },
    SyncDir {
        path: String,
    },
    SyncAll,
    SyncAllFailed,
    Rename {
        from: String,
        to: String,
    },
    Exchange {
        one: String,
        other: String,
    },
    Link {
        from: String,
        to: String,
    },
    Symlink {
        path: String,
        target: String,
    },
    /// The bits of a file or folder.
    Mode {
        inode: u64,
        mode: u32,
    },
    Unlink {
        path: String,
    },
    Mkdir {
        inode: u64,
        mode: u32,
        path: String,
    },
    Rmdir {
        path: String,
    },
}

impl Op {
    /// Returns `true` if it stores something.
    pub fn is_sync(&self) -> bool {
        matches!(
            self,
            Self::Sync { .. } | Self::SyncData { .. } | Self::SyncDir { .. } | Self::SyncAll
        )
    }
}

/// Reads a trace. The last record may be cut, where the process was killed while it wrote it.
pub fn read_trace(path: &Path) -> io::Result<Vec<Op>> {
    let bytes = fs::read(path)?;
    let mut rest = bytes.as_slice();
    let mut ops = Vec::new();
    while let Some(op) = next(&mut rest) {
        ops.push(op);
    }
    Ok(ops)
}

fn next(rest: &mut &[u8]) -> Option<Op> {
    let mut at = *rest;
    let what = take(&mut at, 1)?[0];
    let (inode, number) = (number(&mut at)?, number(&mut at)?);
    let first = text(&mut at)?;
    let second = text(&mut at)?;
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (path, to) = (lossy(first), lossy(second));
    let mode = number as u32;
    *rest = at;
    Some(match what {
        1 => Op::Create { inode, mode, path },
        2 => Op::Write { inode, offset: number, data: first.to_vec() },
        3 => Op::Truncate { inode, len: number },
        4 => Op::Sync { inode },
        5 => Op::SyncDir { path },
        6 => Op::Rename { from: path, to },
        7 => Op::Unlink { path },
        8 => Op::Mkdir { inode, mode, path },
        9 => Op::Rmdir { path },
        10 => Op::SyncFailed { inode },
        11 => Op::SyncData { inode },
        12 => Op::SyncAll,
        13 => Op::SyncAllFailed,
        14 => Op::Link { from: path, to },
        15 => Op::Symlink { path, target: to },
        16 => Op::Mode { inode, mode },
        17 => Op::Exchange { one: path, other: to },
        other => panic!("a trace with a record of kind {other}"),
    })
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    take(rest, 8)?.try_into().ok().map(u64::from_le_bytes)
}

fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(number(rest)?).ok()?;
    take(rest, len)
}
