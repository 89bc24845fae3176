//! Directories. A large directory is cut into leaves by the hashes of its names. A name that is
//! added or removed therefore changes one leaf and the list of leaves.

use std::cmp::Ordering;

use super::Node;
use super::item::{self, Item};
use super::name::Name;
use super::tag::{DIRECTORY, LEAVES, VERSION, id};
use crate::chunk::ChunkEntry;
use crate::error::Result;
use crate::id::ChunkId;
use crate::wire::{Reader, put_varint, varint_len};

/// The most bytes of a directory that is not cut.
pub const DIRECTORY_WHOLE_MAX: usize = 64 << 10;

/// The most entries and the most bytes of a leaf. The limit in bytes is for long names and targets:
/// 1024 of them do not fit into a chunk.
const LEAF_ENTRIES_MAX: usize = 1024;
const LEAF_LEN_MAX: usize = 256 << 10;

/// Length of the shortest leaf in a list of leaves, in bytes: a name of one byte, an id and a
/// count.
const LEAF_LEN_MIN: usize = 35;

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The name.
    pub name: Name,
    /// The entry's file, symlink or directory.
    pub item: Item,
}

/// A leaf: a part of a large directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// The first name.
    pub first: Name,
    /// The [`Node::Directory`] of the leaf.
    pub id: ChunkId,
    /// The number of entries.
    pub entries: u64,
}

impl Leaf {
    /// The most leaves of a directory.
    pub const COUNT_MAX: usize = 16_384;

    /// The most entries of a directory.
    pub const ENTRIES_MAX: u64 = 1 << 22;
}

impl Entry {
    fn encoded_len(&self) -> usize {
        1 + self.name.as_bytes().len() + self.item.encoded_len()
    }
}

/// Cuts the entries of a directory, sorted by name, into leaves. Yields a single leaf if the
/// directory is not cut.
///
/// A directory of more than [`DIRECTORY_WHOLE_MAX`] bytes is cut after each name whose BLAKE3 hash
/// begins with a zero byte, after 1024 entries, and before an entry that would make a leaf longer
/// than 256 KiB.
pub fn cut_directory(entries: &[Entry]) -> impl Iterator<Item = &[Entry]> {
    let len: usize = entries.iter().map(Entry::encoded_len).sum();
    let fits_one_chunk = 2 + varint_len(entries.len() as u64) + len <= DIRECTORY_WHOLE_MAX;
    let mut rest = Some(entries);
    std::iter::from_fn(move || {
        let entries = rest.take()?;
        if fits_one_chunk {
            return Some(entries);
        }
        let (leaf, following) = entries.split_at_checked(leaf_len(entries))?;
        rest = Some(following).filter(|following| !following.is_empty());
        Some(leaf)
    })
}

/// Returns the number of entries in the first leaf.
fn leaf_len(entries: &[Entry]) -> usize {
    let mut len = 0;
    for (n, entry) in entries.iter().enumerate() {
        len += entry.encoded_len();
        if n > 0 && len > LEAF_LEN_MAX {
            return n;
        }
        let cut = blake3::hash(entry.name.as_bytes()).as_bytes().first() == Some(&0);
        if cut || n + 1 == LEAF_ENTRIES_MAX {
            return n + 1;
        }
    }
    entries.len()
}

/// Encodes the nodes of a directory, with entries sorted by name. Calls `put` with the id and
/// content of each node, leaves first, and returns the root's id.
pub fn encode_directory(entries: &[Entry], put: &mut dyn FnMut(ChunkId, Vec<u8>)) -> ChunkId {
    let mut leaves: Vec<(Leaf, Vec<u8>)> = Vec::new();
    for part in cut_directory(entries) {
        let mut content = Vec::new();
        write_entries(part, &mut content);
        let id = ChunkEntry::id_of(&content);
        // Only an empty directory has no first name, and it is not cut.
        let Some(first) = part.first().filter(|_| part.len() < entries.len()) else {
            put(id, content);
            return id;
        };
        let leaf = Leaf { first: first.name.clone(), id, entries: part.len() as u64 };
        leaves.push((leaf, content));
    }
    let mut list = Vec::with_capacity(leaves.len());
    for (leaf, content) in leaves {
        put(leaf.id, content);
        list.push(leaf);
    }
    let content = Node::Leaves(list).encode();
    let id = ChunkEntry::id_of(&content);
    put(id, content);
    id
}

