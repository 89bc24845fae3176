//! What a process did to its files, as `tests/faults/src/trace.rs` writes it down.
#![allow(clippy::indexing_slicing, missing_docs, reason = "tests")]

use std::fs;
use std::io;
use std::path::Path;

/// One operation. Paths are from the folder that was looked at, which is the empty path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Create {
        inode: u64,
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
    /// It was made to fail: what it was to store is not stored by the next one.
    SyncFailed {
        inode: u64,
    },
    SyncDir {
        path: String,
    },
    Rename {
        from: String,
        to: String,
    },
    Unlink {
        path: String,
    },
    Mkdir {
        path: String,
    },
    Rmdir {
        path: String,
    },
}

impl Op {
    /// Whether it stores something.
    pub fn is_sync(&self) -> bool {
        matches!(self, Self::Sync { .. } | Self::SyncDir { .. })
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
    let path = || String::from_utf8_lossy(first).into_owned();
    *rest = at;
    Some(match what {
        1 => Op::Create {
            inode,
            path: path(),
        },
        2 => Op::Write {
            inode,
            offset: number,
            data: first.to_vec(),
        },
        3 => Op::Truncate { inode, len: number },
        4 => Op::Sync { inode },
        5 => Op::SyncDir { path: path() },
        6 => Op::Rename {
            from: path(),
            to: String::from_utf8_lossy(second).into_owned(),
        },
        7 => Op::Unlink { path: path() },
        8 => Op::Mkdir { path: path() },
        9 => Op::Rmdir { path: path() },
        10 => Op::SyncFailed { inode },
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
