//! Attached data, when checkpoints or events are removed.
//!
//! Data goes with the last checkpoint that has its alias. What is attached to another checkpoint,
//! or to one that is not marked yet, outlives its event: before a cleanup removes the event, the
//! data is appended again.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use milepost_codec::{
    Body, CheckpointId, Control, Hash, Json, LineageId, Offset, RemovedMark, Result, Retained,
    TaskNo,
};
use milepost_store::index::MarkEntry;
use milepost_store::index::keys::{self, KeyKind};

use super::Retention;
use super::apply::MARKS_EACH;
use super::reachability::Verdicts;
use crate::handles::attachments::Placed;
use crate::handles::lineage::Lineage;

/// Maximum bytes of data that one commit appends again, unless a single piece has more.
const BYTES_EACH: usize = 4 << 20;

/// The checkpoint of attached data in the event that removes it: its place says all.
const OF_NONE: CheckpointId = CheckpointId(Hash::ZERO.0);

impl Retention<'_> {
    /// Returns the events that remove checkpoints, and what is attached to these alone.
    pub(super) fn removals(
        &self,
        task: TaskNo,
        policy: &Json,
        removed: Vec<RemovedMark>,
    ) -> Result<Vec<Control>> {
        let attached = self.attached_to(task, &removed)?;
        Ok([removal_of(policy, &removed), removal_of(policy, &attached)].concat())
    }

    /// Returns the data that is attached by aliases that none but these checkpoints have.
    pub(super) fn attached_to(
        &self,
        task: TaskNo,
        removed: &[RemovedMark],
    ) -> Result<Vec<RemovedMark>> {
        let catalog = &self.engine.inner.catalog;
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
        let catalog = &self.engine.inner.catalog;
        let mut gone: BTreeMap<String, Vec<(LineageId, Offset)>> = BTreeMap::new();
        catalog.log().walk(&keys::of_task(KeyKind::Attached, task), &mut |key, alias| {
            let (lineage, offset) = keys::mark_place(key);
            if fates.removes(lineage, offset) {
                let alias = String::from_utf8_lossy(alias).into_owned();
                gone.entry(alias).or_default().push((lineage, offset));
            }
            Ok(())
        })?;
        let mut removed = Vec::new();
        for (alias, places) in gone {
            self.append_again(task, &alias, fates)?;
            removed.extend(places.into_iter().map(|(lineage, offset)| place(lineage, offset)));
        }
        let policy = Json::new(r#"{"appended_again":true}"#)?;
        Ok(removal_of(&policy, &removed))
    }

    /// Appends the data of an alias again that counts and whose event a trim removes, unless that
    /// was done before.
    fn append_again(&self, task: TaskNo, alias: &str, fates: &Verdicts) -> Result<()> {
        let catalog = &self.engine.inner.catalog;
        let lineage = match catalog.lineage_of_alias(task, alias)? {
            Some(lineage) => lineage,
            None => catalog.active(task)?.1.lineage,
        };
        let lineage = Lineage::new(self.engine, task, lineage, None)?;
        // For each key the data that counts, and the copy of it that stays.
        let mut counting: Vec<(Placed, Option<Placed>)> = Vec::new();
        for one in lineage.attached_in_order(alias)? {
            let same = |(known, _): &&mut (Placed, _)| known.attachment.is_same(&one.attachment);
            match counting.iter_mut().find(same) {
                None => counting.push((one, None)),
                Some((known, copy)) if one.attachment.index < 0 => {
                    let before = std::mem::replace(known, one);
                    let stays = !fates.removes(before.lineage, before.offset);
                    *copy = Some(before).filter(|before| before.is_copy && stays).or(copy.take());
                }
                Some(_) => {}
            }
        }
        let is_lost = |(one, copy): &(Placed, Option<Placed>)| {
            let is_copied = copy.as_ref().is_some_and(|copy| copy.attachment == one.attachment);
            fates.removes(one.lineage, one.offset) && !is_copied
        };
        let lost = counting.into_iter().filter(is_lost).map(|(one, _)| one.attachment.body());
        let mut bodies: Vec<Body> = Vec::new();
        let mut bytes = 0;
        for body in lost {
            let size = body.encode().1.len();
            if bytes + size > BYTES_EACH && !bodies.is_empty() {
                lineage.attach_copies(alias, std::mem::take(&mut bodies))?;
                bytes = 0;
            }
            bytes += size;
            bodies.push(body);
        }
        match bodies.is_empty() {
            true => Ok(()),
            false => lineage.attach_copies(alias, bodies),
        }
    }
}

fn place(lineage: LineageId, offset: Offset) -> RemovedMark {
    RemovedMark { lineage, offset, checkpoint: OF_NONE }
}

/// Returns the events that remove checkpoints or attached data.
fn removal_of(policy: &Json, removed: &[RemovedMark]) -> Vec<Control> {
    let some = removed.chunks(MARKS_EACH);
    some.map(|some| Retained { policy: policy.clone(), removed: some.to_vec() }.into()).collect()
}
