//! Removal of checkpoints together with the content of their steps.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use milepost_codec::{
    Body, BodyForm, CheckpointMarked, Control, Erased, Error, Json, LineageId, LogId, Offset,
    RemovedMark, Result, TEXT_MAX, TaskNo, check_size,
};
use milepost_store::index::MarkEntry;
use milepost_store::index::keys::{self, KeyKind};

use super::ViewRetention;
use super::attached::removal_of;
use super::erase::{body_of, each_body, in_a_base};
use crate::commit::committer::Request;
use crate::handles::audit;
use crate::history::catalog::Catalog;
use crate::history::checkpoint::Checkpoint;
use crate::history::erased::is_erasable;
use crate::history::events::Ancestry;
use crate::history::lists::CheckpointQuery;

/// Result of [`ViewRetention::unmark_all_erasing`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unmarked {
    /// The number of removed checkpoints.
    pub checkpoints: u64,
    /// The number of events whose bodies were erased.
    pub events: u64,
}

/// The removals of one task, in one commit.
struct Removal {
    task: TaskNo,
    request: Request,
    marks: u64,
    erased: Vec<(LineageId, Offset)>,
}

impl ViewRetention<'_> {
    /// Removes all checkpoints that a query finds, except pinned ones, and erases the bodies of the
    /// events of their steps, and of the data attached to these checkpoints alone, as
    /// [`ViewRetention::erase`] does. The query's page is ignored.
    ///
    /// The *step* of a checkpoint is what its lineage appended before the marked point, since the
    /// point of the mark before it: see `docs/RETENTION.md`. The removal is one commit for each
    /// task.
    ///
    /// ```
    /// use milepost::events::Message;
    /// use milepost::query::CheckpointQuery;
    /// use milepost::{Engine, Json, Mark, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("thread", "ana")?;
    /// for run in ["r-1", "r-2"] {
    ///     task.append(Message::text("user", "hello"))?;
    ///     let metadata = Json::from_value(&serde_json::json!({ "run": run }))?;
    ///     task.checkpoint(Mark::new().metadata(metadata))?;
    /// }
    /// let of_run = CheckpointQuery {
    ///     task: Some("thread".into()),
    ///     filter: vec![("run".into(), "r-1".into())],
    ///     ..CheckpointQuery::default()
    /// };
    /// let done = engine.retention().unmark_all_erasing(&of_run, Some("asked for"))?;
    /// assert_eq!((done.checkpoints, done.events), (1, 1));
    /// assert!(engine.event(&task.point(1)?)?.0.body.is_none());
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// With these nothing is removed:
    ///
    /// - Errors of [`Query::checkpoints`](crate::query::Query::checkpoints).
    /// - `Invalid`: the reason has more than 1,024 bytes, or one task has more to remove than one
    ///   append may have.
    /// - `Conflict`: a lineage begins with a base whose state includes an event of a step, or data
    ///   is attached to these checkpoints alone and a lineage of theirs grew: try again.
    ///
    /// After `Poisoned` and `Unavailable` tasks before the one that failed are done.
    pub fn unmark_all_erasing(
        &self,
        query: &CheckpointQuery,
        reason: Option<&str>,
    ) -> Result<Unmarked> {
        check_size("a reason", reason.map_or(0, str::len), TEXT_MAX)?;
        let inner = &self.view.inner;
        let _structure = inner.structure()?;
        let mut by_task: BTreeMap<TaskNo, Vec<Checkpoint>> = BTreeMap::new();
        for (task, found) in self.unpinned(query)? {
            by_task.entry(task).or_default().push(found);
        }
        let removals =
            by_task.iter().map(|(task, marks)| self.removal_of_steps(*task, marks, reason));
        // All are checked before the first is committed.
        let removals: Vec<Removal> = removals.collect::<Result<_>>()?;
        let mut done = Unmarked::default();
        for Removal { task, request, marks, erased } in removals {
            inner.commit(request)?;
            for (lineage, offset) in &erased {
                inner.catalog.now_erased(task, *lineage, *offset);
            }
            if !erased.is_empty() {
                inner.withdraw(task);
            }
            self.tell("checkpoints_removed", task, (None, marks));
            for (lineage, _) in &erased {
                audit::AuditEvent::of("event_erased", task, *lineage).tell(self.view);
            }
            done.checkpoints += marks;
            done.events += erased.len() as u64;
        }
        Ok(done)
    }

    fn removal_of_steps(
        &self,
        task: TaskNo,
        marks: &[Checkpoint],
        reason: Option<&str>,
    ) -> Result<Removal> {
        let catalog = &self.view.catalog();
        let heads = self.heads(task)?;
        let mut by_lineage: BTreeMap<LineageId, BTreeSet<Offset>> = BTreeMap::new();
        for mark in marks {
            by_lineage.entry(mark.lineage).or_default().insert(mark.mark);
        }
        let mut events: Vec<Control> = Vec::new();
        let mut erased = Vec::new();
        for (lineage, removed) in by_lineage {
            for (offset, body_hash) in catalog.bodies_of_steps(task, lineage, &removed)? {
                let reason = reason.map(str::to_owned);
                events.push(Erased { lineage, offset, body_hash, reason }.into());
                erased.push((lineage, offset));
            }
        }
        let policy = Json::new(r#"{"asked_for":true,"erases":true}"#)?;
        let removed: Vec<RemovedMark> = marks.iter().map(removed_mark).collect();
        let attached = self.attached_to(task, &removed)?;
        for RemovedMark { lineage, offset, .. } in &attached {
            let (lineage, offset) = (*lineage, *offset);
            if erased.contains(&(lineage, offset)) || catalog.erased_of(task).has(lineage, offset) {
                continue;
            }
            let bases = catalog.bases_over(task, lineage)?;
            if let Some(base) = bases.iter().find(|base| base.holds(offset)) {
                return Err(in_a_base(base, offset));
            }
            if let Some((_, body_hash)) = body_of(catalog, task, lineage, offset)? {
                let reason = reason.map(str::to_owned);
                events.push(Erased { lineage, offset, body_hash, reason }.into());
                erased.push((lineage, offset));
            }
        }
        events.extend([removal_of(&policy, &removed), removal_of(&policy, &attached)].concat());
        let mut request = self.control_request(task, events)?;
        if !attached.is_empty() {
            request = request.unless_grown(heads);
        }
        Ok(Removal { task, request, marks: marks.len() as u64, erased })
    }
}

