//! Test fixtures: folders as maps, stored as trees, written to a disk and read back.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use milepost_codec::{
    ActionKind, ChunkEntry, ChunkId, Entry, EntryKind, FilePart, Hash, Item, Name, RestoreIntent,
    TreePath, encode_directory, encode_file,
};

use super::memory::MemoryChunks;
use crate::chunks::Contents;
use crate::tree::{entries, parts};

/// Size in bytes from which a file is stored in several chunks.
const CUT: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Thing {
    File(Vec<u8>, u16),
    Link(Vec<u8>),
    Dir(u16),
}

/// A folder: its entries by path.
pub(crate) type Things = BTreeMap<TreePath, Thing>;

pub(crate) fn path(bytes: impl AsRef<[u8]>) -> TreePath {
    TreePath::new(bytes.as_ref()).unwrap()
}

impl MemoryChunks {
    fn store(&self, bytes: &[u8]) -> ChunkId {
        self.hold(bytes.to_vec())
    }

    /// Stores a folder as a tree.
    pub(crate) fn tree(&self, things: &Things) -> ChunkId {
        self.below(things, None)
    }

    fn below(&self, things: &Things, at: Option<&TreePath>) -> ChunkId {
        let children = things.iter().filter(|(path, _)| path.parent().as_ref() == at);
        let mut list: Vec<_> = children
            .map(|(path, thing)| Entry { name: path.name(), item: self.item(things, path, thing) })
            .collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        encode_directory(&list, &mut self.keep())
    }

    fn item(&self, things: &Things, path: &TreePath, thing: &Thing) -> Item {
        match thing {
            Thing::File(bytes, mode) => Item { mode: *mode, kind: self.file(bytes) },
            Thing::Link(target) => {
                Item { mode: 0o777, kind: EntryKind::Link { target: target.as_slice().into() } }
            }
            Thing::Dir(mode) => {
                let id = self.below(things, Some(path));
                Item { mode: *mode, kind: EntryKind::Directory { id } }
            }
        }
    }

    fn file(&self, bytes: &[u8]) -> EntryKind {
        let len = bytes.len() as u64;
        if bytes.len() <= CUT {
            return EntryKind::File { len, id: self.store(bytes), unstable: false };
        }
        let parts: Vec<_> = bytes
            .chunks(if bytes.len() > 5000 { 4500 } else { CUT })
            .map(|part| FilePart { id: self.store(part), len: part.len() as u64 })
            .collect();
        let hash = Hash(ChunkEntry::id_of(bytes).0);
        let list = encode_file(&parts, &mut self.keep());
        EntryKind::Listed { len, hash, list, unstable: false }
    }

    /// Returns the entries of a tree.
    pub(crate) fn things(&self, tree: &ChunkId) -> Things {
        let mut things = Things::new();
        self.list(tree, None, &mut things);
        things
    }

    fn list(&self, tree: &ChunkId, at: Option<&TreePath>, things: &mut Things) {
        for Entry { name, item } in entries(self, tree).unwrap() {
            let path =
                at.map_or_else(|| TreePath::from(name.clone()), |at| at.join(&name).unwrap());
            self.list_item(&path, &item, things);
        }
    }

    pub(crate) fn list_item(&self, path: &TreePath, item: &Item, things: &mut Things) {
        let thing = match &item.kind {
            EntryKind::Directory { id } => {
                self.list(id, Some(path), things);
                Thing::Dir(item.mode)
            }
            EntryKind::Link { target } => Thing::Link(target.to_vec()),
            _ => {
                let parts = parts(self, item).unwrap();
                let read = parts.iter().flat_map(|part| self.get(&part.id).unwrap().to_vec());
                Thing::File(read.collect(), item.mode)
            }
        };
        things.insert(path.clone(), thing);
    }
}

