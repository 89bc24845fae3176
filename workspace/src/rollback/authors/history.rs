//! The history of a folder, in the order of its changes, as the log has it.
//!
//! The history of a folder is not that of a lineage: a restore of the state leaves the files of the
//! lineage before, and a restore of the files alone leaves the events.

use std::collections::BTreeSet;

use milepost::events::{CheckpointMarked, MarkCause, Restored, RunControl};
use milepost::{Body, Engine, ErrorKind, Event, Hash, Header, Lineage, LineageId, Offset, Point};
use milepost::{Result, Scope, Task};
use milepost_codec::RestoreOutcome;

use super::super::calls_since::says;
use super::reach::Reaches;
use crate::error::is_lost;

/// Maximum number of events before the target that are read, for calls that are open there.
const LOOKED_BACK: u64 = 4096;

/// Maximum number of restores that a history follows to other lineages.
const RESTORES_MAX: usize = 256;

/// One fact of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) offset: Offset,
    pub(super) actor: Option<String>,
    /// Id of a call.
    pub(super) call: Option<String>,
    /// `true` for a capture if the changes before and after it are unknown.
    pub(super) is_unsure: bool,
    /// The changes around its call that a capture leaves unknown.
    pub(super) doubt: Doubt,
    /// Paths that its call, and calls of other sessions that were open, may have changed.
    pub(super) reaches: Reaches,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// The folder was captured.
    Captured { root: Hash, role: Role },
    /// The active lineage changed, and the folder stayed as in this capture.
    Jumped { root: Hash },
    /// A call began, without a capture before it.
    Began,
    /// A call returned.
    Returned,
    /// The run ended.
    RunEnded,
    /// Another event of a run.
    Ran,
    /// The folder, the state or both were restored.
    Restored,
    /// An event is erased.
    Unread,
    /// The history before is not known.
    Gap,
}

/// The changes around a call that a mark of it leaves unknown. The later ones include the ones
/// before them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doubt {
    #[default]
    Nothing,
    /// The changes during the call, except where paths decide: another session's call was open.
    During,
    /// Those before the capture that precedes the call, too: the tool may have begun before it.
    Before,
}

/// Purpose of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Before a call.
    Before,
    /// After a call.
    After,
    /// After a part of a call that runs on.
    Within,
    /// Before a restore.
    Present,
    /// After a restore of the files.
    Placed,
    /// After a restore of the state alone.
    Carried,
    /// Any other.
    Other,
}

/// A restore in a history, at the place of its moment.
struct Joint {
    place: usize,
    offset: Offset,
    restored: Restored,
    /// `true` if a capture follows.
    is_captured: bool,
}

/// Reads the history of a task's folder since a point.
pub(super) struct Folder<'a> {
    engine: &'a Engine,
    task: &'a Task,
    to: &'a Point,
    /// Events of the task about a lineage, each before the event at an offset.
    between: Vec<(LineageId, Offset, What)>,
}

impl<'a> Folder<'a> {
    pub(super) fn new(engine: &'a Engine, task: &'a Task, to: &'a Point) -> Result<Self> {
        let kept = engine.captures().kept(task)?.into_iter();
        let mut between: Vec<_> = kept
            .map(|(lineage, kept)| (lineage, kept.from, What::Jumped { root: kept.root }))
            .collect();
        // An abandoned restore left the folder as it was found.
        for past in engine.restores().of_task(task.id())? {
            if past.ended.is_some_and(|ended| ended.outcome == RestoreOutcome::GivenUp) {
                between.push((past.begun.from, past.begun.head, What::Unread));
            }
        }
        Ok(Self { engine, task, to, between })
    }

    /// Returns the history, with some events before the point. `None` if the point is not in it.
    pub(super) fn history(&self) -> Result<Option<Vec<Moment>>> {
        let head = self.task.head()?.next;
        self.up_to(self.task.lineage(), (head, false), RESTORES_MAX)
    }

    /// Returns the last moments of the lineage, for calls that are open now.
    pub(super) fn last_moments(&self) -> Result<Vec<Moment>> {
        let (lineage, head) = (self.task.lineage(), self.task.head()?.next);
        let from = head.saturating_sub(LOOKED_BACK).max(lineage.info()?.begin);
        Ok(self.read(lineage, from, (head, false))?.0)
    }