pub(super) fn write_entries(entries: &[Entry], out: &mut Vec<u8>) {
    out.extend([DIRECTORY, VERSION]);
    put_varint(out, entries.len() as u64);
    for entry in entries {
        write_name(&entry.name, out);
        entry.item.write(out);
    }
}

pub(super) fn write_leaves(leaves: &[Leaf], out: &mut Vec<u8>) {
    out.extend([LEAVES, VERSION]);
    put_varint(out, leaves.len() as u64);
    for leaf in leaves {
        write_name(&leaf.first, out);
        out.extend_from_slice(&leaf.id.0);
        put_varint(out, leaf.entries);
    }
}

pub(super) fn read_entries(mut reader: Reader<'_>) -> Result<Vec<Entry>> {
    // The least bytes of an entry: a name of one byte with its length, and an item.
    let count = reader.count(2 + item::LEN_MIN)?;
    let mut entries: Vec<Entry> = Vec::with_capacity(count);
    for _ in 0..count {
        let name = read_name(&mut reader, entries.last().map(|entry| &entry.name))?;
        let item = Item::read(&mut reader).map_err(|e| e.at(format!("entry `{name}`")))?;
        entries.push(Entry { name, item });
    }
    reader.end()?;
    Ok(entries)
}

pub(super) fn read_leaves(mut reader: Reader<'_>) -> Result<Vec<Leaf>> {
    let count = reader.count(LEAF_LEN_MIN)?;
    if !(2..=Leaf::COUNT_MAX).contains(&count) {
        let expected = format!("2 to {} leaves", Leaf::COUNT_MAX);
        return Err(reader.corrupt(expected, count));
    }
    let mut leaves: Vec<Leaf> = Vec::with_capacity(count);
    let mut all = 0_u64;
    for _ in 0..count {
        let first = read_name(&mut reader, leaves.last().map(|leaf| &leaf.first))?;
        let (id, entries) = (id(&mut reader)?, reader.shortest()?);
        all = all.saturating_add(entries);
        if entries == 0 || all > Leaf::ENTRIES_MAX {
            let expected = format!("1 to {} entries", Leaf::ENTRIES_MAX);
            return Err(reader.corrupt(expected, entries));
        }
        leaves.push(Leaf { first, id, entries });
    }
    reader.end()?;
    Ok(leaves)
}

fn write_name(name: &Name, out: &mut Vec<u8>) {
    // A name has at most 255 bytes.
    out.push(name.as_bytes().len() as u8);
    out.extend_from_slice(name.as_bytes());
}

