//! Recovery after a crash: the next step to undo an action, from its observed state.
//!
//! One function implements the table of docs/WORKSPACE.md. No progress is recorded: the path, the
//! staged new (N) and the place for the old (O) show it. Each step leads to a state in the table,
//! so a crash before any step is harmless.

use milepost_codec::ActionKind;

use super::compare::ItemState;
use super::staging::Place;

/// Observed state of one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Observation {
    pub(super) path: ItemState,
    pub(super) new: ItemState,
    pub(super) old: ItemState,
    /// `true` if the path is a hard link to the entry in one of the two places.
    pub(super) linked: bool,
}

/// Next step of an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// Done: the path is as before. A folder gets its bits.
    Rest,
    /// Exchange the old entry in the place with the restored one.
    Swap(Place),
    /// Move the old entry back from the place.
    Take(Place),
    /// Move the restored entry to the place.
    Away(Place),
    /// Remove the path: staging has another link to its entry.
    Unlink,
    /// Write the old content to the place, from the chunks of the present.
    Rebuild(Place),
    /// Keep the entry in the place for the old elsewhere: it belongs to another process.
    Free,
    /// Create a folder again.
    Make,
    /// Keep the entry of another process elsewhere.
    Keep,
    /// Leave the path: another process changed it.
    Stop,
}

/// Returns the next step to undo an action. With `theirs`, entries of other processes in the way
/// may be kept elsewhere.
pub(super) fn judge(kind: ActionKind, observation: Observation, theirs: bool) -> Step {
    let stop = match (theirs, observation.path) {
        (false, _) => Step::Stop,
        (true, ItemState::Nothing) => Step::Rebuild(Place::Old),
        (true, _) => Step::Keep,
    };
    match kind {
        ActionKind::Create => created(observation, stop),
        ActionKind::Replace | ActionKind::Remove => displaced(kind, observation, stop),
        ActionKind::MakeRoom => match observation.path {
            ItemState::Nothing => Step::Make,
            ItemState::Before => Step::Rest,
            ItemState::After | ItemState::Other => stop,
        },
        // The mode bits are set at the end.
        ActionKind::Mode => match observation.path {
            ItemState::Before | ItemState::After => Step::Rest,
            ItemState::Nothing if theirs => Step::Make,
            ItemState::Nothing | ItemState::Other => stop,
        },
    }
}

/// Undoes an action on a path that was free.
fn created(observation: Observation, stop: Step) -> Step {
    match observation.path {
        ItemState::Nothing => Step::Rest,
        ItemState::After if observation.linked => Step::Unlink,
        // The new entry is still staged: the one at the path belongs to another process.
        ItemState::After if observation.new == ItemState::After => stop,
        ItemState::After => free_place(observation).map_or(Step::Free, Step::Away),
        ItemState::Before | ItemState::Other => stop,
    }
}

/// Undoes an action on a path with an entry.
fn displaced(kind: ActionKind, observation: Observation, stop: Step) -> Step {
    let at = |place: &Place| match place {
        Place::New => observation.new == ItemState::Before,
        Place::Old => observation.old == ItemState::Before,
    };
    let before = Place::ALL.into_iter().find(at);
    let rebuild = || free_place(observation).map_or(Step::Free, Step::Rebuild);
    match observation.path {
        ItemState::Before => Step::Rest,
        ItemState::Other => stop,
        ItemState::After if kind == ActionKind::Remove => stop,
        ItemState::After if observation.linked => Step::Unlink,
        ItemState::After => before.map_or_else(rebuild, Step::Swap),
        ItemState::Nothing => match before {
            Some(place) => Step::Take(place),
            // The path was not moved yet: another process removed it.
            None if observation.new == ItemState::After
                && observation.old == ItemState::Nothing =>
            {
                stop
            }
            None => rebuild(),
        },
    }
}

/// Returns a place that is empty.
fn free_place(observation: Observation) -> Option<Place> {
    match (observation.new, observation.old) {
        (ItemState::Nothing, _) => Some(Place::New),
        (_, ItemState::Nothing) => Some(Place::Old),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ItemState::{After, Before, Nothing, Other};

    const ALL: [ItemState; 4] = [Nothing, Before, After, Other];

    /// Applies a step to an observation, without changes by other processes.
    fn step(
        kind: ActionKind,
        mut observation: Observation,
        step: Step,
        kept: &mut Vec<ItemState>,
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
                        // Two links of one inode hold the same.
                        let can = path == After && (new == After || old == After);
                        let observation = Observation { path, new, old, linked };
                        (!linked || can).then_some(observation)
                    })
                })
            })
        })
    }

    /// Returns the first steps that the table of the page allows. Written from the page, not from
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
                        let before: &[ItemState] = match kind {
                            ActionKind::Create => &[Nothing],
                            ActionKind::Mode => &[Before, After],
                            _ => &[Before],
                        };
                        assert!(before.contains(&observation.path), "{context}");
                    }
                    // Entries of other processes still exist somewhere.
                    let others =
                        |found: &[ItemState]| found.iter().filter(|f| **f == Other).count();
                    let now =
                        [&[observation.path, observation.new, observation.old], kept.as_slice()]
                            .concat();
                    let then = [first.path, first.new, first.old];
                    assert_eq!(others(&now), others(&then), "{context}");
                    // At the path, they are left alone.
                    let stays = !theirs && first.path == Other;
                    assert!(!stays || observation == first, "{context}");
                }
            }
        }
    }
}