/// Applies a plan to a folder. Checks that each action finds its `before` item.
pub(crate) fn follow(chunks: &MemoryChunks, plan: &RestoreIntent, present: &Things) -> Things {
    let mut now = present.clone();
    let holds = |at: &TreePath, item: &Item| {
        let mut things = Things::new();
        chunks.list_item(at, item, &mut things);
        things
    };
    let take = |now: &mut Things, at: &TreePath| {
        let taken: Things = now
            .iter()
            .filter(|(path, _)| path.is_in(at))
            .map(|(path, thing)| (path.clone(), thing.clone()))
            .collect();
        now.retain(|path, _| !path.is_in(at));
        taken
    };
    for (n, action) in plan.actions.iter().enumerate() {
        let at = &action.path;
        assert_eq!(action.slot as usize, n);
        if let Some(parent) = at.parent() {
            assert!(matches!(now.get(&parent), Some(Thing::Dir(_))), "{at} has no folder");
        }
        match (action.kind, &action.before, &action.after) {
            (ActionKind::Create, None, Some(after)) => {
                assert!(!now.contains_key(at), "{at} is created and there");
                now.extend(holds(at, after));
            }
            (ActionKind::Replace, Some(before), Some(after)) => {
                assert_eq!(take(&mut now, at), holds(at, before), "{at}");
                now.extend(holds(at, after));
            }
            (ActionKind::Remove, Some(before), None) => {
                assert_eq!(take(&mut now, at), holds(at, before), "{at}");
            }
            (ActionKind::MakeRoom, Some(before), None) => {
                let taken = take(&mut now, at);
                assert_eq!(taken.len(), 1, "{at} is not empty");
                assert_eq!(taken[at], Thing::Dir(before.mode));
            }
            (ActionKind::Mode, Some(before), Some(after)) => {
                assert_eq!(now[at], Thing::Dir(before.mode), "{at}");
                now.insert(at.clone(), Thing::Dir(after.mode));
            }
            _ => panic!("{action:?}"),
        }
    }
    RestoreIntent::decode(&plan.encode()).unwrap();
    now
}

pub(crate) fn at(folder: &Path, path: &[u8]) -> PathBuf {
    folder.join(std::ffi::OsStr::from_bytes(path))
}

pub(crate) fn set_bits(path: &Path, bits: u16) {
    std::fs::set_permissions(path, Permissions::from_mode(u32::from(bits))).unwrap();
}

/// Returns a folder that is removed on drop, in memory if possible, since these tests sync a lot.
pub(crate) fn temporary() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Runs `what` with the parent folder of a path opened.
pub(crate) fn in_open<T>(path: &Path, what: impl FnOnce() -> T) -> T {
    let parent = path.parent().unwrap();
    let bits = parent.metadata().unwrap().mode() as u16 & 0o777;
    if bits & 0o300 == 0o300 {
        return what();
    }
    set_bits(parent, bits | 0o700);
    let done = what();
    set_bits(parent, bits);
    done
}

/// Writes entries to a folder.
pub(crate) fn write(folder: &Path, things: &Things) {
    for (path, thing) in things {
        let path = at(folder, path.as_bytes());
        match thing {
            Thing::File(bytes, mode) => {
                std::fs::write(&path, bytes).unwrap();
                set_bits(&path, *mode);
            }
            Thing::Link(target) => {
                let target = std::ffi::OsStr::from_bytes(target);
                std::os::unix::fs::symlink(target, &path).unwrap();
            }
            Thing::Dir(_) => std::fs::create_dir(&path).unwrap(),
        }
    }
    for (path, thing) in things.iter().rev() {
        if let Thing::Dir(mode) = thing {
            set_bits(&at(folder, path.as_bytes()), *mode);
        }
    }
}

/// Returns the entries of a folder with their inodes.
pub(crate) fn read(folder: &Path) -> BTreeMap<Vec<u8>, (Thing, u64)> {
    let mut found = BTreeMap::new();
    read_below(folder, &[], &mut found);
    found
}

