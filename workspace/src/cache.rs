//! The stat cache: what files were when they were read last, so that what is as it was is not read again.
//!
//! `workspace/HEX.stat` in the store, one for each folder. It is a projection: one that is missing,
//! damaged, of another version or folder costs one full look. Numbers are as in all of the format.
//!
//! ```text
//! "MPWS" | version u8 | device u64 | inode u64 | capture 32 bytes
//! folders: varint count, then each, paths ascending:
//!   path: varint length, bytes | files: varint count, then each, names ascending:
//!     name: u8 length, bytes
//!     inode, size, mode varint | mtime, ctime: i64 seconds, u32 nanoseconds
//!     hash 32 bytes | list: 0, or 1 and 32 bytes | needs: varint count, 32 bytes each
//! BLAKE3 of all before it, 32 bytes
//! ```
//!
//! Only files with a settled stamp are in it: another one says nothing about the next time.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use milepost::{Hash, Result};
use milepost_codec::{ChunkId, PathBytes, Reader, put_varint};

use crate::chunks::Chunks;
use crate::error;
use crate::fs::{Moment, Stamp};
use crate::look::Content;

const MAGIC: &[u8; 4] = b"MPWS";
const VERSION: u8 = 1;
const CHECK_LEN: usize = 32;

/// How many ids are asked for at once.
const ASKED: usize = 4096;

/// Device and inode of a folder.
pub(crate) type Identity = (u64, u64);

/// Where the cache of a folder is.
pub(crate) fn path_of(store: &Path, folder: Identity) -> PathBuf {
    store.join(format!("{:016x}{:016x}.stat", folder.0, folder.1))
}

/// What was known of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) stamp: Stamp,
    pub(crate) content: Content,
}

/// A cache that was read.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    bytes: Vec<u8>,
    /// Where the files of each folder stand.
    folders: HashMap<Box<[u8]>, Range<usize>>,
    /// The capture that it belongs to.
    capture: Option<ChunkId>,
    /// Chunks that were asked for and are not stored.
    missing: HashSet<ChunkId>,
    files: u64,
}

impl Cache {
    /// Reads the cache of a folder; nothing where there is none that is good for anything.
    pub(crate) fn read(path: &Path, folder: Identity) -> Option<Self> {
        Self::decode(std::fs::read(path).ok()?, folder)
    }

    fn decode(bytes: Vec<u8>, folder: Identity) -> Option<Self> {
        let (front, check) = bytes.split_last_chunk::<CHECK_LEN>()?;
        if blake3::hash(front).as_bytes() != check {
            return None;
        }
        let all = front.len();
        let mut reader = Reader::new(front, "stat cache");
        let wanted = (*MAGIC, VERSION, folder.0, folder.1);
        let found = (|| {
            Ok::<_, milepost::Error>((reader.array()?, reader.u8()?, reader.u64()?, reader.u64()?))
        })();
        if found.ok()? != wanted {
            return None;
        }
        let capture = ChunkId(reader.array().ok()?);
        let mut cache = Self {
            capture: Some(capture),
            ..Self::default()
        };
        for _ in 0..reader.varint().ok()? {
            let len = reader.varint_len().ok()?;
            let path = reader.take(len).ok()?;
            let start = all - reader.rest().len();
            let count = reader.varint().ok()?;
            for _ in 0..count {
                read_file(&mut reader)?;
            }
            cache.files += count;
            let end = all - reader.rest().len();
            cache.folders.insert(path.into(), start..end);
        }
        let whole = reader.is_empty();
        cache.bytes = bytes;
        whole.then_some(cache)
    }

    /// Makes sure that all it names is stored: it is, where `known` is the capture that it belongs to,
    /// since an event names that. Else each chunk is looked for, and files that miss one are forgotten.
    pub(crate) fn rely_on(&mut self, known: Option<ChunkId>, chunks: &dyn Chunks) -> Result<()> {
        let trusted = known.is_some() && known == self.capture;
        let mut ids: Vec<ChunkId> = Vec::with_capacity(ASKED);
        let mut missing = HashSet::new();
        for range in self.folders.values() {
            let mut files = Files::of(&self.bytes, range);
            while let Some((_, file)) = files.next() {
                ids.extend(file.content.chunks());
                if ids.len() >= ASKED {
                    ask(&mut ids, trusted, chunks, &mut missing)?;
                }
            }
        }
        ask(&mut ids, trusted, chunks, &mut missing)?;
        self.missing = missing;
        Ok(())
    }

    /// The capture that it belongs to.
    pub(crate) fn capture(&self) -> Option<ChunkId> {
        self.capture
    }

    /// How many files it knows.
    pub(crate) fn files(&self) -> u64 {
        self.files
    }

