//! Incremental scans find the same as complete ones. `PROPTEST_RNG_SEED` repeats a run.

use std::os::unix::fs::symlink;

use milepost::{Mark, Scope};
use proptest::prelude::*;

use super::*;
use crate::Choices;
use crate::capture::{self, Storage};
use crate::rollback::Dry;
use crate::scan::ScanResult;

/// `true` if the system reports changes of folders.
const WATCHES: bool = cfg!(all(target_os = "linux", not(milepost_portable)));

fn watched() -> WorkspaceOptions {
    WorkspaceOptions::default().watch(true)
}

impl Scene {
    /// Captures the watched folder, and checks that a complete scan gives the same.
    fn captures_as_a_whole_look(&self) -> CaptureReport {
        let (root, result) = self.whole();
        let report = self.capture();
        let skips = Snapshot::of(&self.engine, report.root).unwrap().skips();
        let skips: Vec<_> = skips.map(Result::unwrap).collect();
        assert_eq!(skips, result.skips);
        assert_eq!((report.files, report.bytes), (result.counts.files, result.counts.bytes));
        assert_eq!(report.root.0, root, "{:?}", self.snapshot().entries().collect::<Vec<_>>());
        report
    }

    /// Runs a complete scan without storing anything.
    fn whole(&self) -> ([u8; 32], ScanResult) {
        let chunks = self.engine.store().chunks();
        let head = self.task.point(self.task.head().unwrap().next).unwrap();
        let known = self.engine.captures().at(&head).unwrap();
        let dry = Dry::over(&chunks);
        let beside = capture::workspaces_dir(&chunks).unwrap();
        let (taken, result) = capture::store(&Storage {
            known: known.map(|root| milepost_codec::ChunkId(root.0)),
            named: known.map(|root| milepost_codec::ChunkId(root.0)),
            ..Storage::of(
                self.workspace.folder(),
                self.workspace.options(),
                &std::sync::Arc::default(),
                &dry,
                beside.as_deref(),
            )
        })
        .unwrap();
        (taken.root.0, result)
    }

    /// Checks that the next capture runs a complete scan, or an incremental one if folders can be
    /// watched.
    fn is_whole(&self, whole: bool) {
        assert_eq!(self.captures_as_a_whole_look().whole, whole || !WATCHES);
    }
}

// It counts watched folders.
#[cfg(all(target_os = "linux", not(milepost_portable)))]
#[test]
fn a_second_capture_looks_only_where_something_happened() {
    let scene = Scene::with(watched());
    for n in 0..20 {
        scene.write(format!("d{}/f{n}", n % 4), format!("{n}"));
    }
    assert_eq!(scene.workspace.watching(), None);
    scene.is_whole(true);
    assert_eq!(scene.workspace.watching(), Some(5));
    let (first, again) = (scene.capture(), scene.capture());
    assert_eq!((first.whole, first.root, first.read), (false, again.root, 0));
    scene.write("d1/f1", "other");
    scene.write("new/deep/er/f", "new");
    let report = scene.captures_as_a_whole_look();
    assert_eq!((report.whole, report.read), (false, 2));
    assert_eq!(scene.workspace.watching(), Some(8));
}

#[test]
fn without_the_option_every_look_is_whole() {
    let scene = Scene::new();
    scene.write("f", "x");
    for _ in 0..3 {
        scene.is_whole(true);
    }
    assert_eq!(scene.workspace.watching(), None);
}

// Without watches, each one is whole.
#[cfg(all(target_os = "linux", not(milepost_portable)))]
#[test]
fn every_64th_look_is_a_whole_one() {
    let scene = Scene::with(watched());
    scene.write("f", "x");
    let whole = (0..130).map(|_| scene.capture().whole);
    let at: Vec<usize> = whole.enumerate().filter(|(_, whole)| *whole).map(|(n, _)| n).collect();
    assert_eq!(at, [0, 64, 128]);
}

#[test]
fn a_folder_that_stands_in_for_another_is_looked_at_with_all_below_it() {
    let scene = Scene::with(watched());
    for folder in ["a", "b"] {
        scene.write(format!("{folder}/x/y/f"), folder);
        scene.write(format!("{folder}/x/g"), folder);
    }
    scene.is_whole(true);
    let (a, b, c) = (scene.path("a"), scene.path("b"), scene.path("c"));
    fs::rename(&a, &c).unwrap();
    fs::rename(&b, &a).unwrap();
    fs::rename(&c, &b).unwrap();
    scene.is_whole(false);
    // Changes in them are reported under their new paths.
    scene.write("a/x/y/f", "changed");
    scene.is_whole(false);
    fs::rename(scene.path("a/x/y"), scene.path("b/x/z")).unwrap();
    scene.write("b/x/z/f", "changed again");
    scene.is_whole(false);
    fs::remove_dir_all(scene.path("a")).unwrap();
    scene.write("a/x/y/f", "made anew");
    scene.is_whole(false);
}

