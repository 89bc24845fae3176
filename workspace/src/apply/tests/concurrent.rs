//! Another process changes the folder during a restore, or before its recovery: its writes are
//! never lost and never redirected.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use milepost::ErrorKind;
use milepost_codec::{ActionKind, TreePath};

use super::harness::{At, How, ID, Place, SYSTEMS, Scene, System, scenes};
use crate::apply::{Failed, Recovered};
use crate::plan::Choices;
use crate::testing::fixtures::{
    Random, Thing, Things, at, in_open, open_all, path, read, set_bits,
};

fn tamper(folder: &Path, path: &TreePath, bytes: &[u8]) {
    let full = at(folder, path.as_bytes());
    in_open(&full, || {
        match full.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {
                set_bits(&full, 0o755);
                open_all(&full);
                std::fs::remove_dir_all(&full).unwrap();
            }
            Ok(_) => std::fs::remove_file(&full).unwrap(),
            Err(_) => {}
        }
        std::fs::write(&full, bytes).unwrap();
    });
}

const MINE: &[u8] = b"written since, by somebody";

#[test]
fn a_path_that_was_changed_since_the_crash_is_not_overwritten() {
    for (name, scene) in scenes(10) {
        let moved =
            |kind| matches!(kind, ActionKind::Create | ActionKind::Replace | ActionKind::Remove);
        let paths: Vec<_> =
            scene.plan.actions.iter().filter(|a| moved(a.kind)).map(|a| &a.path).collect();
        for stop in (0..).step_by(2) {
            let mut random = Random::new(stop as u64 + 1);
            let system = random.of(&SYSTEMS);
            let context = format!("{name} {system:?} killed at {stop}");
            let (place, other) = (scene.folder(), scene.folder());
            if scene.apply(&place, system, At::Kill(stop)).0.is_some() || paths.is_empty() {
                break;
            }
            scene.apply(&other, system, At::Kill(stop));
            let path = random.of(&paths);
            let parent =
                path.parent().map_or_else(|| place.work(), |p| at(&place.work(), p.as_bytes()));
            if !parent.is_dir() {
                continue;
            }
            tamper(&place.work(), path, MINE);
            tamper(&other.work(), path, MINE);
            let recover = |place: &Place, choices: &Choices| {
                let (done, _) = scene.recover(place, system, At::Never, How::Abort, choices);
                done.unwrap().expect(&context)
            };
            let staging = place.work().join(crate::apply::staging::name(&ID));
            if !staging.exists() {
                // It was killed before any change: there is no conflict to report.
                let done = recover(&place, &Choices::default());
                assert_eq!(done, Recovered::Complete(Vec::new()), "{context}");
                assert_eq!(std::fs::read(at(&place.work(), path.as_bytes())).unwrap(), MINE);
                continue;
            }
            let Recovered::Stopped(stopped) = recover(&place, &Choices::default()) else {
                panic!("{context}: {path} was changed");
            };
            let listed: Vec<_> = stopped.iter().map(|c| c.path.clone().unwrap()).collect();
            assert_eq!(listed, vec![path.clone()], "{context}");
            let mine = Thing::File(MINE.to_vec(), 0o644);
            let mut expected: Things = scene.before.clone();
            expected.retain(|at, _| !at.is_in(path));
            expected.insert(path.clone(), mine.clone());
            let staged = |path: &TreePath| path.as_bytes().starts_with(b".milepost-");
            let mut now = place.things();
            now.retain(|path, _| !staged(path));
            assert_eq!(now, expected, "all others are taken back: {context}");
            // The restore stays pending and unchanged until the user decides.
            assert_eq!(recover(&place, &Choices::default()), Recovered::Stopped(stopped));
            let keep = Choices::default().keep_mine(path.clone());
            assert_eq!(recover(&place, &keep), Recovered::Complete(Vec::new()), "{context}");
            assert_eq!(place.things(), expected, "{context}");

            let theirs = Choices::default().theirs(path.clone());
            let Recovered::Complete(named) = recover(&other, &theirs) else { panic!("{context}") };
            assert_eq!(named.len(), 1, "{context}");
            assert_eq!(named[0].path.as_ref(), Some(path), "{context}");
            let mut now = other.things();
            let kept: Vec<_> =
                now.iter().filter(|(path, _)| staged(path)).map(|(_, t)| t.clone()).collect();
            assert!(kept.contains(&mine), "{context}");
            now.retain(|path, _| !staged(path));
            assert_eq!(now, scene.before, "{context}");
        }
    }
}

