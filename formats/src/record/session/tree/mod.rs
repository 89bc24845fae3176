//! The branches of a session: the branch of each line, and the points where branches part.
//!
//! A line names its parent. If the parent is the end of a branch, the line continues the branch;
//! otherwise it begins a new one after the parent. Exceptions, which begin no branch:
//!
//! ```text
//! results of parallel tool calls    Each names its call, not the result before it. It continues
//!                                   the branch on which the call is open.
//! lines outside the conversation    They go to the end of their parent's branch. Their children
//!                                   continue from the parent.
//! lines with a missing parent       They continue the current branch of the session.
//! messages without an id            They continue the current branch. No line continues from them.
//! ```
//!
//! A parent that another file of the session has is placed where it is recorded.
//!
//! In formats without parents each line follows the one before it, until a rewind.

use std::collections::{HashMap, HashSet};

use milepost::Offset;

use super::line::{Back, Key, Part, SessionLine, Talk, key};

/// Index of a branch, in the order they begin.
pub type BranchNo = u32;
/// Index of a line that another line may continue from. Index 0 is the beginning.
pub type LineIndex = u32;

/// The destination of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// The end of a branch.
    End(BranchNo),
    /// A new branch that begins after a line.
    Fork {
        /// The new branch.
        branch: BranchNo,
        /// The line it begins after.
        behind: LineIndex,
        /// True if the session continues elsewhere.
        side: bool,
    },
    /// A side conversation whose call is unknown.
    Alone(BranchNo),
}

/// A line that was placed.
#[derive(Debug, Clone, Copy)]
struct Placed {
    branch: BranchNo,
    /// The line before it.
    before: LineIndex,
    /// Step of the line.
    step: u32,
    is_prompt: bool,
    /// Offset after the line, once it is known.
    offset: Option<Offset>,
}

impl Placed {
    const NOWHERE: Self = Self { branch: 0, before: 0, step: 0, is_prompt: false, offset: None };
}

/// The end of a branch.
#[derive(Debug, Clone, Copy)]
struct Tip {
    place: LineIndex,
    step: u32,
    side: bool,
}

/// The placed lines that others may continue from.
#[derive(Debug)]
pub struct Tree {
    lines: HashMap<Key, LineIndex>,
    placed: Vec<Placed>,
    tips: Vec<Tip>,
    /// Branch of each tool call; `None` once it is answered.
    calls: HashMap<Key, Option<BranchNo>>,
    /// Lines with calls that begin other conversations, by the key of the prompt.
    agents: HashMap<Key, LineIndex>,
    /// Branch of the last line of the main conversation.
    current: BranchNo,
    /// The line that the next one continues from, after a rewind of the session.
    back: Option<LineIndex>,
    /// Number of prompts that were passed over, by the line before them.
    skipped: HashMap<LineIndex, u64>,
    /// Recorded lines that others follow, in another file of the session.
    followed: HashSet<LineIndex>,
    /// True if the first line belongs to a side conversation, which is then the main one.
    all_side: Option<bool>,
    /// Number of lines whose parent is missing.
    pub orphans: u64,
}

impl Tree {
    /// Returns an empty session, whose events begin at `start`.
    pub fn new(start: Offset) -> Self {
        let placed = Placed { offset: Some(start), ..Placed::NOWHERE };
        let tip = Tip { place: 0, step: 0, side: false };
        Self {
            lines: HashMap::new(),
            placed: vec![placed],
            tips: vec![tip],
            calls: HashMap::new(),
            agents: HashMap::new(),
            current: 0,
            back: None,
            skipped: HashMap::new(),
            followed: HashSet::new(),
            all_side: None,
            orphans: 0,
        }
    }

    /// Returns the branch on which the session continues.
    pub fn current(&self) -> BranchNo {
        self.current
    }

    /// Returns `true` if a line with this id was placed.
    pub fn has(&self, uuid: &str) -> bool {
        self.lines.contains_key(&key(uuid))
    }

    /// Returns `true` if a line with this call was placed.
    pub fn has_call(&self, call: Key) -> bool {
        self.calls.contains_key(&call)
    }

    /// Returns the step at the end of a branch; 0 before the first.
    pub fn step(&self, branch: BranchNo) -> u64 {
        self.tip(branch).step.into()
    }

    /// Returns the branch of a line, and the offset after it once it is known.
    pub fn at(&self, place: LineIndex) -> (BranchNo, Option<Offset>) {
        let placed = self.placed(place);
        (placed.branch, placed.offset)
    }

    /// Sets the offset after a line.
    pub fn settle(&mut self, place: LineIndex, offset: Offset) {
        if let Some(placed) = self.placed.get_mut(place as usize) {
            placed.offset = Some(offset);
        }
    }

