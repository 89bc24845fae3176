//! Restores, branches, undo, switch and redo: the answers they must get, and their effect on the
//! model.

use milepost::{Engine, ErrorKind};

use super::call::{Done, Marked, Target};
use super::judge::{Answer, marked};
use super::model::{LineageModel, Model, TaskModel};

pub fn restore(
    model: &mut Model,
    task: &str,
    to: &Target,
    answer: &Answer<'_>,
) -> Result<(), String> {
    if answer.crossed {
        return loosened(model, task, Moves::Always, answer);
    }
    let epoch = forked(model, task, to, answer)?;
    let Some(known) = model.tasks.get_mut(task) else {
        return Ok(());
    };
    let Ok(Done::Forked { lineage, .. }) = answer.got else {
        return Ok(());
    };
    if epoch != known.epoch() + 1 {
        return Err(answer.wrong("I7: a restore is no activation of its own"));
    }
    let back = known.activations.len().checked_sub(1);
    known.activations.push((*lineage, back));
    known.undone.clear();
    Ok(())
}

pub fn branch(
    model: &mut Model,
    task: &str,
    to: &Target,
    answer: &Answer<'_>,
) -> Result<(), String> {
    if answer.crossed {
        return loosened(model, task, Moves::Never, answer);
    }
    let epoch = forked(model, task, to, answer)?;
    let known = model.tasks.get(task).map(TaskModel::epoch);
    match known == Some(epoch) {
        true => Ok(()),
        false => Err(answer.wrong("a branch activated a lineage")),
    }
}

/// Takes a new lineage into the model; gives the epoch that the answer has.
fn forked(model: &mut Model, task: &str, to: &Target, answer: &Answer<'_>) -> Result<u64, String> {
    let Ok(Done::Forked { lineage, parent: Some((parent, offset)), head, epoch, marks }) =
        answer.got
    else {
        return Err(answer.wrong("a point that is kept cannot be gone back to"));
    };
    let Some(known) = model.tasks.get_mut(task) else {
        return Err(answer.wrong("a lineage of no task"));
    };
    let (on, at) = match to {
        Target::Offset(lineage, offset) => (*lineage, *offset),
        Target::Mark(id) => match known.marks.get(id) {
            Some(mark) => (mark.lineage, mark.at),
            None => return Err(answer.wrong("a checkpoint that went was gone back to")),
        },
    };
    // The mark itself may be taken along.
    let behind = u64::from(matches!(to, Target::Mark(_)));
    if !(at..=at + behind).contains(offset) {
        return Err(answer.wrong("I7: a lineage parts elsewhere than asked for"));
    }
    let owner = match offset.checked_sub(1) {
        Some(before) => known.owner(on, before),
        None => Some(*parent),
    };
    let is_base = known.begin(on) == *offset;
    if owner.is_some_and(|owner| owner != *parent) && !is_base {
        return Err(answer.wrong("I7: a lineage parts from another one"));
    }
    let made =
        LineageModel { parent: Some((*parent, *offset)), head: *head, ..LineageModel::default() };
    if known.lineages.insert(*lineage, made).is_some() {
        return Err(answer.wrong("a lineage has the number of another"));
    }
    for mark in marks {
        marked(model, task, mark, None);
    }
    model.acknowledged += 1;
    Ok(*epoch)
}

pub fn undo(model: &mut Model, task: &str, answer: &Answer<'_>) -> Result<(), String> {
    if answer.crossed {
        return loosened(model, task, Moves::Always, answer);
    }
    let Some(known) = model.tasks.get_mut(task) else {
        return Err(answer.wrong("an undo of no task"));
    };
    if known.undo_open {
        if let Ok(Done::Activated { lineage, .. }) = answer.got {
            known.activations.push((*lineage, None));
            return Ok(());
        }
        // One with a participant is undone with it.
        const ALL: [ErrorKind; 3] =
            [ErrorKind::Invalid, ErrorKind::NotFound, ErrorKind::Unavailable];
        return match answer.failed(&ALL) {
            true => Ok(()),
            false => Err(answer.wrong("I7: an undo")),
        };
    }
    let back = known.activations.last().and_then(|(_, back)| *back);
    let due = back.map(|back| known.activations[back]);
    match (answer.got, due) {
        (Ok(Done::Activated { lineage, .. }), Some((due, back))) => {
            if *lineage != due {
                return Err(answer.wrong("I7: an undo goes back to another lineage"));
            }
            known.undone.push(known.active());
            known.activations.push((*lineage, back));
            Ok(())
        }
        (Err(failed), None) if failed.is(ErrorKind::Invalid) => Ok(()),
        (Err(failed), Some((due, _))) if failed.is(ErrorKind::NotFound) => {
            match known.lineages.get(&due).is_some_and(|due| due.dropped) {
                true => Ok(()),
                false => Err(answer.wrong("I7: a restore cannot be undone")),
            }
        }
        _ => Err(answer.wrong("I7: an undo")),
    }
}

pub fn switch(model: &mut Model, task: &str, to: u32, answer: &Answer<'_>) -> Result<(), String> {
    if answer.crossed {
        return match answer.got {
            Ok(Done::Activated { lineage, .. }) if *lineage != to => {
                Err(answer.wrong("I7: a switch to another lineage than asked for"))
            }
            _ => loosened(model, task, Moves::Maybe, answer),
        };
    }
    let Some(known) = model.tasks.get_mut(task) else {
        return Err(answer.wrong("a switch of no task"));
    };
    match answer.got {
        Ok(Done::Activated { lineage, epoch }) if *lineage == to => {
            if known.active() != to {
                chosen(known, to);
            }
            match *epoch == known.epoch() {
                true => Ok(()),
                false => Err(answer.wrong("a switch is no single activation")),
            }
        }
        Err(failed) if failed.is(ErrorKind::NotFound) => is_dropped(known, to, answer),
        _ => Err(answer.wrong("a switch")),
    }
}