    /// How the files of a folder looked, by name.
    pub(crate) fn stamps(&self, path: &[u8]) -> HashMap<Box<[u8]>, Stamp> {
        let mut stamps = HashMap::new();
        if let Some(range) = self.folders.get(path) {
            let mut files = Files::of(&self.bytes, range);
            while let Some((name, known)) = files.next() {
                stamps.insert(name.into(), known.stamp);
            }
        }
        stamps
    }

    /// What it knows of a folder, to be asked for names in their order.
    pub(crate) fn folder(&self, path: &[u8]) -> InFolder<'_> {
        let files = self
            .folders
            .get(path)
            .map(|range| Files::of(&self.bytes, range));
        InFolder {
            cache: self,
            files,
            next: None,
        }
    }
}

/// Tells or asks the store about ids, and forgets them.
fn ask(
    ids: &mut Vec<ChunkId>,
    trusted: bool,
    chunks: &dyn Chunks,
    missing: &mut HashSet<ChunkId>,
) -> Result<()> {
    if trusted {
        chunks.uses(ids);
    } else if !ids.is_empty() {
        let there = chunks.has(ids)?.into_iter();
        let gone = ids.iter().zip(there).filter(|(_, there)| !there);
        missing.extend(gone.map(|(id, _)| *id));
    }
    ids.clear();
    Ok(())
}

/// What a cache knows of one folder.
pub(crate) struct InFolder<'a> {
    cache: &'a Cache,
    files: Option<Files<'a>>,
    next: Option<(&'a [u8], Known)>,
}

impl InFolder<'_> {
    /// What it knows of a file. Names are asked for in ascending order.
    pub(crate) fn file(&mut self, name: &[u8]) -> Option<Known> {
        let files = self.files.as_mut()?;
        loop {
            let (found, known) = match self.next.take() {
                Some(next) => next,
                None => files.next()?,
            };
            match found.cmp(name) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Greater => {
                    self.next = Some((found, known));
                    return None;
                }
                std::cmp::Ordering::Equal => {
                    let missing = &self.cache.missing;
                    let whole = missing.is_empty()
                        || !known.content.chunks().any(|id| missing.contains(&id));
                    return whole.then_some(known);
                }
            }
        }
    }
}

/// The files of a folder, from bytes that were read once.
struct Files<'a> {
    reader: Reader<'a>,
    left: u64,
}

impl<'a> Files<'a> {
    fn of(bytes: &'a [u8], range: &Range<usize>) -> Self {
        let mut reader = Reader::new(bytes.get(range.clone()).unwrap_or_default(), "stat cache");
        let left = reader.varint().unwrap_or_default();
        Self { reader, left }
    }

    fn next(&mut self) -> Option<(&'a [u8], Known)> {
        self.left = self.left.checked_sub(1)?;
        read_file(&mut self.reader)
    }
}

fn read_file<'a>(reader: &mut Reader<'a>) -> Option<(&'a [u8], Known)> {
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
    let hash = Hash(reader.array().ok()?);
    let list = match reader.u8().ok()? {
        0 => None,
        _ => Some(ChunkId(reader.array().ok()?)),
    };
    let count = usize::try_from(reader.varint().ok()?).ok()?;
    let needs = reader.take(count.checked_mul(32)?).ok()?;
    let (needs, _) = needs.as_chunks::<32>();
    let content = Content {
        len: size,
        hash,
        list,
        needs: needs.iter().map(|id| ChunkId(*id)).collect(),
    };
    let stamp = Stamp {
        ino,
        size,
        mode,
        mtime,
        ctime,
    };
    Some((name, Known { stamp, content }))
}

/// A cache that is made: folders in any order.
#[derive(Debug, Default)]
pub(crate) struct CacheBuilder {
    folders: Vec<(PathBytes, Vec<u8>)>,
    files: u64,
}

impl CacheBuilder {
    /// Adds a folder with its files, in order of their names.
    pub(crate) fn add<'a>(
        &mut self,
        path: &[u8],
        files: impl Iterator<Item = (&'a [u8], &'a Stamp, &'a Content)>,
    ) {
        let (mut out, mut count) = (Vec::new(), 0);
        for (name, stamp, content) in files {
            count += 1;
            write_file(&mut out, name, stamp, content);
        }
        if count > 0 {
            let mut block = Vec::with_capacity(out.len() + 9);
            put_varint(&mut block, count);
            block.append(&mut out);
            self.folders.push((PathBytes::from(path), block));
            self.files += count;
        }
    }

    /// How many files are in it.
    pub(crate) fn files(&self) -> u64 {
        self.files
    }

