//! Activations of a task in their order: the one that an undo reverts, the one that a redo repeats,
//! and activations without a restore of files.

use std::collections::BTreeMap;

use milepost_codec::{
    Activated, ActivationCause, BodyForm, Control, Epoch, FilesKept, LineageId, LineageType, LogId,
    Offset, Result, TaskNo, WorkspaceCaptured, wire,
};
use milepost_store::index::keys;

use super::events::Cursor;
use crate::history::catalog::Catalog;

/// The activations of a task by their numbers.
#[derive(Debug)]
struct Activations(BTreeMap<Epoch, Activated>);

/// An undo that a redo reverts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UndoneActivation {
    /// The lineage that the undo left.
    pub(crate) lineage: LineageId,
    /// The activation that the undo reverted; `None` if the log does not show it.
    of: Option<Epoch>,
}

impl Activations {
    /// Returns the activation that an undo would revert while this one is current. After an undo it
    /// is the one that the undo before it left in place: an undo makes an earlier activation
    /// current again.
    fn effective<'a>(&'a self, mut at: &'a Activated) -> Option<Activated> {
        while at.cause == ActivationCause::Undone {
            let left = self.0.get(&at.epoch.checked_sub(1)?)?;
            let back = left.back.filter(|back| *back < at.epoch)?;
            at = self.0.get(&back)?;
        }
        Some(*at)
    }

    /// Returns the undos that a redo can revert, the last one last.
    ///
    /// An undo adds the lineage that it left. A switch to the last added lineage, such as a redo,
    /// removes that lineage. Every other activation clears the list.
    fn undone(&self) -> Vec<UndoneActivation> {
        let mut undone: Vec<UndoneActivation> = Vec::new();
        for at in self.0.values() {
            let left = at.epoch.checked_sub(1).and_then(|left| self.0.get(&left));
            let chosen = at.cause == ActivationCause::Chosen;
            match left {
                Some(left) if at.cause == ActivationCause::Undone => {
                    let of = self.effective(left).map(|effective| effective.epoch);
                    undone.push(UndoneActivation { lineage: left.lineage, of });
                }
                _ if chosen && undone.last().is_some_and(|last| last.lineage == at.lineage) => {
                    undone.pop();
                }
                _ => undone.clear(),
            }
        }
        undone
    }
}

impl Catalog {
    /// Reads the activations of a task from its control log.
    fn activations(&self, task: TaskNo) -> Result<Activations> {
        let mut cursor = Cursor::new(self.log(), LogId::control(task), 0);
        let mut all = BTreeMap::new();
        while let Some(()) = cursor.next_record(|_, record| {
            let header = record.header()?;
            if record.form == BodyForm::Inline
                && let Control::Activated(at) = Control::decode(header.kind, record.payload)?
            {
                all.insert(at.epoch, at);
            }
            Ok(())
        })? {}
        Ok(Activations(all))
    }

    /// Returns the activations of a task that left the files of its folder as they were, in order,
    /// each with the lineage that it made active.
    pub(crate) fn all_files_kept(&self, task: TaskNo) -> Result<Vec<(LineageId, FilesKept)>> {
        let mut cursor = Cursor::new(self.log(), LogId::control(task), 0);
        let mut active = None;
        let mut all = Vec::new();
        while let Some(()) = cursor.next_record(|_, record| {
            let header = record.header()?;
            if record.form != BodyForm::Inline {
                return Ok(());
            }
            match Control::decode(header.kind, record.payload)? {
                Control::Activated(at) => active = Some(at.lineage),
                Control::FilesKept(kept) => all.extend(active.map(|lineage| (lineage, kept))),
                _ => {}
            }
            Ok(())
        })? {}
        Ok(all)
    }

    /// Returns the active lineage, and the last capture of the folder if another lineage names it:
    /// if the activation left the files, and the lineage has no capture since.
    pub(crate) fn files_kept(&self, task: TaskNo) -> Result<(LineageId, Option<FilesKept>)> {
        loop {
            let (epoch, active) = self.active(task)?;
            let entry = self.log().get(&keys::files_kept(task))?;
            let kept = entry.map(|entry| wire::decode::<FilesKept>(&entry, "files kept"));
            match kept.transpose()? {
                // Another activation came between the two reads.
                Some(kept) if kept.epoch > epoch && self.active(task)?.0 > epoch => {}
                Some(kept) if kept.epoch == epoch => {
                    let since = self.has_capture_since(task, active.lineage, kept.from)?;
                    return Ok((active.lineage, Some(kept).filter(|_| !since)));
                }
                _ => return Ok((active.lineage, None)),
            }
        }
    }

    /// Returns `true` if a lineage has a capture from an offset on. Trimmed events count as one:
    /// the first capture comes soon, and the base names the best known one.
    fn has_capture_since(&self, task: TaskNo, lineage: LineageId, from: Offset) -> Result<bool> {
        if self.base(task, lineage)?.is_some_and(|base| base.head.next > from) {
            return Ok(true);
        }
        let log = LogId::lineage(task, lineage);
        if self.head(log)?.next <= from {
            return Ok(false);
        }
        let mut cursor = Cursor::new(self.log(), log, from);
        while let Some(kind) = cursor.next_record(|_, record| Ok(record.header()?.kind))? {
            if kind == WorkspaceCaptured::KIND {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns `true` if an undo of the current activation has to restore files: if that is the
    /// rollback that opened the lineage. A lineage of a rollback that a user switched to brought no
    /// files along.
    pub(crate) fn undo_takes_files(&self, task: TaskNo) -> Result<bool> {
        let (epoch, active) = self.active(task)?;
        let opened = self.lineage(task, active.lineage)?;
        if active.back.is_none() || opened.lineage_type != LineageType::Rollback {
            return Ok(false);
        }
        let all = self.activations(task)?;
        let effective = all.0.get(&epoch).and_then(|at| all.effective(at));
        // If damage hides the cause, the files are not left behind silently.
        Ok(effective.is_none_or(|at| at.cause == ActivationCause::Restored))
    }

    /// Returns `true` if an activation reverted an undo, as a redo does.
    pub(crate) fn takes_an_undo_back(&self, task: TaskNo, to: Activated) -> Result<bool> {
        let mut before = self.activations(task)?;
        before.0.retain(|epoch, _| *epoch < to.epoch);
        Ok(before.undone().last().is_some_and(|undone| undone.lineage == to.lineage))
    }

    /// Returns the last undo that a redo can revert, and whether it reverted files.
    pub(crate) fn last_undone(&self, task: TaskNo) -> Result<Option<(LineageId, bool)>> {
        let all = self.activations(task)?;
        let Some(last) = all.undone().pop() else {
            return Ok(None);
        };
        let opened = self.lineage_ever(task, last.lineage)?;
        let restored = last.of.and_then(|of| all.0.get(&of));
        let restored = restored.is_none_or(|at| at.cause == ActivationCause::Restored);
        Ok(Some((last.lineage, restored && opened.lineage_type == LineageType::Rollback)))
    }
}
