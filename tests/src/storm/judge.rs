//! The answer that a call must get, and its effect on the model.

use milepost::{Body, ErrorKind};

use super::call::{Adding, Call, Done, Failed, Marked, Target, print_of};
use super::model::{EventModel, KeyModel, LineageModel, MarkModel, Model, Seen, TaskModel};
use super::{fork, keep};

/// A call and the answer to it.
#[derive(Debug)]
pub struct Answer<'a> {
    pub call: &'a Call,
    pub got: &'a Result<Done, Failed>,
    /// Another call that changes something was under way at the same time.
    pub crossed: bool,
    /// Checkpoints that had been marked when it began.
    pub before: u64,
    /// The reducer [`super::count::Count`] is there.
    pub counted: bool,
}

impl Answer<'_> {
    /// Returns an error with this text.
    pub fn wrong(&self, why: &str) -> String {
        format!("{why}: {:?} came to {:?}", self.call, self.got)
    }

    /// Returns `true` if it failed as one of these.
    pub fn failed(&self, kinds: &[ErrorKind]) -> bool {
        let of = |failed: &Failed| kinds.iter().any(|kind| failed.is(*kind));
        self.got.as_ref().is_err_and(of)
    }

    /// The number of checkpoints that had been marked when it began, if another call crossed it.
    pub fn since(&self) -> Option<u64> {
        self.crossed.then_some(self.before)
    }

    /// An error that another call under way can be the cause of.
    pub fn is_crossed(&self) -> bool {
        const ALL: [ErrorKind; 3] = [ErrorKind::Conflict, ErrorKind::NotFound, ErrorKind::Invalid];
        self.crossed && self.failed(&ALL)
    }
}

/// Judges an answer, and takes it into the model.
pub fn judge(model: &mut Model, answer: &Answer<'_>) -> Result<(), String> {
    if answer.is_crossed() {
        return Ok(());
    }
    match answer.call {
        Call::Start { task } => match answer.got {
            Ok(_) => {
                let generation = model.tasks.get(task).map_or(0, |task| task.generation);
                model.tasks.insert(task.clone(), started(generation));
                Ok(())
            }
            Err(_) => Err(answer.wrong("a task of a free name was not started")),
        },
        Call::Append(adding) => append(model, adding, answer),
        Call::Each(all) => each(model, all, answer),
        Call::BranchWith { to, adding } => branch_with(model, to, adding, answer),
        Call::Refused { .. } => match answer.got {
            Ok(_) => Err(answer.wrong("what nobody can read or index was taken")),
            Err(failed) if failed.is(ErrorKind::Poisoned) => {
                Err(answer.wrong("a refusal poisoned the store"))
            }
            Err(_) => Ok(()),
        },
        Call::Mark { task, lineage, at } => mark(model, task, *lineage, *at, answer),
        Call::Restore { task, to } => fork::restore(model, task, to, answer),
        Call::Branch { task, to } => fork::branch(model, task, to, answer),
        Call::Undo { task } => fork::undo(model, task, answer),
        Call::Switch { task, lineage } => fork::switch(model, task, *lineage, answer),
        Call::Redo { task } => fork::redo(model, task, answer),
        Call::Pin { task, mark, pinned } => {
            let task = model.tasks.get_mut(task);
            let known = task.and_then(|task| task.marks.get_mut(mark));
            match (answer.got, known) {
                (Ok(_), Some(known)) => known.pinned = *pinned,
                (Ok(_), None) if answer.crossed => {}
                _ => return Err(answer.wrong("a checkpoint that is kept was not pinned")),
            }
            Ok(())
        }
        Call::RemoveMark { task, mark } => keep::remove(model, task, mark, answer),
        Call::Cleanup { task, keep, named, .. } => {
            let kept = keep::Kept { newest: usize::from(*keep), named: named.as_deref() };
            keep::cleanup(model, task.as_deref(), &kept, answer)
        }
        Call::Erase { task, lineage, offset } => {
            keep::erase(model, task, *lineage, *offset, answer)
        }
        Call::Delete { task } => keep::delete(model, task, answer),
        Call::State { task, to } => state(model, task, to, answer),
        Call::Drain => match answer.got {
            Ok(_) => Ok(()),
            Err(_) => Err(answer.wrong("the store was not drained")),
        },
    }
}

fn started(generation: u32) -> TaskModel {
    let root = LineageModel { head: 1, ..LineageModel::default() };
    TaskModel {
        live: true,
        generation,
        lineages: [(0, root)].into(),
        activations: vec![(0, None)],
        ..TaskModel::default()
    }
}

