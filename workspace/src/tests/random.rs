//! Random trees: captured entries are restored, and files are not read twice. `PROPTEST_RNG_SEED`
//! repeats a run.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::*;

const NAMES: [&[u8]; 10] = [
    b"plain",
    b"two words",
    b"new\nline",
    b"\xff",
    "\u{1f600}".as_bytes(),
    b"A",
    b"a",
    b"-x",
    b"a-b",
    b"z",
];

#[derive(Debug, Clone)]
enum Made {
    File(Vec<u8>, u32),
    Sparse(u64),
    Link(Vec<u8>),
    Folder(u32),
    HardLink(usize),
    Remove,
}

fn made() -> impl Strategy<Value = Made> {
    let short = proptest::collection::vec(any::<u8>(), 0..200);
    let long = (any::<u8>(), 1_usize..400_000)
        .prop_map(|(seed, len)| (0..len).map(|n| (n * n / 97 + usize::from(seed)) as u8).collect());
    let modes = proptest::sample::select(vec![0o644, 0o600, 0o755, 0o444, 0o777]);
    let folders = proptest::sample::select(vec![0o755, 0o700, 0o555]);
    let target = proptest::collection::vec(1_u8.., 1..40);
    prop_oneof![
        4 => (short, modes.clone()).prop_map(|(content, mode)| Made::File(content, mode)),
        1 => (long, modes).prop_map(|(content, mode)| Made::File(content, mode)),
        1 => (0_u64..3_000_000).prop_map(Made::Sparse),
        1 => target.prop_map(Made::Link),
        2 => folders.prop_map(Made::Folder),
        1 => (0_usize..8).prop_map(Made::HardLink),
        1 => Just(Made::Remove),
    ]
}

fn paths() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0..NAMES.len(), 1..4)
}

/// Creates an entry if possible: its parent may be a file.
fn make(scene: &Scene, names: &[usize], made: &Made, folders: &mut Vec<(PathBuf, u32)>) {
    let names: Vec<&[u8]> = names.iter().map(|n| NAMES[*n]).collect();
    let path = scene.path(names.join(&b'/'));
    let _ = fs::create_dir_all(path.parent().unwrap());
    match made {
        Made::File(content, mode) => {
            let _ = fs::remove_file(&path);
            if fs::write(&path, content).is_ok() {
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
            }
        }
        Made::Sparse(len) => {
            if let Ok(file) = fs::File::create(&path) {
                file.set_len(*len).unwrap();
            }
        }
        Made::Link(target) => drop(symlink(OsStr::from_bytes(target), &path)),
        Made::Folder(mode) => {
            if fs::create_dir(&path).is_ok() {
                folders.push((path, *mode));
            }
        }
        Made::HardLink(to) => {
            let to = scene.path(NAMES[*to]);
            if to.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                let _ = fs::hard_link(to, path);
            }
        }
        Made::Remove => {
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
    }
}

/// Sets the mode bits of folders at the end, so that entries can be created in them before.
fn close(folders: &[(PathBuf, u32)]) {
    for (path, mode) in folders {
        if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
        }
    }
}

fn open(folders: &[(PathBuf, u32)]) {
    close(&folders.iter().map(|(path, _)| (path.clone(), 0o755)).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_comes_back_and_is_not_read_twice(
        first in proptest::collection::vec((paths(), made()), 0..25),
        then in proptest::collection::vec((paths(), made()), 0..10),
        workers in 1_usize..4,
    ) {
        let scene = Scene::with(WorkspaceOptions::default().workers(workers));
        let mut folders = Vec::new();
        let mut roots = Vec::new();
        for steps in [first, then] {
            open(&folders);
            for (names, made) in &steps {
                make(&scene, names, made, &mut folders);
            }
            close(&folders);
            let now = things(&scene.folder());
            let report = scene.capture();
            prop_assert_eq!(scene.put_back(), now.clone());
            let files = now.values().filter(|thing| matches!(thing, Thing::File(..))).count();
            prop_assert_eq!(report.files, files as u64);
            let again = scene.capture();
            prop_assert_eq!((again.read, again.appended, again.root), (0, None, report.root));
            roots.push((report.root, now));
        }
        // Earlier captures are unchanged, and the diff is empty if nothing changed.
        let snapshots: Vec<_> =
            roots.iter().map(|(root, _)| Snapshot::of(&scene.engine, *root).unwrap()).collect();
        for (snapshot, (_, things_then)) in snapshots.iter().zip(&roots) {
            let empty = tempfile::tempdir().unwrap();
            snapshot.restore_into(empty.path()).unwrap();
            prop_assert_eq!(&things(empty.path()), things_then);
        }
        let changes = snapshots[0].diff(&snapshots[1]).unwrap();
        prop_assert_eq!(changes.is_empty(), roots[0].1 == roots[1].1);
        open(&folders);
    }
}
