//! After a crash: what is found of an action, and what that asks for to be taken back.
//!
//! The table of docs/WORKSPACE.md, as one function. Nothing is remembered of what was done: the
//! path, the staged new (N) and the place for the old (O) show it. Each step leads to a state that
//! is in the table again, so it does not matter in front of which of them the next crash comes.

use milepost_codec::ActionKind;

use super::compare::Found;
use super::staging::Place;

/// What is found of one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Observation {
    pub(super) path: Found,
    pub(super) new: Found,
    pub(super) old: Found,
    /// Whether the path is another name of what is in one of the two places.
    pub(super) linked: bool,
}

/// What is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// Nothing: it is as it was. A folder gets its bits.
    Rest,
    /// What was there before is exchanged with what the restore put there.
    Swap(Place),
    /// What was there before is moved back.
    Take(Place),
    /// What the restore put there is moved away.
    Away(Place),
    /// The path is removed: what it names has another name in staging.
    Unlink,
    /// What was there before is written to a place, from the chunks of the present.
    Rebuild(Place),
    /// What is in the place for the old is somebody's, and is kept elsewhere.
    Free,
    /// A folder is made again.
    Make,
    /// What somebody put there is kept elsewhere.
    Keep,
    /// Somebody changed the path since: it is left.
    Stop,
}

/// What one action asks for to be taken back, by what is found. `theirs` says that what somebody
/// put in its way may be kept elsewhere.
pub(super) fn judge(kind: ActionKind, observation: Observation, theirs: bool) -> Step {
    let stop = match (theirs, observation.path) {
        (false, _) => Step::Stop,
        (true, Found::Nothing) => Step::Rebuild(Place::Old),
        (true, _) => Step::Keep,
    };
    match kind {
        ActionKind::Create => created(observation, stop),
        ActionKind::Replace | ActionKind::Remove => displaced(kind, observation, stop),
        ActionKind::MakeRoom => match observation.path {
            Found::Nothing => Step::Make,
            Found::Before => Step::Rest,
            Found::After | Found::Other => stop,
        },
        // The bits are set in the end.
        ActionKind::Mode => match observation.path {
            Found::Before | Found::After => Step::Rest,
            Found::Nothing if theirs => Step::Make,
            Found::Nothing | Found::Other => stop,
        },
    }
}

/// Nothing was there.
fn created(observation: Observation, stop: Step) -> Step {
    match observation.path {
        Found::Nothing => Step::Rest,
        Found::After if observation.linked => Step::Unlink,
        // It is still staged: this one is somebody's, whatever it holds.
        Found::After if observation.new == Found::After => stop,
        Found::After => free_place(observation).map_or(Step::Free, Step::Away),
        Found::Before | Found::Other => stop,
    }
}

/// Something was there.
fn displaced(kind: ActionKind, observation: Observation, stop: Step) -> Step {
    let at = |place: &Place| match place {
        Place::New => observation.new == Found::Before,
        Place::Old => observation.old == Found::Before,
    };
    let before = Place::ALL.into_iter().find(at);
    let rebuild = || free_place(observation).map_or(Step::Free, Step::Rebuild);
    match observation.path {
        Found::Before => Step::Rest,
        Found::Other => stop,
        Found::After if kind == ActionKind::Remove => stop,
        Found::After if observation.linked => Step::Unlink,
        Found::After => before.map_or_else(rebuild, Step::Swap),
        Found::Nothing => match before {
            Some(place) => Step::Take(place),
            // It was not moved yet: somebody removed it.
            None if observation.new == Found::After && observation.old == Found::Nothing => stop,
            None => rebuild(),
        },
    }
}

