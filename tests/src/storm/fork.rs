//! Restores, branches and undo: the answers they must get, and their effect on the model.

use milepost::ErrorKind;

use super::call::{Done, Target};
use super::judge::{Answer, marked};
use super::model::{LineageModel, Model, TaskModel};

pub fn restore(
    model: &mut Model,
    task: &str,
    to: &Target,
    answer: &Answer<'_>,
) -> Result<(), String> {
    let epoch = forked(model, task, to, answer)?;
    let Some(known) = model.tasks.get_mut(task) else {
        return Ok(());
    };
    let Ok(Done::Forked { lineage, .. }) = answer.got else {
        return Ok(());
    };
    if epoch != known.epoch() + 1 && !answer.crossed {
        return Err(answer.wrong("I7: a restore is no activation of its own"));
    }
    let back = known.activations.len().checked_sub(1);
    known.activations.push((*lineage, back));
    Ok(())
}

pub fn branch(
    model: &mut Model,
    task: &str,
    to: &Target,
    answer: &Answer<'_>,
) -> Result<(), String> {
    let epoch = forked(model, task, to, answer)?;
    let known = model.tasks.get(task).map(TaskModel::epoch);
    match known == Some(epoch) || answer.crossed {
        true => Ok(()),
        false => Err(answer.wrong("a branch activated a lineage")),
    }
}

/// Takes a new lineage into the model; gives the epoch that the answer has.
fn forked(model: &mut Model, task: &str, to: &Target, answer: &Answer<'_>) -> Result<u64, String> {
    let Ok(Done::Forked {
        lineage,
        parent: Some((parent, offset)),
        head,
        epoch,
        marks,
    }) = answer.got
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
            None if answer.crossed => (*parent, *offset),
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
    if owner.is_some_and(|owner| owner != *parent) && !is_base && !answer.crossed {
        return Err(answer.wrong("I7: a lineage parts from another one"));
    }
    let made = LineageModel {
        parent: Some((*parent, *offset)),
        head: *head,
        ..LineageModel::default()
    };
    if known.lineages.insert(*lineage, made).is_some() {
        return Err(answer.wrong("a lineage has the number of another"));
    }
    for mark in marks {
        marked(model, task, mark);
    }
    model.acknowledged += 1;
    Ok(*epoch)
}

pub fn undo(model: &mut Model, task: &str, answer: &Answer<'_>) -> Result<(), String> {
    let Some(known) = model.tasks.get_mut(task) else {
        return Err(answer.wrong("an undo of no task"));
    };
    let back = known.activations.last().and_then(|(_, back)| *back);
    let due = back.map(|back| known.activations[back]);
    match (answer.got, due) {
        (Ok(Done::Activated { lineage, .. }), Some((due, back))) => {
            if *lineage != due && !answer.crossed {
                return Err(answer.wrong("I7: an undo goes back to another lineage"));
            }
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