fn read_name(reader: &mut Reader<'_>, before: Option<&Name>) -> Result<Name> {
    let len = reader.u8()?;
    let bytes = reader.take(usize::from(len))?;
    if let Some(why) = Name::fault(bytes) {
        let found = format!("`{}`: {why}", super::printable(bytes));
        return Err(reader.corrupt("a name", found));
    }
    let name = Name::checked(bytes);
    match before {
        Some(before) if before.cmp(&name) != Ordering::Less => {
            Err(reader.corrupt(format!("a name behind `{before}`"), format!("`{name}`")))
        }
        _ => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::EntryKind;
    use std::collections::HashMap;

    fn file(name: &str) -> Entry {
        let kind =
            EntryKind::File { len: 5, id: ChunkEntry::id_of(name.as_bytes()), unstable: false };
        let item = Item { mode: 0o644, kind };
        let name = Name::new(name.as_bytes()).unwrap();
        Entry { name, item }
    }

    fn names(count: usize) -> Vec<Entry> {
        (0..count).map(|n| file(&format!("file{n:06}"))).collect()
    }

    fn nodes(entries: &[Entry]) -> (ChunkId, HashMap<ChunkId, Vec<u8>>) {
        let mut all = HashMap::new();
        let id = encode_directory(entries, &mut |id, content| {
            assert_eq!(ChunkEntry::id_of(&content), id);
            all.insert(id, content);
        });
        (id, all)
    }

    #[test]
    fn what_fits_is_not_cut() {
        for count in [0, 1, 700] {
            let entries = names(count);
            assert_eq!(cut_directory(&entries).collect::<Vec<_>>(), [&*entries]);
            let (id, all) = nodes(&entries);
            assert_eq!(Node::decode(&all[&id]).unwrap(), Node::Directory(entries));
        }
        // The limit is in bytes: the target of a symlink fills the directory up to it.
        let link = |extra| {
            let target = vec![b't'; extra].into();
            let item = Item { mode: 0o777, kind: EntryKind::Link { target } };
            Entry { name: Name::new(b"z").unwrap(), item }
        };
        let mut entries = names(1280);
        entries.push(link(1000));
        let len = Node::Directory(entries.clone()).encode().len();
        *entries.last_mut().unwrap() = link(1000 + DIRECTORY_WHOLE_MAX - len);
        assert_eq!(Node::Directory(entries.clone()).encode().len(), DIRECTORY_WHOLE_MAX);
        assert_eq!(cut_directory(&entries).count(), 1);
        *entries.last_mut().unwrap() = link(1001 + DIRECTORY_WHOLE_MAX - len);
        assert!(cut_directory(&entries).count() > 1);
    }

    #[test]
    fn a_large_directory_is_cut_by_its_names_and_a_new_one_changes_two_nodes() {
        let entries = names(50_000);
        let (id, before) = nodes(&entries);
        let Node::Leaves(leaves) = Node::decode(&before[&id]).unwrap() else { panic!("not cut") };
        assert!((150..260).contains(&leaves.len()), "{}", leaves.len());
        let mut all = Vec::new();
        for leaf in &leaves {
            let Node::Directory(part) =
                Node::decode_as(&before[&leaf.id], crate::NodeKind::Leaf).unwrap()
            else {
                panic!("no leaf")
            };
            assert_eq!(
                (part[0].name.clone(), part.len() as u64),
                (leaf.first.clone(), leaf.entries)
            );
            assert!(part.len() <= LEAF_ENTRIES_MAX);
            all.extend(part);
        }
        assert_eq!(all, entries);

        for name in ["file0", "file025000a", "zzz"] {
            let mut more = entries.clone();
            more.push(file(name));
            more.sort_by(|a, b| a.name.cmp(&b.name));
            let (_, after) = nodes(&more);
            let new = after.keys().filter(|id| !before.contains_key(*id)).count();
            // The leaf, the list, and sometimes the second half of a leaf that was cut in two.
            assert!((2..=3).contains(&new), "{name}: {new}");
        }
    }

    #[test]
    fn leaves_of_long_names_and_targets_fit_into_a_chunk() {
        let entries: Vec<_> = (0..3000)
            .map(|n| {
                let name = Name::new(format!("{n:0255}").as_bytes()).unwrap();
                let target = vec![b't'; EntryKind::TARGET_MAX].into();
                let item = Item { mode: 0o777, kind: EntryKind::Link { target } };
                Entry { name, item }
            })
            .collect();
        let (_, all) = nodes(&entries);
        assert!(all.len() > 40);
        for content in all.values() {
            assert!(content.len() <= LEAF_LEN_MAX + 16, "{}", content.len());
            Node::decode(content).unwrap();
        }
    }
}
