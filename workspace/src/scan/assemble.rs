//! Assembly of results into directories, bottom up. Results arrive in any order and are placed by
//! number. A complete directory is encoded, and its nodes are stored in batches.

use std::collections::HashMap;

use milepost::Result;
use milepost_codec::{ChunkId, Entry, EntryKind, Item, Name, encode_directory};

use super::incremental::{Folders, LastScan, Marks, ScannedFolder};
use super::upload::Storing;
use super::workers::Ticket;
use crate::cache::{Cache, Identity};
use crate::fs::{Listed, Stamp};
use crate::tree::{Counts, FileContent};

/// Bytes of nodes that wait for the store.
const NODES: usize = 1 << 20;

/// Place in a directory.
enum Slot {
    /// The result is pending.
    Waiting(Box<[u8]>),
    /// The entry turned out to be missing.
    Nothing,
    /// An entry; for a settled file, with the data for the cache.
    There(Entry, Option<Box<(Stamp, FileContent)>>),
}

/// A directory that is not complete.
struct Folder {
    /// Its place in the parent; `None` for the root.
    place: Option<Ticket>,
    path: Box<[u8]>,
    name: Option<Name>,
    bits: u16,
    identity: Identity,
    marks: Marks,
    slots: Vec<Slot>,
    waiting: u32,
    /// `true` while the walk is in it.
    open: bool,
}

/// Directories being assembled.
pub(super) struct Assembly<'a> {
    folders: HashMap<u32, Folder>,
    next: u32,
    storing: Storing<'a>,
    nodes: Vec<Vec<u8>>,
    node_bytes: usize,
    pub(super) cache: Cache,
    pub(super) seen: Folders,
    pub(super) counts: Counts,
    pub(super) root: Option<ChunkId>,
}

impl<'a> Assembly<'a> {
    pub(super) fn new(storing: Storing<'a>) -> Self {
        Self {
            folders: HashMap::new(),
            next: 0,
            storing,
            nodes: Vec::new(),
            node_bytes: 0,
            cache: Cache::default(),
            seen: Folders::new(),
            counts: Counts::default(),
            root: None,
        }
    }

    /// Begins a directory; all but the root have a name and a place that waits for it.
    pub(super) fn begin(
        &mut self,
        within: Option<(Ticket, Name)>,
        path: &[u8],
        found: &Listed,
    ) -> u32 {
        let number = self.next;
        self.next += 1;
        let (place, name) = within.unzip();
        let folder = Folder {
            place,
            path: path.into(),
            name,
            bits: found.stamp.bits(),
            identity: found.identity(),
            marks: Marks::default(),
            slots: Vec::new(),
            waiting: 0,
            open: true,
        };
        self.folders.insert(number, folder);
        number
    }

    /// Adds a place for a pending result.
    pub(super) fn wait(&mut self, folder: u32, name: &[u8]) -> Ticket {
        let Some(of) = self.folders.get_mut(&folder) else {
            return (folder, u32::MAX);
        };
        of.slots.push(Slot::Waiting(name.into()));
        of.waiting += 1;
        (folder, of.slots.len() as u32 - 1)
    }

    /// Adds an entry.
    pub(super) fn add(
        &mut self,
        folder: u32,
        entry: Entry,
        known: Option<Box<(Stamp, FileContent)>>,
    ) {
        if let Some(of) = self.folders.get_mut(&folder) {
            of.slots.push(Slot::There(entry, known));
        }
    }

    /// Adds a folder that is unchanged since the last scan, with everything below it.
    pub(super) fn reuse(&mut self, folder: u32, now: (&Name, u16), path: &[u8], last: &LastScan) {
        for (n, (path, seen)) in last.folders_of(path).enumerate() {
            if n == 0 {
                let (name, mode) = (now.0.clone(), now.1);
                let item = Item { mode, kind: EntryKind::Directory { id: seen.id } };
                self.add(folder, Entry { name, item }, None);
            }
            self.counts.add_all(&seen.counts);
            self.seen.insert(path.into(), *seen);
        }
        self.cache.copy_folder(&last.cache, path);
    }

