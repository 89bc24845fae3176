//! A restore is killed before every call and recovered; so is the recovery. The folder is then as
//! before, byte by byte, or as planned.

use milepost::ErrorKind;

use super::harness::{At, How, SYSTEMS, System, scenes};
use crate::apply::staging::Staging;
use crate::apply::{Failed, Recovered, execute};
use crate::fs::Errno;
use crate::plan::Choices;
use crate::testing::fixtures::Random;

#[test]
fn a_restore_that_nobody_disturbs_leaves_the_tree_to_come_and_what_is_not_recorded() {
    for (name, scene) in scenes(60) {
        for system in SYSTEMS {
            let place = scene.folder();
            let context = format!("{name} {system:?}");
            let done = scene.apply(&place, system, At::Never).0.unwrap();
            done.expect(&context);
            let (done, _) =
                scene.recover(&place, system, At::Never, How::Finish, &Choices::default());
            assert_eq!(done.unwrap().unwrap(), Recovered::Complete(Vec::new()), "{context}");
            assert_eq!(place.things(), scene.after, "{context}");
            place.outside_is_as_it_was(&context);
        }
    }
}

#[test]
fn a_kill_before_any_move_is_taken_back() {
    for (name, scene) in scenes(6) {
        for system in SYSTEMS {
            for stop in 0.. {
                let place = scene.folder();
                let context = format!("{name} {system:?} killed at {stop}");
                if scene.apply(&place, system, At::Kill(stop)).0.is_some() {
                    break;
                }
                scene.recover_twice(&place, system, usize::MAX, How::Abort);
                place.is_as_before(&context);
                // A second recovery makes no calls.
                let choices = Choices::default();
                let (_, calls) = scene.recover(&place, system, At::Never, How::Abort, &choices);
                assert_eq!(calls, 0, "{context}");
            }
        }
    }
}

#[test]
fn a_kill_while_recovering_is_recovered_from() {
    for (name, scene) in scenes(2) {
        for system in SYSTEMS {
            let (_, calls) = scene.apply(&scene.folder(), system, At::Never);
            for stop in (0..calls).rev().step_by(3) {
                for again in 0.. {
                    let place = scene.folder();
                    let context = format!("{name} {system:?} killed at {stop}, again at {again}");
                    assert!(scene.apply(&place, system, At::Kill(stop)).0.is_none());
                    let killed = scene.recover_twice(&place, system, again, How::Abort);
                    place.is_as_before(&context);
                    if !killed {
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn a_kill_after_the_commit_only_clears() {
    for (name, scene) in scenes(12) {
        for again in 0.. {
            let place = scene.folder();
            scene.apply(&place, System::All, At::Never).0.unwrap().unwrap();
            let killed = scene.recover_twice(&place, System::All, again, How::Finish);
            assert_eq!(place.things(), scene.after, "{name} killed at {again}");
            place.outside_is_as_it_was(&name);
            if !killed {
                break;
            }
        }
    }
}

#[test]
fn a_call_that_fails_is_an_error_and_all_is_taken_back_at_once() {
    for (name, scene) in scenes(6) {
        for system in SYSTEMS {
            let (_, calls) = scene.apply(&scene.folder(), system, At::Never);
            for stop in 0..calls {
                let place = scene.folder();
                let error = [Errno::NOSPC, Errno::IO, Errno::ACCESS][stop % 3];
                let context = format!("{name} {system:?} failed at {stop}");
                let (done, _) = scene.apply(&place, system, At::Fail(stop, error));
                let Failed { error, recovered } = done.unwrap().expect_err(&context);
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{context}: {error}");
                assert_eq!(recovered.unwrap(), Recovered::Complete(Vec::new()), "{context}");
                place.is_as_before(&context);
            }
        }
    }
}

#[test]
fn a_power_cut_between_moves_leaves_any_of_them_and_all_are_taken_back() {
    for (name, scene) in scenes(40) {
        for round in 0..12 {
            let mut random = Random::new(round + 1);
            let system = random.of(&SYSTEMS);
            let place = scene.folder();
            let context = format!("{name} {system:?} round {round}");
            // Any of the moves, in any order that the file system allows.
            scene.run(&place, system, At::Never, |restore| {
                let syscalls = restore.syscalls();
                let (mut staging, part) = Staging::begin(restore, &syscalls).unwrap();
                crate::apply::stage::stage(restore, &syscalls, &part).unwrap();
                staging.written(&syscalls).unwrap();
                let mut left: Vec<_> = restore.plan.actions.iter().collect();
                let count = random.below(left.len() + 1);
                for _ in 0..count {
                    let action = left.remove(random.below(left.len()));
                    let mut executor = execute::Executor::new(restore, &syscalls);
                    let _ = executor.act(&staging, action);
                }
            });
            scene.recover_twice(&place, system, random.below(30), How::Abort);
            place.is_as_before(&context);
        }
    }
}

#[test]
fn a_recovery_that_fails_is_gone_on_with() {
    for (name, scene) in scenes(2) {
        let (_, calls) = scene.apply(&scene.folder(), System::All, At::Never);
        for stop in (0..calls).rev().step_by(4) {
            for again in 0.. {
                let place = scene.folder();
                let context = format!("{name} killed at {stop}, failed at {again}");
                assert!(scene.apply(&place, System::All, At::Kill(stop)).0.is_none());
                let (choices, fail) = (Choices::default(), At::Fail(again, Errno::NOSPC));
                let (done, calls) = scene.recover(&place, System::All, fail, How::Abort, &choices);
                if again >= calls {
                    break;
                }
                let error = done.unwrap().expect_err(&context);
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{context}: {error}");
                scene.recover_twice(&place, System::All, usize::MAX, How::Abort);
                place.is_as_before(&context);
            }
        }
    }
}
