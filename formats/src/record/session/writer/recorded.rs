//! Lines that were recorded before, and the order of new ones.

use std::collections::HashMap;
use std::ops::Range;

use milepost::{Body, ErrorKind, Offset};

use super::{BEFORE, Session, called};
use crate::error::{Error, Remedy, Result};
use crate::format::Format;
use crate::record::branches::{ACTOR, START};
use crate::record::session::line::{Part, SessionLine, key};
use crate::record::session::tree::{BranchNo, LineIndex};

/// The place of a line on its branch.
pub(super) enum Order {
    /// Recorded, with these events.
    Recorded(Range<Offset>),
    /// New, after all recorded lines of the session.
    New,
    /// New, and recorded lines of the session follow: the time of the last one.
    Late { last_us: u64 },
}

/// The steps of branches, each with the offset of its beginning, in order.
pub(super) type Steps = HashMap<BranchNo, Vec<(Offset, u64)>>;

/// The branch and the events of a line that was recorded before.
pub(super) type Recalled = (BranchNo, Range<Offset>);

impl Session {
    /// Returns `true` for a line that only the file of a continued session has, such as one with
    /// its new id, if no new line of the conversation precedes it.
    pub(super) fn is_of_new_file(&self, line: &SessionLine, name: &str) -> Result<bool> {
        let is_possible = self.branches.continued_at() > START
            && !self.growing.contains(&0)
            && line.part == Part::Nothing;
        Ok(is_possible && !self.branches.had(&self.key(name))?)
    }

    /// Returns `true` for a line that continues one which the agent rewound since.
    pub(super) fn is_of_lost_line(&self, line: &SessionLine) -> Result<bool> {
        let is_possible = self.format.is_rewritten && line.part == Part::Nothing;
        match line.parent.as_deref().filter(|parent| is_possible && !self.tree.has(parent)) {
            Some(parent) => self.branches.had(&self.key(parent)),
            None => Ok(false),
        }
    }

    /// Returns `true` for a line that may be missing between recorded ones, such as a repeated text
    /// that an earlier version did not record.
    pub(super) fn may_miss(&self, line: &SessionLine, again: bool) -> bool {
        // Gemini CLI writes a second file for a session, without messages. Additional lines of a
        // rewritten file are not messages either.
        let is_possible = self.format.format == Format::GeminiCli || self.format.is_rewritten;
        again || (is_possible && line.part == Part::Nothing)
    }

    /// Notes the place of a line that was recorded before, maybe in another form.
    pub(super) fn settle_recorded(
        &mut self,
        branch: BranchNo,
        place: Option<LineIndex>,
        events: &Range<Offset>,
    ) -> Result<()> {
        self.settle_all()?;
        if let Some(place) = place {
            self.tree.settle(place, events.end);
        }
        if let Some(end) = self.ends.get_mut(branch as usize) {
            *end = events.end.max(*end);
        }
        Ok(())
    }

    /// Places the parent of a line that another file of the session has, or a later line of this
    /// one.
    pub(super) fn recall_parent(&mut self, line: &SessionLine) -> Result<()> {
        if let Some(parent) = self.missing_parent(line)
            && let Some(recalled) = self.recall(parent)?
        {
            self.recalled.insert(key(parent), recalled);
        }
        Ok(())
    }

    /// Places a line where it is recorded, if nothing before it in this file determines its place,
    /// or a line that continues it came before. Returns `true` if it is not to be written.
    pub(super) fn is_recalled(&mut self, line: &SessionLine) -> Result<bool> {
        let Some(uuid) = line.uuid.as_deref().filter(|_| line.is_message()) else {
            return Ok(false);
        };
        let recalled = match self.recalled.remove(&key(uuid)) {
            None if self.format.is_rewritten || self.tree.has(uuid) => None,
            None => match self.missing_parent(line) {
                Some(_) => self.recall(uuid)?,
                None => None,
            },
            recalled => recalled,
        };
        let Some((branch, events)) = recalled else {
            return Ok(false);
        };
        self.check_is_same(branch, &events, line)?;
        self.tree.note(line, branch);
        Ok(true)
    }

