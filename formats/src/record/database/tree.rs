//! Positions of the checkpoints of a task: the lineage and the offset of each.
//!
//! Checkpoints of an earlier run are found by their keys.

use milepost::Offset;

use crate::error::Result;
use crate::record::branches::{Branches, START};

/// The position of a checkpoint.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    pub branch: usize,
    /// Offset after its events. For a checkpoint that could not be read, that of its parent.
    pub offset: Offset,
}

impl Placed {
    /// The beginning of the task.
    pub const BEGINNING: Self = Self { branch: 0, offset: START };
}

/// The checkpoints of a task, each after its parent, and their positions.
pub struct CheckpointTree {
    pub branches: Branches,
    placed: Vec<Option<Placed>>,
    newest: Option<usize>,
    /// True for the newest checkpoint and its ancestors. The task continues after the newest.
    leads: Vec<bool>,
    /// Offset after the last checkpoint of each branch.
    tips: Vec<Offset>,
}

impl CheckpointTree {
    /// Creates a tree of checkpoints with the index of each parent.
    pub fn new(branches: Branches, parents: &[Option<usize>], newest: Option<usize>) -> Self {
        let mut leads = vec![false; parents.len()];
        let mut next = newest;
        // A parent precedes its children, so the loop ends.
        while let Some(at) = next {
            if let Some(lead) = leads.get_mut(at) {
                *lead = true;
            }
            next = parents.get(at).copied().flatten();
        }
        let placed = vec![None; parents.len()];
        Self { branches, placed, newest, leads, tips: vec![START] }
    }

    /// Returns the position of a checkpoint, if it has one yet.
    pub fn placed(&self, at: usize) -> Option<Placed> {
        self.placed.get(at).copied().flatten()
    }

    /// Places a checkpoint that an earlier run wrote under a key. Returns `false` if it does not
    /// exist.
    pub fn find(&mut self, at: usize, key: &str) -> Result<bool> {
        let found = self.written_under(key)?;
        if let (Some(found), Some(place)) = (found, self.placed.get_mut(at)) {
            *place = Some(found);
        }
        Ok(found.is_some())
    }

    /// Returns the position of a checkpoint that an earlier run wrote under a key.
    pub fn written_under(&mut self, key: &str) -> Result<Option<Placed>> {
        let Some((branch, events)) = self.branches.appended_under(key)? else {
            return Ok(None);
        };
        let offset = events.end;
        if branch >= self.tips.len() {
            self.tips.resize(branch + 1, START);
        }
        if let Some(tip) = self.tips.get_mut(branch) {
            *tip = offset.max(*tip);
        }
        Ok(Some(Placed { branch, offset }))
    }

    /// Returns `true` if nothing was appended to the task.
    pub fn is_empty(&self) -> Result<bool> {
        let root = self.branches.on(0)?.lineage();
        Ok(self.branches.count() == 1 && root.head()?.next <= START)
    }

    /// Returns the position that a checkpoint continues from. If another one continued there before
    /// or the checkpoint is to be `apart`, opens a branch.
    pub fn begin(&mut self, at: usize, from: Placed, called: &str, apart: bool) -> Result<Placed> {
        if !apart && self.tips.get(from.branch) == Some(&from.offset) {
            return Ok(from);
        }
        let leads = self.leads.get(at).copied() == Some(true);
        let branch = self.branches.fork(from.branch, from.offset, called, leads)?;
        self.tips.resize(branch, START);
        self.tips.push(from.offset);
        Ok(Placed { branch, ..from })
    }

    /// Places a checkpoint that was written, the last one of its branch.
    pub fn place(&mut self, at: usize, placed: Placed) {
        if let Some(tip) = self.tips.get_mut(placed.branch) {
            *tip = placed.offset;
        }
        self.stand_in(at, placed);
    }

    /// Sets the position from which the children of an unwritten checkpoint continue.
    pub fn stand_in(&mut self, at: usize, placed: Placed) {
        if let Some(place) = self.placed.get_mut(at) {
            *place = Some(placed);
        }
    }

    /// Continues the task at the newest checkpoint, and returns the task's head.
    pub fn finish(&mut self, changed: bool) -> Result<Offset> {
        let branch = self.newest.and_then(|at| self.placed(at)).map_or(0, |placed| placed.branch);
        self.branches.go_on_with(branch, changed)
    }
}
