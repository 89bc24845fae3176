//! The stat cache: stamps and contents of files when they were read last. Files with the same stamp
//! are not read again.
//!
//! The cache is a projection: a missing or damaged one, or one of another version or folder, costs
//! one full scan. It holds only files with settled stamps: other stamps do not prove later that a
//! file is unchanged.
//!
//! ```text
//! block.rs   the files of one folder
//! stored.rs  the file format
//! ```

mod block;
mod stored;

use std::collections::{BTreeMap, HashMap, HashSet};

use milepost::Result;
use milepost_codec::ChunkId;

use self::block::{Block, Files};
use crate::chunks::Chunks;
use crate::fs::Stamp;
use crate::path_range::below;
use crate::tree::FileContent;

pub(crate) use self::stored::{Identity, path_of};

/// Number of ids in one query.
const BATCH: usize = 4096;

/// Cached stamp and content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CachedFile {
    pub(crate) stamp: Stamp,
    pub(crate) content: FileContent,
}

/// Cached files of a workspace.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    folders: BTreeMap<Box<[u8]>, Block>,
    /// The capture that the cache belongs to.
    capture: Option<ChunkId>,
    /// Named chunks that are not stored.
    missing: HashSet<ChunkId>,
    files: u64,
}

impl Cache {
    /// Checks that all named chunks are stored. They are if `known` is the cache's capture, since
    /// an event names it. Otherwise the store is queried, and files with missing chunks are not
    /// returned.
    pub(crate) fn rely_on(&mut self, known: Option<ChunkId>, chunks: &dyn Chunks) -> Result<()> {
        let trusted = known.is_some() && known == self.capture;
        self.missing.clear();
        if trusted && !chunks.notes_uses() {
            return Ok(());
        }
        let mut ids: Vec<ChunkId> = Vec::with_capacity(BATCH);
        let mut missing = HashSet::new();
        for block in self.folders.values() {
            let mut files = block.files();
            while let Some((_, file)) = files.next() {
                ids.extend(file.content.chunks());
                if ids.len() >= BATCH {
                    find_missing(&mut ids, trusted, chunks, &mut missing)?;
                }
            }
        }
        find_missing(&mut ids, trusted, chunks, &mut missing)?;
        self.missing = missing;
        Ok(())
    }

    /// Returns the capture that the cache belongs to.
    pub(crate) fn capture(&self) -> Option<ChunkId> {
        self.capture
    }

    /// Sets the capture that the cache belongs to.
    pub(crate) fn belongs_to(&mut self, capture: ChunkId) {
        self.capture = Some(capture);
    }

    /// Returns the number of files.
    pub(crate) fn files(&self) -> u64 {
        self.files
    }

    /// Returns the stamps of a folder's files by name.
    pub(crate) fn stamps(&self, path: &[u8]) -> HashMap<Box<[u8]>, Stamp> {
        let mut stamps = HashMap::new();
        if let Some(block) = self.folders.get(path) {
            let mut files = block.files();
            while let Some((name, known)) = files.next() {
                stamps.insert(name.into(), known.stamp);
            }
        }
        stamps
    }

    /// Returns a copy without some paths.
    pub(crate) fn without(&self, paths: &HashSet<Vec<u8>>) -> Self {
        let parent = |path: &Vec<u8>| {
            let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            path.get(..end).unwrap_or_default().to_vec()
        };
        let folders: HashSet<Vec<u8>> = paths.iter().map(parent).collect();
        let mut less = Self::default();
        for (folder, block) in &self.folders {
            if !folders.contains(&**folder) {
                less.put(folder, block.clone());
                continue;
            }
            let (mut files, mut kept) = (block.files(), Vec::new());
            while let Some((name, known)) = files.next() {
                let path = match folder.is_empty() {
                    true => name.to_vec(),
                    false => [folder, &b"/"[..], name].concat(),
                };
                if !paths.contains(&path) {
                    kept.push((name, known));
                }
            }
            let kept = kept.iter();
            less.add(folder, kept.map(|(name, known)| (*name, &known.stamp, &known.content)));
        }
        less
    }

