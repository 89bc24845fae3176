//! The trace: calls that changed something, in the order in which they took effect.
//!
//! A record is a byte for the call, a number (the inode, or zero), another (an offset, a length or
//! bits), and two texts of bytes, each behind its length. Numbers are `u64`, little-endian. The
//! reader is `tests/src/disk/trace.rs`.

use crate::config::Config;
use crate::sys;

/// Kind of a traced call.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum What {
    Create = 1,
    Write,
    Truncate,
    Sync,
    SyncDir,
    Rename,
    Unlink,
    Mkdir,
    Rmdir,
    /// A failed sync: the kernel takes the unstored content for stored from then on.
    SyncFailed,
    /// A sync of a file's contents and length only.
    SyncData,
    /// A sync of the whole file system, and one that failed.
    SyncAll,
    SyncAllFailed,
    Link,
    Symlink,
    /// The bits of a file or folder.
    Mode,
    Exchange,
}

/// Appends a record, if a trace is requested.
pub(crate) fn note(config: &Config, what: What, numbers: (u64, u64), texts: (&[u8], &[u8])) {
    let Some(fd) = config.record else { return };
    let mut record = Vec::with_capacity(40 + texts.0.len() + texts.1.len());
    record.push(what as u8);
    record.extend_from_slice(&numbers.0.to_le_bytes());
    record.extend_from_slice(&numbers.1.to_le_bytes());
    for text in [texts.0, texts.1] {
        record.extend_from_slice(&(text.len() as u64).to_le_bytes());
        record.extend_from_slice(text);
    }
    sys::write_all(fd, &record);
}