    /// Refuses a line whose content differs from its record.
    fn check_is_same(
        &self,
        branch: BranchNo,
        events: &Range<Offset>,
        line: &SessionLine,
    ) -> Result<()> {
        let mut bodies = Vec::new();
        let recorded = match self.on(branch)?.lineage().read(events.clone()) {
            // A cleanup removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            recorded => recorded?,
        };
        for event in recorded {
            match event?.body {
                Some(Body::StepStarted(_)) => {}
                Some(body) => bodies.push(body),
                // It was erased.
                None => return Ok(()),
            }
        }
        match is_same(&bodies, &line.events) {
            true => Ok(()),
            false => Err(Error::conflict("it says something else than before")
                .remedied_by(Remedy::ImportAsOtherTask)),
        }
    }

    /// Returns the parent of a line that is not placed.
    fn missing_parent<'a>(&self, line: &'a SessionLine) -> Option<&'a str> {
        line.parent.as_deref().filter(|parent| !self.tree.has(parent))
    }

    /// Places a line where it is recorded. Returns its branch and events, or `None` if it is new.
    fn recall(&mut self, uuid: &str) -> Result<Option<Recalled>> {
        let Some((branch, events)) = self.branches.appended_under(&self.key(uuid))? else {
            return Ok(None);
        };
        self.settle_all()?;
        let branch = BranchNo::try_from(branch).unwrap_or(BranchNo::MAX);
        let step = self.step_at(branch, events.end)?;
        self.tree.recall(uuid, branch, events.end, u32::try_from(step).unwrap_or(u32::MAX));
        match self.ends.get_mut(branch as usize) {
            Some(end) => *end = events.end.max(*end),
            None => self.ends.push(events.end),
        }
        Ok(Some((branch, events)))
    }

    /// Returns the recorded step of a branch at an offset; 0 before the first.
    fn step_at(&mut self, branch: BranchNo, at: Offset) -> Result<u64> {
        if !self.steps.contains_key(&branch) {
            let lineage = self.on(branch)?.lineage().clone();
            let (begin, head) = (lineage.info()?.begin.max(START), lineage.head()?.next);
            let mut steps = Vec::new();
            for event in lineage.read(begin.min(head)..head)? {
                let event = event?;
                if let (Some(ACTOR), Some(Body::StepStarted(started))) =
                    (event.header.actor.as_deref(), &event.body)
                {
                    steps.push((event.offset, started.step));
                }
            }
            self.steps.insert(branch, steps);
        }
        let steps = self.steps.get(&branch).map(Vec::as_slice).unwrap_or_default();
        let until = steps.partition_point(|(begin, _)| *begin < at);
        let last = until.checked_sub(1).and_then(|last| steps.get(last));
        Ok(last.map_or(0, |(_, step)| *step))
    }

    /// Returns `true` if a line with an id that comes before recorded ones begins a branch.
    pub(super) fn parts(&self, line: &SessionLine) -> bool {
        let is_placed = || line.parent.as_deref().is_none_or(|parent| self.tree.has(parent));
        let is_own = !line.follows && line.uuid.is_some() && line.is_message();
        self.format.is_rewritten || (is_own && is_placed())
    }

    /// Refuses a line that began a branch with other words before.
    pub(super) fn check_is_not_elsewhere(&self, line: &SessionLine, name: &str) -> Result<()> {
        let is_known = self.format.is_rewritten || self.branches.is_opened(&called(line, name));
        match is_known || !self.branches.had(&self.key(name))? {
            true => Ok(()),
            false => Err(Error::conflict("it says something else than before")
                .remedied_by(Remedy::ImportAsOtherTask)),
        }
    }

    /// Returns `true` if a line that has no place of its own is later than all recorded lines.
    pub(super) fn is_behind(line: &SessionLine, last_us: u64) -> bool {
        line.time_us.is_some_and(|time_us| time_us > last_us)
    }

    /// Puts a line after all recorded ones of a branch.
    pub(super) fn put_behind(
        &mut self,
        branch: BranchNo,
        place: Option<LineIndex>,
        line: &SessionLine,
    ) -> Result<()> {
        let head = self.on(branch)?.lineage().head()?.next;
        let step = self.step_at(branch, head)?;
        self.tree.set_step(branch, place, step + u64::from(line.prompt().is_some()));
        if let Some(end) = self.ends.get_mut(branch as usize) {
            *end = head.max(*end);
        }
        self.growing.insert(branch);
        Ok(())
    }

    /// Gives a recorded line the step that it was recorded with. Returns `true` if that, or the
    /// role of its text, is not the one that it has now, and its events are the same otherwise.
    pub(super) fn keeps_step(
        &mut self,
        branch: BranchNo,
        place: Option<LineIndex>,
        line: &SessionLine,
        events: &Range<Offset>,
    ) -> Result<bool> {
        let lineage = self.on(branch)?.lineage().clone();
        let (mut step, mut bodies) = (None, Vec::new());
        let recorded = match lineage.read(events.clone()) {
            // A cleanup removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            recorded => recorded?,
        };
        for event in recorded {
            match event?.body {
                Some(Body::StepStarted(started)) => step = Some(started.step),
                Some(body) => bodies.push(body),
                // It was erased.
                None => return Ok(true),
            }
        }
        let own = line.prompt().map(|_| self.tree.step(branch));
        if own == step && bodies == line.events {
            return Ok(false);
        }
        if !is_same(&bodies, &line.events) {
            // The engine reports it.
            return Ok(false);
        }
        let before = self.tree.step(branch) - u64::from(own.is_some());
        self.tree.set_step(branch, place, step.unwrap_or(before));
        Ok(true)
    }

    /// Returns the place of a line on its branch, and notes that a branch begins to grow.
    pub(super) fn order(
        &mut self,
        branch: BranchNo,
        line: &SessionLine,
        name: &str,
    ) -> Result<Order> {
        if self.growing.contains(&branch) {
            return Ok(Order::New);
        }
        let lineage = self.on(branch)?.lineage().clone();
        if let Some(events) = lineage.appended_under(&self.key(name))? {
            return Ok(Order::Recorded(events));
        }
        if !line.follows && !self.format.is_rewritten && line.part == Part::Nothing {
            // No line continues from it: it may follow any other.
            return Ok(Order::New);
        }
        self.settle_all()?;
        let last_end = self.ends.get(branch as usize).copied().unwrap_or(START);
        // A cleanup may have removed the events before, and the file of a session that continues a
        // lineage has not all lines from before.
        let begin = if branch == 0 { self.branches.continued_at() } else { START };
        let last_end = last_end.max(lineage.info()?.begin).max(begin);
        let head = lineage.head()?.next;
        let prefix = self.format.key;
        let (mut last_us, mut is_conversation) = (None, line.follows || self.format.is_rewritten);
        for event in lineage.read(last_end.min(head)..head)? {
            let event = event?;
            let ours = |key: &String| key.starts_with(prefix) && !key.ends_with(BEFORE);
            if event.header.key.as_ref().is_some_and(ours) {
                last_us = last_us.max(Some(event.header.time_us));
            }
            let is_talk = matches!(
                event.body,
                Some(Body::Message(_) | Body::ToolCalled(_) | Body::ToolReturned(_))
            );
            is_conversation |= is_talk && event.header.actor.as_deref() == Some(ACTOR);
        }
        match last_us {
            Some(last_us) if is_conversation => Ok(Order::Late { last_us }),
            _ => {
                self.growing.insert(branch);
                Ok(Order::New)
            }
        }
    }
}

/// Returns `true` if bodies are equal but for the roles of messages, which an earlier version read
/// in another way.
fn is_same(old: &[Body], new: &[Body]) -> bool {
    let is_same = |(old, new): (&Body, &Body)| match (old, new) {
        (Body::Message(old), Body::Message(new)) => {
            old.content == new.content && old.extra == new.extra
        }
        (old, new) => old == new,
    };
    old.len() == new.len() && old.iter().zip(new).all(is_same)
}
