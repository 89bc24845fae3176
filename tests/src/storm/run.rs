//! Makes a call on a store, and returns its result.

use milepost::events::{CheckpointMarked, Message};
use milepost::query::CheckpointQuery;
use milepost::retention::Policy;
use milepost::state::RunReducer;
use milepost::{
    Append, Body, Checkpoint, Engine, ErrorKind, Lineage, LineageId, Mark, Point, Reducer, Result,
    Task,
};
use milepost_runtime::failover::{Accepted, FailoverEngine};

use super::call::{Adding, Call, Cleaned, Done, Failed, Marked, Target};
use super::program::Bad;
use crate::seed::hash;

/// Does a call.
#[expect(clippy::too_many_lines, reason = "one match over all operations")]
pub fn perform(engine: &Engine, call: &Call) -> Result<Done> {
    match call {
        Call::Start { task } => engine.start_task(task, "ana").map(|_| Done::Unit),
        Call::Append(adding) => append(engine, adding),
        Call::Each(all) => each(engine, all),
        Call::Refused { task, lineage, bad } => {
            let task = engine.task(task)?;
            refused(&task.lineage_named(LineageId(*lineage))?, *bad)
        }
        Call::Mark { task, lineage, at } => {
            let task = engine.task(task)?;
            let mut mark = Mark::new().label("storm");
            if let Some(at) = at {
                mark = mark.at(*at);
            }
            let marked = match lineage {
                None => task.checkpoint(mark)?,
                Some(id) => task.lineage_named(LineageId(*id))?.checkpoint(mark)?,
            };
            Ok(Done::Marked(told(engine, &marked)))
        }
        Call::Restore { task, to } => {
            let back = engine.restore(&point(engine, task, to)?).description("storm").run()?;
            forked(engine, &back, back.lineage())
        }
        Call::Branch { task, to } => {
            let branch = engine.branch(&point(engine, task, to)?).run()?;
            forked(engine, &engine.task(task)?, &branch)
        }
        Call::BranchWith { to, adding } => branch_with(engine, to, adding),
        Call::Undo { task } => {
            let back = engine.undo(task).run()?;
            Ok(Done::Activated { lineage: back.lineage().id().0, epoch: back.epoch() })
        }
        Call::Switch { task, lineage } => {
            let to = engine.task(task)?.lineage_named(LineageId(*lineage))?;
            let on = engine.switch(&to).run()?;
            Ok(Done::Activated { lineage: on.lineage().id().0, epoch: on.epoch() })
        }
        Call::Redo { task } => {
            let on = engine.redo(task).run()?;
            Ok(Done::Activated { lineage: on.lineage().id().0, epoch: on.epoch() })
        }
        Call::Pin { mark, pinned, .. } => {
            let id = engine.query().checkpoint(mark)?.id;
            match pinned {
                true => engine.retention().pin(&id, Some("storm"))?,
                false => engine.retention().unpin(&id)?,
            }
            Ok(Done::Unit)
        }
        Call::RemoveMark { mark, .. } => {
            let id = engine.query().checkpoint(mark)?.id;
            engine.retention().unmark(&[id]).map(|()| Done::Unit)
        }
        Call::Cleanup { task, keep, undo, marks_only, named } => {
            let mut policy = Policy::new().undo(u32::from(*undo)).marks_only(*marks_only);
            if named.is_none() {
                policy = policy.keep(usize::from(*keep));
            }
            if let Some(task) = task {
                policy = policy.task(task);
            }
            if let (Some(task), Some(named)) = (task, named) {
                let ids = named.iter().map(|id| id.parse());
                policy = policy.remove(task, ids.collect::<Result<Vec<_>>>()?);
            }
            let report = engine.retention().retain(&policy)?;
            let cleaned = report.tasks.into_iter().map(|task| Cleaned {
                task: task.task,
                removed: task.removed,
                trimmed: task.trimmed.iter().map(|(id, at)| (id.0, *at)).collect(),
                dropped: task.dropped.iter().map(|id| id.0).collect(),
                error: task.error.as_ref().map(Failed::of),
            });
            Ok(Done::Cleaned(cleaned.collect()))
        }
        Call::Erase { task, lineage, offset } => {
            let lineage = engine.task(task)?.lineage_named(LineageId(*lineage))?;
            engine.retention().erase(&lineage.point(*offset)?, Some("storm"))?;
            Ok(Done::Unit)
        }
        Call::Delete { task } => engine.retention().delete_task(task).map(|()| Done::Unit),
        Call::State { task, to } => {
            let point = point(engine, task, to)?;
            Ok(Done::State(digest(engine, &point)?))
        }
        Call::Drain => engine.store().drain().map(|()| Done::Unit),
    }
}