/// Adds an acknowledged checkpoint. `since` is the number of marks before it, if other calls were
/// concurrent.
pub fn marked(model: &mut Model, task: &str, mark: &Marked, since: Option<u64>) {
    model.marked += 1;
    let order = model.marked;
    model.acknowledged += 1;
    let Some(task) = model.tasks.get_mut(task) else {
        return;
    };
    if let Some(lineage) = task.lineages.get_mut(&mark.lineage) {
        lineage.head = lineage.head.max(mark.mark + 1);
    }
    if task.marks.contains_key(&mark.id) || task.gone.contains_key(&mark.id) {
        return;
    }
    let known = MarkModel {
        lineage: mark.lineage,
        mark: mark.mark,
        at: mark.at,
        order,
        since: since.unwrap_or(order - 1),
        pinned: false,
        // The state before or after another call.
        state: mark.state.filter(|_| since.is_none()),
    };
    task.marks.insert(mark.id.clone(), known);
}

/// The answer that an append must get.
enum Due {
    Fresh(u64),
    Repeated(u64),
    /// An append with a checkpoint, which may have been removed since.
    Either(u64),
    Conflict,
}

fn due(known: &TaskModel, adding: &Adding, on: u32, bodies: &[u64]) -> Due {
    let seen = match &adding.key {
        Some(key) => known.key(on, key),
        None => Seen::Free,
    };
    match seen {
        Seen::Part => Due::Conflict,
        Seen::Whole { lineage, first, bodies: before } => {
            let offsets = first..first + before.len() as u64;
            let mut events = offsets.filter_map(|offset| known.event(lineage, offset));
            let is_erased = events.any(|event| event.erased);
            match before == bodies && !is_erased {
                true if adding.mark => Due::Either(first),
                true => Due::Repeated(first),
                false => Due::Conflict,
            }
        }
        Seen::Free => {
            let head = known.lineages.get(&on).map_or(0, |lineage| lineage.head);
            match adding.expect.is_some_and(|expect| expect != head) {
                true => Due::Conflict,
                false => Due::Fresh(head),
            }
        }
    }
}

/// Events that each have their own key: as if each were appended alone, or none of them.
fn each(model: &mut Model, all: &[Adding], answer: &Answer<'_>) -> Result<(), String> {
    match answer.got {
        Ok(Done::Each(each)) if each.len() == all.len() => {
            all.iter().zip(each).try_for_each(|(adding, done)| {
                let (call, got) = (Call::Append(adding.clone()), Ok(done.clone()));
                append(model, adding, &Answer { call: &call, got: &got, ..*answer })
            })
        }
        Err(failed) if failed.is(ErrorKind::Conflict) => {
            let known = all.first().and_then(|first| model.live_task(&first.task));
            let is_conflict = |(n, adding): (usize, &Adding)| {
                let bodies: Vec<u64> = adding.bodies().iter().map(print_of).collect();
                let on = |known: &TaskModel| adding.lineage.unwrap_or_else(|| known.active());
                let of_known = known.is_some_and(|known| {
                    matches!(due(known, adding, on(known), &bodies), Due::Conflict)
                });
                let mut earlier = all.iter().take(n);
                of_known || earlier.any(|one| one.key == adding.key && one.bodies != adding.bodies)
            };
            match all.iter().enumerate().any(is_conflict) {
                true => Ok(()),
                false => Err(answer.wrong("I14: keys of events conflict with nothing")),
            }
        }
        _ => Err(answer.wrong("an append of events with keys was refused")),
    }
}

/// A branch, and then an append to it.
fn branch_with(
    model: &mut Model,
    to: &Target,
    adding: &Adding,
    answer: &Answer<'_>,
) -> Result<(), String> {
    let Ok(Done::Branched(opened, appended)) = answer.got else {
        return Err(answer.wrong("a branch with events was refused"));
    };
    let got = Ok((**opened).clone());
    fork::branch(model, &adding.task, to, &Answer { got: &got, ..*answer })?;
    let Done::Forked { lineage, .. } = **opened else {
        return Err(answer.wrong("a branch without a lineage"));
    };
    let adding = Adding { lineage: Some(lineage), ..adding.clone() };
    let got = Ok((**appended).clone());
    append(model, &adding, &Answer { got: &got, ..*answer })
}

