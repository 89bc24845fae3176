//! Commit tables: each ends a round of blocks, and lists the commits that the round made.
//!
//! ```text
//!  0  magic    "MPCT"
//!  4  version  u16
//!  6  flags    u16: 1 = the last table of its file
//!  8  first    u64, the first commit
//! 16  commits  u32
//! 20  blocks   u32
//! 24  length   u32, bytes of the entries
//! 28  zero     u32
//! 32  epoch    u64, of the file
//! 40  last     16 bytes, the check of the last commit's frame; zeros if it is not known
//! 56  check    16 bytes: BLAKE3 of bytes 0 to 56, the hashes and the entries, cut to 16; keyed in
//!              a keyed store
//! 72  hashes of the blocks, 32 bytes each; entries: log batches of each commit
//! ```
//!
//! Numbers are little-endian; those of an entry have variable length.

use crate::compress::check_keyed;
use crate::error::{Error, Result};
use crate::id::{Hash, Seq};
use crate::key::StoreKey;
use crate::wire::{FORMAT_VERSION, Reader, check_version, put_varint};

const MAGIC: &[u8; 4] = b"MPCT";
const CHECKED_LEN: usize = 56;
const LAST: u16 = 1;

/// The most blocks and commits of a round, and bytes of their entries.
const BLOCKS_MAX: usize = 1 << 16;
const COMMITS_MAX: usize = 1 << 20;
const ENTRY_MAX: usize = 9;

/// The end of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitTable {
    /// Set in the last table of a file.
    pub is_last: bool,
    /// The first commit.
    pub first: Seq,
    /// The number of log batches of each commit, without those that were removed, in order.
    pub commits: Vec<u64>,
    /// The hashes of the blocks, in the order of the file.
    pub blocks: Vec<Hash>,
    /// The check of the last commit's frame; zeros if it is not known.
    pub last: [u8; 16],
}

/// The header of a commit table, which is read before the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitTableHeader {
    version: u16,
    flags: u16,
    first: Seq,
    commits: u32,
    blocks: u32,
    entries_len: u32,
    /// The epoch of the file.
    pub epoch: u64,
    last: [u8; 16],
    check: [u8; 16],
}

impl CommitTableHeader {
    /// The first bytes of a table.
    pub const MAGIC: &[u8] = MAGIC;

    /// Length of the header, in bytes.
    pub const LEN: usize = CHECKED_LEN + 16;

    /// Decodes a header. The version is not compared before the check, which covers it.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the bytes are not a header, or claim more than a table may have.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, "commit table");
        if reader.array::<4>()? != *MAGIC {
            return Err(reader.corrupt("its magic", "other bytes"));
        }
        let (version, flags, first) = (reader.u16()?, reader.u16()?, reader.u64()?);
        let (commits, blocks) = (reader.u32()?, reader.u32()?);
        let (entries_len, zero) = (reader.u32()?, reader.u32()?);
        let (epoch, last, check) = (reader.u64()?, reader.array()?, reader.array()?);
        if flags > LAST
            || zero != 0
            || commits as usize > COMMITS_MAX
            || blocks as usize > BLOCKS_MAX
            || entries_len as usize > commits as usize * ENTRY_MAX
            || first.checked_add(u64::from(commits)).is_none()
        {
            let found = format!("{commits} commits of {blocks} blocks in {entries_len}");
            return Err(reader.corrupt("numbers that fit", found));
        }
        Ok(Self { version, flags, first, commits, blocks, entries_len, epoch, last, check })
    }

    /// Returns the length of the whole table, in bytes.
    pub fn table_len(&self) -> usize {
        Self::LEN + self.blocks as usize * 32 + self.entries_len as usize
    }
}

impl CommitTable {
    /// Appends the table to `out`.
    ///
    /// # Errors
    ///
    /// `Invalid`: it has more than 2^16 blocks or 2^20 commits.
    pub fn encode(&self, epoch: u64, key: Option<&StoreKey>, out: &mut Vec<u8>) -> Result<()> {
        if self.blocks.len() > BLOCKS_MAX || self.commits.len() > COMMITS_MAX {
            let (blocks, commits) = (self.blocks.len(), self.commits.len());
            return Err(Error::invalid(format!(
                "a round has at most {BLOCKS_MAX} blocks and {COMMITS_MAX} commits, \
                 not {blocks} and {commits}"
            )));
        }
        let mut rest: Vec<u8> = self.blocks.iter().flat_map(|hash| hash.0).collect();
        let hashes = rest.len();
        for batches in &self.commits {
            put_varint(&mut rest, *batches);
        }
        let start = out.len();
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&u16::from(self.is_last).to_le_bytes());
        out.extend_from_slice(&self.first.to_le_bytes());
        for n in [self.commits.len(), self.blocks.len(), rest.len() - hashes, 0] {
            out.extend_from_slice(&(n as u32).to_le_bytes());
        }
        out.extend_from_slice(&epoch.to_le_bytes());
        out.extend_from_slice(&self.last);
        let sum = check_keyed(key, &[out.split_at(start).1, &rest]);
        out.extend_from_slice(&sum);
        out.extend_from_slice(&rest);
        Ok(())
    }

    /// Decodes and checks a table, all of its bytes.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the bytes do not match their check, or their entries contradict the header.
    /// `Unsupported`: it has a newer version.
    pub fn decode(bytes: &[u8], key: Option<&StoreKey>) -> Result<Self> {
        let header = CommitTableHeader::decode(bytes)?;
        let (checked, rest) = bytes.split_at_checked(CommitTableHeader::LEN).unwrap_or_default();
        let mut reader = Reader::new(rest, "commit table");
        if bytes.len() != header.table_len() {
            return Err(reader.corrupt(format!("{} bytes", header.table_len()), bytes.len()));
        }
        let checked = checked.get(..CHECKED_LEN).unwrap_or_default();
        if check_keyed(key, &[checked, rest]) != header.check {
            return Err(reader.corrupt("bytes that match its check", "others"));
        }
        check_version("commit table", header.version)?;
        let mut blocks = Vec::with_capacity(header.blocks as usize);
        for _ in 0..header.blocks {
            blocks.push(Hash(reader.array()?));
        }
        // Each entry has a byte or more, so they fit into the input.
        let count = header.commits as usize;
        if count > reader.rest().len() {
            return Err(reader.corrupt(format!("{count} entries"), "fewer bytes"));
        }
        let mut commits = Vec::with_capacity(count);
        for _ in 0..count {
            commits.push(reader.shortest()?);
        }
        reader.end()?;
        let is_last = header.flags == LAST;
        Ok(Self { is_last, first: header.first, commits, blocks, last: header.last })
    }
}