#[test]
fn a_file_with_several_names_is_seen_by_all_of_them() {
    let scene = Scene::with(watched());
    scene.write("a/f", "one");
    scene.write("b/g", "two");
    scene.is_whole(true);
    // Two changes at once: the link, and a write through it.
    fs::hard_link(scene.path("a/f"), scene.path("b/linked")).unwrap();
    scene.write("b/linked", "other");
    scene.is_whole(true);
    scene.write("a/f", "once more");
    scene.is_whole(true);
    let outside = scene.dir.path().join("outside");
    fs::hard_link(scene.path("b/g"), &outside).unwrap();
    scene.write("b/new", "so that the folder is looked at");
    scene.is_whole(true);
    fs::write(&outside, "written to elsewhere").unwrap();
    scene.is_whole(false);
}

#[test]
fn a_second_name_in_a_folder_that_is_new_or_moved_is_met() {
    let scene = Scene::with(watched());
    scene.write("a/f", "one");
    scene.write("b/g", "two");
    scene.is_whole(true);
    fs::create_dir(scene.path("new")).unwrap();
    fs::hard_link(scene.path("a/f"), scene.path("new/l")).unwrap();
    scene.write("new/l", "by the other name");
    scene.is_whole(true);
    fs::remove_dir_all(scene.path("new")).unwrap();
    scene.is_whole(false);
    fs::hard_link(scene.path("a/f"), scene.path("b/l")).unwrap();
    scene.write("b/l", "once more");
    fs::rename(scene.path("b"), scene.path("c")).unwrap();
    scene.is_whole(true);
}

#[test]
fn a_folder_under_another_one_with_other_rules_is_looked_at() {
    let scene = Scene::with(watched());
    scene.write("p/.gitignore", "*.out\n");
    scene.write("p/x/y/f.out", "ignored");
    scene.write("p/x/y/g", "taken");
    scene.write("q/h", "x");
    scene.is_whole(true);
    let at = |name: &str| scene.path(name);
    for (from, to) in [("p/x", "t"), ("p", "r"), ("q", "p"), ("t", "p/x")] {
        fs::rename(at(from), at(to)).unwrap();
    }
    scene.captures_as_a_whole_look();
    assert!(scene.paths().contains(&"p/x/y/f.out".to_owned()));
}

#[test]
fn a_file_that_is_written_to_when_its_name_went_is_seen_by_its_other_name() {
    use std::io::Write as _;
    let scene = Scene::with(watched());
    scene.write("a/f", "one");
    let mut open = fs::File::options().append(true).open(scene.path("a/f")).unwrap();
    fs::hard_link(scene.path("a/f"), scene.path("a/g")).unwrap();
    fs::remove_file(scene.path("a/f")).unwrap();
    scene.is_whole(true);
    open.write_all(b" and two").unwrap();
    drop(open);
    scene.is_whole(false);
}

#[test]
fn what_a_repair_let_go_of_is_stored_again() {
    let scene = Scene::with(watched());
    scene.write("a/f", "x");
    scene.is_whole(true);
    scene.is_whole(false);
    fs::remove_file(scene.cache()).unwrap();
    let report = scene.capture();
    assert_eq!((report.whole, report.read), (true, 1));
}

#[test]
fn rules_that_change_make_a_whole_look() {
    let scene = Scene::with(watched());
    scene.write("a/f.out", "x");
    scene.write("a/b/g.out", "x");
    scene.is_whole(true);
    scene.write(".gitignore", "*.out\n");
    scene.write("a/h.out", "ignored");
    scene.is_whole(true);
    scene.is_whole(false);
    scene.write("a/b/.milepostignore", "!*.out\n");
    scene.write("a/b/i.out", "x");
    scene.is_whole(true);
    // A change above the folder counts too.
    fs::create_dir(scene.dir.path().join(".git")).unwrap();
    scene.is_whole(true);
    scene.is_whole(false);
    fs::write(scene.dir.path().join(".gitignore"), "*.tmp\n").unwrap();
    scene.write("a/j.tmp", "x");
    scene.is_whole(true);
}

