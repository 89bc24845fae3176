//! Captures: the contents of a folder at one time, and the skipped entries.

use super::name::PathBytes;
use super::tag::{CAPTURE, NodeKind, VERSION, id};
use crate::chunk::ChunkList;
use crate::error::Result;
use crate::id::ChunkId;
use crate::wire::{Reader, put_varint};

const FLAG_PRESENT: u64 = 1;

/// The root of a capture. A `workspace_captured` event refers to its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Set for a present: the state that a restore found, captured so that the restore can be
    /// undone. A present records nothing.
    pub present: bool,
    /// For a present: the newest capture before it that is not a present.
    pub over: Option<ChunkId>,
    /// The folder, absolute, at most 4096 bytes.
    pub folder: PathBytes,
    /// The [`Node::Directory`](super::Node::Directory) or [`Node::Leaves`](super::Node::Leaves) of
    /// the folder.
    pub tree: ChunkId,
    /// Number of files.
    pub files: u64,
    /// Number of directories, the folder itself not counted.
    pub directories: u64,
    /// Number of symlinks.
    pub links: u64,
    /// Total size of the files, in bytes.
    pub bytes: u64,
    /// Number of skipped entries; `skips` has the reason of each.
    pub skipped: u64,
    /// The encoded [`Skip`](super::Skip)s, one after another.
    pub skips: ChunkList,
}

impl Capture {
    /// The most bytes of `folder`.
    pub const FOLDER_MAX: usize = 4096;

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend([CAPTURE, VERSION]);
        put_varint(out, if self.present { FLAG_PRESENT } else { 0 });
        match &self.over {
            Some(over) => {
                out.push(1);
                out.extend_from_slice(&over.0);
            }
            None => out.push(0),
        }
        put_varint(out, self.folder.0.len() as u64);
        out.extend_from_slice(&self.folder.0);
        out.extend_from_slice(&self.tree.0);
        for number in [
            self.files,
            self.directories,
            self.links,
            self.bytes,
            self.skipped,
            self.skips.len,
            self.skips.chunks.len() as u64,
        ] {
            put_varint(out, number);
        }
        for chunk in &self.skips.chunks {
            out.extend_from_slice(&chunk.0);
        }
    }

    pub(super) fn read(mut reader: Reader<'_>) -> Result<Self> {
        let reader = &mut reader;
        let flags = reader.shortest()?;
        if flags > FLAG_PRESENT {
            return Err(reader.corrupt("flags 0 or 1", flags));
        }
        let present = flags == FLAG_PRESENT;
        let over = reader.flag()?.then(|| id(reader)).transpose()?;
        if over.is_some() && !present {
            return Err(reader.corrupt("a present where it is over another", "none"));
        }
        let len = reader.count(1)?;
        if len > Self::FOLDER_MAX {
            let expected = format!("a folder of up to {} bytes", Self::FOLDER_MAX);
            return Err(reader.corrupt(expected, len));
        }
        let folder = PathBytes::from(reader.take(len)?);
        let tree = id(reader)?;
        let [files, directories, links, bytes, skipped, len] = [(); 6].map(|()| reader.shortest());
        let skips = read_skips(reader, len?)?;
        let skipped = skipped?;
        if (skipped == 0) != (skips.len == 0) {
            let found = format!("{} bytes of skips", skips.len);
            return Err(reader.corrupt(format!("a list of {skipped} skips"), found));
        }
        reader.end()?;
        Ok(Self {
            present,
            over,
            folder,
            tree,
            files: files?,
            directories: directories?,
            links: links?,
            bytes: bytes?,
            skipped,
            skips,
        })
    }

    pub(super) fn names(&self, visit: &mut dyn FnMut(ChunkId, NodeKind)) {
        visit(self.tree, NodeKind::Tree);
        if let Some(over) = self.over {
            visit(over, NodeKind::Capture);
        }
        for chunk in &self.skips.chunks {
            visit(*chunk, NodeKind::Content);
        }
    }
}

fn read_skips(reader: &mut Reader<'_>, len: u64) -> Result<ChunkList> {
    let count = reader.count(32)?;
    if (len == 0) != (count == 0) || len < count as u64 {
        return Err(reader.corrupt(format!("chunks of {len} bytes"), count));
    }
    let mut chunks = Vec::with_capacity(count);
    for _ in 0..count {
        chunks.push(id(reader)?);
    }
    Ok(ChunkList { len, chunks })
}
