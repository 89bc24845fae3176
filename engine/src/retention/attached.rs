//! Attached data, when checkpoints or events are removed.
//!
//! Data is removed with the last checkpoint that has its alias. Data of another checkpoint, or of
//! one that is not marked yet, outlives its event: before a cleanup removes the event, the data is
//! appended again.

use std::collections::{BTreeSet, HashSet};

use milepost_codec::{
    Body, CheckpointId, Control, ErrorKind, Hash, Json, LineageId, LogId, Offset, RemovedMark,
    Result, Retained, TaskNo,
};
use milepost_store::index::MarkEntry;
use milepost_store::index::keys::{self, KeyKind};

use super::ViewRetention;
use super::apply::MARKS_EACH;
use super::reachability::Verdicts;
use crate::commit::committer::Request;
use crate::handles::attachments::{AttachedEvent, Counting};
use crate::handles::lineage::Lineage;

/// Maximum bytes of data that one commit appends again, unless a single piece has more.
const BYTES_EACH: usize = 4 << 20;

/// Maximum attempts to remove checkpoints with attached data while their lineages grow.
const REMOVE_TRIES: u32 = 4;

/// The checkpoint of attached data in the event that removes it: its place is sufficient.
const OF_NONE: CheckpointId = CheckpointId(Hash::ZERO.0);

