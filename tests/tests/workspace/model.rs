//! Random folders, changed at random, captured, restored, undone: recorded content comes back byte
//! by byte, and everything else is unchanged.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use milepost::{ErrorKind, Scope};
use milepost_tests::seed::{Random, number, seed};

use super::{Scene, content, none};

type Content = BTreeMap<PathBuf, (u32, Vec<u8>)>;

const NAMES: [&[u8]; 10] = [
    b"a",
    b"b",
    b"A",
    b"c d",
    b"e\nf",
    b"\xff\xfe",
    "\u{1f980}".as_bytes(),
    b"-x",
    b"x.log",
    b"a-b",
];

/// A path of up to three names.
fn some_path(random: &mut Random) -> PathBuf {
    let depth = 1 + random.below(3);
    let names = (0..depth).map(|_| OsStr::from_bytes(NAMES[random.below(10) as usize]));
    names.collect()
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path).unwrap(),
        Ok(_) => std::fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Makes room at a path: removes entries in the way.
fn room(folder: &Path, path: &Path) -> PathBuf {
    let mut at = folder.to_owned();
    for name in path.parent().unwrap().iter() {
        at.push(name);
        if !at.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            remove(&at);
            std::fs::create_dir(&at).unwrap();
        }
    }
    let path = folder.join(path);
    remove(&path);
    path
}

fn change(folder: &Path, random: &mut Random) {
    let path = some_path(random);
    match random.below(8) {
        0..=2 => {
            let len = [0, 1, 30, 5000, 200_000][random.below(5) as usize];
            let bytes = random.bytes(len);
            std::fs::write(room(folder, &path), bytes).unwrap();
        }
        3 => remove(&folder.join(path)),
        4 => std::fs::create_dir(room(folder, &path)).unwrap(),
        5 => {
            let target = some_path(random);
            std::os::unix::fs::symlink(target, room(folder, &path)).unwrap();
        }
        6 => {
            let path = folder.join(path);
            if path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink()) {
                let bits = [0o755, 0o700, 0o644, 0o600][random.below(4) as usize];
                let is_dir = path.is_dir();
                let bits = if is_dir { bits | 0o700 } else { bits };
                let permissions = std::fs::Permissions::from_mode(bits);
                std::fs::set_permissions(path, permissions).unwrap();
            }
        }
        _ => {
            let from = folder.join(&path);
            if from.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                let other = some_path(random);
                if !other.starts_with(&path) && !path.starts_with(&other) {
                    let to = room(folder, &other);
                    if from.exists() {
                        std::fs::rename(from, to).unwrap();
                    }
                }
            }
        }
    }
}

/// Returns the part of the content that a capture takes: all but ignored files that were not
/// recorded before.
fn taken(now: &Content, last: &Content) -> Content {
    let ignored = |path: &Path| {
        let mut path = Some(path);
        while let Some(at) = path {
            if at.extension().is_some_and(|end| end == "log") && !last.contains_key(at) {
                return true;
            }
            path = at.parent();
        }
        false
    };
    let taken = now.iter().filter(|(path, _)| !ignored(path));
    taken.map(|(path, thing)| (path.clone(), thing.clone())).collect()
}

#[test]
fn what_is_recorded_comes_back_byte_by_byte_and_everything_else_is_as_it_was() {
    let seed = seed();
    let cases = number("MILEPOST_CASES").unwrap_or(12);
    let (mut went, mut stood) = (0, 0);
    for case in 0..cases {
        let mut random = Random::new(seed.wrapping_add(case));
        let (done, conflicts) = run(&mut random, case);
        went += done;
        stood += conflicts;
    }
    println!("{went} restores, {stood} conflicts");
    assert!(cases < 12 || (went > 0 && stood > 0));
}

fn run(random: &mut Random, case: u64) -> (u64, u64) {
    let scene = Scene::begin();
    let folder = scene.folder();
    std::fs::write(folder.join(".gitignore"), "*.log\n").unwrap();
    let (mut captures, mut last) = (Vec::new(), Content::new());
    let (mut went, mut stood) = (0, 0);
    for step in 0..30 {
        for _ in 0..1 + random.below(4) {
            change(&folder, random);
        }
        if captures.is_empty() || random.below(3) > 0 {
            last = taken(&content(&folder), &last);
            let id = scene.capture(&format!("c-{}", captures.len()));
            captures.push((id.to_string(), last.clone()));
            continue;
        }
        let to = random.below(captures.len() as u64) as usize;
        let ((id, target), before) = (&captures[to], content(&folder));
        let point = scene.engine.point(id).unwrap();
        let plan = scene.workspace.plan(&scene.engine, &point, &none()).unwrap();
        assert_eq!(content(&folder), before);
        let done = (scene.workspace).restore(&scene.engine, &point, Scope::All, None, &none());
        let now = content(&folder);
        let what = format!("case {case}, step {step}");
        match done {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{what}: {error}");
                assert!(!plan.conflicts.is_empty(), "{what}: {error}");
                assert_eq!(now, before, "{what}");
                stood += 1;
                continue;
            }
            Ok(done) => assert_eq!((done.plan.conflicts, plan.conflicts), (vec![], vec![])),
        }
        went += 1;
        for (path, thing) in target {
            assert_eq!(now.get(path), Some(thing), "{what}: {path:?} comes back");
        }
        for (path, thing) in &before {
            if target.contains_key(path) {
                continue;
            }
            if last.contains_key(path) {
                // A folder with unrecorded content stays.
                let below = |other: &PathBuf| other != path && other.starts_with(path);
                let stays = before.keys().any(|other| below(other) && !last.contains_key(other));
                assert!(stays || !now.contains_key(path), "{what}: {path:?} goes");
            } else {
                let below = |all: &Content| -> Vec<PathBuf> {
                    let below = all.keys().filter(|other| other.starts_with(path));
                    below.cloned().collect()
                };
                let said = (below(&before), below(&last), below(target), below(&now));
                assert_eq!(now.get(path), Some(thing), "{what}: {path:?} is not ours: {said:?}");
            }
        }
        let known = |path: &&PathBuf| target.contains_key(*path) || before.contains_key(*path);
        assert!(now.keys().all(|path| known(&path)), "{what}: nothing else is there");
        if random.below(2) == 0 {
            scene.workspace.undo(&scene.engine, "t", &none()).unwrap();
            assert_eq!(content(&folder), before, "{what}: undone");
            // The last tree is what was captured last, as the present records nothing.
        } else {
            last = target.clone();
        }
        if random.below(4) == 0 {
            // A restored path is captured as it is.
            let task = scene.engine.task("t").unwrap();
            scene.workspace.capture(&scene.engine, &task, None).unwrap();
            last = taken(&content(&folder), &last);
        }
    }
    scene.assert_clean();
    (went, stood)
}
