//! A lineage and its ancestors.
//!
//! The lineages of a task are a tree. Each node has a pointer to its parent and one further up, so
//! that an ancestor by offset or by number is found in O(log depth) steps (skew-binary jump
//! pointers: Myers, "An applicative random-access stack", 1983). Nodes are immutable and shared by
//! all ancestries; [`LineageTrees`] caches them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use milepost_codec::{Error, LineageId, Offset, Result, TaskNo};
use milepost_store::index::BaseEntry;
use milepost_store::sync::Mutex;

use crate::history::catalog::Catalog;

/// An owner of events, and its inherited offsets: from, to.
pub(crate) type Span = (LineageId, Offset, Offset);

/// One lineage of a tree.
struct Node {
    lineage: LineageId,
    /// The first own offset.
    from: Offset,
    depth: u32,
    parent: Option<Arc<Node>>,
    /// An ancestor: the parent or one further up.
    jump: Option<Arc<Node>>,
    /// The base of a trimmed lineage. Only a node without a parent has one. If it is after `from`,
    /// descendants inherit none of the lineage's events, and only the keys used before the fork.
    base: Option<BaseEntry>,
}

impl Node {
    fn new(
        lineage: LineageId,
        from: Offset,
        parent: Option<Arc<Self>>,
        base: Option<BaseEntry>,
    ) -> Self {
        let depth = parent.as_ref().map_or(0, |parent| parent.depth + 1);
        let jump = parent.as_ref().map(|parent| {
            let first = parent.jump.as_ref();
            let second = first.and_then(|first| first.jump.as_ref());
            let steps =
                |from: &Self, to: Option<&Arc<Self>>| from.depth - to.map_or(0, |to| to.depth);
            match (first, second) {
                (Some(first), Some(second))
                    if steps(parent, Some(first)) == steps(first, Some(second)) =>
                {
                    Arc::clone(second)
                }
                _ => Arc::clone(parent),
            }
        });
        Self { lineage, from, depth, parent, jump, base }
    }

    /// Returns the nearest node, from this one upwards, for which `is_below` is false, and the end
    /// of its inherited span. `is_below` must be false for all ancestors of such a node.
    fn climb(self: &Arc<Self>, is_below: impl Fn(&Self) -> bool) -> Option<(&Arc<Self>, Offset)> {
        let (mut node, mut to) = (self, Offset::MAX);
        while is_below(node) {
            match &node.jump {
                Some(jump) if is_below(jump) => node = jump,
                _ => {
                    to = node.from;
                    node = node.parent.as_ref()?;
                }
            }
        }
        Some((node, to))
    }

    fn top(self: &Arc<Self>) -> &Arc<Self> {
        let mut node = self;
        while let Some(above) = node.jump.as_ref().or(node.parent.as_ref()) {
            node = above;
        }
        node
    }
}

impl Drop for Node {
    /// Drops a long chain of parents in a loop, since recursion could overflow the stack. A jump
    /// pointer is never the last reference: the chain of parents holds the same node.
    fn drop(&mut self) {
        self.jump = None;
        let mut next = self.parent.take();
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            node.jump = None;
            next = node.parent.take();
        }
    }
}

/// Maximum number of cached nodes in all tasks. Beyond it the cache is cleared.
const NODES_MAX: usize = 1 << 18;

/// Cache of the trees of lineages.
#[derive(Default)]
pub(crate) struct LineageTrees(Mutex<Cache>);

#[derive(Default)]
struct Cache {
    tasks: HashMap<TaskNo, HashMap<LineageId, Arc<Node>>>,
    count: usize,
    /// Incremented when lineages are forgotten. Nodes read before that are not cached after it.
    forgotten: u64,
}

impl LineageTrees {
    fn get(&self, task: TaskNo, lineage: LineageId) -> (Option<Arc<Node>>, u64) {
        let cache = self.0.lock();
        let node = cache.tasks.get(&task).and_then(|of_task| of_task.get(&lineage));
        (node.cloned(), cache.forgotten)
    }

    fn put(&self, task: TaskNo, nodes: Vec<Arc<Node>>, forgotten: u64) {
        let mut cache = self.0.lock();
        if cache.forgotten != forgotten {
            return;
        }
        if cache.count + nodes.len() > NODES_MAX {
            cache.tasks.clear();
            cache.count = 0;
        }
        cache.count += nodes.len();
        let of_task = cache.tasks.entry(task).or_default();
        of_task.extend(nodes.into_iter().map(|node| (node.lineage, node)));
    }

    /// Forgets the lineages of a task, after some were trimmed.
    pub(crate) fn forget(&self, task: TaskNo) {
        let mut cache = self.0.lock();
        cache.forgotten += 1;
        let gone = cache.tasks.remove(&task);
        cache.count -= gone.map_or(0, |of_task| of_task.len());
    }
}