/// A place in which nothing is.
fn free_place(observation: Observation) -> Option<Place> {
    match (observation.new, observation.old) {
        (Found::Nothing, _) => Some(Place::New),
        (_, Found::Nothing) => Some(Place::Old),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Found::{After, Before, Nothing, Other};

    const ALL: [Found; 4] = [Nothing, Before, After, Other];

    /// What the moves make of a sight, in a world where nobody else does anything.
    fn step(
        kind: ActionKind,
        mut observation: Observation,
        step: Step,
        kept: &mut Vec<Found>,
    ) -> Observation {
        let take = |observation: &mut Observation, place| {
            let at = match place {
                Place::New => &mut observation.new,
                Place::Old => &mut observation.old,
            };
            std::mem::replace(at, Nothing)
        };
        let put = |observation: &mut Observation, place, found| {
            assert_eq!(take(observation, place), Nothing, "{kind:?}: overwritten");
            match place {
                Place::New => observation.new = found,
                Place::Old => observation.old = found,
            }
        };
        match step {
            Step::Rest | Step::Stop => {}
            Step::Swap(place) => {
                let (found, path) = (take(&mut observation, place), observation.path);
                put(&mut observation, place, path);
                observation.path = found;
            }
            Step::Take(place) => {
                assert_eq!(observation.path, Nothing, "{kind:?}: overwritten");
                observation.path = take(&mut observation, place);
            }
            Step::Away(place) => {
                let path = observation.path;
                put(&mut observation, place, path);
                observation.path = Nothing;
            }
            Step::Unlink => {
                assert!(observation.linked && observation.path == After);
                (observation.path, observation.linked) = (Nothing, false);
            }
            Step::Rebuild(place) => put(&mut observation, place, Before),
            Step::Free => kept.push(take(&mut observation, Place::Old)),
            Step::Make => {
                assert_eq!(observation.path, Nothing);
                observation.path = Before;
            }
            Step::Keep => {
                kept.push(observation.path);
                observation.path = Nothing;
            }
        }
        observation
    }

    fn observations() -> impl Iterator<Item = Observation> {
        ALL.into_iter().flat_map(|path| {
            ALL.into_iter().flat_map(move |new| {
                ALL.into_iter().flat_map(move |old| {
                    [false, true].into_iter().filter_map(move |linked| {
                        // Two names of one inode hold the same.
                        let can = path == After && (new == After || old == After);
                        let observation = Observation { path, new, old, linked };
                        (!linked || can).then_some(observation)
                    })
                })
            })
        })
    }

    /// The table of the page, row by row: what may be done first. Written from the page, not from
    /// the function.
    fn page(kind: ActionKind, observation: Observation) -> &'static [Step] {
        use Place::{New, Old};
        let Observation { path, new, old, linked } = observation;
        match kind {
            ActionKind::MakeRoom => match path {
                Nothing => &[Step::Make],
                Before => &[Step::Rest],
                _ => &[Step::Stop],
            },
            ActionKind::Mode => match path {
                Before | After => &[Step::Rest],
                _ => &[Step::Stop],
            },
            _ => match (kind, path, new, old) {
                (_, Other, _, _) => &[Step::Stop],
                (ActionKind::Create, Nothing, _, _) => &[Step::Rest],
                (ActionKind::Create, Before, _, _) => &[Step::Stop],
                (ActionKind::Create | ActionKind::Replace, After, _, _) if linked => {
                    &[Step::Unlink]
                }
                (ActionKind::Create, After, After, _) => &[Step::Stop],
                (ActionKind::Create, After, Nothing, _) => &[Step::Away(New)],
                (ActionKind::Create, After, _, Nothing) => &[Step::Away(Old)],
                (ActionKind::Create, After, _, _) => &[Step::Free],
                (_, Before, _, _) => &[Step::Rest],
                (ActionKind::Remove, After, _, _) => &[Step::Stop],
                (_, After, Before, _) => &[Step::Swap(New)],
                (_, After, _, Before) => &[Step::Swap(Old)],
                (_, Nothing, Before, _) => &[Step::Take(New)],
                (_, Nothing, _, Before) => &[Step::Take(Old)],
                (_, Nothing, After, Nothing) => &[Step::Stop],
                (_, _, Nothing, _) => &[Step::Rebuild(New)],
                (_, _, _, Nothing) => &[Step::Rebuild(Old)],
                _ => &[Step::Free],
            },
        }
    }

    #[test]
    fn every_sight_asks_for_what_the_page_says() {
        for kind in ActionKind::ALL {
            for observation in observations() {
                let step = judge(kind, observation, false);
                assert!(
                    page(kind, observation).contains(&step),
                    "{kind:?} {observation:?}: {step:?}"
                );
            }
        }
    }

    #[test]
    fn taking_back_comes_to_an_end_overwrites_nothing_and_loses_nothing_of_somebody() {
        for theirs in [false, true] {
            for kind in ActionKind::ALL {
                for first in observations() {
                    let (mut observation, mut kept) = (first, Vec::new());
                    let mut last = judge(kind, observation, theirs);
                    for _ in 0..6 {
                        observation = step(kind, observation, last, &mut kept);
                        last = judge(kind, observation, theirs);
                    }
                    let context =
                        format!("{kind:?} {first:?} theirs {theirs}: {observation:?} {last:?}");
                    assert!(matches!(last, Step::Rest | Step::Stop), "{context}");
                    assert!(!theirs || last == Step::Rest, "{context}");
                    if last == Step::Rest {
                        let before: &[Found] = match kind {
                            ActionKind::Create => &[Nothing],
                            ActionKind::Mode => &[Before, After],
                            _ => &[Before],
                        };
                        assert!(before.contains(&observation.path), "{context}");
                    }
                    // What somebody put anywhere is still somewhere.
                    let others = |found: &[Found]| found.iter().filter(|f| **f == Other).count();
                    let now =
                        [&[observation.path, observation.new, observation.old], kept.as_slice()]
                            .concat();
                    let then = [first.path, first.new, first.old];
                    assert_eq!(others(&now), others(&then), "{context}");
                    // And where it is in the way of the path, it is left there.
                    let left = !theirs && first.path == Other;
                    assert!(!left || observation == first, "{context}");
                }
            }
        }
    }
}