fn read_below(folder: &Path, below: &[u8], found: &mut BTreeMap<Vec<u8>, (Thing, u64)>) {
    for entry in std::fs::read_dir(at(folder, below)).unwrap() {
        let name = entry.unwrap().file_name().into_vec();
        let path = if below.is_empty() { name } else { [below, b"/", &name].concat() };
        let full = at(folder, &path);
        let meta = full.symlink_metadata().unwrap();
        let bits = (meta.mode() & 0o777) as u16;
        let thing = if meta.is_dir() {
            read_below(folder, &path, found);
            Thing::Dir(bits)
        } else if meta.is_symlink() {
            Thing::Link(std::fs::read_link(&full).unwrap().into_os_string().into_vec())
        } else {
            Thing::File(std::fs::read(&full).unwrap(), bits)
        };
        found.insert(path, (thing, meta.ino()));
    }
}

/// Returns the entries of a folder without inodes, by tree path.
pub(crate) fn read_things(folder: &Path) -> Things {
    let found = read(folder).into_iter();
    found.map(|(bytes, (thing, _))| (path(bytes), thing)).collect()
}

/// Opens a folder and everything below it for removal.
pub(crate) fn open_all(folder: &Path) {
    let Ok(list) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in list.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            set_bits(&entry.path(), 0o755);
            open_all(&entry.path());
        }
    }
}

/// Pseudo-random numbers: xorshift.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n
    }

    pub(crate) fn of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }
}

/// Returns the seeds of a test: up to `count`, or the one in `MILEPOST_SEED`.
pub(crate) fn seeds(count: u64) -> Vec<u64> {
    match std::env::var("MILEPOST_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => vec![seed],
        None => (1..=count).collect(),
    }
}

pub(crate) const NAMES: [&[u8]; 9] = [
    b"a",
    b"b",
    b"A",
    b"with space",
    b"line\nbreak",
    b"\xff\xfe",
    "\u{1f600}".as_bytes(),
    b"-x",
    b"a-b",
];

fn random_thing(random: &mut Random) -> Thing {
    match random.below(12) {
        0 => Thing::Link(random.of(&[b"a".to_vec(), b"../x".to_vec(), b"\xff".to_vec()])),
        1..=3 => Thing::Dir(random.of(&[0o755, 0o700, 0o555, 0o775])),
        4 => Thing::File(Vec::new(), 0o644),
        5 => Thing::File(vec![0; 9000], 0o644),
        6 => Thing::File(vec![random.below(250) as u8; 250], 0o644),
        _ => {
            let bytes = vec![b'a' + random.below(6) as u8; 1 + random.below(2)];
            Thing::File(bytes, random.of(&[0o644, 0o644, 0o755, 0o400]))
        }
    }
}

/// Returns a random folder as it was last captured, as it is wanted, and as it is now.
pub(crate) fn random_sides(random: &mut Random) -> [Things; 3] {
    let count = random.below(14);
    let last = random_things(random, count);
    let (mut target, mut present) = (last.clone(), last.clone());
    for _ in 0..random.below(6) {
        edit(random, &mut target, false);
    }
    for _ in 0..random.below(6) {
        edit(random, &mut present, false);
    }
    [last, target, present]
}

/// Returns a random folder.
pub(crate) fn random_things(random: &mut Random, count: usize) -> Things {
    let mut things = Things::new();
    for _ in 0..count {
        edit(random, &mut things, true);
    }
    things
}

/// Makes a random change: adds or removes an entry.
pub(crate) fn edit(random: &mut Random, things: &mut Things, only_add: bool) {
    let dirs = things.iter().filter(|(_, thing)| matches!(thing, Thing::Dir(_)));
    let dirs: Vec<_> = dirs.map(|(path, _)| path.clone()).collect();
    let at = random.below(dirs.len() + 1);
    let name = Name::new(random.of(&NAMES)).unwrap();
    let target = match dirs.get(at) {
        Some(dir) if dir.names().count() < 4 => dir.join(&name).unwrap(),
        _ => TreePath::from(name),
    };
    if only_add && things.contains_key(&target) {
        return;
    }
    let thing = random_thing(random);
    // A folder that gets other mode bits sometimes keeps its contents.
    let stays = matches!((things.get(&target), &thing), (Some(Thing::Dir(_)), Thing::Dir(_)));
    if !(stays && random.below(4) > 0) {
        things.retain(|path, _| !path.is_in(&target));
    }
    if only_add || random.below(3) > 0 {
        things.insert(target, thing);
    }
}