#[test]
fn what_was_left_out_is_looked_at_when_that_ends() {
    let options = watched().max_file(100).max_total(250);
    let scene = Scene::with(options);
    scene.write("a/large", [b'x'; 101]);
    scene.write("a/small", [b'x'; 90]);
    scene.write("b/f", [b'x'; 90]);
    scene.is_whole(true);
    scene.write("a/large", [b'x'; 20]);
    scene.is_whole(false);
    scene.write("c/f", [b'x'; 60]);
    scene.is_whole(false);
    assert_eq!(scene.skips(), [("c/f".to_owned(), SkipReason::Limit)]);
    // There is room again, although the skipped file's folder did not change.
    fs::remove_file(scene.path("a/small")).unwrap();
    scene.is_whole(true);
    assert_eq!(scene.skips(), []);
}

#[test]
fn behind_the_limit_nothing_is_taken_over() {
    let scene = Scene::with(watched().max_total(250));
    scene.write("a/f", [b'x'; 10]);
    scene.write("b/x", [b'x'; 90]);
    scene.write("c/y", [b'x'; 20]);
    scene.is_whole(true);
    scene.write("a/new", [b'x'; 200]);
    scene.is_whole(false);
    assert_eq!(scene.skips().len(), 2);
}

#[test]
fn rules_with_a_second_name_make_whole_looks() {
    let scene = Scene::with(watched());
    scene.write("p/.gitignore", "*.out\n");
    scene.write("p/x/f.out", "x");
    let outside = scene.dir.path().join("outside");
    fs::hard_link(scene.path("p/.gitignore"), &outside).unwrap();
    scene.is_whole(true);
    fs::write(&outside, "*.tmp\n").unwrap();
    scene.is_whole(true);
    assert!(scene.paths().contains(&"p/x/f.out".to_owned()));
}

#[test]
fn a_lineage_that_names_another_capture_makes_a_whole_look_as_a_restore_does() {
    let scene = Scene::with(watched());
    scene.write("a/f", "good");
    scene.write("b/g", "stays");
    let mark = |label: &str| Some(Mark::new().label(label));
    scene.workspace.capture(&scene.engine, &scene.task, mark("good")).unwrap();
    scene.write("a/f", "worse");
    scene.write("a/new", "new");
    assert_eq!(scene.capture().whole, !WATCHES);
    let to = scene.engine.point("t@good").unwrap();
    let choices = Choices::default();
    let back = scene.workspace.restore(&scene.engine, &to, Scope::All, None, &choices);
    let task = back.unwrap().task;
    let scene = Scene { task, ..scene };
    assert_eq!(fs::read(scene.path("a/f")).unwrap(), b"good");
    scene.is_whole(true);
    let undone = scene.workspace.undo(&scene.engine, "t", &choices).unwrap();
    let scene = Scene { task: undone.task, ..scene };
    assert_eq!(fs::read(scene.path("a/new")).unwrap(), b"new");
    scene.is_whole(true);
    // Another handle captures in between, with a scan of its own.
    let other = Workspace::open(scene.folder(), WorkspaceOptions::default()).unwrap();
    scene.write("b/g", "x");
    other.capture(&scene.engine, &scene.task, None).unwrap();
    scene.is_whole(true);
}

#[test]
fn what_was_left_out_and_is_in_the_way_of_a_restore_is_saved_first() {
    let scene = Scene::with(watched());
    scene.write("d/f.out", "recorded");
    let first =
        scene.workspace.capture(&scene.engine, &scene.task, Some(Mark::new().label("first")));
    assert!(first.unwrap().whole);
    fs::remove_file(scene.path("d/f.out")).unwrap();
    scene.is_whole(false);
    scene.write("d/g", "x");
    scene.write(".gitignore", "*.out\n");
    scene.write("d/f.out", "mine");
    scene.is_whole(true);
    scene.is_whole(false);
    assert_eq!(scene.skips(), [("d/f.out".to_owned(), SkipReason::Ignored)]);
    let to = scene.engine.point("t@first").unwrap();
    let choices = Choices::default().theirs(crate::TreePath::new(b"d/f.out").unwrap());
    scene.workspace.restore(&scene.engine, &to, Scope::All, None, &choices).unwrap();
    assert_eq!(fs::read(scene.path("d/f.out")).unwrap(), b"recorded");
    scene.workspace.undo(&scene.engine, "t", &Choices::default()).unwrap();
    assert_eq!(fs::read(scene.path("d/f.out")).unwrap(), b"mine");
}

