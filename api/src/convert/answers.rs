//! Conversions of the engine's answers.

use std::collections::BTreeMap;

use milepost::events::CheckpointMarked;
use milepost::integrity::{Fault, VerifyReport};
use milepost::metrics::{DiskBytes, Stats};
use milepost::query::{Blame, Blamed, LineageInfo, Page, TaskInfo, TaskStats};
use milepost::retention::Pin;
use milepost::state::{Change, Changes};
use milepost::store::Repair;
use milepost::{Appended, AppendedEach, Body, Checkpoint, Event, Hash, Json, KeyedEvent, Point};

use crate::{
    AppendedForm, Big, BlameForm, BlamedForm, ChangeForm, ChangesForm, CheckpointForm, CountsForm,
    DiskForm, ErasedForm, EventAt, EventForm, FaultForm, KeyedForm, LineageForm, Listed,
    ParentForm, PinForm, PlaceForm, PointForm, RepairForm, StoreForm, TaskForm, TaskStatsForm,
    VerifyForm, micros,
};

impl From<TaskInfo> for TaskForm {
    fn from(info: TaskInfo) -> Self {
        Self {
            id: info.id,
            user: info.user,
            created: micros(info.created_us),
            created_us: Big(info.created_us),
            lineages: info.lineages,
            active: info.active,
            epoch: Big(info.epoch),
            head: Big(info.head),
            events: Big(info.events),
        }
    }
}

impl From<LineageInfo> for LineageForm {
    fn from(info: LineageInfo) -> Self {
        Self {
            id: info.id,
            lineage_type: info.lineage_type,
            description: info.description,
            parent: info.parent.map(|parent| ParentForm {
                lineage: parent.lineage,
                offset: Big(parent.offset),
                hash: parent.hash,
            }),
            opened: micros(info.opened_us),
            opened_us: Big(info.opened_us),
            head: Big(info.head.next),
            hash: info.head.hash,
            begin: Big(info.begin),
            events: Big(info.events),
            active: info.active,
        }
    }
}

impl From<Checkpoint> for CheckpointForm {
    fn from(mut checkpoint: Checkpoint) -> Self {
        let (iteration, phase) = iteration_of(checkpoint.metadata.as_ref());
        let task = std::mem::take(&mut checkpoint.task);
        let Checkpoint { id, lineage, at, hash, mark, time_us, .. } = checkpoint;
        let body = checkpoint.into_body();
        let CheckpointMarked { at: _, parent, label, cause, status, metadata, aliases } = body;
        Self {
            id,
            task,
            lineage,
            at: Big(at),
            hash,
            mark: Big(mark),
            parent,
            label,
            cause,
            status,
            time: micros(time_us),
            time_us: Big(time_us),
            metadata,
            aliases,
            iteration,
            phase,
        }
    }
}

/// Returns the iteration and the phase that a checkpoint's metadata names. The mark itself has
/// neither, and the state of each checkpoint of a list would have to be folded.
fn iteration_of(metadata: Option<&Json>) -> (Option<Big>, Option<String>) {
    let fields: BTreeMap<String, Json> = metadata.and_then(|it| it.to().ok()).unwrap_or_default();
    let iteration = fields.get("iteration").and_then(|json| json.to().ok());
    let phase = fields.get("phase").and_then(|json| json.to().ok());
    (iteration.map(Big), phase)
}

impl From<Event> for EventForm {
    fn from(event: Event) -> Self {
        let header = event.header;
        Self {
            offset: Big(event.offset),
            lineage: event.lineage,
            kind: Body::name_of(header.kind).into(),
            time: micros(header.time_us),
            time_us: Big(header.time_us),
            actor: header.actor,
            user: header.user,
            correlation: header.correlation,
            key: header.key,
            body: event.body,
        }
    }
}

impl From<Changes> for ChangesForm {
    fn from(changes: Changes) -> Self {
        Self {
            items: changes.items.into_iter().map(ChangeForm::from).collect(),
            more: changes.more,
        }
    }
}

impl From<Change> for ChangeForm {
    fn from(change: Change) -> Self {
        Self { path: change.path, kind: change.kind, before: change.before, after: change.after }
    }
}

impl PointForm {
    /// Converts a point and the chain hash there.
    pub fn of(point: &Point, hash: Hash) -> Self {
        Self {
            address: point.to_string(),
            task: point.task.clone(),
            lineage: point.lineage,
            offset: Big(point.offset),
            hash,
            checkpoint: point.checkpoint,
        }
    }
}

impl EventAt {
    /// Converts the event at a point and the chain hash after it.
    pub fn of(point: Point, event: Event, hash: Hash) -> Self {
        Self { task: point.task, event: event.into(), hash, checkpoint: point.checkpoint }
    }
}

impl From<VerifyReport> for VerifyForm {
    fn from(report: VerifyReport) -> Self {
        let open = report.repairs.iter().any(|repair| repair.acknowledged_us.is_none());
        let ok = report.is_clean() && !open;
        let faults = report.faults.into_iter().map(FaultForm::from);
        Self {
            tasks: Big(report.tasks),
            lineages: Big(report.lineages),
            events: Big(report.events),
            checkpoints: Big(report.checkpoints),
            blocks: Big(report.blocks),
            entries: Big(report.entries),
            snapshots: Big(report.snapshots),
            frames: Big(report.frames),
            chunks: Big(report.chunks),
            faults: faults.collect(),
            repairs: report.repairs.into_iter().map(RepairForm::from).collect(),
            ok,
        }
    }
}