/// A lineage and its ancestors: the inherited span of offsets for each owner.
#[derive(Clone)]
pub(crate) struct Ancestry(Arc<Node>);

impl fmt::Debug for Ancestry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lineage, depth) = (self.0.lineage, self.0.depth);
        f.debug_struct("Ancestry")
            .field("lineage", &lineage)
            .field("depth", &depth)
            .finish_non_exhaustive()
    }
}

impl Ancestry {
    /// Returns the ancestry of a lineage. Its own span has no end.
    pub(crate) fn of(catalog: &Catalog, task: TaskNo, lineage: LineageId) -> Result<Self> {
        // One read of the cache for each lineage: another thread may add nodes in between.
        let (mut above, forgotten) = catalog.trees.get(task, lineage);
        let mut path = Vec::new();
        let mut next = Some(lineage);
        while let (None, Some(at)) = (&above, next) {
            let entry = catalog.lineage_ever(task, at)?;
            let base = catalog.base(task, at)?;
            next = match (&base, entry.parent) {
                (Some(_), _) | (None, None) => None,
                // A parent is older than its child, so a cycle is detected.
                (None, Some(parent)) if parent.lineage < at => Some(parent.lineage),
                (None, Some(parent)) => {
                    return Err(Error::corrupt(
                        format!("lineage {at}"),
                        "an older parent",
                        format!("lineage {}", parent.lineage),
                    ));
                }
            };
            let from = match &base {
                Some(base) => base.head.next,
                None => entry.parent.map_or(0, |parent| parent.offset),
            };
            path.push((at, from, base));
            above = next.and_then(|parent| catalog.trees.get(task, parent).0);
        }
        let mut nodes: Vec<Arc<Node>> = Vec::with_capacity(path.len());
        for (at, from, base) in path.into_iter().rev() {
            let mut parent = nodes.last().cloned().or(above.take());
            if let Some(based) = parent.as_ref().filter(|parent| parent.base.is_some())
                && based.from > from
            {
                // The parent was trimmed after the fork: neither its events nor its state are
                // inherited. Its chain has the hash at the fork.
                parent = Some(Arc::new(Node::new(based.lineage, from, None, based.base)));
            }
            if let Some(parent) = parent.as_ref().filter(|parent| parent.from > from) {
                return Err(Error::corrupt(
                    format!("lineage {}", parent.lineage),
                    format!("a fork at {from} or before"),
                    parent.from,
                ));
            }
            nodes.push(Arc::new(Node::new(at, from, parent, base)));
        }
        let Some(node) = nodes.last().cloned().or(above) else {
            return Err(Error::not_found(format!("the task has no lineage {lineage}")));
        };
        catalog.trees.put(task, nodes, forgotten);
        Ok(Self(node))
    }

    /// Returns the first offset that exists.
    pub(crate) fn begin(&self) -> Offset {
        self.0.top().from
    }

    /// Returns the base at the beginning of the history, and its lineage.
    pub(crate) fn base(&self) -> Option<(LineageId, BaseEntry)> {
        let top = self.0.top();
        let base = top.base.filter(|base| base.head.next == top.from);
        base.map(|base| (top.lineage, base))
    }

    /// Returns the base whose keys were used in this history: its lineage, the end of the inherited
    /// span of that lineage, and the base.
    pub(crate) fn key_base(&self) -> Option<(LineageId, Offset, BaseEntry)> {
        let top = self.0.top();
        let base = top.base?;
        let (_, to) = self.0.climb(|node| node.lineage > top.lineage)?;
        Some((top.lineage, to, base))
    }

    /// Checks that an offset was not trimmed; the error is `NotFound`.
    pub(crate) fn check(&self, offset: Offset) -> Result<()> {
        let begin = self.begin();
        if offset >= begin {
            return Ok(());
        }
        Err(Error::not_found(format!(
            "offset {offset} is gone: retention trimmed what is before offset {begin}"
        )))
    }

    /// Returns the end of the common history; `None` if it was trimmed or does not exist.
    pub(crate) fn common(&self, other: &Self) -> Option<Offset> {
        let (mut lineage, mut spans) = (self.0.lineage, None);
        // Finds the nearest common lineage. The younger of two lineages is never an ancestor of the
        // other.
        while spans.is_none() {
            let (owner, _, to) = other.nearest(lineage)?;
            let (ours, _, our_to) = self.nearest(owner)?;
            (lineage, spans) = (ours, (ours == owner).then_some(our_to.min(to)));
        }
        spans
    }

