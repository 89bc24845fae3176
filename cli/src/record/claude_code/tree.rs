//! Where the lines of a session go: which branch a line goes on, and where one parts from another.
//!
//! A line names the one before it. Where that is the end of a branch the branch goes on; elsewhere
//! another one begins behind it. These are no branches, though lines part there:
//!
//! ```text
//! results of tools called together    name the call, not the result before: they go on where the call is open
//! lines that say nothing              stand at the end of the branch of the line before them, which what
//!                                     comes behind them goes on from
//! a line before which is not there    goes on where the line before it in the file went
//! ```

use std::collections::HashMap;

use milepost::Offset;

use super::line::{Key, Line, Said, Talk, key};

/// The number of a branch, in the order they begin.
pub type BranchNo = u32;
/// The number of a line that something may go on from. The first stands for the beginning.
pub type Place = u32;

/// Where a line goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// To the end of a branch.
    End(BranchNo),
    /// Into a new branch that begins behind a line. `side` where the session does not go on with
    /// it.
    Fork { branch: BranchNo, behind: Place, side: bool },
    /// Into a conversation of its own, which nothing is known to have begun.
    Alone(BranchNo),
}

/// A line that was placed.
#[derive(Debug, Clone, Copy)]
struct Placed {
    branch: BranchNo,
    /// The step that it is of.
    step: u32,
    /// The offset behind it, once it is known.
    offset: Option<Offset>,
}

/// The end of a branch.
#[derive(Debug, Clone, Copy)]
struct Tip {
    place: Place,
    step: u32,
    side: bool,
}

/// The lines so far, as far as others may go on from them.
#[derive(Debug)]
pub struct Tree {
    lines: HashMap<Key, Place>,
    placed: Vec<Placed>,
    tips: Vec<Tip>,
    /// The branch that each call is open on.
    calls: HashMap<Key, BranchNo>,
    /// The lines with calls that begin other conversations, by what those are asked for.
    agents: HashMap<Key, Place>,
    /// The branch of the last line of the session's own conversation.
    current: BranchNo,
    /// Whether all of it is beside another session: then it is the conversation itself.
    all_side: Option<bool>,
    /// Lines that name one which is not there.
    pub orphans: u64,
}

impl Tree {
    /// An empty session, whose events begin at `start`.
    pub fn new(start: Offset) -> Self {
        let placed = Placed { branch: 0, step: 0, offset: Some(start) };
        let tip = Tip { place: 0, step: 0, side: false };
        Self {
            lines: HashMap::new(),
            placed: vec![placed],
            tips: vec![tip],
            calls: HashMap::new(),
            agents: HashMap::new(),
            current: 0,
            all_side: None,
            orphans: 0,
        }
    }

    /// The branch that the session goes on with.
    pub fn current(&self) -> BranchNo {
        self.current
    }

    /// Whether a line of this id was placed.
    pub fn has(&self, uuid: &str) -> bool {
        self.lines.contains_key(&key(uuid))
    }

    /// The step at the end of a branch; 0 before the first.
    pub fn step(&self, branch: BranchNo) -> u64 {
        self.tip(branch).step.into()
    }

    /// The branch of a line, and the offset behind it once it is known.
    pub fn at(&self, place: Place) -> (BranchNo, Option<Offset>) {
        let placed = self.placed(place);
        (placed.branch, placed.offset)
    }

    /// Notes the offset behind a line.
    pub fn settle(&mut self, place: Place, offset: Offset) {
        if let Some(placed) = self.placed.get_mut(place as usize) {
            placed.offset = Some(offset);
        }
    }

    /// Decides where a line goes, and the number by which what goes on from it will name it.
    pub fn place(&mut self, line: &Line) -> (Spot, Option<Place>) {
        let talk = match &line.said {
            Said::Message(talk) => talk,
            Said::Nothing => return (self.beside(line), None),
        };
        let all_side = *self.all_side.get_or_insert(line.side);
        let side = line.side && !all_side;
        let before = line.parent.as_deref().map(|uuid| self.find(uuid));
        let (spot, moves) = match before {
            Some(Some(before)) => self.behind(before, talk, side),
            Some(None) => {
                self.orphans += 1;
                (Spot::End(self.current), true)
            }
            None => (self.root(talk, side), true),
        };
        let place = self.go(spot, line, talk, moves);
        (spot, Some(place))
    }