impl From<Repair> for RepairForm {
    fn from(repair: Repair) -> Self {
        Self {
            place: repair.place,
            message: repair.message,
            mended_from: repair.mended_from,
            found_at: (repair.time_us > 0).then(|| micros(repair.time_us)),
            whole_at: repair.whole_us.map(micros),
            complete: repair.complete,
            acknowledged_at: repair.acknowledged_us.map(micros),
        }
    }
}

impl From<Stats> for StoreForm {
    fn from(stats: Stats) -> Self {
        Self {
            tasks: Big(stats.tasks),
            lineages: Big(stats.lineages),
            events: Big(stats.events),
            checkpoints: Big(stats.checkpoints),
            event_bytes: Big(stats.event_bytes),
            recovered: Big(stats.recovered),
            seq: Big(stats.seq),
            applied: Big(stats.applied),
            disk: stats.disk.into(),
        }
    }
}

impl From<DiskBytes> for DiskForm {
    fn from(disk: DiskBytes) -> Self {
        Self {
            journal: Big(disk.journal),
            archive: Big(disk.archive),
            sled: Big(disk.sled),
            packs: Big(disk.packs),
            total: Big(disk.total),
        }
    }
}

impl<T> Listed<T> {
    /// Converts a page, each item with `form`.
    pub fn of<I>(page: Page<I>, form: impl FnMut(I) -> T) -> Self {
        Self { items: page.items.into_iter().map(form).collect(), next: page.next }
    }
}

impl From<&Appended> for AppendedForm {
    fn from(appended: &Appended) -> Self {
        Self {
            first: Big(appended.first),
            next: Big(appended.head.next),
            hash: appended.head.hash,
            checkpoint: appended.checkpoint,
            repeated: appended.repeated,
            events: Vec::new(),
        }
    }
}

impl From<&AppendedEach> for AppendedForm {
    fn from(each: &AppendedEach) -> Self {
        let event =
            |event: &KeyedEvent| KeyedForm { offset: Big(event.offset), repeated: event.repeated };
        Self { events: each.events.iter().map(event).collect(), ..Self::from(&each.appended) }
    }
}

impl From<(Point, Hash)> for PlaceForm {
    fn from((point, hash): (Point, Hash)) -> Self {
        Self {
            lineage: point.lineage,
            offset: Big(point.offset),
            hash,
            checkpoint: point.checkpoint,
        }
    }
}

impl From<TaskStats> for TaskStatsForm {
    fn from(stats: TaskStats) -> Self {
        Self { counts: CountsForm::from(&stats), id: stats.task, user: stats.user }
    }
}

impl CountsForm {
    /// Returns the sums over several tasks.
    pub fn total(tasks: &[TaskStats]) -> Self {
        let sum = |of: fn(&TaskStats) -> u64| Big(tasks.iter().map(of).sum());
        Self {
            lineages: sum(|task| task.lineages),
            events: sum(|task| task.events),
            checkpoints: sum(|task| task.checkpoints),
            bytes: sum(|task| task.bytes),
            disk_bytes: sum(|task| task.disk),
        }
    }
}

impl From<&TaskStats> for CountsForm {
    fn from(stats: &TaskStats) -> Self {
        Self {
            lineages: Big(stats.lineages),
            events: Big(stats.events),
            checkpoints: Big(stats.checkpoints),
            bytes: Big(stats.bytes),
            disk_bytes: Big(stats.disk),
        }
    }
}

impl From<Fault> for FaultForm {
    fn from(fault: Fault) -> Self {
        Self { place: fault.place, message: fault.message }
    }
}

impl PinForm {
    /// Converts a pin and its checkpoint.
    pub fn of(pin: Pin, checkpoint: Checkpoint) -> Self {
        Self {
            checkpoint: pin.checkpoint,
            task: checkpoint.task,
            lineage: checkpoint.lineage,
            at: Big(checkpoint.at),
            label: checkpoint.label,
            reason: pin.reason,
            time: micros(pin.time_us),
            time_us: Big(pin.time_us),
        }
    }
}

impl BlamedForm {
    /// Converts the blame of a part of a task's state.
    pub fn of(task: &str, pointer: &str, blamed: Blamed) -> Self {
        Self {
            task: task.to_owned(),
            pointer: pointer.to_owned(),
            changes: blamed.changes.into_iter().map(BlameForm::from).collect(),
            before_oldest: blamed.before_oldest.map(Big),
            value: blamed.value,
        }
    }
}

impl From<Blame> for BlameForm {
    fn from(blame: Blame) -> Self {
        // The event may be an ancestor's: `lineage` is the one that recorded it.
        let mut point = blame.point;
        point.lineage = blame.lineage;
        Self {
            point: point.to_string(),
            offset: Big(point.offset),
            lineage: blame.lineage,
            kind: blame.kind.into(),
            time: micros(blame.time_us),
            time_us: Big(blame.time_us),
            user: blame.user,
            actor: blame.actor,
            before: blame.before,
            after: blame.after,
        }
    }
}

impl ErasedForm {
    /// Converts an event of a task, as it was before the erasure.
    pub fn of(task: &str, event: EventForm) -> Self {
        Self {
            task: task.to_owned(),
            lineage: event.lineage,
            offset: event.offset,
            was_erased: event.body.is_none(),
            kind: event.kind,
            time: event.time,
            time_us: event.time_us,
        }
    }
}