#[test]
fn what_is_written_while_a_restore_goes_on_is_never_lost() {
    let (mut whole, mut stopped) = (0, 0);
    for (name, scene) in scenes(6) {
        for action in &scene.plan.actions {
            if !matches!(action.kind, ActionKind::Create | ActionKind::Replace | ActionKind::Remove)
            {
                continue;
            }
            for stop in 0.. {
                let place = scene.folder();
                let context = format!("{name} {} at {stop}", action.path);
                let (work, path) = (place.work(), &action.path);
                let done = AtomicBool::new(false);
                let write = || {
                    let full = at(&work, path.as_bytes());
                    // Write in place if the file exists: its inode moves into staging.
                    if full.parent().is_some_and(Path::is_dir)
                        && !full.is_dir()
                        && !full.is_symlink()
                    {
                        // Files that cannot be written to are skipped.
                        let written = in_open(&full, || std::fs::write(&full, MINE));
                        done.store(written.is_ok(), Ordering::Relaxed);
                    }
                };
                let (result, calls) = scene.apply(&place, System::All, At::Do(stop, &write));
                if stop >= calls {
                    break;
                }
                if !done.load(Ordering::Relaxed) {
                    continue;
                }
                let written = |at: &TreePath| at.is_in(path) || path.is_in(at);
                if let Err(Failed { error, recovered }) = result.unwrap() {
                    // Changes of all other paths were undone.
                    assert_eq!(error.kind(), ErrorKind::Conflict, "{context}");
                    let (mut now, mut before) = (place.things(), scene.before.clone());
                    now.retain(|at, _| !written(at) && !at.as_bytes().starts_with(b".milepost-"));
                    before.retain(|at, _| !written(at));
                    assert_eq!(now, before, "{context}");
                    match recovered.unwrap() {
                        Recovered::Complete(_) => {
                            whole += 1;
                            // A later abort finds nothing to undo.
                            let (done, _) = scene.recover(
                                &place,
                                System::All,
                                At::Never,
                                How::Abort,
                                &Choices::default(),
                            );
                            assert!(matches!(done, Some(Ok(Recovered::Complete(_)))), "{context}");
                        }
                        Recovered::Stopped(_) => stopped += 1,
                    }
                } else {
                    // Only a completed removal is not checked again. All other writes are found.
                    assert_eq!(action.kind, ActionKind::Remove, "{context}");
                    let now = place.things();
                    let mine = now.get(path);
                    assert!(matches!(mine, Some(Thing::File(b, _)) if b == MINE), "{context}");
                    let choices = Choices::default();
                    let (done, _) =
                        scene.recover(&place, System::All, At::Never, How::Finish, &choices);
                    assert!(matches!(done.unwrap().unwrap(), Recovered::Complete(_)), "{context}");
                }
                let mine = |it: &Thing| matches!(it, Thing::File(bytes, _) if bytes == MINE);
                let now = place.now();
                assert!(now.values().any(|(thing, _)| mine(thing)), "{context}: {now:?}");
            }
        }
    }
    // A write before the move leaves the path alone; one after it needs a decision.
    assert!(whole > 0 && stopped > 0, "{whole} {stopped}");
}

#[test]
fn what_is_written_through_an_open_handle_is_kept_and_named() {
    use std::io::Write as _;
    let scene = Scene::fixed();
    let place = scene.folder();
    let changed = place.work().join("changed");
    let mut handle = std::fs::OpenOptions::new().append(true).open(changed).unwrap();
    scene.apply(&place, System::All, At::Never).0.unwrap().unwrap();
    handle.write_all(b" and more").unwrap();
    let (done, _) = scene.recover(&place, System::All, At::Never, How::Finish, &Choices::default());
    let Recovered::Complete(kept) = done.unwrap().unwrap() else { panic!("stopped") };
    let [kept] = kept.as_slice() else { panic!("{kept:?}") };
    assert_eq!(kept.path, Some(path("changed")));
    assert_eq!(std::fs::read(at(&place.work(), kept.kept.as_bytes())).unwrap(), b"a and more");
}

#[test]
fn a_link_that_is_swapped_in_leads_nowhere() {
    let text = |bytes: &str| Thing::File(bytes.into(), 0o644);
    let last: Things =
        [(path("d"), Thing::Dir(0o755)), (path("d/x"), text("a")), (path("d/y"), text("a"))].into();
    let target: Things =
        [(path("d"), Thing::Dir(0o755)), (path("d/x"), text("b")), (path("d/z"), text("b"))].into();
    let scene = Scene::of(&last, &target, last.clone());
    for stop in 0.. {
        let place = scene.folder();
        let victim = place.dir.path().join("victim");
        std::fs::create_dir(&victim).unwrap();
        std::fs::write(victim.join("x"), "theirs").unwrap();
        std::fs::write(victim.join("y"), "theirs").unwrap();
        let work = place.work();
        let swap = || {
            std::fs::rename(work.join("d"), work.join("elsewhere")).unwrap();
            std::os::unix::fs::symlink(&victim, work.join("d")).unwrap();
        };
        let (done, calls) = scene.apply(&place, System::All, At::Do(stop, &swap));
        if stop >= calls {
            break;
        }
        assert!(done.unwrap().is_err(), "{stop}");
        let found = read(&victim);
        assert_eq!(found.len(), 2, "{stop}");
        assert!(found.values().all(|(thing, _)| *thing == text("theirs")), "{stop}");
    }
}

