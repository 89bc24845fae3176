//! Calls whose answers are not known: each is there whole, or not at all.

use milepost::query::CheckpointQuery;
use milepost::{Engine, ErrorKind, Event, LineageId, Task};

use super::begun::Begun;
use super::call::{Adding, Call, Cleaned, Done, Failed, Marked, print_of};
use super::model::{Model, Seen};
use super::run::{branched, forked, told, told_each};

/// Looks which of the calls were done, and takes those into the model.
pub fn settle(
    engine: &Engine,
    model: &mut Model,
    mut unknown: Vec<Call>,
    counted: bool,
) -> Result<(), String> {
    // One may be seen only behind another.
    loop {
        let mut left = Vec::new();
        let before = unknown.len();
        for call in unknown {
            let found = found(engine, model, &call);
            match found.map_err(|e| format!("{call:?} may be there or not: {e}"))? {
                None => left.push(call),
                Some(done) => {
                    let begun = Begun::now(model, &call);
                    begun.end(model, &call, &Ok(done), counted)?;
                }
            }
        }
        if left.is_empty() || left.len() == before {
            return Ok(());
        }
        unknown = left;
    }
}

/// Returns the result of a call, if it took effect.
fn found(engine: &Engine, model: &Model, call: &Call) -> milepost::Result<Option<Done>> {
    let Some(name) = call.task() else {
        return cleaned(engine, model, call);
    };
    let task = match engine.task(name) {
        Ok(task) => task,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(matches!(call, Call::Delete { .. }).then_some(Done::Unit));
        }
        Err(error) => return Err(error),
    };
    let Some(known) = model.live_task(name) else {
        return Ok(matches!(call, Call::Start { .. }).then_some(Done::Unit));
    };
    match call {
        Call::Append(adding) => appended(engine, model, &task, adding),
        Call::Each(all) => each(model, &task, all),
        Call::Mark { lineage, .. } => {
            let on = lineage.unwrap_or_else(|| known.active());
            let mut marks = fresh(engine, model, &task)?;
            marks.retain(|mark| mark.lineage == on);
            Ok(marks.into_iter().next().map(Done::Marked))
        }
        Call::Restore { .. } if task.epoch() > known.epoch() => {
            forked(engine, &task, task.lineage()).map(Some)
        }
        Call::BranchWith { adding, .. } => branch_with(engine, model, &task, adding),
        Call::Branch { .. } => {
            let all = task.lineages()?;
            // One with events is of another call.
            let is_empty = |id| -> milepost::Result<bool> {
                let lineage = task.lineage_named(id)?;
                Ok(lineage.head()?.next == lineage.first_behind_opening()?)
            };
            let mut fresh = None;
            for info in all.iter().filter(|info| !known.lineages.contains_key(&info.id.0)) {
                if fresh.is_none() && is_empty(info.id)? {
                    fresh = Some(info);
                }
            }
            match fresh {
                Some(info) if info.id != task.lineage().id() => {
                    forked(engine, &task, &task.lineage_named(info.id)?).map(Some)
                }
                _ => Ok(None),
            }
        }
        Call::Undo { .. } | Call::Switch { .. } | Call::Redo { .. }
            if task.epoch() > known.epoch() =>
        {
            Ok(Some(Done::Activated { lineage: task.lineage().id().0, epoch: task.epoch() }))
        }
        Call::Pin { mark, pinned, .. } => {
            let pins = engine.retention().pins(name)?;
            let now = pins.iter().any(|pin| pin.checkpoint.to_string() == *mark);
            Ok((now == *pinned).then_some(Done::Unit))
        }
        Call::RemoveMark { mark, .. } => match engine.query().checkpoint(mark) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Some(Done::Unit)),
            _ => Ok(None),
        },
        Call::Erase { lineage, offset, .. } => {
            let lineage = task.lineage_named(LineageId(*lineage))?;
            let event = lineage.read(*offset..=*offset)?.next().transpose()?;
            Ok(event.is_some_and(|e| e.body.is_none()).then_some(Done::Unit))
        }
        Call::Cleanup { .. } => cleaned(engine, model, call),
        _ => Ok(None),
    }
}

/// Returns the checkpoints of a task that were not acknowledged.
pub fn fresh(engine: &Engine, model: &Model, task: &Task) -> milepost::Result<Vec<Marked>> {
    let known = model.live_task(task.id());
    let mut all = listed(engine, task.id())?;
    all.retain(|mark| {
        known.is_none_or(|known| {
            !known.marks.contains_key(&mark.id) && !known.gone.contains_key(&mark.id)
        })
    });
    Ok(all)
}

fn listed(engine: &Engine, task: &str) -> milepost::Result<Vec<Marked>> {
    let query = CheckpointQuery {
        task: Some(task.to_owned()),
        limit: Some(100_000),
        ..CheckpointQuery::default()
    };
    let all = engine.query().checkpoints(&query)?.items;
    Ok(all.iter().map(|mark| told(engine, mark)).collect())
}