    fn encode(mut self, folder: Identity, capture: ChunkId) -> Vec<u8> {
        self.folders.sort_by(|a, b| a.0.cmp(&b.0));
        let mut out = Vec::new();
        out.extend_from_slice(MAGIC);
        out.push(VERSION);
        out.extend_from_slice(&folder.0.to_le_bytes());
        out.extend_from_slice(&folder.1.to_le_bytes());
        out.extend_from_slice(&capture.0);
        put_varint(&mut out, self.folders.len() as u64);
        for (path, files) in self.folders.drain(..) {
            put_varint(&mut out, path.as_bytes().len() as u64);
            out.extend_from_slice(path.as_bytes());
            out.extend_from_slice(&files);
        }
        let check = *blake3::hash(&out).as_bytes();
        out.extend_from_slice(&check);
        out
    }

    /// Writes it in the place of the one before. It is not synced: one that did not survive is found out
    /// by its check.
    pub(crate) fn write(self, path: &Path, folder: Identity, capture: ChunkId) -> Result<()> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let beside = path.with_extension("stat.tmp");
        let bytes = self.encode(folder, capture);
        let mut options = std::fs::File::options();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let written = options
            .open(&beside)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| std::fs::rename(&beside, path));
        written.map_err(|e| error::io("write", path, &e))
    }
}

fn write_file(out: &mut Vec<u8>, name: &[u8], stamp: &Stamp, content: &Content) {
    // No file system has a longer name, and a tree takes none.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryChunks;

    fn known(n: u8) -> Known {
        let moment = |s| Moment { s, ns: 7 };
        Known {
            stamp: Stamp {
                ino: u64::from(n),
                size: 5,
                mode: 0o100_644,
                mtime: moment(-3),
                ctime: moment(i64::from(n)),
            },
            content: Content {
                len: 5,
                hash: Hash([n; 32]),
                list: (n % 2 == 1).then_some(ChunkId([n; 32])),
                needs: vec![ChunkId([n; 32]); usize::from(n % 2) * 3].into(),
            },
        }
    }

    fn built() -> Vec<u8> {
        let mut builder = CacheBuilder::default();
        for folder in [&b"b"[..], b"", b"a/\xff"] {
            let files: Vec<_> = (1..=4_u8).map(|n| (vec![b'a' + n], known(n))).collect();
            let files = files.iter();
            builder.add(
                folder,
                files.map(|(name, k)| (&**name, &k.stamp, &k.content)),
            );
        }
        builder.add(b"empty", std::iter::empty());
        assert_eq!(builder.files(), 12);
        builder.encode((1, 2), ChunkId([9; 32]))
    }

    #[test]
    fn what_was_written_is_found_by_folder_and_name() {
        let cache = Cache::decode(built(), (1, 2)).unwrap();
        assert_eq!(
            (cache.files(), cache.capture()),
            (12, Some(ChunkId([9; 32])))
        );
        for folder in [&b"b"[..], b"", b"a/\xff"] {
            let mut files = cache.folder(folder);
            assert_eq!(files.file(b"a"), None);
            assert_eq!(files.file(b"b"), Some(known(1)));
            assert_eq!(files.file(b"ba"), None);
            assert_eq!(files.file(b"d"), Some(known(3)));
            assert_eq!(files.file(b"e"), Some(known(4)));
            assert_eq!(files.file(b"f"), None);
        }
        assert_eq!(cache.folder(b"c").file(b"b"), None);
    }

    #[test]
    fn one_that_is_damaged_cut_or_of_another_folder_is_as_good_as_none() {
        let good = built();
        assert!(Cache::decode(good.clone(), (1, 2)).is_some());
        for folder in [(1, 3), (2, 2), (0, 0)] {
            assert!(Cache::decode(good.clone(), folder).is_none());
        }
        for at in 0..good.len() {
            assert!(Cache::decode(good[..at].to_vec(), (1, 2)).is_none());
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(Cache::decode(bad, (1, 2)).is_none(), "byte {at}");
        }
        // One with a check that fits is not believed either.
        for at in 0..good.len() - CHECK_LEN {
            for bit in [1, 0x80] {
                let mut bad = good[..good.len() - CHECK_LEN].to_vec();
                bad[at] ^= bit;
                let check = *blake3::hash(&bad).as_bytes();
                bad.extend_from_slice(&check);
                if let Some(cache) = Cache::decode(bad, (1, 2)) {
                    cache.folder(b"b").file(b"zzz");
                }
            }
        }
    }

    #[test]
    fn files_whose_chunks_are_gone_are_forgotten_unless_an_event_names_them() {
        let chunks = MemoryChunks::default();
        chunks.put(&[b"x"]).unwrap();
        let mut cache = Cache::decode(built(), (1, 2)).unwrap();
        cache.rely_on(Some(ChunkId([8; 32])), &chunks).unwrap();
        assert_eq!(cache.folder(b"b").file(b"b"), None);
        cache.rely_on(Some(ChunkId([9; 32])), &chunks).unwrap();
        assert_eq!(cache.folder(b"b").file(b"b"), Some(known(1)));
    }
}
