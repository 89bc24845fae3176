//! Compares a whole store with the model.

use std::collections::BTreeMap;

use milepost::events::Data;
use milepost::query::{CheckpointQuery, LineageInfo};
use milepost::state::{MemoryChunks, RunReducer, fold};
use milepost::{Engine, ErrorKind, Event, LineageId, Reducer, Task};

use super::call::print_of;
use super::count::Count;
use super::model::{Model, Seen, TaskModel};
use super::run::digest;
use crate::seed::hash;

/// Kinds that the engine appends of itself, and that cannot be erased.
pub const OF_ENGINE: [&str; 5] =
    ["lineage_opened", "checkpoint_marked", "restored", "workspace_captured", "control_changed"];

/// Looks whether a store has all that was acknowledged, and nothing else; learns states.
pub fn check(engine: &Engine, model: &mut Model, count: Option<&Count>) -> Result<(), String> {
    for (name, known) in &mut model.tasks {
        match engine.task(name) {
            Err(error) if !known.live && error.kind() == ErrorKind::NotFound => {}
            Ok(_) if !known.live => return Err(format!("task {name} was deleted and is there")),
            Ok(task) => {
                let named = |e| format!("task {name}: {e}");
                check_task(engine, &task, known).map_err(named)?;
                if let Some(count) = count.filter(|_| !known.uncounted) {
                    check_counts(engine, &task, known, count).map_err(named)?;
                }
            }
            Err(error) => return Err(format!("I1: task {name}: {error}")),
        }
    }
    Ok(())
}

/// Looks whether a store verifies.
pub fn verify(engine: &Engine) -> Result<(), String> {
    let report =
        engine.integrity().verify(None, &mut |_, _| {}).map_err(|e| format!("I3: verify: {e}"))?;
    let count = report.faults.len();
    match report.faults.first() {
        None => Ok(()),
        Some(first) => Err(format!("I3: verify: {count} faults, first {first:?}")),
    }
}

fn check_task(engine: &Engine, task: &Task, known: &mut TaskModel) -> Result<(), String> {
    let (epoch, active) = (task.epoch(), task.lineage().id().0);
    if (epoch, active) != (known.epoch(), known.active()) {
        return Err(format!(
            "I1, I7: it goes on with lineage {active} in epoch {epoch}, not with {} in {}",
            known.active(),
            known.epoch()
        ));
    }
    let all = task.lineages().map_err(|e| format!("lineages: {e}"))?;
    let found: Vec<u32> = all.iter().map(|info| info.id.0).collect();
    if found != known.there() {
        let due = known.there();
        return Err(format!("I1, I10: lineages {found:?}, not {due:?}"));
    }
    for info in &all {
        let id = info.id.0;
        check_lineage(engine, task, known, info).map_err(|e| format!("lineage {id}: {e}"))?;
        check_keys(task, known, id).map_err(|e| format!("lineage {id}: {e}"))?;
    }
    check_marks(engine, task.id(), known)?;
    check_passes(task, known)?;
    check_attached(task, known)
}

