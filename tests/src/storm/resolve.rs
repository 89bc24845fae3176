//! From a step to calls: names, offsets and checkpoints are taken from the model.

use super::call::{Adding, Call, Target};
use super::model::{Model, TaskModel};
use super::program::{Op, Spec, Step, To, Who};

/// Messages of a kilobyte that states are stored behind.
const SNAPSHOT: u32 = 300;

/// The name of a task.
pub fn name(task: u8) -> String {
    format!("t{task}")
}

/// The calls of a step; none where there is nothing to do.
#[expect(clippy::too_many_lines, reason = "one match over all operations")]
pub fn resolve(step: &Step, model: &mut Model) -> Vec<Call> {
    let task = name(step.task);
    let keys = model.keys;
    let Some(known) = model.live_task(&task) else {
        // The first thing that is done to a task is to start it.
        return vec![Call::Start { task }];
    };
    let calls = match &step.op {
        Op::Start
        | Op::Compact { .. }
        | Op::Check
        | Op::Watch { .. }
        | Op::Look(_)
        | Op::Carry { .. }
        | Op::Files(_)
        | Op::Rollback(_)
        | Op::Run(_)
        | Op::Hooked
        | Op::Part { .. }
        | Op::Secret(_)
        | Op::Attach { .. }
        | Op::Alias(_)
        | Op::Once(_)
        | Op::Again(_)
        | Op::Clock(_)
        | Op::Anchor => None,
        Op::Append { who, bodies, key, expect, mark, submit } => {
            let lineage = lineage(known, *who);
            let on = lineage.unwrap_or_else(|| known.active());
            Some(Call::Append(Adding {
                lineage,
                bodies: bodies.clone(),
                key: key.map(|key| format!("k{key}")),
                expect: expect.then(|| known.lineages[&on].head),
                mark: *mark,
                submit: *submit,
                task: task.clone(),
            }))
        }
        Op::Keys(count) => {
            let calls = (0..u64::from(*count)).map(|n| {
                Call::Append(Adding {
                    task: task.clone(),
                    lineage: None,
                    bodies: vec![Spec { kind: 0, salt: (keys + n) as u32, size: 60 }],
                    key: Some(format!("many-{}", keys + n)),
                    expect: None,
                    mark: false,
                    submit: false,
                })
            });
            let calls = calls.collect();
            model.keys += u64::from(*count);
            return calls;
        }
        Op::Each { who, keys } => {
            let lineage = lineage(known, *who);
            let events = keys.iter().map(|(key, other)| Adding {
                task: task.clone(),
                lineage,
                bodies: vec![Spec { kind: 0, salt: u32::from(*key) + u32::from(*other), size: 50 }],
                key: Some(format!("each-{key}")),
                expect: None,
                mark: false,
                submit: false,
            });
            Some(Call::Each(events.collect()))
        }
        Op::BranchWith { to, bodies, mark } => target(known, *to).map(|to| Call::BranchWith {
            to,
            adding: Adding {
                task: task.clone(),
                lineage: None,
                bodies: bodies.clone(),
                key: None,
                expect: None,
                mark: *mark,
                submit: false,
            },
        }),
        Op::Snapshots => {
            let bodies = (0..SNAPSHOT).map(|n| Spec { kind: 11, salt: 2 * n + 1, size: 1000 });
            Some(Call::Append(Adding {
                task: task.clone(),
                lineage: None,
                bodies: bodies.collect(),
                key: None,
                expect: None,
                mark: false,
                submit: false,
            }))
        }
        Op::Refused(who, bad) => Some(Call::Refused {
            lineage: lineage(known, *who).unwrap_or_else(|| known.active()),
            bad: *bad,
            task: task.clone(),
        }),
        Op::Mark { who, at } => {
            let lineage = lineage(known, *who);
            let on = lineage.unwrap_or_else(|| known.active());
            let at = at.and_then(|at| offset(known, on, at));
            Some(Call::Mark { lineage, at, task: task.clone() })
        }
        Op::Restore(to) => target(known, *to).map(|to| Call::Restore { to, task: task.clone() }),
        Op::Branch(to) => target(known, *to).map(|to| Call::Branch { to, task: task.clone() }),
        Op::State(to) => target(known, *to).map(|to| Call::State { to, task: task.clone() }),
        Op::Undo => Some(Call::Undo { task: task.clone() }),
        Op::Switch(who) => {
            let lineage = lineage(known, *who).unwrap_or_else(|| known.active());
            Some(Call::Switch { lineage, task: task.clone() })
        }
        Op::Redo => Some(Call::Redo { task: task.clone() }),
        Op::Pin(n) => mark(known, *n).map(|mark| Call::Pin {
            pinned: !known.marks[&mark].pinned,
            mark,
            task: task.clone(),
        }),
        Op::RemoveMark(n) => {
            mark(known, *n).map(|mark| Call::RemoveMark { mark, task: task.clone() })
        }
        Op::Cleanup { all, keep, undo, marks_only, chosen, .. } => Some(Call::Cleanup {
            task: (!all || chosen.is_some()).then(|| task.clone()),
            keep: if chosen.is_some() { 0 } else { *keep },
            undo: *undo,
            marks_only: *marks_only,
            named: chosen.map(|bits| chosen_marks(known, bits)),
        }),
        Op::Erase(n, at) => {
            let there = known.there();
            let lineage = there[usize::from(*n) % there.len()];
            let erase = |offset| Call::Erase { task: task.clone(), lineage, offset };
            offset(known, lineage, *at).map(erase)
        }
        Op::Delete => Some(Call::Delete { task: task.clone() }),
        Op::Drain => Some(Call::Drain),
    };
    calls.into_iter().collect()
}

pub fn lineage(task: &TaskModel, who: Who) -> Option<u32> {
    let Who::Named(n) = who else { return None };
    let there = task.there();
    there.get(usize::from(n) % there.len().max(1)).copied()
}

/// An offset that is there, or the head.
pub fn offset(task: &TaskModel, lineage: u32, n: u16) -> Option<u64> {
    let (begin, head) = (task.begin(lineage), task.lineages.get(&lineage)?.head);
    (head >= begin).then(|| begin + u64::from(n) % (head - begin + 1))
}

fn mark(task: &TaskModel, n: u16) -> Option<String> {
    let all = marks(task);
    let at = usize::from(n).checked_rem(all.len())?;
    all.get(at).map(|id| (*id).clone())
}

/// The ids of checkpoints in the order in which they were marked: ids are others in each run.
fn marks(task: &TaskModel) -> Vec<&String> {
    let mut all: Vec<_> = task.marks.iter().collect();
    all.sort_by_key(|(_, mark)| mark.order);
    all.into_iter().map(|(id, _)| id).collect()
}

/// The checkpoints whose bit is set.
fn chosen_marks(task: &TaskModel, bits: u16) -> Vec<String> {
    let all = marks(task).into_iter().enumerate();
    let chosen = all.filter(|(n, _)| bits & (1 << (n % 16)) != 0);
    chosen.map(|(_, id)| id.clone()).collect()
}

fn target(task: &TaskModel, to: To) -> Option<Target> {
    match to {
        To::Mark(n) => mark(task, n).map(Target::Mark),
        To::Offset(n, at) => {
            let there = task.there();
            let lineage = *there.get(usize::from(n) % there.len().max(1))?;
            Some(Target::Offset(lineage, offset(task, lineage, at)?))
        }
    }
}