    /// Changes the marks of a folder.
    pub(super) fn mark(&mut self, folder: u32, mark: impl FnOnce(&mut Marks)) {
        if let Some(of) = self.folders.get_mut(&folder) {
            mark(&mut of.marks);
        }
    }

    /// Returns the path of a pending place.
    pub(super) fn path_of(&self, ticket: Ticket) -> Vec<u8> {
        let Some(of) = self.folders.get(&ticket.0) else {
            return Vec::new();
        };
        let mut path = of.path.to_vec();
        if let Some(Slot::Waiting(name)) = of.slots.get(ticket.1 as usize) {
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);
        }
        path
    }

    /// Fills a place; `None`: the entry is missing.
    pub(super) fn place(
        &mut self,
        ticket: Ticket,
        item: Option<Item>,
        known: Option<Box<(Stamp, FileContent)>>,
    ) -> Result<()> {
        if let Some(of) = self.folders.get_mut(&ticket.0)
            && let Some(slot) = of.slots.get_mut(ticket.1 as usize)
            && let Slot::Waiting(name) = slot
        {
            *slot = match item {
                Some(item) => Slot::There(Entry { name: Name::new(name)?, item }, known),
                None => Slot::Nothing,
            };
            of.waiting -= 1;
        }
        self.complete(ticket.0)
    }

    /// Ends the walk of a directory.
    pub(super) fn leave(&mut self, folder: u32) -> Result<()> {
        if let Some(of) = self.folders.get_mut(&folder) {
            of.open = false;
        }
        self.complete(folder)
    }

    /// Encodes a directory if it is complete, and then its ancestors.
    fn complete(&mut self, mut number: u32) -> Result<()> {
        loop {
            let whole = |of: &Folder| !of.open && of.waiting == 0;
            if !self.folders.get(&number).is_some_and(whole) {
                return Ok(());
            }
            let Some(folder) = self.folders.remove(&number) else {
                return Ok(());
            };
            let (place, bits) = (folder.place, folder.bits);
            let name = folder.name.clone();
            let id = self.encode(folder)?;
            let (Some((above, at)), Some(name)) = (place, name) else {
                self.root = Some(id);
                return Ok(());
            };
            let item = Item { mode: bits, kind: EntryKind::Directory { id } };
            if let Some(of) = self.folders.get_mut(&above)
                && let Some(slot) = of.slots.get_mut(at as usize)
            {
                *slot = Slot::There(Entry { name, item }, None);
                of.waiting -= 1;
            }
            number = above;
        }
    }

    fn encode(&mut self, folder: Folder) -> Result<ChunkId> {
        let mut entries = Vec::with_capacity(folder.slots.len());
        let (mut known, mut counts) = (Vec::new(), Counts::default());
        for slot in folder.slots {
            let Slot::There(entry, remembered) = slot else {
                continue;
            };
            counts.add(&entry.item);
            known.extend(remembered.map(|of| (entries.len(), of)));
            entries.push(entry);
        }
        let files = known.iter().filter_map(|(at, of)| {
            let name = entries.get(*at)?.name.as_bytes();
            Some((name, &of.0, &of.1))
        });
        self.cache.add(&folder.path, files);
        let (nodes, bytes) = (&mut self.nodes, &mut self.node_bytes);
        let id = encode_directory(&entries, &mut |_, node| {
            *bytes += node.len();
            nodes.push(node);
        });
        self.counts.add_all(&counts);
        let seen = ScannedFolder { identity: folder.identity, id, counts, marks: folder.marks };
        self.seen.insert(folder.path, seen);
        if self.node_bytes > NODES {
            self.flush()?;
        }
        Ok(id)
    }

    /// Stores the waiting nodes.
    pub(super) fn flush(&mut self) -> Result<()> {
        let nodes = std::mem::take(&mut self.nodes);
        self.node_bytes = 0;
        let contents: Vec<&[u8]> = nodes.iter().map(Vec::as_slice).collect();
        self.storing.put(&contents).map(|_| ())
    }

    /// Returns the number of nodes given to the store.
    pub(super) fn stored(&self) -> u64 {
        self.storing.stored
    }
}
