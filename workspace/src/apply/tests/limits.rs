//! Missing preconditions of a restore: staging, contents, a valid plan, a folder of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use milepost::ErrorKind;
use milepost_codec::{ChunkEntry, TreePath};

use super::harness::{At, How, ID, Scene, System, scenes};
use crate::apply::{Recovered, Restore, apply};
use crate::fs::Folder;
use crate::fs::{Stamp, at_root};
use crate::testing::fixtures::{Thing, Things, open_all, path};

fn text(bytes: &str) -> Thing {
    Thing::File(bytes.into(), 0o644)
}

#[test]
fn staging_that_was_removed_is_made_up_for_from_the_chunks_of_the_present() {
    for (name, scene) in scenes(10) {
        for stop in 0.. {
            let place = scene.folder();
            if scene.apply(&place, System::All, At::Kill(stop)).0.is_some() {
                break;
            }
            let staging = place.work().join(crate::apply::staging::name(&ID));
            open_all(&staging);
            let _ = std::fs::remove_dir_all(staging);
            scene.recover_twice(&place, System::All, stop % 40, How::Abort);
            assert_eq!(place.things(), scene.before, "{name} killed at {stop}");
            place.outside_is_as_it_was(&name);
        }
    }
}

#[test]
fn a_plan_that_no_version_writes_is_refused_before_anything_is_done() {
    let mut scene = Scene::fixed();
    scene.plan.actions[1].slot = 0;
    let place = scene.folder();
    let error = scene.apply(&place, System::All, At::Never).0.unwrap().unwrap_err();
    assert_eq!(error.error.kind(), ErrorKind::Corrupt);
    place.is_as_before("");
}

#[test]
fn contents_that_are_lost_end_a_restore_before_the_first_move() {
    let scene = Scene::fixed();
    let id = ChunkEntry::id_of(b"n");
    scene.chunks.all.lock().insert(id, b"d".to_vec().into());
    let place = scene.folder();
    let error = scene.apply(&place, System::All, At::Never).0.unwrap().unwrap_err();
    assert_eq!(error.error.kind(), ErrorKind::Corrupt);
    assert!(error.error.to_string().contains("new"), "{error:?}");
    place.is_as_before("");
}

#[test]
fn the_folder_of_the_store_is_never_entered() {
    let last: Things =
        [(path("d"), Thing::Dir(0o755)), (path("d/x"), text("a")), (path("y"), text("a"))].into();
    let mut target = last.clone();
    target.insert(path("d/x"), text("b"));
    target.remove(&path("y"));
    let scene = Scene::of(&last, &target, last.clone());
    let place = scene.folder();
    let root = at_root(&place.work()).unwrap();
    let store = root.look(b"d").unwrap().identity();
    let folder = Folder::new(root, Some(store)).unwrap();
    let restore = Restore {
        plan: &scene.plan,
        contents: &scene.chunks,
        folder: &folder,
        id: ID,
        stamps: &|_| None,
        calls: &|_| Ok(()),
    };
    let failed = apply(&restore, scene.present, scene.tree).unwrap_err();
    assert_eq!(failed.error.kind(), ErrorKind::Unavailable);
    assert_eq!(failed.recovered.unwrap(), Recovered::Complete(Vec::new()));
    place.is_as_before("");
}

#[test]
fn a_restore_that_was_begun_is_not_begun_again() {
    let scene = Scene::fixed();
    let place = scene.folder();
    scene.apply(&place, System::All, At::Kill(45)).0.ok_or(()).unwrap_err();
    let now = place.now();
    let failed = scene.apply(&place, System::All, At::Never).0.unwrap().unwrap_err();
    assert_eq!(failed.error.kind(), ErrorKind::Conflict);
    assert!(failed.recovered.is_err());
    assert_eq!(place.now(), now);
    scene.recover_twice(&place, System::All, usize::MAX, How::Abort);
    place.is_as_before("");
}