fn append(model: &mut Model, adding: &Adding, answer: &Answer<'_>) -> Result<(), String> {
    let Some(known) = model.tasks.get_mut(&adding.task) else {
        return Err(answer.wrong("an append to no task"));
    };
    let bodies: Vec<u64> = adding.bodies().iter().map(print_of).collect();
    let on = adding.lineage.unwrap_or_else(|| known.active());
    let due = due(known, adding, on, &bodies);
    let (lineage, first, head, mark) = match (answer.got, &due) {
        (
            Ok(Done::Appended { first, repeated, .. }),
            Due::Repeated(before) | Due::Either(before),
        ) => {
            return match *repeated && first == before {
                true => Ok(()),
                false => Err(answer.wrong("I14: a key that was used is free again")),
            };
        }
        (Err(failed), Due::Conflict | Due::Either(_)) if failed.is(ErrorKind::Conflict) => {
            return Ok(());
        }
        (Ok(Done::Appended { repeated: true, .. }), Due::Fresh(_)) if !answer.crossed => {
            return Err(answer.wrong("I14: a key that is free was taken for used"));
        }
        (Ok(Done::Appended { lineage, first, head, repeated, mark, .. }), _) => {
            if *repeated {
                return Ok(());
            }
            match due {
                Due::Fresh(due) if due == *first && *lineage == on => {}
                _ if answer.crossed => {}
                Due::Conflict => return Err(answer.wrong("I13, I14: a conflict was not seen")),
                _ => return Err(answer.wrong("I2: an append is elsewhere than at the head")),
            }
            (*lineage, *first, *head, mark.clone())
        }
        _ => return Err(answer.wrong("an append was refused")),
    };
    if adding.mark != mark.is_some() {
        return Err(answer.wrong("events and their checkpoint are both there or neither"));
    }
    if answer.crossed && !known.lineages.contains_key(&lineage) {
        // Its opening is not told yet.
        known.loose = known.loose.or(Some(0));
        known.lineages.insert(lineage, LineageModel::default());
    }
    let Some(lineage) = known.lineages.get_mut(&lineage) else {
        return Err(answer.wrong("an append to no lineage"));
    };
    for ((offset, body), spec) in (first..).zip(&bodies).zip(&adding.bodies) {
        let event = EventModel {
            body: *body,
            message: matches!(spec.body(), Body::Message(_)),
            erased: false,
        };
        if lineage.events.insert(offset, event).is_some() {
            return Err(answer.wrong("I2: an offset was given twice"));
        }
    }
    lineage.head = lineage.head.max(head);
    if let Some(key) = &adding.key {
        let count = bodies.len() as u64;
        let known = KeyModel { first, bodies };
        lineage.keys.insert(key.clone(), known);
        model.acknowledged += count;
    } else {
        model.acknowledged += bodies.len() as u64;
    }
    if let Some(mark) = mark {
        marked(model, &adding.task, &mark, answer.since());
    }
    Ok(())
}

fn mark(
    model: &mut Model,
    task: &str,
    lineage: Option<u32>,
    at: Option<u64>,
    answer: &Answer<'_>,
) -> Result<(), String> {
    let Some(known) = model.live_task(task) else {
        return Err(answer.wrong("a checkpoint of no task"));
    };
    let on = lineage.unwrap_or_else(|| known.active());
    let head = known.lineages.get(&on).map_or(0, |lineage| lineage.head);
    match answer.got {
        Ok(Done::Marked(mark)) => {
            let fits = mark.lineage == on && mark.mark == head && mark.at == at.unwrap_or(head);
            if !fits && !answer.crossed {
                return Err(answer.wrong("a checkpoint is elsewhere than asked for"));
            }
            marked(model, task, mark, answer.since());
            Ok(())
        }
        _ => Err(answer.wrong("a checkpoint was not marked")),
    }
}

fn state(model: &mut Model, task: &str, to: &Target, answer: &Answer<'_>) -> Result<(), String> {
    let Ok(Done::State(got)) = answer.got else {
        return Err(answer.wrong("I5: the state of a point that is kept was refused"));
    };
    let Target::Mark(id) = to else { return Ok(()) };
    if answer.crossed {
        return Ok(());
    }
    let task = model.tasks.get_mut(task);
    let Some(mark) = task.and_then(|task| task.marks.get_mut(id)) else {
        return Ok(());
    };
    match mark.state {
        Some(before) if before != *got => Err(answer.wrong("I5: the state is another one")),
        _ => {
            mark.state = Some(*got);
            Ok(())
        }
    }
}