    /// Returns the history up to an offset of a lineage, and with the mark there if it is wanted.
    fn up_to(
        &self,
        lineage: &Lineage,
        (end, with_mark): (Offset, bool),
        more: usize,
    ) -> Result<Option<Vec<Moment>>> {
        if !self.is_behind(lineage, end)? {
            return Ok(None);
        }
        let to = self.to.offset;
        let from = to.saturating_sub(LOOKED_BACK).max(lineage.info()?.begin).min(to);
        let (moments, joints) = self.read(lineage, from, (end, with_mark))?;
        let goes_elsewhere = |joint: &&Joint| match joint.restored.scope {
            // The lineage begins at the state to which the folder was restored.
            Scope::All => false,
            Scope::Files => true,
            Scope::State => joint.is_captured,
        };
        let Some(last) = joints.iter().rev().find(goes_elsewhere) else {
            return Ok(Some(moments));
        };
        let restored = &last.restored;
        let source = match restored.scope {
            Scope::State => (restored.from, restored.head, false),
            // The mark of the restored checkpoint shows the purpose of its capture.
            _ => (restored.lineage, restored.offset, restored.checkpoint.is_some()),
        };
        let before = match more.checked_sub(1) {
            Some(more) => self.source(source, more)?,
            None => None,
        };
        let mut all = before.unwrap_or_else(|| vec![Moment::of(to, What::Gap)]);
        all.extend(moments.into_iter().skip(last.place));
        Ok(Some(all))
    }

    /// Returns the history up to a point that a restore names.
    fn source(
        &self,
        (lineage, end, with_mark): (LineageId, Offset, bool),
        more: usize,
    ) -> Result<Option<Vec<Moment>>> {
        let found = self.task.lineage_named(lineage);
        match found.and_then(|lineage| self.up_to(&lineage, (end, with_mark), more)) {
            // Retention dropped the lineage.
            Err(error) if is_lost(&error) => Ok(None),
            found => found,
        }
    }

    /// Returns `true` if the point is in the history of a lineage up to an offset.
    fn is_behind(&self, lineage: &Lineage, end: Offset) -> Result<bool> {
        if end < self.to.offset || lineage.head()?.next < end {
            return Ok(false);
        }
        match lineage.point(self.to.offset).and_then(|at| self.engine.hash_at(&at)) {
            Ok(here) => Ok(here == self.engine.hash_at(self.to)?),
            // Retention trimmed the lineage there.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn read(
        &self,
        lineage: &Lineage,
        from: Offset,
        (end, with_mark): (Offset, bool),
    ) -> Result<(Vec<Moment>, Vec<Joint>)> {
        let mut reading = Reading::since(self.to.offset);
        let mut next = from;
        for event in lineage.read(from..end)? {
            let event = event?;
            reading.moments.extend(self.between(event.lineage, next, event.offset));
            next = event.offset + 1;
            reading.next(event);
        }
        if with_mark && lineage.head()?.next > end {
            let at = lineage.read(end..=end)?.next().transpose()?;
            let is_mark = |event: &Event| matches!(event.body, Some(Body::CheckpointMarked(_)));
            at.filter(is_mark).into_iter().for_each(|event| reading.next(event));
        }
        reading.moments.extend(self.between(lineage.id(), next, end));
        Ok(reading.end())
    }

    /// Returns the facts of the task's log about a lineage between two offsets.
    fn between(
        &self,
        lineage: LineageId,
        from: Offset,
        to: Offset,
    ) -> impl Iterator<Item = Moment> {
        let from = from.max(self.to.offset);
        let here = self
            .between
            .iter()
            .filter(move |(owner, offset, _)| *owner == lineage && (from..=to).contains(offset));
        here.map(move |(_, offset, what)| Moment::of((*offset).max(from), what.clone()))
    }
}

impl Moment {
    fn of(offset: Offset, what: What) -> Self {
        let (doubt, reaches) = (Doubt::Nothing, Reaches::unmarked());
        Self { offset, actor: None, call: None, is_unsure: false, doubt, reaches, what }
    }

    /// Adds the facts of its mark to a capture.
    fn belong_to(
        &mut self,
        purpose: Role,
        call: Option<String>,
        actor: Option<String>,
        (doubt, reaches): (Doubt, Reaches),
    ) {
        if let What::Captured { role, .. } = &mut self.what {
            *role = purpose;
        }
        self.call = call;
        self.actor = self.actor.take().or(actor);
        self.is_unsure |= doubt > Doubt::During;
        (self.doubt, self.reaches) = (doubt, reaches);
    }
}

/// Moments as they are read.
struct Reading {
    moments: Vec<Moment>,
    joints: Vec<Joint>,
    /// Restores before this offset are of no interest.
    since: Offset,
    /// Ids of calls. Other correlations of marks are of something else, such as a request.
    called: BTreeSet<String>,
}

impl Reading {
    fn since(since: Offset) -> Self {
        let (moments, joints) = (Vec::new(), Vec::new());
        Self { moments, joints, since, called: BTreeSet::new() }
    }

    fn end(mut self) -> (Vec<Moment>, Vec<Joint>) {
        for moment in &mut self.moments {
            let is_before = matches!(moment.what, What::Captured { role: Role::Before, .. });
            moment.call = moment.call.take().filter(|id| !is_before || self.called.contains(id));
        }
        (self.moments, self.joints)
    }