#[test]
fn what_has_its_stamp_still_is_not_read() {
    let last: Things = [(path("same"), text("a")), (path("x"), text("a"))].into();
    let mut target = last.clone();
    target.insert(path("x"), text("b"));
    let scene = Scene::of(&last, &target, last.clone());
    for believed in [true, false] {
        let place = scene.folder();
        let folder = Folder::new(at_root(&place.work()).unwrap(), None).unwrap();
        let look = |name: &[u8]| folder.root().look(name).unwrap().stamp;
        let (same, x): (Stamp, Stamp) = (look(b"same"), look(b"x"));
        // Other bytes with an unchanged stamp are found only by reading. Displaced files are
        // compared; files that stay in place are not.
        let file = std::fs::File::options().write(true).open(place.work().join("x")).unwrap();
        let time = file.metadata().unwrap().modified().unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"z", 0).unwrap();
        file.set_modified(time).unwrap();
        let stamps = |path: &TreePath| match (believed, path.as_bytes()) {
            (true, b"same") => Some(same),
            (true, b"x") => Some(x),
            _ => None,
        };
        let restore = Restore {
            plan: &scene.plan,
            contents: &scene.chunks,
            folder: &folder,
            id: ID,
            stamps: &stamps,
            calls: &|_| Ok(()),
        };
        assert_eq!(apply(&restore, scene.present, scene.tree).is_ok(), believed);
    }
}

#[test]
fn many_files_are_read_ahead_and_end_with_the_first_that_is_lost() {
    let mut target: Things = [(path("d"), Thing::Dir(0o555))].into();
    for n in 0..200 {
        let bytes = format!("{n:04}").repeat(1 + n % 40);
        target.insert(path(format!("d/{n}")), text(&bytes));
        target.insert(path(format!("{n}")), text(&format!("top {n}")));
    }
    let scene = Scene::of(&Things::new(), &target, Things::new());
    let place = scene.folder();
    scene.apply(&place, System::All, At::Never).0.unwrap().unwrap();
    scene.recover_twice(&place, System::All, usize::MAX, How::Finish);
    assert_eq!(place.things(), target);

    for lost in ["0000", "top 7"] {
        let (scene, place) = (Scene::of(&Things::new(), &target, Things::new()), scene.folder());
        scene.chunks.all.lock().remove(&ChunkEntry::id_of(lost.as_bytes())).unwrap();
        let failed = scene.apply(&place, System::All, At::Never).0.unwrap().unwrap_err();
        assert_eq!(failed.error.kind(), ErrorKind::NotFound, "{}", failed.error);
        assert_eq!(failed.recovered.unwrap(), Recovered::Complete(Vec::new()));
        place.is_as_before(lost);
        // After a kill in the middle, the reading thread ends too.
        assert!(scene.apply(&place, System::All, At::Kill(100)).0.is_none());
    }
}

#[test]
fn bits_of_a_folder_that_captures_do_not_have_stay_where_only_its_content_or_its_bits_change() {
    let things = |bits: u16, text_of: &str| -> Things {
        let dir = |name: &str, bits| (path(name), Thing::Dir(bits));
        let file = |name: &str| (path(name), text(text_of));
        [dir("closed", 0o555), file("closed/x"), dir("open", bits), file("open/x")].into()
    };
    let (before, target) = (things(0o755, "new"), things(0o700, "old"));
    let scene = Scene::of(&before, &target, before.clone());
    let place = scene.folder();
    for (name, bits) in [("closed", 0o3555), ("open", 0o2755)] {
        let mode = fs::Permissions::from_mode(bits);
        fs::set_permissions(place.work().join(name), mode).unwrap();
    }
    scene.apply(&place, System::All, At::Never).0.unwrap().unwrap();
    scene.recover_twice(&place, System::All, usize::MAX, How::Finish);
    assert_eq!(place.things(), target);
    for (name, bits) in [("closed", 0o3555), ("open", 0o2700)] {
        let mode = fs::metadata(place.work().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, bits, "{name}");
    }
}