    /// Places a line that is recorded, and that this file lacks: on a branch, which may be the next
    /// one, with the offset after the line and the step there.
    pub fn recall(&mut self, uuid: &str, branch: BranchNo, offset: Offset, step: u32) {
        let place = LineIndex::try_from(self.placed.len()).unwrap_or(LineIndex::MAX);
        let last = self.tips.get(branch as usize).map(|tip| tip.place);
        let before = last.unwrap_or(0);
        let offset = Some(offset);
        self.placed.push(Placed { branch, before, step, is_prompt: false, offset });
        self.lines.insert(key(uuid), place);
        let tip = Tip { place, step, side: last.is_some() && self.tip(branch).side };
        match self.tips.get_mut(branch as usize) {
            None => self.tips.push(tip),
            Some(last)
                if self.placed.get(last.place as usize).is_none_or(|p| p.offset < offset) =>
            {
                *last = tip;
            }
            Some(_) => drop(self.followed.insert(place)),
        }
    }

    /// Notes the calls and results of a recorded line that is not placed by its parent.
    pub fn note(&mut self, line: &SessionLine, branch: BranchNo) {
        let place = line.uuid.as_deref().and_then(|uuid| self.find(uuid));
        if let (Part::Message(talk), Some(place)) = (&line.part, place) {
            self.note_calls(talk, branch, place);
        }
    }

    /// Sets the step of the line that was placed last on a branch, and of the branch.
    pub fn set_step(&mut self, branch: BranchNo, place: Option<LineIndex>, step: u64) {
        let step = u32::try_from(step).unwrap_or(u32::MAX);
        if let Some(placed) = place.and_then(|place| self.placed.get_mut(place as usize)) {
            placed.step = step;
        }
        if let Some(tip) = self.tips.get_mut(branch as usize) {
            tip.step = step;
        }
    }

    /// Returns the destination of a line, and its place for lines that continue from it.
    pub fn place(&mut self, line: &SessionLine) -> (Spot, Option<LineIndex>) {
        if line.follows {
            let (spot, place) = self.follow(line);
            return (spot, Some(place));
        }
        let talk = match &line.part {
            Part::Message(talk) => talk,
            Part::Nothing | Part::Back(_) => return (self.side_spot(line), None),
        };
        let all_side = *self.all_side.get_or_insert(line.side);
        let side = line.side && !all_side;
        if line.uuid.is_none() {
            let spot = Spot::End(self.current);
            let last = self.tip(self.current).place;
            return (spot, Some(self.go(spot, line, talk, (last, false))));
        }
        let before = line.parent.as_deref().map(|uuid| self.find(uuid));
        let (spot, moves) = match before {
            Some(Some(before)) => self.behind(before, talk, side),
            Some(None) => {
                self.orphans += 1;
                (Spot::End(self.current), true)
            }
            None => (self.root(talk, side), true),
        };
        let before = before.flatten().unwrap_or_else(|| self.tip(self.current).place);
        let place = self.go(spot, line, talk, (before, moves));
        (spot, Some(place))
    }

    /// Passes over a line that is not written, as at each later import. Lines that continue it
    /// continue from its parent, and its calls are open there.
    pub fn skip(&mut self, line: &SessionLine) {
        let at = match line.follows {
            true => self.back.unwrap_or_else(|| self.tip(self.current).place),
            false => self.stand_in(line),
        };
        let Part::Message(talk) = &line.part else { return };
        if line.follows && talk.prompt.is_some() {
            *self.skipped.entry(at).or_default() += 1;
        }
        self.note_calls(talk, self.placed(at).branch, at);
    }

    /// Places a line after the last one, or after the one that the session returned to.
    fn follow(&mut self, line: &SessionLine) -> (Spot, LineIndex) {
        let none = Talk::default();
        let talk = match &line.part {
            Part::Message(talk) => talk,
            Part::Nothing | Part::Back(_) => &none,
        };
        let last = self.tip(self.current).place;
        let (before, back) = match &line.part {
            Part::Back(back) => (last, self.back_to(back).or(self.back)),
            Part::Nothing | Part::Message(_) => (self.back.unwrap_or(last), None),
        };
        let spot = match before >= self.tip(self.placed(before).branch).place {
            true => Spot::End(self.placed(before).branch),
            false => self.fork(before, false),
        };
        let place = self.go(spot, line, talk, (before, true));
        self.back = back;
        (spot, place)
    }

    /// Returns the line that the next one continues from, if the session can return there.
    fn back_to(&mut self, back: &Back) -> Option<LineIndex> {
        let mut at = self.back.unwrap_or_else(|| self.tip(self.current).place);
        let mut left = match back {
            Back::Beginning => return Some(0),
            Back::Before(uuid) => return Some(self.placed(self.find(uuid)?).before),
            Back::Prompts(prompts) => *prompts,
        };
        // A line is after the one before it, so the loop ends.
        loop {
            if let Some(skipped) = self.skipped.get_mut(&at) {
                let taken = left.min(*skipped);
                *skipped -= taken;
                left -= taken;
            }
            if at == 0 || left == 0 {
                break;
            }
            let placed = self.placed(at);
            left -= u64::from(placed.is_prompt);
            at = placed.before;
        }
        Some(at)
    }

    fn find(&self, uuid: &str) -> Option<LineIndex> {
        self.lines.get(&key(uuid)).copied()
    }

