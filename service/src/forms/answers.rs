//! Conversions of the engine's answers.

use std::collections::BTreeMap;

use milepost::events::CheckpointMarked;
use milepost::integrity::{Fault, VerifyReport};
use milepost::metrics::{DiskBytes, Stats};
use milepost::query::{Blame, Blamed, LineageInfo, Page, TaskInfo, TaskStats};
use milepost::retention::Pin;
use milepost::state::{Change, Changes};
use milepost::store::Repair;
use milepost::{Appended, Body, Checkpoint, Event, Hash, Json, KeyedEvent, Point};
use milepost_api::{
    AppendedForm, Big, BlameForm, BlamedForm, ChangeForm, ChangesForm, CheckpointForm, CountsForm,
    DiskForm, EventAt, EventForm, FaultForm, KeyedForm, LineageForm, Listed, ParentForm, PinForm,
    PlaceForm, PointForm, RepairForm, StoreForm, TaskForm, TaskStatsForm, VerifyForm, micros,
};

/// Converts a task.
pub fn task(info: TaskInfo) -> TaskForm {
    TaskForm {
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

/// Converts a lineage.
pub fn lineage(info: LineageInfo) -> LineageForm {
    LineageForm {
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

/// Converts a checkpoint.
pub fn checkpoint(mut checkpoint: Checkpoint) -> CheckpointForm {
    let (iteration, phase) = iteration_of(checkpoint.metadata.as_ref());
    let task = std::mem::take(&mut checkpoint.task);
    let Checkpoint { id, lineage, at, hash, mark, time_us, .. } = checkpoint;
    let body = checkpoint.into_body();
    let CheckpointMarked { at: _, parent, label, cause, status, metadata, aliases } = body;
    CheckpointForm {
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

/// Returns the iteration and the phase that a checkpoint's metadata names. The mark itself has
/// neither, and the state of each checkpoint of a list would have to be folded.
fn iteration_of(metadata: Option<&Json>) -> (Option<Big>, Option<String>) {
    let fields: BTreeMap<String, Json> = metadata.and_then(|it| it.to().ok()).unwrap_or_default();
    let iteration = fields.get("iteration").and_then(|json| json.to().ok());
    let phase = fields.get("phase").and_then(|json| json.to().ok());
    (iteration.map(Big), phase)
}

/// Converts an event.
pub fn event(event: Event) -> EventForm {
    let header = event.header;
    EventForm {
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

/// Converts the differences of two states.
pub fn changes(changes: Changes) -> ChangesForm {
    ChangesForm { items: changes.items.into_iter().map(change).collect(), more: changes.more }
}

/// Converts a difference of two states.
pub fn change(change: Change) -> ChangeForm {
    ChangeForm { path: change.path, kind: change.kind, before: change.before, after: change.after }
}

/// Converts a point and the chain hash there.
pub fn point(point: &Point, hash: Hash) -> PointForm {
    PointForm {
        address: point.to_string(),
        task: point.task.clone(),
        lineage: point.lineage,
        offset: Big(point.offset),
        hash,
        checkpoint: point.checkpoint,
    }
}

/// Converts the event at a point and the chain hash after it.
pub fn event_at(point: Point, found: Event, hash: Hash) -> EventAt {
    EventAt { task: point.task, event: event(found), hash, checkpoint: point.checkpoint }
}

/// Converts the report of a verification.
pub fn verification(report: VerifyReport) -> VerifyForm {
    let open = report.repairs.iter().any(|repair| repair.acknowledged_us.is_none());
    let ok = report.is_clean() && !open;
    let faults = report.faults.into_iter().map(fault);
    VerifyForm {
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
        repairs: report.repairs.into_iter().map(repair).collect(),
        ok,
    }
}

/// Converts a repair.
pub fn repair(repair: Repair) -> RepairForm {
    RepairForm {
        place: repair.place,
        message: repair.message,
        mended_from: repair.mended_from,
        found_at: (repair.time_us > 0).then(|| micros(repair.time_us)),
        whole_at: repair.whole_us.map(micros),
        complete: repair.complete,
        acknowledged_at: repair.acknowledged_us.map(micros),
    }
}

/// Converts the statistics of a store.
pub fn store(stats: Stats) -> StoreForm {
    StoreForm {
        tasks: Big(stats.tasks),
        lineages: Big(stats.lineages),
        events: Big(stats.events),
        checkpoints: Big(stats.checkpoints),
        event_bytes: Big(stats.event_bytes),
        recovered: Big(stats.recovered),
        seq: Big(stats.seq),
        applied: Big(stats.applied),
        disk: disk(stats.disk),
    }
}

/// Converts the sizes of the parts of a store.
pub fn disk(disk: DiskBytes) -> DiskForm {
    DiskForm {
        journal: Big(disk.journal),
        archive: Big(disk.archive),
        sled: Big(disk.sled),
        packs: Big(disk.packs),
        total: Big(disk.total),
    }
}

/// Converts a page, each item with `form`.
pub fn page<I, T>(page: Page<I>, form: impl FnMut(I) -> T) -> Listed<T> {
    Listed { items: page.items.into_iter().map(form).collect(), next: page.next }
}

/// Converts the result of an append.
pub fn appended(appended: &Appended) -> AppendedForm {
    let event =
        |event: &KeyedEvent| KeyedForm { offset: Big(event.offset), repeated: event.repeated };
    AppendedForm {
        first: Big(appended.first),
        next: Big(appended.head.next),
        hash: appended.head.hash,
        checkpoint: appended.checkpoint,
        repeated: appended.repeated,
        events: appended.events.iter().map(event).collect(),
    }
}

/// Converts a point and the chain hash there.
pub fn place(point: Point, hash: Hash) -> PlaceForm {
    PlaceForm {
        lineage: point.lineage,
        offset: Big(point.offset),
        hash,
        checkpoint: point.checkpoint,
    }
}

/// Converts the statistics of a task.
pub fn task_stats(stats: TaskStats) -> TaskStatsForm {
    TaskStatsForm { counts: counts(&stats), id: stats.task, user: stats.user }
}

/// Returns the sums over several tasks.
pub fn total(tasks: &[TaskStats]) -> CountsForm {
    let sum = |of: fn(&TaskStats) -> u64| Big(tasks.iter().map(of).sum());
    CountsForm {
        lineages: sum(|task| task.lineages),
        events: sum(|task| task.events),
        checkpoints: sum(|task| task.checkpoints),
        bytes: sum(|task| task.bytes),
        disk_bytes: sum(|task| task.disk),
    }
}

fn counts(stats: &TaskStats) -> CountsForm {
    CountsForm {
        lineages: Big(stats.lineages),
        events: Big(stats.events),
        checkpoints: Big(stats.checkpoints),
        bytes: Big(stats.bytes),
        disk_bytes: Big(stats.disk),
    }
}

fn fault(fault: Fault) -> FaultForm {
    FaultForm { place: fault.place, message: fault.message }
}

/// Converts a pin and its checkpoint.
pub fn pin(pin: Pin, checkpoint: Checkpoint) -> PinForm {
    PinForm {
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

/// Converts the blame of a part of a task's state.
pub fn blamed(task: &str, pointer: &str, blamed: Blamed) -> BlamedForm {
    BlamedForm {
        task: task.to_owned(),
        pointer: pointer.to_owned(),
        changes: blamed.changes.into_iter().map(blame).collect(),
        before_oldest: blamed.before_oldest.map(Big),
        value: blamed.value,
    }
}

fn blame(blame: Blame) -> BlameForm {
    // The event may be an ancestor's: `lineage` is the one that recorded it.
    let mut point = blame.point;
    point.lineage = blame.lineage;
    BlameForm {
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