impl ViewRetention<'_> {
    /// Removes checkpoints, and the data attached to these alone. If one of their aliases is marked
    /// anew at each attempt, or may be, the data stays.
    pub(crate) fn remove(
        &self,
        task: TaskNo,
        policy: &Json,
        removed: &[RemovedMark],
    ) -> Result<()> {
        for _ in 0..REMOVE_TRIES {
            match self.view.inner.commit(self.removal(task, policy, removed)?) {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                done => return done.map(|_| ()),
            }
        }
        self.commit_control(task, removal_of(policy, removed))
    }

    /// Returns the commit that removes checkpoints, and the data attached to these alone. It fails
    /// with `Conflict` if one of their aliases may have been marked anew since.
    pub(crate) fn removal(
        &self,
        task: TaskNo,
        policy: &Json,
        removed: &[RemovedMark],
    ) -> Result<Request> {
        // Heads are read first: the commit detects later growth.
        let heads = self.heads(task)?;
        let attached = self.attached_to(task, removed)?;
        let events = [removal_of(policy, removed), removal_of(policy, &attached)].concat();
        let request = self.control_request(task, events)?;
        Ok(match attached.is_empty() {
            true => request,
            false => request.unless_grown(heads),
        })
    }

    /// Returns the heads of a task's lineages.
    pub(super) fn heads(&self, task: TaskNo) -> Result<Vec<(LogId, Offset)>> {
        let catalog = &self.view.inner.catalog;
        let lineages = catalog.lineages(task)?.into_iter();
        let head = |(lineage, _)| {
            let log = LogId::lineage(task, lineage);
            Ok((log, catalog.head(log)?.next))
        };
        lineages.map(head).collect()
    }

    /// Returns the data that is attached by aliases that none but these checkpoints have.
    pub(super) fn attached_to(
        &self,
        task: TaskNo,
        removed: &[RemovedMark],
    ) -> Result<Vec<RemovedMark>> {
        let catalog = &self.view.inner.catalog;
        let places: HashSet<_> = removed.iter().map(|mark| (mark.lineage, mark.offset)).collect();
        let mut aliases = BTreeSet::new();
        for mark in removed {
            if let Some(entry) = catalog.log().get(&keys::mark(task, mark.lineage, mark.offset))? {
                aliases.extend(MarkEntry::decode(&entry)?.body.aliases);
            }
        }
        let mut attached = Vec::new();
        for alias in aliases {
            let data = catalog.attached_by(task, &alias)?;
            if data.is_empty() {
                continue;
            }
            let mut others = false;
            catalog.log().walk(&keys::named(KeyKind::MarkAlias, task, &alias), &mut |key, _| {
                others |= !places.contains(&keys::mark_place(key));
                Ok(())
            })?;
            if !others {
                attached
                    .extend(data.into_iter().map(|(_, lineage, offset)| place(lineage, offset)));
            }
        }
        Ok(attached)
    }

    /// Appends the attached data again whose events a trim removes. Returns the events that remove
    /// the data from its old places.
    pub(super) fn carry(&self, task: TaskNo, fates: &Verdicts) -> Result<Vec<Control>> {
        let catalog = &self.view.inner.catalog;
        let (mut aliases, mut removed) = (BTreeSet::new(), BTreeSet::new());
        catalog.log().walk(&keys::of_task(KeyKind::Attached, task), &mut |key, alias| {
            let (lineage, offset) = keys::mark_place(key);
            if fates.removes(lineage, offset) {
                aliases.insert(String::from_utf8_lossy(alias).into_owned());
                removed.insert((lineage, offset));
            }
            Ok(())
        })?;
        for alias in aliases {
            self.append_again(task, &alias, fates, &mut removed)?;
        }
        let policy = Json::new(r#"{"appended_again":true}"#)?;
        let removed: Vec<_> = removed.into_iter().map(|(at, offset)| place(at, offset)).collect();
        Ok(removal_of(&policy, &removed))
    }

    /// Appends the valid data of an alias again whose event a trim removes, unless that was done
    /// before. Data that it replaced is removed too, since the new event takes precedence over
    /// other data.
    fn append_again(
        &self,
        task: TaskNo,
        alias: &str,
        fates: &Verdicts,
        removed: &mut BTreeSet<(LineageId, Offset)>,
    ) -> Result<()> {
        let catalog = &self.view.inner.catalog;
        let lineage = match catalog.lineage_of_alias(task, alias)? {
            Some(lineage) => lineage,
            None => catalog.active(task)?.1.lineage,
        };
        let lineage = Lineage::new(&self.view.engine(), task, lineage, None)?;
        let is_gone = |event: &AttachedEvent| fates.removes(event.lineage, event.offset);
        let mut carried = Carried { lineage: &lineage, alias, bodies: Vec::new(), bytes: 0 };
        for Counting { event, replaced } in lineage.counting(alias)? {
            if !is_gone(&event) {
                continue;
            }
            // A cleanup that was killed appended it already.
            let is_same = |done: &&AttachedEvent| {
                done.is_carried && !is_gone(done) && done.attachment == event.attachment
            };
            let done = replaced.iter().rfind(is_same).map(|done| (done.lineage, done.offset));
            let places = replaced.iter().map(|event| (event.lineage, event.offset));
            removed.extend(places.filter(|place| Some(*place) != done));
            if done.is_none() {
                carried.push(event.attachment.body())?;
            }
        }
        carried.append()
    }
}

/// Attached data that is appended again, in commits of bounded size.
struct Carried<'a> {
    lineage: &'a Lineage,
    alias: &'a str,
    bodies: Vec<Body>,
    bytes: usize,
}

impl Carried<'_> {
    fn push(&mut self, body: Body) -> Result<()> {
        let size = body.encode().1.len();
        if self.bytes + size > BYTES_EACH {
            self.append()?;
        }
        self.bytes += size;
        self.bodies.push(body);
        Ok(())
    }

    /// Appends the data that was pushed since the last call.
    fn append(&mut self) -> Result<()> {
        let bodies = std::mem::take(&mut self.bodies);
        self.bytes = 0;
        match bodies.is_empty() {
            true => Ok(()),
            false => self.lineage.attach_again(self.alias, bodies),
        }
    }
}

fn place(lineage: LineageId, offset: Offset) -> RemovedMark {
    RemovedMark { lineage, offset, checkpoint: OF_NONE }
}

/// Returns the events that remove checkpoints or attached data.
pub(super) fn removal_of(policy: &Json, removed: &[RemovedMark]) -> Vec<Control> {
    let some = removed.chunks(MARKS_EACH);
    some.map(|some| Retained { policy: policy.clone(), removed: some.to_vec() }.into()).collect()
}