/// A digest of the state at a point.
pub fn digest(engine: &Engine, point: &Point) -> Result<u64> {
    Ok(hash(&RunReducer.encode(&engine.run_state(point)?)?))
}

fn point(engine: &Engine, task: &str, to: &Target) -> Result<Point> {
    match to {
        Target::Mark(id) => engine.point(&format!("@{id}")),
        Target::Offset(lineage, offset) => {
            let task = engine.task(task)?;
            task.lineage_named(LineageId(*lineage))?.point(*offset)
        }
    }
}

/// Returns a checkpoint as its caller sees it.
pub fn told(engine: &Engine, mark: &Checkpoint) -> Marked {
    let point = engine.point(&format!("@{}", mark.id));
    Marked {
        id: mark.id.to_string(),
        lineage: mark.lineage.0,
        mark: mark.mark,
        at: mark.at,
        state: point.and_then(|point| digest(engine, &point)).ok(),
    }
}

pub fn forked(engine: &Engine, task: &Task, lineage: &Lineage) -> Result<Done> {
    let info = lineage.info()?;
    let query = CheckpointQuery {
        task: Some(task.id().to_owned()),
        lineage: Some(lineage.id()),
        limit: Some(10_000),
        ..CheckpointQuery::default()
    };
    let marks = engine.query().checkpoints(&query)?.items;
    Ok(Done::Forked {
        lineage: lineage.id().0,
        parent: info.parent.map(|parent| (parent.lineage.0, parent.offset)),
        head: info.head.next,
        epoch: task.epoch(),
        marks: marks.iter().map(|mark| told(engine, mark)).collect(),
    })
}

/// Appends events that each have their own key.
fn each(engine: &Engine, all: &[Adding]) -> Result<Done> {
    let Some(first) = all.first() else { return Ok(Done::Each(Vec::new())) };
    let task = engine.task(&first.task)?;
    let events = all.iter().filter_map(|one| one.key.clone().zip(one.bodies().pop()));
    let append = Append::each_keyed(events);
    let (on, done) = match first.lineage {
        None => (task.lineage().clone(), task.append(append)?),
        Some(id) => {
            let on = task.lineage_named(LineageId(id))?;
            let done = on.append(append)?;
            (on, done)
        }
    };
    let told = |offset, repeated| told_each(on.id().0, offset, repeated);
    Ok(Done::Each(done.events.iter().map(|event| told(event.offset, event.repeated)).collect()))
}

/// Returns the answer for one event that has its own key.
pub fn told_each(lineage: u32, offset: u64, repeated: bool) -> Done {
    Done::Appended { lineage, first: offset, count: 1, head: offset + 1, repeated, mark: None }
}

fn branch_with(engine: &Engine, to: &Target, adding: &Adding) -> Result<Done> {
    let mut append = Append::batch(adding.bodies());
    if adding.mark {
        append = append.mark(Mark::new().label("with"));
    }
    let (branch, done) = engine.branch(&point(engine, &adding.task, to)?).append(append)?;
    let task = engine.task(&adding.task)?;
    let mark = match done.checkpoint {
        Some(id) => Some(told(engine, &engine.query().checkpoint(&id.to_string())?)),
        None => None,
    };
    branched(engine, &task, &branch, (done.first, done.count, done.head.next, mark))
}