    /// Returns the owners of offsets before `before`, newest first: lineage, from, to.
    pub(crate) fn newest_first(&self, before: Offset) -> impl Iterator<Item = Span> + '_ {
        let mut next = self.0.climb(|node| node.from >= before);
        let spans = std::iter::from_fn(move || {
            let (node, to) = next?;
            next = node.parent.as_ref().map(|parent| (parent, node.from));
            Some((node.lineage, node.from, to.min(before)))
        });
        spans.filter(|(_, from, to)| from < to)
    }

    /// Returns the lineage, or its nearest ancestor, whose number is at most that of `lineage`.
    pub(crate) fn nearest(&self, lineage: LineageId) -> Option<Span> {
        let (node, to) = self.0.climb(|node| node.lineage > lineage)?;
        Some((node.lineage, node.from, to))
    }

    /// Returns the inherited offsets of a lineage; `None` if it is not an ancestor.
    pub(crate) fn span(&self, lineage: LineageId) -> Option<(Offset, Offset)> {
        let (owner, from, to) = self.nearest(lineage)?;
        (owner == lineage).then_some((from, to))
    }

    /// Returns the lineage that holds the event at an offset.
    pub(crate) fn owner(&self, offset: Offset) -> Option<LineageId> {
        let (node, _) = self.0.climb(|node| node.from > offset)?;
        Some(node.lineage)
    }

    /// Returns the lineage whose chain has a hash at an offset: the owner of the event before it.
    pub(crate) fn hash_owner(&self, offset: Offset) -> Option<LineageId> {
        match offset.checked_sub(1).filter(|_| offset > self.begin()) {
            Some(before) => self.owner(before),
            None => Some(self.0.top().lineage),
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    /// Returns the ancestry as a list of spans, oldest first.
    fn spans(parents: &[(usize, Offset)], mut at: usize) -> Vec<Span> {
        let (mut spans, mut to) = (Vec::new(), Offset::MAX);
        loop {
            let (parent, from) = parents[at];
            spans.push((LineageId(at as u32), from, to));
            if at == 0 {
                spans.reverse();
                return spans;
            }
            (at, to) = (parent, from);
        }
    }

    proptest! {
        #[test]
        fn an_ancestry_answers_as_a_list_of_its_spans_does(
            forks in proptest::collection::vec((any::<u16>(), 0..4_u64), 1..60),
            asked in proptest::collection::vec(0..130_u64, 1..20),
        ) {
            let (mut parents, mut nodes) = (vec![(0, 0)], Vec::new());
            nodes.push(Arc::new(Node::new(LineageId(0), 0, None, None)));
            for (n, (parent, more)) in (1..).zip(forks) {
                let parent = parent as usize % n;
                let from = parents[parent].1 + more;
                parents.push((parent, from));
                let above = Some(Arc::clone(&nodes[parent]));
                nodes.push(Arc::new(Node::new(LineageId(n as u32), from, above, None)));
            }
            for (at, node) in nodes.iter().enumerate() {
                let (list, ancestry) = (spans(&parents, at), Ancestry(Arc::clone(node)));
                for offset in &asked {
                    let holds = |(_, from, to): &&Span| (*from..*to).contains(offset);
                    let owner = list.iter().rev().find(holds).map(|(owner, ..)| *owner);
                    prop_assert_eq!(ancestry.owner(*offset), owner);
                    let newest: Vec<_> = list.iter().rev()
                        .map(|(owner, from, to)| (*owner, *from, *to.min(offset)))
                        .filter(|(_, from, to)| from < to)
                        .collect();
                    prop_assert_eq!(ancestry.newest_first(*offset).collect::<Vec<_>>(), newest);
                    let lineage = LineageId(*offset as u32);
                    let nearest = list.iter().rev().find(|(owner, ..)| *owner <= lineage);
                    prop_assert_eq!(ancestry.nearest(lineage), nearest.copied());
                }
                for (other, theirs) in nodes.iter().enumerate() {
                    let others = spans(&parents, other);
                    let mut shared = list.iter().rev().filter_map(|(owner, _, to)| {
                        let found = others.iter().find(|(found, ..)| found == owner);
                        found.map(|(_, _, their_to)| *to.min(their_to))
                    });
                    let common = ancestry.common(&Ancestry(Arc::clone(theirs)));
                    prop_assert_eq!(common, shared.next());
                }
            }
        }
    }

    #[test]
    fn a_million_nested_lineages_are_dropped_without_recursion() {
        let mut node = Arc::new(Node::new(LineageId(0), 0, None, None));
        for n in 1..1_000_000 {
            node = Arc::new(Node::new(LineageId(n), u64::from(n), Some(node), None));
        }
        let ancestry = Ancestry(node);
        assert_eq!(ancestry.owner(17), Some(LineageId(17)));
        drop(ancestry);
    }
}