#[test]
fn what_somebody_put_into_staging_is_kept_and_named() {
    let scene = Scene::fixed();
    for stop in (0..).step_by(3) {
        let place = scene.folder();
        if scene.apply(&place, System::All, At::Kill(stop)).0.is_some() {
            break;
        }
        let staging = place.work().join(crate::apply::staging::name(&ID));
        let mut put = 0;
        for at in ["", "new", "old", "new/3", "old/0"] {
            let at = staging.join(at);
            // Into each existing folder; a slot that is a folder holds it among its new entries.
            if at.is_dir() {
                in_open(&at.join("x"), || std::fs::write(at.join("somebody's"), MINE)).unwrap();
                put += 1;
            }
        }
        let choices = Choices::default();
        let (done, _) = scene.recover(&place, System::All, At::Never, How::Abort, &choices);
        let Recovered::Complete(kept) = done.unwrap().unwrap() else { panic!("{stop}") };
        assert_eq!(kept.len(), put, "{stop}: {kept:?}");
        for kept in &kept {
            assert_eq!(std::fs::read(at(&place.work(), kept.kept.as_bytes())).unwrap(), MINE);
        }
        let mut now = place.things();
        now.retain(|path, _| !path.as_bytes().starts_with(b".milepost-kept-"));
        assert_eq!(now, scene.before, "{stop}");
    }
}

#[test]
fn a_folder_into_which_somebody_put_a_file_is_left() {
    let scene = Scene::fixed();
    let (_, calls) = scene.apply(&scene.folder(), System::All, At::Never);
    // A file in a restored folder, before the recovery.
    let place = scene.folder();
    let killed = scene.apply(&place, System::All, At::Kill(calls - 1)).0;
    assert!(killed.is_none());
    let own = place.work().join("file to folder/own");
    in_open(&own, || std::fs::write(&own, MINE)).unwrap();
    let choices = Choices::default();
    let (done, _) = scene.recover(&place, System::All, At::Never, How::Abort, &choices);
    let Recovered::Stopped(stopped) = done.unwrap().unwrap() else { panic!("it was taken away") };
    assert_eq!(stopped.len(), 1);
    assert_eq!(stopped[0].path, Some(path("file to folder")));
    assert_eq!(std::fs::read(&own).unwrap(), MINE);

    // A file in a folder to be replaced, before any call until then.
    let mut ended = 0;
    for stop in 0..calls {
        let place = scene.folder();
        let own = place.work().join("folder to link/own");
        let put = || {
            if own.parent().is_some_and(|dir| dir.is_dir() && !dir.is_symlink()) {
                in_open(&own, || std::fs::write(&own, MINE)).unwrap();
            }
        };
        let (done, _) = scene.apply(&place, System::All, At::Do(stop, &put));
        if let Err(Failed { error, recovered }) = done.unwrap() {
            assert_eq!(error.kind(), ErrorKind::Conflict, "{stop}");
            assert_eq!(recovered.unwrap(), Recovered::Complete(Vec::new()), "{stop}");
            assert_eq!(std::fs::read(&own).unwrap(), MINE, "{stop}");
            let mut now = place.things();
            now.remove(&path("folder to link/own"));
            assert_eq!(now, scene.before, "{stop}");
            ended += 1;
        } else {
            assert!(!own.exists(), "{stop}");
        }
    }
    assert!(ended > 0);
}

#[test]
fn what_was_changed_before_its_move_is_left_and_all_else_is_taken_back() {
    let scene = Scene::fixed();
    for system in SYSTEMS {
        for action in &scene.plan.actions {
            let (place, path) = (scene.folder(), &action.path);
            let full = at(&place.work(), path.as_bytes());
            let change = || match action.kind {
                // One cannot be removed any more, the other has other mode bits.
                ActionKind::MakeRoom => {
                    let own = full.join("own");
                    in_open(&own, || std::fs::write(&own, MINE)).unwrap();
                }
                ActionKind::Mode => set_bits(&full, 0o711),
                _ => tamper(&place.work(), path, MINE),
            };
            let (done, _) = scene.apply(&place, system, At::Do(0, &change));
            let Failed { error, recovered } = done.unwrap().unwrap_err();
            let context = format!("{system:?} {path}: {error}");
            assert_eq!(error.kind(), ErrorKind::Conflict, "{context}");
            assert_eq!(recovered.unwrap(), Recovered::Complete(Vec::new()), "{context}");
            let mut expected = scene.before.clone();
            let mine = Thing::File(MINE.to_vec(), 0o644);
            match action.kind {
                ActionKind::MakeRoom => {
                    expected.insert(
                        crate::testing::fixtures::path([path.as_bytes(), b"/own"].concat()),
                        mine,
                    );
                }
                ActionKind::Mode => {
                    expected.insert(path.clone(), Thing::Dir(0o711));
                }
                _ => {
                    expected.retain(|at, _| !at.is_in(path));
                    expected.insert(path.clone(), mine);
                }
            }
            assert_eq!(place.things(), expected, "{context}");
        }
    }
}