    fn next(&mut self, event: Event) {
        let Event { offset, header, body, .. } = event;
        match body {
            None => self.unread(offset, header),
            Some(Body::WorkspaceCaptured(captured)) => {
                let role = self.role(offset);
                self.push(offset, header, None, What::Captured { root: captured.root, role });
            }
            Some(Body::CheckpointMarked(mark)) => self.mark(offset, header, &mark),
            Some(Body::ToolCalled(called)) => {
                self.called.insert(called.call.clone());
                self.push(offset, header, Some(called.call), What::Began);
            }
            Some(Body::ToolReturned(returned)) => {
                self.push(offset, header, Some(returned.call), What::Returned);
            }
            Some(Body::ControlChanged(changed)) => {
                if matches!(changed.to, RunControl::Idle | RunControl::Stopped) {
                    self.push(offset, header, None, What::RunEnded);
                }
            }
            Some(Body::Restored(restored)) => {
                if offset >= self.since {
                    let place = self.moments.len();
                    self.joints.push(Joint { place, offset, restored, is_captured: false });
                }
                self.push(offset, header, None, What::Restored);
            }
            // Events of a user, and events of the engine, change no files.
            Some(Body::GuidanceGiven(_) | Body::LineageOpened(_)) => {}
            Some(Body::Message(said)) if said.role == "user" => {}
            Some(_) => self.push(offset, header, None, What::Ran),
        }
    }

    fn push(&mut self, offset: Offset, header: Header, call: Option<String>, what: What) {
        let actor = header.actor;
        self.moments.push(Moment { actor, call, ..Moment::of(offset, what) });
    }

    /// Returns the last moment, if it is of the event before.
    fn right_before(&mut self, offset: Offset) -> Option<&mut Moment> {
        self.moments.last_mut().filter(|last| last.offset + 1 == offset)
    }

    /// Returns the purpose of a capture, as far as the events before it show.
    fn role(&mut self, offset: Offset) -> Role {
        // A restore and its capture are in one commit.
        match self.right_before(offset).map(|last| &last.what) {
            Some(What::Restored) => {}
            _ => return Role::Other,
        }
        match self.joints.last_mut().filter(|joint| joint.offset + 1 == offset) {
            Some(joint) => {
                joint.is_captured = true;
                match joint.restored.scope {
                    Scope::State => Role::Carried,
                    _ => Role::Placed,
                }
            }
            None => Role::Carried,
        }
    }

    /// Adds a mark: to the capture right before it, if there is one.
    fn mark(&mut self, offset: Offset, header: Header, mark: &CheckpointMarked) {
        let id = header.correlation.clone();
        let (purpose, call) = match mark.cause {
            MarkCause::BeforeTool => {
                self.called.extend(id.iter().filter(|id| mark.aliases.contains(id)).cloned());
                (Role::Before, id)
            }
            MarkCause::Step if id.is_some() && says(mark, "running") => (Role::Within, id),
            MarkCause::Step if id.is_some() => (Role::After, id),
            MarkCause::BeforeRestore => (Role::Present, None),
            _ => (Role::Other, None),
        };
        let moment = self.right_before(offset);
        match moment.as_ref().map(|moment| &moment.what) {
            // A copy of the mark of the restored checkpoint.
            Some(What::Restored | What::Captured { role: Role::Placed | Role::Carried, .. }) => {}
            Some(What::Captured { .. }) => {
                if let Some(moment) = moment {
                    moment.belong_to(purpose, call, header.actor, declared(mark));
                }
            }
            _ => {
                let what = match purpose {
                    Role::Before => What::Began,
                    _ => What::Returned,
                };
                if call
                    .as_ref()
                    .is_some_and(|id| purpose == Role::After || self.called.contains(id))
                {
                    self.push(offset, header, call, what);
                }
            }
        }
    }

    fn unread(&mut self, offset: Offset, header: Header) {
        // It may have been the mark of the capture before it.
        if let Some(moment) = self.right_before(offset) {
            moment.is_unsure = true;
        }
        let call = header.correlation.clone();
        self.push(offset, header, call, What::Unread);
    }
}

/// Returns the changes that a mark declares to be unknown, and the paths that calls may have
/// changed.
fn declared(mark: &CheckpointMarked) -> (Doubt, Reaches) {
    let facts = mark.metadata.as_ref().and_then(|metadata| metadata.value().ok());
    let is_shared = says(mark, "shared");
    let doubt = match (is_shared, says(mark, "uncaptured")) {
        (_, true) => Doubt::Before,
        (true, false) => Doubt::During,
        (false, false) => Doubt::Nothing,
    };
    (doubt, Reaches::of(facts.as_ref(), is_shared))
}
