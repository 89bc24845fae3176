//! Lines that were recorded before, and the order of new ones.

use std::ops::Range;

use milepost::Offset;

use super::{BEFORE, Session};
use crate::error::Result;
use crate::format::Format;
use crate::record::branches::START;
use crate::record::session::line::{Part, SessionLine};
use crate::record::session::tree::{BranchNo, LineIndex};

/// The place of a line on its branch.
pub(super) enum Order {
    /// Recorded, with these events.
    Recorded(Range<Offset>),
    /// New, after all recorded lines of the session.
    New,
    /// New, and recorded lines of the session follow.
    Late,
}

impl Session {
    /// Returns `true` for a line that only the file of a continued session has, such as one with
    /// its new id, if no new line of the conversation precedes it.
    pub(super) fn is_of_new_file(&self, line: &SessionLine, name: &str) -> Result<bool> {
        let is_possible = self.branches.continued_at() > START
            && !self.growing.contains(&0)
            && line.part == Part::Nothing;
        Ok(is_possible && !self.branches.had(&self.key(name))?)
    }

    /// Returns `true` for a line that continues one which the agent took back since.
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
        // Gemini CLI writes a second file for a session, which has no message. Lines that a file
        // written anew has more are no messages either.
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

    /// Returns the place of a line on its branch, and notes that a branch begins to grow.
    pub(super) fn order(&mut self, branch: BranchNo, name: &str) -> Result<Order> {
        if self.growing.contains(&branch) {
            return Ok(Order::New);
        }
        let lineage = self.on(branch)?.lineage().clone();
        if let Some(events) = lineage.appended_under(&self.key(name))? {
            return Ok(Order::Recorded(events));
        }
        self.settle_all()?;
        let last_end = self.ends.get(branch as usize).copied().unwrap_or(START);
        // A cleanup may have removed the events before, and the file of a session that continues a
        // lineage has not all lines from before.
        let begin = if branch == 0 { self.branches.continued_at() } else { START };
        let last_end = last_end.max(lineage.info()?.begin).max(begin);
        let head = lineage.head()?.next;
        let prefix = self.format.key;
        for event in lineage.read(last_end.min(head)..head)? {
            let ours = |key: String| key.starts_with(prefix) && !key.ends_with(BEFORE);
            if event?.header.key.is_some_and(ours) {
                return Ok(Order::Late);
            }
        }
        self.growing.insert(branch);
        Ok(Order::New)
    }
}
