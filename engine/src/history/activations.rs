//! Activations of a task in their order: what an undo takes back, and what a redo makes active.

use std::collections::BTreeMap;

use milepost_codec::{
    Activated, ActivationCause, BodyForm, Control, Epoch, LineageId, LineageType, LogId, Offset,
    Result, TaskNo,
};

use super::events::Cursor;
use crate::history::catalog::Catalog;

/// Control events that are read first to find the current activation.
const RECENT: Offset = 16;

/// The activations of a task by their numbers.
#[derive(Debug)]
pub(crate) struct Activations(BTreeMap<Epoch, Activated>);

/// An undo that a redo takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UndoneActivation {
    /// The lineage that the undo left.
    pub(crate) lineage: LineageId,
    /// The activation that the undo took back; `None` if the log does not show it.
    of: Option<Epoch>,
}

impl Activations {
    /// Returns the activation that an undo would take back while this one is current. After an
    /// undo it is the one that the undo before it left in place: an undo makes an earlier
    /// activation current again.
    fn effective<'a>(&'a self, mut at: &'a Activated) -> Option<Activated> {
        while at.cause == ActivationCause::Undone {
            let left = self.0.get(&at.epoch.checked_sub(1)?)?;
            let back = left.back.filter(|back| *back < at.epoch)?;
            at = self.0.get(&back)?;
        }
        Some(*at)
    }

    /// Returns the undos that a redo can take back, the last one last.
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
    pub(crate) fn activations(&self, task: TaskNo) -> Result<Activations> {
        self.activations_from(task, 0)
    }

    /// Returns `true` if the current lineage was opened by its current activation. Reads only the
    /// end of the control log, unless much follows the activation.
    pub(crate) fn is_opened_by(&self, task: TaskNo, epoch: Epoch) -> Result<bool> {
        let (mut from, mut size) = (self.head(LogId::control(task))?.next, RECENT);
        loop {
            from = from.saturating_sub(size);
            let found = self.activations_from(task, from)?.0.remove(&epoch);
            match found {
                Some(at) => {
                    use ActivationCause::{Opened, Restored};
                    return Ok(matches!(at.cause, Opened | Restored));
                }
                None if from == 0 => return Ok(false),
                None => size *= 2,
            }
        }
    }

    fn activations_from(&self, task: TaskNo, from: Offset) -> Result<Activations> {
        let mut cursor = Cursor::new(self.log(), LogId::control(task), from);
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
        // If damage hides the cause, files are not left behind without a word.
        Ok(effective.is_none_or(|at| at.cause == ActivationCause::Restored))
    }

    /// Returns `true` if an activation left files as they were, and recorded nothing of them: a
    /// switch, and an undo of anything but a rollback.
    pub(crate) fn leaves_files(
        &self,
        task: TaskNo,
        all: &Activations,
        epoch: Epoch,
    ) -> Result<bool> {
        let cause = all.0.get(&epoch).map(|at| at.cause);
        let left = epoch.checked_sub(1).and_then(|left| all.0.get(&left));
        match (cause, left) {
            (Some(ActivationCause::Chosen), Some(_)) => Ok(true),
            (Some(ActivationCause::Undone), Some(left)) => {
                let undone = all.effective(left);
                let restored = undone.filter(|at| at.cause == ActivationCause::Restored);
                let opened = restored.map(|at| self.lineage_ever(task, at.lineage)).transpose()?;
                Ok(opened.is_none_or(|opened| opened.lineage_type != LineageType::Rollback))
            }
            _ => Ok(false),
        }
    }

    /// Returns the last undo that a redo can take back, and whether it took files back.
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