fn check_lineage(
    engine: &Engine,
    task: &Task,
    known: &TaskModel,
    info: &LineageInfo,
) -> Result<(), String> {
    let id = info.id.0;
    let (begin, head) = (known.begin(id), known.lineages[&id].head);
    if (info.begin, info.head.next) != (begin, head) {
        let (b, h) = (info.begin, info.head.next);
        return Err(format!("I1, I2: it is {b}..{h}, not {begin}..{head}"));
    }
    let lineage = task.lineage_named(info.id).map_err(|e| e.to_string())?;
    let events = lineage.read(..).map_err(|e| format!("read: {e}"))?;
    let mut all = Vec::new();
    for event in events {
        let event = event.map_err(|e| format!("I1: read behind {}: {e}", all.len()))?;
        let due = begin + all.len() as u64;
        if event.offset != due {
            return Err(format!("I2: offset {} for {due}", event.offset));
        }
        check_event(known, id, &event).map_err(|e| format!("offset {due}: {e}"))?;
        all.push(event);
    }
    if begin + all.len() as u64 != head {
        return Err(format!("I2: {} events from {begin} to {head}", all.len()));
    }
    if begin > 0 {
        return Ok(());
    }
    let state = lineage.point(head).and_then(|point| digest(engine, &point));
    let state = state.map_err(|e| format!("I5: state: {e}"))?;
    let folded =
        fold(&RunReducer, RunReducer.initial(), all.into_iter().map(Ok), &MemoryChunks::default());
    let folded = folded.and_then(|state| RunReducer.encode(&state));
    match folded.map_err(|e| format!("I5: fold: {e}")) {
        Ok(folded) if hash(&folded) == state => Ok(()),
        Ok(_) => Err("I5: the state is not the fold of the events".into()),
        Err(error) => Err(error),
    }
}

/// States of an embedder's reducer: as many messages as were appended, trimmed or not.
fn check_counts(
    engine: &Engine,
    task: &Task,
    known: &TaskModel,
    count: &Count,
) -> Result<(), String> {
    for id in known.there() {
        let head = known.lineages[&id].head;
        let lineage = task.lineage_named(LineageId(id));
        let point = lineage.and_then(|lineage| lineage.point(head));
        let found = point.and_then(|point| engine.state(count, &point));
        let found = found.map_err(|e| format!("I10: the count of lineage {id}: {e}"))?;
        let due = known.messages(id, head);
        if found != due {
            return Err(format!("I5: lineage {id} counts {found} messages, not {due}"));
        }
    }
    Ok(())
}

/// Checks that attached data is there, also if its events were trimmed.
fn check_attached(task: &Task, known: &mut TaskModel) -> Result<(), String> {
    known.forget_attached();
    for alias in known.aliased.keys().filter(|alias| !known.attached.contains_key(*alias)) {
        let found = task.attached(alias).map_err(|e| format!("I10: attached data: {e}"))?;
        if !found.is_empty() && !known.attached_open {
            return Err(format!("I10: to {alias}, which went, is attached {found:?}"));
        }
    }
    for (alias, due) in known.attached.iter().filter(|_| !known.attached_open) {
        let found = task.attached(alias).map_err(|e| format!("I10: attached data: {e}"))?;
        let salt = |data: &Data| match data {
            Data::Bytes(bytes) => bytes.first_chunk().map(|bytes| u16::from_le_bytes(*bytes)),
            Data::Json(_) => None,
        };
        let found: BTreeMap<i64, Option<u16>> =
            found.iter().map(|one| (one.index, salt(&one.data))).collect();
        let due: BTreeMap<i64, Option<u16>> =
            due.iter().map(|(index, salt)| (*index, Some(*salt))).collect();
        if found != due {
            return Err(format!("I10: to {alias} is attached {found:?}, not {due:?}"));
        }
    }
    Ok(())
}

/// One pass over a lineage gives the state that each checkpoint has alone.
fn check_passes(task: &Task, known: &TaskModel) -> Result<(), String> {
    for id in known.there() {
        let named = |e| format!("I5: the states of lineage {id}: {e}");
        let lineage = task.lineage_named(LineageId(id)).map_err(named)?;
        for found in lineage.states(&RunReducer, ..).map_err(named)? {
            let (checkpoint, state) = found.map_err(named)?;
            let state = hash(&RunReducer.encode(&state).map_err(named)?);
            let mark = known.marks.get(&checkpoint.id.to_string());
            if mark.and_then(|mark| mark.state).is_some_and(|alone| alone != state) {
                let id = checkpoint.id;
                return Err(format!("I5: checkpoint {id} has another state in a pass"));
            }
        }
    }
    Ok(())
}

