//! The folders of the disk: the stored names, and the changes since.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "tests")]

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Node, ROOT};

/// Entries of each folder, by name.
pub(super) type Folders = HashMap<Node, BTreeMap<String, Node>>;

/// A folder, and a name in it.
type Place = (Node, String);

/// Change of one name.
#[derive(Debug, Clone)]
struct Change {
    place: Place,
    before: Option<Node>,
    after: Option<Node>,
}

/// One operation on names: all of its changes are stored, or none.
#[derive(Debug, Clone)]
pub(super) struct NameOp {
    /// Its moment.
    pub(super) at: u64,
    changes: Vec<Change>,
    /// A file that gets one more name by it.
    links: Option<Node>,
    /// A folder that it removes, which has to be empty.
    empties: Option<Node>,
}

#[derive(Debug, Default)]
pub(super) struct Names {
    live: Folders,
    stored: Folders,
    /// Operations since then, in order; each remains here until one of its folders is synced.
    ops: Vec<NameOp>,
    count: Node,
}

impl Names {
    pub(super) fn new() -> Self {
        let mut names = Self { count: ROOT + 1, ..Self::default() };
        names.add_folder(ROOT);
        names
    }

    fn add_folder(&mut self, node: Node) {
        self.live.insert(node, BTreeMap::new());
        self.stored.insert(node, BTreeMap::new());
    }

    fn next(&mut self, is_dir: bool) -> Node {
        let node = self.count;
        self.count += 1;
        if is_dir {
            self.add_folder(node);
        }
        node
    }

    /// A name that is stored from the beginning.
    pub(super) fn stored(&mut self, dir: Node, name: &str, is_dir: bool) -> Node {
        let node = self.next(is_dir);
        self.stored_again(dir, name, node);
        node
    }

    /// The same, of a file that has a name already.
    pub(super) fn stored_again(&mut self, dir: Node, name: &str, node: Node) {
        for folders in [&mut self.live, &mut self.stored] {
            folders.get_mut(&dir).unwrap().insert(name.into(), node);
        }
    }

    /// The folder that a path is in, and its name there.
    fn split(&self, path: &str) -> Place {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        (self.find(dir).unwrap(), name.to_owned())
    }

    /// Returns the current node of a path.
    pub(super) fn find(&self, path: &str) -> Option<Node> {
        let mut names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
        names.try_fold(ROOT, |dir, name| self.live.get(&dir)?.get(name).copied())
    }

    fn at(&self, (dir, name): &Place) -> Option<Node> {
        self.live[dir].get(name).copied()
    }

    fn push(&mut self, at: u64, changes: Vec<(Place, Option<Node>)>) -> &mut NameOp {
        let changes = changes.into_iter().map(|(place, after)| Change {
            before: self.at(&place),
            place,
            after,
        });
        let op = NameOp { at, changes: changes.collect(), links: None, empties: None };
        op.do_to(&mut self.live);
        self.ops.push(op);
        self.ops.last_mut().unwrap()
    }

    pub(super) fn make(&mut self, at: u64, path: &str, is_dir: bool) -> Node {
        let node = self.next(is_dir);
        let to = self.split(path);
        self.push(at, vec![(to, Some(node))]);
        node
    }

    pub(super) fn remove(&mut self, at: u64, path: &str) {
        let place = self.split(path);
        let node = self.at(&place);
        let empties = node.filter(|node| self.live.contains_key(node));
        self.push(at, vec![(place, None)]).empties = empties;
    }

    pub(super) fn rename(&mut self, at: u64, from: &str, to: &str) {
        let (from, to) = (self.split(from), self.split(to));
        let (node, over) = (self.at(&from), self.at(&to));
        // Two names of one file: the call does nothing.
        if node == over {
            return;
        }
        let empties = over.filter(|over| self.live.contains_key(over));
        self.push(at, vec![(from, None), (to, node)]).empties = empties;
    }

    pub(super) fn exchange(&mut self, at: u64, one: &str, other: &str) {
        let (one, other) = (self.split(one), self.split(other));
        let nodes = (self.at(&one), self.at(&other));
        self.push(at, vec![(one, nodes.1), (other, nodes.0)]);
    }

    pub(super) fn link(&mut self, at: u64, from: &str, to: &str) {
        let (node, to) = (self.find(from), self.split(to));
        self.push(at, vec![(to, node)]).links = node;
    }

    /// Syncs a folder: stores the changes in it, and those of its entries.
    pub(super) fn sync(&mut self, dir: Node) {
        let mut needed = Needed::default();
        let mut kept = Vec::new();
        let mut done = Vec::new();
        for op in std::mem::take(&mut self.ops).into_iter().rev() {
            if op.touches(dir) || needed.is(&op) {
                needed.add(&op);
                done.push(op);
            } else {
                kept.push(op);
            }
        }
        for op in done.iter().rev() {
            op.do_to(&mut self.stored);
        }
        kept.reverse();
        self.ops = kept;
    }

    /// Everything that was done is stored.
    pub(super) fn sync_all(&mut self) {
        for op in self.ops.drain(..) {
            op.do_to(&mut self.stored);
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        !self.ops.is_empty()
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = u64> {
        self.ops.iter().map(|op| op.at)
    }

    /// Returns the names if some of the pending changes are stored too, as far as their
    /// dependencies are.
    pub(super) fn after(&self, keep: &mut dyn FnMut(&NameOp) -> bool) -> Folders {
        let mut folders = self.stored.clone();
        let mut not_linked = HashSet::new();
        for op in &self.ops {
            let removes_early = op.removed().any(|node| not_linked.contains(&node));
            if keep(op) && op.fits(&folders) && !removes_early {
                op.do_to(&mut folders);
            } else {
                not_linked.extend(op.links);
            }
        }
        folders
    }
}

/// A dependency: an operation that has to be stored before a later one.
#[derive(Default)]
struct Needed {
    places: HashSet<Place>,
    emptied: HashSet<Node>,
    removed: HashSet<Node>,
}

impl Needed {
    fn is(&self, op: &NameOp) -> bool {
        let place =
            |c: &Change| self.places.contains(&c.place) || self.emptied.contains(&c.place.0);
        op.changes.iter().any(place) || op.links.is_some_and(|node| self.removed.contains(&node))
    }

    fn add(&mut self, op: &NameOp) {
        self.places.extend(op.changes.iter().map(|c| c.place.clone()));
        self.emptied.extend(op.empties);
        self.removed.extend(op.removed());
    }
}

impl NameOp {
    fn touches(&self, dir: Node) -> bool {
        self.changes.iter().any(|change| change.place.0 == dir)
    }

    /// Returns the nodes that lose a name.
    fn removed(&self) -> impl Iterator<Item = Node> {
        let stays = |node: &Node| self.changes.iter().any(|c| c.after == Some(*node));
        let before = self.changes.iter().filter_map(|change| change.before);
        before.filter(move |node| !stays(node))
    }

    /// Returns `true` if each name has the node that it had when this was done.
    fn fits(&self, folders: &Folders) -> bool {
        let as_it_was = |change: &Change| {
            let (dir, name) = &change.place;
            folders[dir].get(name) == change.before.as_ref()
        };
        let is_empty = |dir| folders[dir].is_empty();
        self.changes.iter().all(as_it_was) && self.empties.as_ref().is_none_or(is_empty)
    }

    fn do_to(&self, folders: &mut Folders) {
        for Change { place, after, .. } in &self.changes {
            let folder = folders.get_mut(&place.0).unwrap();
            match after {
                Some(node) => folder.insert(place.1.clone(), *node),
                None => folder.remove(&place.1),
            };
        }
    }
}