    fn placed(&self, place: LineIndex) -> Placed {
        self.placed.get(place as usize).copied().unwrap_or(Placed::NOWHERE)
    }

    fn tip(&self, branch: BranchNo) -> Tip {
        let none = Tip { place: 0, step: 0, side: false };
        self.tips.get(branch as usize).copied().unwrap_or(none)
    }

    /// Places a line outside the conversation. Its children continue from its parent.
    fn side_spot(&mut self, line: &SessionLine) -> Spot {
        let before = self.stand_in(line);
        match line.parent.is_some() {
            true => Spot::End(self.placed(before).branch),
            false => Spot::End(self.current),
        }
    }

    /// Returns the line that the children of a line continue from in its place: its parent.
    fn stand_in(&mut self, line: &SessionLine) -> LineIndex {
        let before = line.parent.as_deref().and_then(|uuid| self.find(uuid));
        let before = before.unwrap_or_else(|| self.tip(self.current).place);
        if let Some(uuid) = &line.uuid {
            self.lines.entry(key(uuid)).or_insert(before);
        }
        before
    }

    /// Returns the destination of a line after its parent, and `true` if it becomes the branch's
    /// end.
    fn behind(&self, before: LineIndex, talk: &Talk, side: bool) -> (Spot, bool) {
        let branch = self.placed(before).branch;
        if before >= self.tip(branch).place && !self.followed.contains(&before) {
            return (Spot::End(branch), true);
        }
        let open = |call: &Key| self.calls.get(call) == Some(&Some(branch));
        if talk.returned.iter().any(open) {
            return (Spot::End(branch), false);
        }
        (self.fork(before, side || self.tip(branch).side), true)
    }

    /// Moves a line that was just placed at the end of a branch to a new branch, which begins after
    /// the line before it. Returns the new destination.
    pub fn part(&mut self, place: LineIndex, line: &SessionLine) -> Spot {
        let placed = self.placed(place);
        let (old, behind) = (placed.branch, placed.before);
        let Tip { side, .. } = self.tip(old);
        let spot = self.fork(behind, side);
        let branch = self.next_branch();
        let step = self.placed(behind).step;
        if let Some(tip) = self.tips.get_mut(old as usize).filter(|tip| tip.place == place) {
            *tip = Tip { place: behind, step, side };
        }
        if let Some(placed) = self.placed.get_mut(place as usize) {
            placed.branch = branch;
        }
        self.tips.push(Tip { place, step: placed.step, side });
        if !side {
            self.current = branch;
        }
        if let Part::Message(talk) = &line.part {
            self.note_calls(talk, branch, place);
        }
        spot
    }

    fn fork(&self, behind: LineIndex, side: bool) -> Spot {
        let branch = self.next_branch();
        Spot::Fork { branch, behind, side }
    }

    fn next_branch(&self) -> BranchNo {
        BranchNo::try_from(self.tips.len()).unwrap_or(BranchNo::MAX)
    }

    /// Returns the destination of a line without a parent.
    fn root(&self, talk: &Talk, side: bool) -> Spot {
        let began = talk.text.and_then(|text| self.agents.get(&text));
        match began {
            Some(call) if side => self.fork(*call, true),
            _ if side => Spot::Alone(self.next_branch()),
            _ if self.tip(0).place == 0 => Spot::End(0),
            _ => self.fork(0, false),
        }
    }

    fn go(
        &mut self,
        spot: Spot,
        line: &SessionLine,
        talk: &Talk,
        (before, moves): (LineIndex, bool),
    ) -> LineIndex {
        let place = LineIndex::try_from(self.placed.len()).unwrap_or(LineIndex::MAX);
        let (branch, side, mut step) = match spot {
            Spot::End(branch) => (branch, self.tip(branch).side, self.tip(branch).step),
            Spot::Fork { branch, behind, side } => (branch, side, self.placed(behind).step),
            Spot::Alone(branch) => (branch, true, 0),
        };
        let is_prompt = talk.prompt.is_some();
        step += u32::from(is_prompt);
        self.placed.push(Placed { branch, before, step, is_prompt, offset: None });
        if let Some(uuid) = &line.uuid {
            self.lines.insert(key(uuid), place);
        }
        let tip = Tip { place, step, side };
        match self.tips.get_mut(branch as usize) {
            Some(last) if moves => *last = tip,
            Some(last) => last.step = step,
            None => self.tips.push(tip),
        }
        if !side {
            self.current = branch;
        }
        self.note_calls(talk, branch, place);
        place
    }

    fn note_calls(&mut self, talk: &Talk, branch: BranchNo, place: LineIndex) {
        for (call, asked) in &talk.called {
            self.calls.insert(*call, Some(branch));
            if let Some(asked) = asked {
                self.agents.insert(*asked, place);
            }
        }
        for call in &talk.returned {
            if let Some(open) = self.calls.get_mut(call) {
                *open = None;
            }
        }
    }
}

#[cfg(test)]
mod tests;