pub fn redo(model: &mut Model, task: &str, answer: &Answer<'_>) -> Result<(), String> {
    if answer.crossed {
        return loosened(model, task, Moves::Maybe, answer);
    }
    let Some(known) = model.tasks.get_mut(task) else {
        return Err(answer.wrong("a redo of no task"));
    };
    let due = known.undone.last().copied();
    match (answer.got, due) {
        (Ok(Done::Activated { lineage, .. }), due) if due == Some(*lineage) || known.undo_open => {
            chosen(known, *lineage);
            Ok(())
        }
        // A rollback of files is not redone.
        (Err(_), _) if known.undo_open => {
            const ALL: [ErrorKind; 3] =
                [ErrorKind::Invalid, ErrorKind::NotFound, ErrorKind::Conflict];
            match answer.failed(&ALL) {
                true => Ok(()),
                false => Err(answer.wrong("a redo")),
            }
        }
        (Err(failed), None) if failed.is(ErrorKind::Invalid) => Ok(()),
        (Err(failed), Some(due)) if failed.is(ErrorKind::NotFound) => {
            is_dropped(known, due, answer)
        }
        _ => Err(answer.wrong("a redo")),
    }
}

/// An existing lineage becomes active, by a switch or a redo.
fn chosen(known: &mut TaskModel, lineage: u32) {
    match known.undone.last() == Some(&lineage) {
        true => drop(known.undone.pop()),
        false => known.undone.clear(),
    }
    let back = known.activations.len().checked_sub(1);
    known.activations.push((lineage, back));
}

fn is_dropped(known: &TaskModel, lineage: u32, answer: &Answer<'_>) -> Result<(), String> {
    match known.lineages.get(&lineage).is_some_and(|there| there.dropped) {
        true => Ok(()),
        false => Err(answer.wrong("a lineage that is kept cannot be switched to")),
    }
}

/// Activation by a successful call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moves {
    Always,
    /// Unless the lineage was active already.
    Maybe,
    Never,
}

/// Lineages were opened or activated by concurrent calls: their order is read from the store once
/// they have ended. Each activation is reported by the call that made it, and all calls that name
/// an epoch name the same lineage.
fn loosened(
    model: &mut Model,
    task: &str,
    moves: Moves,
    answer: &Answer<'_>,
) -> Result<(), String> {
    const NO_MARKS: &[Marked] = &[];
    let (marks, lineage, epoch) = match answer.got {
        Ok(Done::Forked { marks, lineage, epoch, .. }) => (marks.as_slice(), *lineage, *epoch),
        Ok(Done::Activated { lineage, epoch }) => (NO_MARKS, *lineage, *epoch),
        _ => return Err(answer.wrong("a point that is kept cannot be gone back to")),
    };
    if let Some(known) = model.tasks.get_mut(task) {
        let is_made = moves == Moves::Always;
        if is_made && epoch <= known.epoch() {
            return Err(answer.wrong("I7: an activation in an epoch that is over"));
        }
        let mut all = known.loose.unwrap_or(0);
        if moves != Moves::Never && epoch > known.epoch() {
            let before = known.told.insert(epoch, (lineage, is_made));
            match before {
                None => all += 1,
                Some((other, _)) if other != lineage => {
                    let why = format!("I7: lineage {other} was activated in this epoch");
                    return Err(answer.wrong(&why));
                }
                Some((_, true)) if is_made => {
                    return Err(answer.wrong("I7: two activations in one epoch"));
                }
                Some((_, made)) => drop(known.told.insert(epoch, (lineage, made || is_made))),
            }
        }
        known.loose = Some(all);
    }
    for mark in marks {
        marked(model, task, mark, Some(answer.before));
    }
    Ok(())
}

/// Takes from the store which lineages there are, and which is active, where calls under way
/// together changed that.
pub fn adopt(engine: &Engine, model: &mut Model, exactly: bool) -> Result<(), String> {
    for (name, known) in &mut model.tasks {
        let Some(moves) = known.loose.take() else {
            continue;
        };
        if !known.live {
            continue;
        }
        let task = engine.task(name).map_err(|e| format!("task {name}: {e}"))?;
        let told = std::mem::take(&mut known.told).pop_last();
        let (last, lineage) = told.map_or((0, 0), |(epoch, (lineage, _))| (epoch, lineage));
        if last == task.epoch() && lineage != task.lineage().id().0 {
            let active = task.lineage().id();
            return Err(format!("I7: task {name} is on lineage {active}, not on {lineage}"));
        }
        let due = (known.epoch() + moves).max(last);
        if task.epoch() < due || exactly && task.epoch() != due {
            let epoch = task.epoch();
            return Err(format!("I7: task {name} is in epoch {epoch}, not in {due}"));
        }
        if task.epoch() > known.epoch() {
            let active = (task.lineage().id().0, None);
            known.activations.resize(task.epoch() as usize, active);
            *known.activations.last_mut().unwrap() = active;
            known.undo_open = true;
        }
        for info in task.lineages().map_err(|e| format!("task {name}: {e}"))? {
            let id = info.id.0;
            let parent = info.parent.map(|parent| (parent.lineage.0, parent.offset));
            let lineage = known.lineages.entry(id).or_default();
            lineage.parent = parent;
            lineage.head = info.head.next;
            if known.begin(id) != info.begin
                && let Some(lineage) = known.lineages.get_mut(&id)
            {
                lineage.base = Some(info.begin);
            }
        }
    }
    Ok(())
}