    fn find(&self, uuid: &str) -> Option<Place> {
        self.lines.get(&key(uuid)).copied()
    }

    fn placed(&self, place: Place) -> Placed {
        let nowhere = Placed { branch: 0, step: 0, offset: None };
        self.placed.get(place as usize).copied().unwrap_or(nowhere)
    }

    fn tip(&self, branch: BranchNo) -> Tip {
        let none = Tip { place: 0, step: 0, side: false };
        self.tips.get(branch as usize).copied().unwrap_or(none)
    }

    /// A line that says nothing: what goes on from it goes on from the line before it.
    fn beside(&mut self, line: &Line) -> Spot {
        let before = line.parent.as_deref().and_then(|uuid| self.find(uuid));
        let before = before.unwrap_or_else(|| self.tip(self.current).place);
        if let Some(uuid) = &line.uuid {
            self.lines.entry(key(uuid)).or_insert(before);
        }
        match line.parent.is_some() {
            true => Spot::End(self.placed(before).branch),
            false => Spot::End(self.current),
        }
    }

    /// Where a line behind another goes, and whether the branch's end moves with it.
    fn behind(&self, before: Place, talk: &Talk, side: bool) -> (Spot, bool) {
        let branch = self.placed(before).branch;
        if before >= self.tip(branch).place {
            return (Spot::End(branch), true);
        }
        let open = |call: &Key| self.calls.get(call) == Some(&branch);
        if talk.returned.iter().any(open) {
            return (Spot::End(branch), false);
        }
        (self.fork(before, side || self.tip(branch).side), true)
    }

    fn fork(&self, behind: Place, side: bool) -> Spot {
        let branch = self.next_branch();
        Spot::Fork { branch, behind, side }
    }

    fn next_branch(&self) -> BranchNo {
        BranchNo::try_from(self.tips.len()).unwrap_or(BranchNo::MAX)
    }

    /// Where a line goes that names none before it.
    fn root(&self, talk: &Talk, side: bool) -> Spot {
        let began = talk.text.and_then(|text| self.agents.get(&text));
        match began {
            Some(call) if side => self.fork(*call, true),
            _ if side => Spot::Alone(self.next_branch()),
            _ if self.tip(0).place == 0 => Spot::End(0),
            _ => self.fork(0, false),
        }
    }

    fn go(&mut self, spot: Spot, line: &Line, talk: &Talk, moves: bool) -> Place {
        let place = Place::try_from(self.placed.len()).unwrap_or(Place::MAX);
        let (branch, side, mut step) = match spot {
            Spot::End(branch) => (branch, self.tip(branch).side, self.tip(branch).step),
            Spot::Fork { branch, behind, side } => (branch, side, self.placed(behind).step),
            Spot::Alone(branch) => (branch, true, 0),
        };
        step += u32::from(talk.prompt.is_some());
        self.placed.push(Placed { branch, step, offset: None });
        if let Some(uuid) = &line.uuid {
            self.lines.insert(key(uuid), place);
        }
        let tip = Tip { place, step, side };
        match self.tips.get_mut(branch as usize) {
            Some(known) if moves => *known = tip,
            Some(_) => {}
            None => self.tips.push(tip),
        }
        if !side {
            self.current = branch;
        }
        self.note_calls(talk, branch, place);
        place
    }

    fn note_calls(&mut self, talk: &Talk, branch: BranchNo, place: Place) {
        for (call, asked) in &talk.called {
            self.calls.insert(*call, branch);
            if let Some(asked) = asked {
                self.agents.insert(*asked, place);
            }
        }
        for call in &talk.returned {
            self.calls.remove(call);
        }
    }
}

// A path, so that the fuzz targets find it too.
#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
