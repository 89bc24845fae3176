//! Cached files of one folder, encoded: a third of the memory of structures, and stored as is.

use std::sync::Arc;

use milepost::Hash;
use milepost_codec::{ChunkId, Reader, put_varint};

use super::CachedFile;
use crate::fs::{Moment, Stamp};
use crate::tree::FileContent;

/// The files of a folder, names ascending.
#[derive(Debug, Clone)]
pub(super) struct Block {
    count: u64,
    bytes: Arc<[u8]>,
}

impl Block {
    /// Encodes files, sorted by name.
    pub(super) fn of<'a>(
        files: impl Iterator<Item = (&'a [u8], &'a Stamp, &'a FileContent)>,
    ) -> Self {
        let (mut bytes, mut count) = (Vec::new(), 0);
        for (name, stamp, content) in files {
            count += 1;
            write_file(&mut bytes, name, stamp, content);
        }
        let bytes = bytes.into();
        Self { count, bytes }
    }

    /// Reads `count` files from the front of `reader`. Returns `None` if one is incomplete.
    pub(super) fn read(reader: &mut Reader<'_>, count: u64) -> Option<Self> {
        let stored = reader.rest();
        for _ in 0..count {
            pass_file(reader)?;
        }
        let len = stored.len() - reader.rest().len();
        let bytes = stored.get(..len)?.into();
        Some(Self { count, bytes })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn files(&self) -> Files<'_> {
        Files { reader: Reader::new(&self.bytes, "stat cache"), remaining: self.count }
    }
}

/// The files of a block, one after another.
pub(super) struct Files<'a> {
    reader: Reader<'a>,
    remaining: u64,
}

impl<'a> Files<'a> {
    pub(super) fn next(&mut self) -> Option<(&'a [u8], CachedFile)> {
        self.remaining = self.remaining.checked_sub(1)?;
        read_file(&mut self.reader)
    }
}

/// Reads the name and the stamp, which precede the content.
fn read_front<'a>(reader: &mut Reader<'a>) -> Option<(&'a [u8], Stamp)> {
    let len = reader.u8().ok()?;
    let name = reader.take(usize::from(len)).ok()?;
    let (ino, size) = (reader.varint().ok()?, reader.varint().ok()?);
    let mode = reader.varint_u32().ok()?;
    let mut moment = || {
        let s = i64::from_le_bytes(reader.array().ok()?);
        let ns = reader.u32().ok()?;
        Some(Moment { s, ns })
    };
    let (mtime, ctime) = (moment()?, moment()?);
    let stamp = Stamp { ino, size, mode, mtime, ctime };
    Some((name, stamp))
}

fn read_file<'a>(reader: &mut Reader<'a>) -> Option<(&'a [u8], CachedFile)> {
    let (name, stamp) = read_front(reader)?;
    let hash = Hash(reader.array().ok()?);
    let list = match reader.u8().ok()? {
        0 => None,
        _ => Some(ChunkId(reader.array().ok()?)),
    };
    let (needs, _) = needs(reader)?.as_chunks::<32>();
    let content = FileContent {
        len: stamp.size,
        hash,
        list,
        needs: needs.iter().map(|id| ChunkId(*id)).collect(),
    };
    Some((name, CachedFile { stamp, content }))
}

/// Skips a file, checking only that it is complete.
fn pass_file(reader: &mut Reader<'_>) -> Option<()> {
    read_front(reader)?;
    reader.take(32).ok()?;
    if reader.u8().ok()? != 0 {
        reader.take(32).ok()?;
    }
    needs(reader).map(|_| ())
}

fn needs<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let count = usize::try_from(reader.varint().ok()?).ok()?;
    reader.take(count.checked_mul(32)?).ok()
}

fn write_file(out: &mut Vec<u8>, name: &[u8], stamp: &Stamp, content: &FileContent) {
    // Names have at most 255 bytes in file systems and in trees.
    out.push(name.len() as u8);
    out.extend_from_slice(name);
    put_varint(out, stamp.ino);
    put_varint(out, stamp.size);
    put_varint(out, u64::from(stamp.mode));
    for moment in [stamp.mtime, stamp.ctime] {
        out.extend_from_slice(&moment.s.to_le_bytes());
        out.extend_from_slice(&moment.ns.to_le_bytes());
    }
    out.extend_from_slice(&content.hash.0);
    match content.list {
        None => out.push(0),
        Some(list) => {
            out.push(1);
            out.extend_from_slice(&list.0);
        }
    }
    put_varint(out, content.needs.len() as u64);
    for id in &content.needs {
        out.extend_from_slice(&id.0);
    }
}