pub fn check_event(known: &TaskModel, lineage: u32, event: &Event) -> Result<(), String> {
    let owner = known.owner(lineage, event.offset);
    if owner != Some(event.lineage.0) {
        return Err(format!("I7: it is of {}, not of {owner:?}", event.lineage));
    }
    match (known.event(event.lineage.0, event.offset), &event.body) {
        (Some(due), None) if due.erased => Ok(()),
        (Some(due), Some(_)) if due.erased => Err("what was erased is read".into()),
        (Some(due), Some(body)) if print_of(body) == due.body => Ok(()),
        (None, Some(body)) if OF_ENGINE.contains(&body.kind_name()) => Ok(()),
        (due, body) => Err(format!("I1: {due:?} was appended, {body:?} is there")),
    }
}

fn check_keys(task: &Task, known: &TaskModel, id: u32) -> Result<(), String> {
    let lineage = task.lineage_named(LineageId(id));
    let lineage = lineage.map_err(|e| e.to_string())?;
    for key in known.keys(id) {
        let found = lineage.appended_under(&key);
        let found = found.map_err(|e| format!("I14: key {key}: {e}"))?;
        match (known.key(id, &key), found) {
            (Seen::Whole { first, .. }, Some(range)) if range.start == first => {}
            (Seen::Part, _) | (Seen::Free, None) => {}
            (due, found) => return Err(format!("I14: key {key} is {found:?}, not {due:?}")),
        }
    }
    Ok(())
}

fn check_marks(engine: &Engine, name: &str, known: &mut TaskModel) -> Result<(), String> {
    let query = CheckpointQuery {
        task: Some(name.to_owned()),
        limit: Some(100_000),
        ..CheckpointQuery::default()
    };
    let listed = engine.query().checkpoints(&query).map_err(|e| e.to_string())?;
    let listed: Vec<String> = listed.items.iter().map(|m| m.id.to_string()).collect();
    for (id, maybe) in &mut known.gone {
        match (maybe.take(), listed.contains(id)) {
            (None, true) => return Err(format!("I10: checkpoint {id} went and is there")),
            (Some(mark), true) => {
                known.marks.insert(id.clone(), mark);
            }
            (_, false) => {}
        }
    }
    known.gone.retain(|id, _| !known.marks.contains_key(id));
    let known_ones = listed.iter().filter(|id| known.marks.contains_key(*id));
    if known_ones.count() != known.marks.len() {
        let lost = known.marks.keys().find(|id| !listed.contains(id));
        return Err(format!("I1, I10: checkpoint {lost:?} is not listed"));
    }
    if let Some(other) =
        listed.iter().find(|id| !known.marks.contains_key(*id) && !known.gone.contains_key(*id))
    {
        return Err(format!("I2: nobody marked checkpoint {other}"));
    }
    let pins = engine.retention().pins(name).map_err(|e| format!("pins: {e}"))?;
    let mut pins: Vec<String> = pins.iter().map(|pin| pin.checkpoint.to_string()).collect();
    pins.retain(|id| known.marks.contains_key(id));
    let due = known.marks.values().filter(|mark| mark.pinned).count();
    if pins.len() != due {
        return Err(format!("I10: {} pins, not {due}", pins.len()));
    }
    for (id, mark) in &mut known.marks {
        let found = engine.query().checkpoint(id).map_err(|e| format!("I1: {id}: {e}"))?;
        if (found.lineage.0, found.mark, found.at) != (mark.lineage, mark.mark, mark.at) {
            return Err(format!("I1: checkpoint {id} is {found:?}, not {mark:?}"));
        }
        let point = engine.point(&format!("@{id}"));
        let state = point.and_then(|point| digest(engine, &point));
        let state = state.map_err(|e| format!("I10: checkpoint {id}: {e}"))?;
        if mark.state.is_some_and(|before| before != state) {
            return Err(format!("I5: checkpoint {id} has another state"));
        }
        mark.state = Some(state);
    }
    Ok(())
}