fn appended(
    engine: &Engine,
    model: &Model,
    task: &Task,
    adding: &Adding,
) -> milepost::Result<Option<Done>> {
    let Some(known) = model.live_task(task.id()) else {
        return Ok(None);
    };
    let on = adding.lineage.unwrap_or_else(|| known.active());
    let Some(own) = known.lineages.get(&on).filter(|own| !own.dropped) else {
        return Ok(None);
    };
    let bodies: Vec<u64> = adding.bodies().iter().map(print_of).collect();
    let lineage = task.lineage_named(LineageId(on))?;
    let events: Vec<Event> = lineage.read(..)?.collect::<milepost::Result<_>>()?;
    let is_first = |event: &&Event| {
        event.lineage.0 == on
            && !own.events.contains_key(&event.offset)
            && event.body.as_ref().map(print_of) == bodies.first().copied()
    };
    let Some(first) = events.iter().find(is_first).map(|event| event.offset) else {
        return Ok(None);
    };
    let count = bodies.len() as u64;
    let mut marks = match adding.mark {
        true => fresh(engine, model, task)?,
        false => Vec::new(),
    };
    marks.retain(|mark| mark.lineage == on && mark.mark == first + count);
    let mark = marks.into_iter().next();
    Ok(Some(Done::Appended {
        lineage: on,
        first,
        count: count as u32,
        head: first + count + u64::from(mark.is_some()),
        repeated: false,
        mark,
    }))
}

/// All events that are new are there, or none.
fn each(model: &Model, task: &Task, all: &[Adding]) -> milepost::Result<Option<Done>> {
    let Some(known) = model.live_task(task.id()) else {
        return Ok(None);
    };
    let mut done: Vec<Done> = Vec::new();
    for (n, adding) in all.iter().enumerate() {
        let on = adding.lineage.unwrap_or_else(|| known.active());
        let key = adding.key.as_deref().unwrap_or_default();
        let earlier = all.iter().take(n).position(|one| one.key == adding.key);
        let told = match (known.key(on, key), earlier) {
            (Seen::Whole { first, .. }, _) => told_each(on, first, true),
            (Seen::Part, _) => return Ok(None),
            (Seen::Free, Some(earlier)) => match done.get(earlier) {
                Some(Done::Appended { first, .. }) => told_each(on, *first, true),
                _ => return Ok(None),
            },
            (Seen::Free, None) => {
                // Its key tells it from others with the same body.
                let Ok(lineage) = task.lineage_named(LineageId(on)) else { return Ok(None) };
                match lineage.appended_under(key)? {
                    Some(at) => told_each(on, at.start, false),
                    None => return Ok(None),
                }
            }
        };
        done.push(told);
    }
    Ok(Some(Done::Each(done)))
}

/// A branch that has these events.
fn branch_with(
    engine: &Engine,
    model: &Model,
    task: &Task,
    adding: &Adding,
) -> milepost::Result<Option<Done>> {
    let Some(known) = model.live_task(task.id()) else {
        return Ok(None);
    };
    let bodies: Vec<u64> = adding.bodies().iter().map(print_of).collect();
    for info in task.lineages()? {
        if known.lineages.contains_key(&info.id.0) {
            continue;
        }
        let lineage = task.lineage_named(info.id)?;
        let first = lineage.first_behind_opening()?;
        let events: Vec<Event> = lineage.read(first..)?.collect::<milepost::Result<_>>()?;
        let prints = events.iter().map_while(|event| event.body.as_ref().map(print_of));
        if prints.take(bodies.len()).ne(bodies.iter().copied()) {
            continue;
        }
        let count = bodies.len() as u64;
        let mut marks = match adding.mark {
            true => fresh(engine, model, task)?,
            false => Vec::new(),
        };
        marks.retain(|mark| mark.lineage == info.id.0 && mark.mark == first + count);
        let mark = marks.into_iter().next();
        let head = first + count + u64::from(mark.is_some());
        return branched(engine, task, &lineage, (first, count as u32, head, mark)).map(Some);
    }
    Ok(None)
}

/// A cleanup may have done some of its tasks, and some steps of one.
fn cleaned(engine: &Engine, model: &Model, call: &Call) -> milepost::Result<Option<Done>> {
    let Call::Cleanup { task, .. } = call else {
        return Ok(None);
    };
    let mut all = Vec::new();
    for (name, known) in &model.tasks {
        if !known.live || task.as_ref().is_some_and(|task| task != name) {
            continue;
        }
        let listed = listed(engine, name)?;
        let gone = |id: &&String| !listed.iter().any(|mark| mark.id == **id);
        let lineages = engine.task(name)?.lineages()?;
        let there = known.there().into_iter();
        let mut cleaned = Cleaned {
            task: name.clone(),
            removed: known.marks.keys().filter(gone).count() as u64,
            trimmed: Vec::new(),
            dropped: there.filter(|id| !lineages.iter().any(|info| info.id.0 == *id)).collect(),
            error: None::<Failed>,
        };
        // The first lineage that has the base shows its offset.
        for info in &lineages {
            if info.begin != known.begin(info.id.0) {
                cleaned.trimmed.push((info.id.0, info.begin));
            }
        }
        all.push(cleaned);
    }
    Ok(Some(Done::Partly(all)))
}
