//! Captures that a cleanup removes with events, and the chunks that only they need.
//!
//! No index lists the events that name captures, and all tasks share chunks. So this reads the
//! events of each task that ever captured, and each node of the trees once, as a compaction does.
//! Making a plan reads no events, so this is a separate call.

use std::collections::{HashMap, HashSet};

use milepost_codec::{
    Body, BodyForm, ChunkId, LineageId, LogId, Result, TaskNo, WorkspaceCaptured,
};
use milepost_store::tree_walk;

use super::Retention;
use super::plan::{RetentionPlan, TaskPlan, each_task};
use crate::handles::lineage::Lineage;
use crate::history::base;
use crate::history::events::Cursor;

/// The captures that a cleanup removes. The next compaction removes them from the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapturesPlan {
    /// The number of captures that no event or base would name.
    pub captures: u64,
    /// The number of chunks that only these captures need.
    pub chunks: u64,
    /// The approximate bytes of these chunks in packs; 0 for a store in memory.
    pub bytes: u64,
}

/// The roots of captures that stay and that go. A root in both stays.
#[derive(Debug, Default)]
struct Roots {
    stay: HashSet<ChunkId>,
    go: HashSet<ChunkId>,
}

impl Retention<'_> {
    /// Computes the captures that this plan would remove, with the chunks that nothing else needs.
    /// Changes nothing. If the plan removes events of a task with captures, it reads the events of
    /// all tasks with captures.
    ///
    /// # Errors
    ///
    /// `Corrupt`: an event, or a tree that stays, cannot be read. The chunks that it needs are
    /// unknown, and a compaction would keep all chunks too.
    pub fn plan_captures(&self, plan: &RetentionPlan) -> Result<CapturesPlan> {
        let catalog = &self.engine.inner.catalog;
        let mut plans: HashMap<TaskNo, &TaskPlan> = HashMap::new();
        for task in &plan.tasks {
            let none = task.trimmed.is_empty() && task.dropped.is_empty();
            if !none && base::has_captures(catalog, task.no)? {
                plans.insert(task.no, task);
            }
        }
        if plans.is_empty() {
            return Ok(CapturesPlan::default());
        }
        let mut tasks = Vec::new();
        each_task(catalog, &mut |no, entry| {
            if entry.deleted_us.is_none() {
                tasks.push(no);
            }
        })?;
        let mut roots = Roots::default();
        for no in tasks {
            if base::has_captures(catalog, no)? {
                self.sort_roots(no, plans.get(&no).copied(), &mut roots)?;
            }
        }
        for pending in self.engine.inner.catalog.pending_restores()? {
            let parts = pending.begun.parts.iter();
            roots.stay.extend(parts.flat_map(|part| &part.roots));
        }
        let Roots { stay, mut go } = roots;
        go.retain(|root| !stay.contains(root));
        let captures = go.len() as u64;
        let get = |id: &ChunkId| catalog.log().get_chunk(id);
        let (mut kept, mut gone) = (HashSet::new(), HashSet::new());
        if let Some((_, error)) = tree_walk::follow(stay, &get, &mut kept).into_iter().next() {
            return Err(error);
        }
        // Unreadable parts of removed trees are not counted.
        let _ = tree_walk::follow_beyond(go, &get, &kept, &mut gone);
        Ok(CapturesPlan {
            captures,
            chunks: gone.len() as u64,
            bytes: catalog.log().packed_bytes(&gone)?,
        })
    }

    /// Sorts a task's captures into those that a plan keeps and removes.
    fn sort_roots(&self, no: TaskNo, plan: Option<&TaskPlan>, roots: &mut Roots) -> Result<()> {
        let catalog = &self.engine.inner.catalog;
        for (lineage, _) in catalog.lineages(no)? {
            let log = LogId::lineage(no, lineage);
            let trimmed = |plan: &TaskPlan| {
                let mut trims = plan.trimmed.iter();
                trims.find(|(id, _)| *id == lineage).map(|(_, at)| *at)
            };
            let dropped = plan.is_some_and(|plan| plan.dropped.contains(&lineage));
            let cut = plan.and_then(trimmed);
            let base = catalog.base(no, lineage)?;
            let named = base.as_ref().map(|base| base::workspace(catalog, base));
            if let Some(root) = named.transpose()?.flatten() {
                match dropped || cut.is_some() {
                    true => roots.go.insert(root),
                    false => roots.stay.insert(root),
                };
            }
            if let Some(at) = cut {
                roots.stay.extend(self.root_at(no, lineage, at)?);
            }
            let start = catalog.log().head(log)?.map_or(0, |head| head.start);
            let from = start.max(base.map_or(0, |base| base.head.next));
            let mut cursor = Cursor::new(catalog.log(), log, from);
            while let Some(named) = cursor.next_record(|offset, record| {
                let kind = record.header()?.kind;
                if kind != WorkspaceCaptured::KIND || record.form != BodyForm::Inline {
                    return Ok(None);
                }
                match Body::decode(kind, record.payload)? {
                    Body::WorkspaceCaptured(captured) => {
                        Ok(Some((offset, ChunkId(captured.root.0))))
                    }
                    _ => Ok(None),
                }
            })? {
                let Some((offset, root)) = named else {
                    continue;
                };
                match dropped || cut.is_some_and(|at| offset < at) {
                    true => roots.go.insert(root),
                    false => roots.stay.insert(root),
                };
            }
        }
        Ok(())
    }

    /// Returns the capture that a base at this offset would name.
    fn root_at(&self, no: TaskNo, lineage: LineageId, at: u64) -> Result<Option<ChunkId>> {
        let point = Lineage::new(self.engine, no, lineage, None)?.point(at)?;
        let root = self.engine.workspace_at(&point)?;
        Ok(root.map(|root| ChunkId(root.0)))
    }
}