fn removed_mark(mark: &Checkpoint) -> RemovedMark {
    RemovedMark { lineage: mark.lineage, offset: mark.mark, checkpoint: mark.id }
}

impl Catalog {
    /// Returns the events to erase for the steps of marks of a lineage, and the hashes of their
    /// bodies.
    fn bodies_of_steps(
        &self,
        task: TaskNo,
        lineage: LineageId,
        removed: &BTreeSet<Offset>,
    ) -> Result<Vec<(Offset, milepost_codec::Hash)>> {
        let log = LogId::lineage(task, lineage);
        let (erased, bases) = (self.erased_of(task), self.bases_over(task, lineage)?);
        let mut bodies = Vec::new();
        for mut step in self.steps(task, lineage, removed)? {
            let mut found = Vec::new();
            let end = each_body(self, log, step.clone(), &mut |at, record, body_hash| {
                let kind = record.header()?.kind;
                if kind == CheckpointMarked::KIND {
                    // A mark that was removed earlier ends a step too.
                    let point = point_of(record.form, record.payload, kind, at)?;
                    step.start = step.start.max(point.min(step.end));
                } else if is_erasable(kind) && !erased.has(lineage, at) {
                    found.push((at, body_hash));
                }
                Ok(())
            })?;
            if end < step.end {
                return Err(Error::corrupt(log.to_string(), format!("offset {end}"), "nothing"));
            }
            found.retain(|(at, _)| step.contains(at));
            let inherited = |at: &Offset| bases.iter().find(|base| base.holds(*at));
            if let Some((at, base)) = found.iter().find_map(|(at, _)| Some((*at, inherited(at)?))) {
                return Err(in_a_base(base, at));
            }
            bodies.append(&mut found);
        }
        Ok(bodies)
    }

    /// Returns the steps of marks of a lineage, each from the point before it to its own. A point
    /// that a remaining mark has too ends no step of theirs.
    fn steps(
        &self,
        task: TaskNo,
        lineage: LineageId,
        removed: &BTreeSet<Offset>,
    ) -> Result<Vec<Range<Offset>>> {
        let Some((begin, _)) = Ancestry::of(self, task, lineage)?.span(lineage) else {
            return Ok(Vec::new());
        };
        let (mut points, mut remaining) = (BTreeSet::new(), BTreeSet::new());
        let prefix = keys::of_lineage(KeyKind::Mark, task, lineage);
        self.log().walk(&prefix, &mut |key, value| {
            let (_, mark) = keys::mark_place(key);
            let body = self.mark_body(task, lineage, mark, &MarkEntry::decode(value)?)?;
            let point = body.at.map_or(mark, |at| at.next);
            points.insert(point);
            if !removed.contains(&mark) {
                remaining.insert(point);
            }
            Ok(())
        })?;
        let mut steps = Vec::new();
        let mut from = begin;
        for point in points.range(begin..) {
            if !remaining.contains(point) && from < *point {
                steps.push(from..*point);
            }
            from = *point;
        }
        Ok(steps)
    }
}

/// Returns the point of a mark's event.
fn point_of(form: BodyForm, payload: &[u8], kind: u16, at: Offset) -> Result<Offset> {
    match form {
        BodyForm::Inline => match Body::decode(kind, payload)? {
            Body::CheckpointMarked(mark) => Ok(mark.at.map_or(at, |head| head.next)),
            _ => Ok(at),
        },
        _ => Ok(at),
    }
}