    /// Returns a cursor over a folder's files, for lookups in order of names.
    pub(crate) fn folder(&self, path: &[u8]) -> InFolder<'_> {
        InFolder { cache: self, files: self.folders.get(path).map(Block::files), next: None }
    }

    /// Adds a folder with its files, sorted by name.
    pub(crate) fn add<'a>(
        &mut self,
        path: &[u8],
        files: impl Iterator<Item = (&'a [u8], &'a Stamp, &'a FileContent)>,
    ) {
        self.put(path, Block::of(files));
    }

    /// Copies a folder and everything below it from another cache.
    pub(crate) fn copy_folder(&mut self, of: &Self, path: &[u8]) {
        for (path, block) in below(&of.folders, path) {
            self.put(path, block.clone());
        }
    }

    fn put(&mut self, path: &[u8], block: Block) {
        if block.count() > 0 {
            self.files += block.count();
            self.folders.insert(path.into(), block);
        }
    }
}

/// Marks ids as used if `trusted`, otherwise collects those not stored. Clears `ids`.
fn find_missing(
    ids: &mut Vec<ChunkId>,
    trusted: bool,
    chunks: &dyn Chunks,
    missing: &mut HashSet<ChunkId>,
) -> Result<()> {
    if trusted {
        chunks.uses(ids);
    } else if !ids.is_empty() {
        let present = chunks.has(ids)?.into_iter();
        let absent = ids.iter().zip(present).filter(|(_, present)| !present);
        missing.extend(absent.map(|(id, _)| *id));
    }
    ids.clear();
    Ok(())
}

/// Cursor over the cached files of one folder.
pub(crate) struct InFolder<'a> {
    cache: &'a Cache,
    files: Option<Files<'a>>,
    next: Option<(&'a [u8], CachedFile)>,
}

impl InFolder<'_> {
    /// Returns a file. Names must be in ascending order.
    pub(crate) fn file(&mut self, name: &[u8]) -> Option<CachedFile> {
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
                    let is_intact = missing.is_empty()
                        || !known.content.chunks().any(|id| missing.contains(&id));
                    return is_intact.then_some(known);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use milepost::Hash;

    use super::*;
    use crate::fs::Moment;
    use crate::testing::memory::MemoryChunks;

    fn known(n: u8) -> CachedFile {
        let moment = |s| Moment { s, ns: 7 };
        CachedFile {
            stamp: Stamp {
                ino: u64::from(n),
                size: 5,
                mode: 0o100_644,
                mtime: moment(-3),
                ctime: moment(i64::from(n)),
            },
            content: FileContent {
                len: 5,
                hash: Hash([n; 32]),
                list: (n % 2 == 1).then_some(ChunkId([n; 32])),
                needs: vec![ChunkId([n; 32]); usize::from(n % 2) * 3].into(),
            },
        }
    }

    const FOLDERS: [&[u8]; 3] = [b"b", b"", b"a/\xff"];

    pub(super) fn built() -> Cache {
        let mut cache = Cache::default();
        for folder in FOLDERS {
            let files: Vec<_> = (1..=4_u8).map(|n| (vec![b'a' + n], known(n))).collect();
            let files = files.iter();
            cache.add(folder, files.map(|(name, k)| (&**name, &k.stamp, &k.content)));
        }
        cache.add(b"empty", std::iter::empty());
        cache.belongs_to(ChunkId([9; 32]));
        cache
    }

    pub(super) fn check(cache: &Cache) {
        assert_eq!((cache.files(), cache.capture()), (12, Some(ChunkId([9; 32]))));
        for folder in FOLDERS {
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
    fn what_was_added_is_found_by_folder_and_name() {
        check(&built());
    }

    #[test]
    fn a_folder_is_taken_over_with_all_below_it_and_nothing_beside_it() {
        let mut of = built();
        let one = known(1);
        for path in [&b"a"[..], b"a-", b"a/b/c", b"a0", b"aa"] {
            of.add(path, std::iter::once((&b"x"[..], &one.stamp, &one.content)));
        }
        let mut cache = Cache::default();
        cache.copy_folder(&of, b"a");
        let paths: Vec<&[u8]> = cache.folders.keys().map(|path| &**path).collect();
        assert_eq!(paths, [&b"a"[..], b"a/b/c", b"a/\xff"]);
        assert_eq!(cache.files(), 6);
        cache.copy_folder(&of, b"nothing");
        assert_eq!(cache.files(), 6);
    }

    #[test]
    fn files_whose_chunks_are_gone_are_forgotten_unless_an_event_names_them() {
        let chunks = MemoryChunks::default();
        chunks.put(&[b"x"]).unwrap();
        let mut cache = built();
        cache.rely_on(Some(ChunkId([8; 32])), &chunks).unwrap();
        assert_eq!(cache.folder(b"b").file(b"b"), None);
        cache.rely_on(Some(ChunkId([9; 32])), &chunks).unwrap();
        assert_eq!(cache.folder(b"b").file(b"b"), Some(known(1)));
    }
}