/// A branch and the append to it, each as if it were alone.
pub fn branched(
    engine: &Engine,
    task: &Task,
    branch: &Lineage,
    (first, count, head, mark): (u64, u32, u64, Option<Marked>),
) -> Result<Done> {
    let Done::Forked { lineage, parent, epoch, mut marks, .. } = forked(engine, task, branch)?
    else {
        return Ok(Done::Unit);
    };
    marks.retain(|mark| mark.mark < first);
    let opened = Done::Forked { lineage, parent, head: first, epoch, marks };
    let appended = Done::Appended { lineage, first, count, head, repeated: false, mark };
    Ok(Done::Branched(Box::new(opened), Box::new(appended)))
}

fn append(engine: &Engine, adding: &Adding) -> Result<Done> {
    let task = engine.task(&adding.task)?;
    let mut append = Append::batch(adding.bodies());
    if let Some(key) = &adding.key {
        append = append.key(key);
    }
    if let Some(head) = adding.expect {
        append = append.expect_head(head);
    }
    if adding.mark {
        append = append.mark(Mark::new().label("with"));
    }
    let on = match adding.lineage {
        None => task.lineage().clone(),
        Some(id) => task.lineage_named(LineageId(id))?,
    };
    let done = match (adding.submit, adding.lineage) {
        (true, _) => on.submit(append)?.wait()?,
        (false, None) => task.append(append)?,
        (false, Some(_)) => on.append(append)?,
    };
    let mark = match done.checkpoint {
        Some(id) => Some(told(engine, &engine.query().checkpoint(&id.to_string())?)),
        None => None,
    };
    Ok(Done::Appended {
        lineage: on.id().0,
        first: done.first,
        count: done.count,
        head: done.head.next,
        repeated: done.repeated,
        mark,
    })
}

/// Appends through a supervisor.
pub fn supervised(supervisor: &FailoverEngine, engine: &Engine, adding: &Adding) -> Result<Done> {
    let accepted = supervisor.append(&adding.task, Append::batch(adding.bodies()))?;
    let Accepted::Appended(done) = accepted else {
        // It may be there later.
        let why = "the supervisor holds the append in memory";
        return Err(milepost::Error::new(ErrorKind::Unavailable, why));
    };
    Ok(Done::Appended {
        lineage: engine.task(&adding.task)?.lineage().id().0,
        first: done.first,
        count: done.count,
        head: done.head.next,
        repeated: done.repeated,
        mark: None,
    })
}

fn said(text: &str) -> Body {
    Message::text("user", text).into()
}

/// An append that must be refused.
fn refused(lineage: &Lineage, bad: Bad) -> Result<Done> {
    let garbage = |kind| Body::Unknown { kind, payload: vec![0xff; 3] };
    let head = lineage.head()?.next;
    let label = |len: usize| Some("l".repeat(len));
    let marked = |label| CheckpointMarked { label, ..CheckpointMarked::default() };
    let append = match bad {
        Bad::HalfUnknown => Append::batch([said("half"), garbage(17)]),
        Bad::Unknown => garbage(13).into(),
        Bad::LongLabel => {
            let (kind, payload) = Body::CheckpointMarked(marked(label(5000))).encode();
            Body::Unknown { kind, payload }.into()
        }
        Bad::LongKey => Append::from(said("key")).key("k".repeat(5000)),
        Bad::Empty => Append::batch(Vec::<Body>::new()),
        Bad::WrongHead => Append::from(said("head")).expect_head(head + 1),
        Bad::ByHand => Append::from(Body::CheckpointMarked(marked(label(5)))),
        Bad::LongMark => {
            let mark = Mark::new().label("l".repeat(5000));
            return lineage.checkpoint(mark).map(|_| Done::Unit);
        }
        Bad::MarkPastHead => {
            let mark = Mark::new().at(head + 5);
            return lineage.checkpoint(mark).map(|_| Done::Unit);
        }
    };
    let done = lineage.append(append)?;
    Ok(Done::Appended {
        lineage: lineage.id().0,
        first: done.first,
        count: done.count,
        head: done.head.next,
        repeated: done.repeated,
        mark: None,
    })
}