#[test]
fn what_the_default_list_left_out_and_is_in_the_way_of_a_restore_is_saved_first() {
    let mut scene = Scene::with(watched().default_ignores(false));
    scene.write("d/f.log", "recorded");
    let mark = Some(Mark::new().label("first"));
    scene.workspace.capture(&scene.engine, &scene.task, mark).unwrap();
    fs::remove_file(scene.path("d/f.log")).unwrap();
    scene.capture();
    scene.looked_at(watched());
    scene.write("d/f.log", "mine");
    scene.capture();
    scene.capture();
    assert_eq!(scene.skips(), [("d/f.log".to_owned(), SkipReason::Default)]);
    let to = scene.engine.point("t@first").unwrap();
    let choices = Choices::default().theirs(crate::TreePath::new(b"d/f.log").unwrap());
    scene.workspace.restore(&scene.engine, &to, Scope::All, None, &choices).unwrap();
    assert_eq!(fs::read(scene.path("d/f.log")).unwrap(), b"recorded");
    scene.workspace.undo(&scene.engine, "t", &Choices::default()).unwrap();
    assert_eq!(fs::read(scene.path("d/f.log")).unwrap(), b"mine");
}

#[derive(Debug, Clone)]
enum Edit {
    Write(usize, u8),
    Append(usize),
    Remove(usize),
    Rename(usize, usize),
    Link(usize, usize),
    Symlink(usize),
    Mode(usize, u32),
    Folder(usize),
    Capture,
    GoBack(usize),
}

const NAMES: [&str; 3] = ["a", "a-b", "b"];

/// Returns a path of up to three names.
fn path_of(n: usize) -> String {
    let names = (0..=(n / 27) % 3).map(|level| NAMES[n / 3_usize.pow(level as u32) % 3]);
    names.collect::<Vec<_>>().join("/")
}

fn edits() -> impl Strategy<Value = Edit> {
    let path = || 0_usize..81;
    let modes = proptest::sample::select(vec![0o644, 0o755, 0o700]);
    prop_oneof![
        6 => (path(), any::<u8>()).prop_map(|(path, n)| Edit::Write(path, n)),
        2 => path().prop_map(Edit::Append),
        3 => path().prop_map(Edit::Remove),
        4 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => (path(), path()).prop_map(|(from, to)| Edit::Link(from, to)),
        1 => path().prop_map(Edit::Symlink),
        2 => (path(), modes).prop_map(|(path, mode)| Edit::Mode(path, mode)),
        2 => path().prop_map(Edit::Folder),
        4 => Just(Edit::Capture),
        1 => any::<usize>().prop_map(Edit::GoBack),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_watched_look_sees_what_a_whole_look_sees(
        edits in proptest::collection::vec(edits(), 1..50),
    ) {
        let mut scene = Scene::with(watched());
        let mut captures = Vec::new();
        for edit in edits {
            let at = |n: usize| scene.path(path_of(n));
            match edit {
                Edit::Write(n, content) => {
                    let _ = fs::create_dir_all(at(n).parent().unwrap());
                    let _ = fs::write(at(n), [content]);
                }
                Edit::Append(n) => {
                    use std::io::Write as _;
                    if let Ok(mut file) = fs::File::options().append(true).open(at(n)) {
                        file.write_all(b"more").unwrap();
                    }
                }
                Edit::Remove(n) => {
                    let _ = fs::remove_file(at(n)).or_else(|_| fs::remove_dir_all(at(n)));
                }
                Edit::Rename(from, to) => drop(fs::rename(at(from), at(to))),
                Edit::Link(from, to) => drop(fs::hard_link(at(from), at(to))),
                Edit::Symlink(n) => drop(symlink("b", at(n))),
                Edit::Mode(n, mode) => {
                    if at(n).symlink_metadata().is_ok_and(|meta| !meta.is_symlink()) {
                        let mode = fs::Permissions::from_mode(mode | 0o600);
                        fs::set_permissions(at(n), mode).unwrap();
                    }
                }
                Edit::Folder(n) => drop(fs::create_dir_all(at(n))),
                Edit::Capture => {
                    scene.captures_as_a_whole_look();
                    captures.push(scene.task.point(scene.task.head().unwrap().next).unwrap());
                }
                Edit::GoBack(n) => {
                    let Some(to) = captures.get(n % captures.len().max(1)) else {
                        continue;
                    };
                    let (engine, choices) = (&scene.engine, Choices::default());
                    let back = scene.workspace.restore(engine, to, Scope::All, None, &choices);
                    match back {
                        Ok(back) => scene.task = back.task,
                        Err(error) => {
                            assert_eq!(error.kind(), milepost::ErrorKind::Conflict, "{error}");
                        }
                    }
                }
            }
        }
        scene.captures_as_a_whole_look();
        scene.captures_as_a_whole_look();
    }
}
