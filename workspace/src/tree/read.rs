//! Reading a stored tree without trusting it. Each chunk is checked against the node that names it,
//! and names ascend from leaf to leaf.

use milepost::{Error, Result};
use milepost_codec::{
    Capture, ChunkId, Entry, EntryKind, Leaf, Name, Node, NodeKind, Skip, TreePath,
};

use crate::chunks::Contents;

pub(super) fn node(contents: &dyn Contents, id: &ChunkId, expect: NodeKind) -> Result<Node> {
    let content = contents.get(id)?;
    Node::decode_as(&content, expect).map_err(|e| e.at(format!("chunk {id}")))
}

/// Reads the capture with this root, which may be a present.
pub(crate) fn capture(contents: &dyn Contents, root: &ChunkId) -> Result<Capture> {
    let content = contents.get(root)?;
    match Node::decode(&content).map_err(|e| e.at(format!("chunk {root}")))? {
        Node::Capture(capture) => Ok(capture),
        _ => Err(Error::corrupt(format!("chunk {root}"), "a capture", "another node")),
    }
}

/// Returns the paths that a capture left out, in order. Damage is an error at its place.
pub(crate) fn skips_of(contents: &dyn Contents, capture: &Capture) -> Result<Vec<Result<Skip>>> {
    let mut bytes = Vec::new();
    for id in &capture.skips.chunks {
        bytes.extend_from_slice(&contents.get(id)?);
    }
    if bytes.len() as u64 != capture.skips.len {
        let expected = format!("{} bytes", capture.skips.len);
        let found = format!("{} bytes", bytes.len());
        return Err(Error::corrupt("the list of skips of a capture", expected, found));
    }
    Ok(Skip::decode_list(&bytes).collect())
}

/// Returns the paths that a capture left out, in order.
pub(crate) fn skips(contents: &dyn Contents, capture: &Capture) -> Result<Vec<Skip>> {
    skips_of(contents, capture)?.into_iter().collect()
}

/// Iterator over the entries of one directory, which reads one leaf at a time.
pub(crate) struct TreeFolder<'a> {
    contents: &'a dyn Contents,
    entries: std::vec::IntoIter<Entry>,
    leaves: std::vec::IntoIter<Leaf>,
    /// Last name of the previous leaf.
    before: Option<Name>,
}

impl<'a> TreeFolder<'a> {
    pub(crate) fn open(contents: &'a dyn Contents, id: &ChunkId) -> Result<Self> {
        let (entries, leaves) = match node(contents, id, NodeKind::Tree)? {
            Node::Directory(entries) => (entries, Vec::new()),
            Node::Leaves(leaves) => (Vec::new(), leaves),
            _ => (Vec::new(), Vec::new()),
        };
        Ok(Self {
            contents,
            entries: entries.into_iter(),
            leaves: leaves.into_iter(),
            before: None,
        })
    }

    /// Returns an iterator without entries, for a missing directory.
    pub(crate) fn none(contents: &'a dyn Contents) -> Self {
        Self {
            contents,
            entries: Vec::new().into_iter(),
            leaves: Vec::new().into_iter(),
            before: None,
        }
    }

    fn leaf(&mut self, leaf: &Leaf) -> Result<()> {
        let entries = read_leaf(self.contents, leaf)?;
        let first = entries.first().map(|entry| &entry.name);
        if let (Some(before), Some(first)) = (&self.before, first)
            && before >= first
        {
            let place = format!("leaf {} of a directory", leaf.id);
            let (expected, found) = (format!("a name behind `{before}`"), format!("`{first}`"));
            return Err(Error::corrupt(place, expected, found));
        }
        self.before = entries.last().map(|entry| entry.name.clone());
        self.entries = entries.into_iter();
        Ok(())
    }
}

impl Iterator for TreeFolder<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Some(Ok(entry));
            }
            let leaf = self.leaves.next()?;
            if let Err(e) = self.leaf(&leaf) {
                self.leaves = Vec::new().into_iter();
                return Some(Err(e));
            }
        }
    }
}

fn read_leaf(contents: &dyn Contents, leaf: &Leaf) -> Result<Vec<Entry>> {
    let Node::Directory(entries) = node(contents, &leaf.id, NodeKind::Leaf)? else {
        return Ok(Vec::new());
    };
    let first = entries.first().map(|entry| &entry.name);
    if first != Some(&leaf.first) || entries.len() as u64 != leaf.entries {
        return Err(Error::corrupt(
            format!("leaf {} of a directory", leaf.id),
            format!("{} entries from `{}` on", leaf.entries, leaf.first),
            format!("{} others", entries.len()),
        ));
    }
    Ok(entries)
}

/// Returns all entries of a directory.
pub(crate) fn entries(contents: &dyn Contents, id: &ChunkId) -> Result<Vec<Entry>> {
    TreeFolder::open(contents, id)?.collect()
}

/// Returns the entry with a name. In a large directory, only one leaf is read.
fn find_in(contents: &dyn Contents, id: &ChunkId, name: &[u8]) -> Result<Option<Entry>> {
    let entries = match node(contents, id, NodeKind::Tree)? {
        Node::Directory(entries) => entries,
        Node::Leaves(leaves) => {
            let behind = leaves.partition_point(|leaf| leaf.first.as_bytes() <= name);
            match behind.checked_sub(1).and_then(|at| leaves.get(at)) {
                Some(leaf) => read_leaf(contents, leaf)?,
                None => Vec::new(),
            }
        }
        _ => Vec::new(),
    };
    Ok(entries.into_iter().find(|entry| entry.name.as_bytes() == name))
}

/// Returns the entry at a path below a tree.
pub(crate) fn find(
    contents: &dyn Contents,
    tree: &ChunkId,
    path: &TreePath,
) -> Result<Option<Entry>> {
    let mut names = path.names().peekable();
    let mut folder = *tree;
    while let Some(name) = names.next() {
        let found = find_in(contents, &folder, name).map_err(|e| e.at(path))?;
        let (Some(entry), Some(_)) = (&found, names.peek()) else {
            return Ok(found);
        };
        match entry.item.kind {
            EntryKind::Directory { id } => folder = id,
            _ => return Ok(None),
        }
    }
    Ok(None)
}
