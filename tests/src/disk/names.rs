//! The folders of the disk: which names are stored, and what was done to them since.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests"
)]

use std::collections::{BTreeMap, HashMap};

use super::{Node, ROOT};

/// What is in each folder, by name.
pub(super) type Folders = HashMap<Node, BTreeMap<String, Node>>;

/// One change of names.
#[derive(Debug, Clone)]
pub(super) struct NameOp {
    /// Its moment.
    pub(super) at: u64,
    /// A name that goes.
    from: Option<(Node, String)>,
    /// A name that comes, or is taken by another.
    to: Option<(Node, String)>,
    node: Node,
}

#[derive(Debug, Default)]
pub(super) struct Names {
    live: Folders,
    stored: Folders,
    /// What was done since, in order; each stands here until one of its folders is synced.
    ops: Vec<NameOp>,
    count: Node,
}

impl Names {
    pub(super) fn new() -> Self {
        let mut names = Self {
            count: ROOT + 1,
            ..Self::default()
        };
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
        for folders in [&mut self.live, &mut self.stored] {
            folders.get_mut(&dir).unwrap().insert(name.into(), node);
        }
        node
    }

    /// The folder that a path is in, and its name there.
    fn split(&self, path: &str) -> (Node, String) {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        (self.dir(dir), name.to_owned())
    }

    fn dir(&self, path: &str) -> Node {
        path.split('/')
            .filter(|name| !name.is_empty() && *name != ".")
            .fold(ROOT, |dir, name| self.live[&dir][name])
    }

    fn push(&mut self, op: NameOp) {
        do_to(&mut self.live, &op);
        self.ops.push(op);
    }

    pub(super) fn make(&mut self, at: u64, path: &str, is_dir: bool) -> Node {
        let node = self.next(is_dir);
        let to = Some(self.split(path));
        self.push(NameOp {
            at,
            from: None,
            to,
            node,
        });
        node
    }

    pub(super) fn remove(&mut self, at: u64, path: &str) {
        let (dir, name) = self.split(path);
        let node = self.live[&dir][&name];
        self.push(NameOp {
            at,
            from: Some((dir, name)),
            to: None,
            node,
        });
    }

    pub(super) fn rename(&mut self, at: u64, from: &str, to: &str) {
        let (from, to) = (self.split(from), self.split(to));
        let node = self.live[&from.0][&from.1];
        let (from, to) = (Some(from), Some(to));
        self.push(NameOp { at, from, to, node });
    }

    /// A folder is synced: what was done in it is stored.
    pub(super) fn sync(&mut self, path: &str) {
        let dir = self.dir(path);
        let stored = &mut self.stored;
        self.ops.retain(|op| {
            let here = op.touches(dir);
            if here {
                do_to(stored, op);
            }
            !here
        });
    }

    pub(super) fn is_pending(&self) -> bool {
        !self.ops.is_empty()
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = u64> {
        self.ops.iter().map(|op| op.at)
    }

    /// The names where some of what is pending is stored too. A rename of what is not there does
    /// nothing.
    pub(super) fn after(&self, keep: &mut dyn FnMut(&NameOp) -> bool) -> Folders {
        let mut folders = self.stored.clone();
        for op in self.ops.iter().filter(|op| keep(op)) {
            do_to(&mut folders, op);
        }
        folders
    }
}

impl NameOp {
    fn touches(&self, dir: Node) -> bool {
        let places = [&self.from, &self.to];
        places.into_iter().flatten().any(|(at, _)| *at == dir)
    }
}

fn do_to(folders: &mut Folders, op: &NameOp) {
    if let Some((dir, name)) = &op.from {
        let folder = folders.get_mut(dir).unwrap();
        // Another file may have the name where what brought this one was not stored.
        if folder.get(name) != Some(&op.node) {
            return;
        }
        folder.remove(name);
    }
    if let Some((dir, name)) = &op.to {
        let folder = folders.get_mut(dir).unwrap();
        folder.insert(name.clone(), op.node);
    }
}
