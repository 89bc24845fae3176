//! Cleanups, erasures and deletions: the answers they must get, and their effect on the model.

use milepost::ErrorKind;

use super::call::{Cleaned, Done, Failed};
use super::judge::Answer;
use super::model::{MarkModel, Model, TaskModel};

pub fn remove(
    model: &mut Model,
    task: &str,
    mark: &str,
    answer: &Answer<'_>,
) -> Result<(), String> {
    let Some(known) = model.tasks.get_mut(task) else {
        return Err(answer.wrong("a checkpoint of no task"));
    };
    let pinned = known.marks.get(mark).is_some_and(|mark| mark.pinned);
    match answer.got {
        Err(failed) if failed.is(ErrorKind::Conflict) && pinned => Ok(()),
        Ok(_) if pinned && !answer.crossed => Err(answer.wrong("I10: a pinned checkpoint went")),
        Ok(_) => {
            known.retained = true;
            known.gone.insert(mark.to_owned(), None);
            known.marks.remove(mark);
            Ok(())
        }
        Err(_) => Err(answer.wrong("a checkpoint was not removed")),
    }
}

/// The checkpoints that a cleanup keeps besides the pinned ones.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    /// The number of the newest ones.
    pub newest: usize,
    /// All but these, instead of a number.
    pub named: Option<&'a [String]>,
}

pub fn cleanup(
    model: &mut Model,
    task: Option<&str>,
    kept: &Kept<'_>,
    answer: &Answer<'_>,
) -> Result<(), String> {
    let (cleaned, partly) = match answer.got {
        Ok(Done::Cleaned(cleaned)) => (cleaned, false),
        Ok(Done::Partly(cleaned)) => (cleaned, true),
        _ => return Err(answer.wrong("a cleanup failed")),
    };
    let named: Vec<&str> = cleaned.iter().map(|one| one.task.as_str()).collect();
    let due = match task {
        Some(task) => vec![task.to_owned()],
        None => model.live(),
    };
    let missed = due.iter().any(|due| !named.contains(&due.as_str()));
    if missed && !answer.crossed {
        return Err(answer.wrong("a cleanup left a task out"));
    }
    // Each concurrent call may have marked one that is not known yet.
    let unseen = model.under_way.len();
    for one in cleaned {
        let Some(known) = model.tasks.get_mut(&one.task) else {
            return Err(answer.wrong("a cleanup of no task"));
        };
        // A reducer that is not there may have states, or has lost one.
        let missed = !answer.counted || known.uncounted;
        let refused = |failed: &Failed| failed.is(ErrorKind::Unsupported) && missed;
        if one.error.as_ref().is_some_and(|e| !refused(e)) && !answer.crossed {
            return Err(answer.wrong("a cleanup failed"));
        }
        clean(known, one, kept, answer, (partly, unseen))?;
    }
    Ok(())
}

fn clean(
    known: &mut TaskModel,
    one: &Cleaned,
    kept: &Kept<'_>,
    answer: &Answer<'_>,
    (partly, unseen): (bool, usize),
) -> Result<(), String> {
    let all: Vec<(String, MarkModel)> = (known.marks.iter())
        .filter(|(_, mark)| !mark.pinned)
        .map(|(id, mark)| (id.clone(), mark.clone()))
        .collect();
    // Those that an earlier cleanup may have removed, or not, may be among the newest too.
    let open: Vec<MarkModel> = known.gone.values().flatten().cloned().collect();
    let surely_newer =
        |mark: &MarkModel| all.iter().filter(|(_, other)| other.since >= mark.order).count();
    let maybe_newer = |id: &String, mark: &MarkModel| {
        let others = all.iter().filter(|(other, _)| other != id).map(|(_, other)| other);
        let others = others.chain(&open).filter(|other| other.order > mark.since);
        others.count() + unseen
    };
    let surely = |mark: &MarkModel| {
        let is_due = kept.named.is_some() || surely_newer(mark) >= kept.newest;
        is_due && !answer.crossed && !partly
    };
    let stays = |id: &String, mark: &MarkModel| match kept.named {
        Some(named) => !named.contains(id),
        None => maybe_newer(id, mark) < kept.newest,
    };
    let goes: Vec<(String, Option<MarkModel>)> = (all.iter())
        .filter(|(id, mark)| !stays(id, mark))
        .map(|(id, mark)| (id.clone(), (!surely(mark)).then(|| mark.clone())))
        .collect();
    let is_sure = !answer.crossed && !partly && goes.iter().all(|(_, maybe)| maybe.is_none());
    if is_sure && open.is_empty() && goes.len() as u64 != one.removed {
        let due = goes.len();
        return Err(answer.wrong(&format!("I10: {due} checkpoints are to go")));
    }
    for (id, maybe) in goes {
        known.marks.remove(&id);
        known.gone.insert(id, maybe);
    }
    known.retained |= one.removed > 0;
    // Calls that crossed earlier may have made another one active.
    let active = (known.loose.is_none() && !answer.crossed).then(|| known.active());
    for dropped in &one.dropped {
        let holds = known.marks.values().any(|mark| mark.lineage == *dropped);
        if active == Some(*dropped) || holds {
            let why = format!("I10: lineage {dropped}, which is needed, was dropped");
            return Err(answer.wrong(&why));
        }
        if let Some(lineage) = known.lineages.get_mut(dropped) {
            lineage.dropped = true;
        }
    }
    for (trimmed, begin) in &one.trimmed {
        let stored = known.counted.get(trimmed);
        if !answer.counted && stored.is_some_and(|stored| stored <= begin) {
            let why =
                format!("I10: lineage {trimmed} was trimmed without a reducer that has states");
            return Err(answer.wrong(&why));
        }
        known.uncounted |= !answer.counted;
        if let Some(lineage) = known.lineages.get_mut(trimmed) {
            lineage.base = Some(*begin);
        }
    }
    Ok(())
}

pub fn erase(
    model: &mut Model,
    task: &str,
    lineage: u32,
    offset: u64,
    answer: &Answer<'_>,
) -> Result<(), String> {
    let Some(known) = model.tasks.get_mut(task) else {
        return Err(answer.wrong("an erasure in no task"));
    };
    let owner = known.owner(lineage, offset);
    let based = known.has_base_behind(offset);
    let lineages = &mut known.lineages;
    let owner = owner.and_then(|owner| lineages.get_mut(&owner));
    let Some(owner) = owner else {
        // The head.
        return match answer.got {
            Err(failed) if failed.is(ErrorKind::NotFound) => Ok(()),
            _ => Err(answer.wrong("an event that is not there was erased")),
        };
    };
    match (answer.got, owner.events.get_mut(&offset)) {
        (Ok(_), Some(event)) => {
            event.erased = true;
            known.attached_open |= !known.attached.is_empty();
            known.counted.clear();
            // A cleanup may have left those that may be gone, too.
            let maybe = known.gone.values_mut().flatten();
            for mark in known.marks.values_mut().chain(maybe) {
                mark.state = None;
            }
            Ok(())
        }
        // Others build on what the engine made.
        (Err(failed), None) if failed.is(ErrorKind::Invalid) => Ok(()),
        (Err(failed), _) if failed.is(ErrorKind::Conflict) && based => Ok(()),
        _ => Err(answer.wrong("an erasure")),
    }
}

pub fn delete(model: &mut Model, task: &str, answer: &Answer<'_>) -> Result<(), String> {
    match answer.got {
        Ok(_) => {
            model.forget(task);
            Ok(())
        }
        Err(_) => Err(answer.wrong("a task was not deleted")),
    }
}
