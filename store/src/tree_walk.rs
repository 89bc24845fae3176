//! Captured workspaces: walks from the root of a capture down to the chunks of its files. The
//! engine does not handle files, but knows how captures are stored.

use std::collections::HashSet;

use milepost_codec::{
    ChunkId, Entry, EntryKind, Error, Leaf, Name, Node, NodeKind, Result, TreePath,
};

/// A function that reads a chunk.
pub type Get<'a> = dyn Fn(&ChunkId) -> Result<Option<Vec<u8>>> + 'a;

/// The maximum number of damaged paths that are reported.
const PATHS_MAX: usize = 20;

/// Adds all chunks that captures need to `reached`. Reads each node once, and no contents. Returns
/// the unreadable nodes, whose chunks are unknown.
pub fn follow(
    roots: impl IntoIterator<Item = ChunkId>,
    get: &Get<'_>,
    reached: &mut HashSet<ChunkId>,
) -> Vec<(ChunkId, Error)> {
    follow_beyond(roots, get, &HashSet::new(), reached)
}

/// Does what [`follow`] does, without the `excluded` chunks and those that they need.
pub fn follow_beyond(
    roots: impl IntoIterator<Item = ChunkId>,
    get: &Get<'_>,
    excluded: &HashSet<ChunkId>,
    reached: &mut HashSet<ChunkId>,
) -> Vec<(ChunkId, Error)> {
    let mut pending: Vec<(ChunkId, NodeKind)> = roots.into_iter().map(|id| (id, ROOT)).collect();
    // A node may be in `reached` for another reason, without the chunks that it needs.
    let mut visited: HashSet<ChunkId> = HashSet::new();
    let mut unread = Vec::new();
    while let Some((id, expect)) = pending.pop() {
        if excluded.contains(&id) {
            continue;
        }
        reached.insert(id);
        if expect == NodeKind::Content || !visited.insert(id) {
            continue;
        }
        match node(id, expect, get) {
            Ok(node) => node.names(&mut |id, expect| pending.push((id, expect))),
            Err(error) => unread.push((id, error)),
        }
    }
    unread
}

/// The kind of each root. The present of a restore is a root too, though only an event names it.
const ROOT: NodeKind = NodeKind::Capture;

fn node(id: ChunkId, expect: NodeKind, get: &Get<'_>) -> Result<Node> {
    let missing =
        || Error::corrupt(format!("chunk {id}"), "a node of a workspace's tree", "nothing");
    let bytes = get(&id)?.ok_or_else(missing)?;
    let read = match expect {
        ROOT => Node::decode(&bytes).and_then(|node| match node {
            Node::Capture(_) => Ok(node),
            _ => Err(Error::corrupt("the root", "a capture", "another node")),
        }),
        expect => Node::decode_as(&bytes, expect),
    };
    read.map_err(|e| e.at(format!("chunk {id}")))
}

/// Checks that a root is that of a stored capture, before an event names it.
///
/// # Errors
///
/// `Invalid`: it is not, so the chunks that the event needs could not be kept.
pub fn check_root(root: ChunkId, get: &Get<'_>) -> Result<()> {
    node(root, ROOT, get).map(|_| ()).map_err(|error| {
        Error::invalid(format!("{root} is the root of no stored capture: {error}"))
    })
}

/// Returns the first paths of a capture whose content or node is among `bad`, and whether there are
/// more.
pub fn paths_to(root: ChunkId, bad: &HashSet<ChunkId>, get: &Get<'_>) -> (Vec<String>, bool) {
    let mut found = Vec::new();
    let mut pending: Vec<(ChunkId, Option<TreePath>)> = Vec::new();
    match node(root, ROOT, get) {
        Ok(Node::Capture(capture)) => pending.push((capture.tree, None)),
        _ => found.push("all of it".to_owned()),
    }
    // A directory in several places is reported once: a hostile tree has any number of paths.
    let mut visited: HashSet<ChunkId> = HashSet::new();
    while let Some((id, path)) = pending.pop() {
        if !visited.insert(id) {
            continue;
        }
        if found.len() > PATHS_MAX {
            found.truncate(PATHS_MAX);
            return (found, true);
        }
        let entries: Vec<Entry> = match node(id, NodeKind::Tree, get) {
            Ok(Node::Directory(entries)) => entries,
            Ok(Node::Leaves(leaves)) => {
                pending.extend(leaves.iter().map(|leaf: &Leaf| (leaf.id, path.clone())));
                continue;
            }
            // Everything below is affected.
            _ => {
                found.push(path.map_or_else(|| "all of it".to_owned(), |path| format!("{path}/")));
                continue;
            }
        };
        for entry in entries {
            let Ok(at) = below(path.as_ref(), &entry.name) else {
                continue;
            };
            match &entry.item.kind {
                EntryKind::Directory { id } => pending.push((*id, Some(at))),
                EntryKind::Link { .. } => {}
                EntryKind::File { id, .. } if bad.contains(id) => found.push(at.to_string()),
                EntryKind::File { .. } => {}
                EntryKind::Listed { list, .. } => {
                    let mut reached = HashSet::new();
                    let is_readable = of_list(*list, get, &mut reached).is_ok();
                    if !is_readable || reached.iter().any(|id| bad.contains(id)) {
                        found.push(at.to_string());
                    }
                }
            }
        }
    }
    let more = found.len() > PATHS_MAX;
    found.truncate(PATHS_MAX);
    (found, more)
}

fn below(path: Option<&TreePath>, name: &Name) -> Result<TreePath> {
    match path {
        Some(path) => path.join(name),
        None => TreePath::new(name.as_bytes()),
    }
}

/// Collects the chunks of a file that has several.
fn of_list(list: ChunkId, get: &Get<'_>, reached: &mut HashSet<ChunkId>) -> Result<()> {
    let mut pending = vec![(list, NodeKind::List)];
    while let Some((id, expect)) = pending.pop() {
        if reached.insert(id) && expect != NodeKind::Content {
            node(id, expect, get)?.names(&mut |id, expect| pending.push((id, expect)));
        }
    }
    Ok(())
}
