//! Paths left out, and the reasons.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use milepost::{Engine, ErrorKind, Options};

use super::*;

fn reasons(scene: &Scene, reason: SkipReason) -> Vec<String> {
    let skips = scene.skips().into_iter().filter(|(_, why)| *why == reason);
    skips.map(|(path, _)| path).collect()
}

#[test]
fn git_is_left_out_in_any_writing_as_folder_file_and_bare_repository() {
    let scene = Scene::new();
    scene.write(".git/config", "");
    scene.write("sub/.GIT", "gitdir: ../.git/modules/sub\n");
    scene.write("sub/code.c", "x");
    scene.write("work/.Git/HEAD", "");
    for name in ["bare/HEAD", "bare/objects/pack/p", "bare/refs/heads/main"] {
        scene.write(name, "x");
    }
    // A folder that only has these names is not a repository.
    for name in ["like/HEAD/x", "like/objects", "like/refs/x", ".gitmodules", "git", ".git2/x"] {
        scene.write(name, "x");
    }
    let out = [".git", "bare", "sub/.GIT", "work/.Git"].map(|path| (path.into(), SkipReason::Git));
    assert_eq!(scene.skips(), out);
    let paths = scene.paths();
    for there in ["sub/code.c", "like/objects", ".gitmodules", "git", ".git2/x", "work"] {
        assert!(paths.iter().any(|path| path == there), "{there}");
    }
}

#[test]
fn another_work_tree_of_a_repository_is_left_out_and_a_submodule_is_not() {
    let scene = Scene::new();
    scene.write("trees/one/.git", "gitdir: /home/ana/shop/.git/worktrees/one\n");
    scene.write("trees/one/page.css", "red");
    scene.write("sub/.git", "gitdir: /ana/worktrees/shop/.git/modules/vendor/worktrees/sub\n");
    scene.write("sub/code.c", "x");
    scene.write("nested/.git/worktrees/x", "");
    scene.write("nested/code.c", "x");
    let out = ["nested/.git", "sub/.git", "trees/one"].map(|path| (path.into(), SkipReason::Git));
    assert_eq!(scene.skips(), out);
    let paths = scene.paths();
    for there in ["sub/code.c", "nested/code.c", "trees"] {
        assert!(paths.iter().any(|path| path == there), "{there}");
    }
}

#[test]
fn the_store_is_left_out_wherever_it_lies() {
    let scene = Scene::new();
    scene.write("file", "x");
    let inside = scene.path("deep/.milepost");
    std::fs::create_dir(scene.path("deep")).unwrap();
    let engine = Engine::open(&inside, Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let report = scene.workspace.capture(&engine, &task, None).unwrap();
    let snapshot = Snapshot::of(&engine, report.root).unwrap();
    let skips: Vec<_> = snapshot.skips().map(Result::unwrap).collect();
    assert_eq!(skips.len(), 1);
    assert_eq!(
        (skips[0].path.to_string(), skips[0].reason),
        ("deep/.milepost".into(), SkipReason::Store)
    );
    assert_eq!((report.files, report.skips), (1, 1));
    // Files that a capture writes, such as the cache, do not change the next capture.
    let again = scene.workspace.capture(&engine, &task, None).unwrap();
    assert_eq!((again.root, again.appended, again.read), (report.root, None, 0));
    // A folder in the store cannot be a workspace.
    let in_store = Workspace::open(inside.join("packs"), WorkspaceOptions::default()).unwrap();
    let error = in_store.capture(&engine, &task, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

#[test]
fn devices_sockets_and_pipes_are_listed_and_nobody_waits_for_them() {
    let scene = Scene::new();
    make_pipe(&scene.path("pipe"));
    let _listener = UnixListener::bind(scene.path("socket")).unwrap();
    symlink("pipe", scene.path("link to a pipe")).unwrap();
    let special = ["pipe", "socket"].map(|path| (path.into(), SkipReason::Special));
    assert_eq!(scene.skips(), special);
    assert_eq!(scene.paths(), ["link to a pipe"]);
}

#[test]
fn limits_are_kept_and_what_is_over_them_is_listed_with_its_size() {
    let options = WorkspaceOptions::default().max_file(1000).max_total(2500);
    let scene = Scene::with(options);
    for (name, len) in [("a", 1000), ("b", 1001), ("c", 1000), ("d", 501), ("e", 1), ("f", 5000)] {
        scene.write(name, vec![b'x'; len]);
    }
    let skips: Vec<_> = scene.snapshot().skips().map(Result::unwrap).collect();
    let skips: Vec<_> = skips.iter().map(|s| (s.path.to_string(), s.reason, s.size)).collect();
    let expected = [
        ("b", SkipReason::Large, 1001),
        ("d", SkipReason::Limit, 501),
        ("e", SkipReason::Limit, 1),
        ("f", SkipReason::Large, 5000),
    ];
    assert_eq!(skips, expected.map(|(path, reason, size)| (path.to_owned(), reason, size)));
    assert_eq!(scene.capture().bytes, 2000);
}

#[test]
fn staging_is_left_out_in_the_root_only() {
    let scene = Scene::new();
    for name in [".milepost-restore-00ff/x", ".milepost-kept-1/x", "d/.milepost-kept-1/x"] {
        scene.write(name, "x");
    }
    let out = reasons(&scene, SkipReason::Staging);
    assert_eq!(out, [".milepost-kept-1", ".milepost-restore-00ff"]);
    assert!(scene.paths().contains(&"d/.milepost-kept-1/x".to_owned()));
}

#[test]
fn what_rules_ignore_is_listed_where_the_rule_ends() {
    let scene = Scene::new();
    scene.write(".gitignore", "target/\n*.log\n!keep.log\n");
    scene.write(".milepostignore", "!wanted.log\nsecret\n");
    for name in [
        "target/debug/a",
        "target/b",
        "a.log",
        "keep.log",
        "wanted.log",
        "secret",
        "src/target",
        "src/x.log",
        "src/main.rs",
    ] {
        scene.write(name, "x");
    }
    let out = reasons(&scene, SkipReason::Ignored);
    assert_eq!(out, ["a.log", "secret", "src/x.log", "target"]);
    let expected = [
        ".gitignore",
        ".milepostignore",
        "keep.log",
        "src",
        "src/main.rs",
        "src/target",
        "wanted.log",
    ];
    assert_eq!(scene.paths(), expected);
}

#[test]
fn what_is_recorded_stays_recorded_though_a_rule_ignores_it_now() {
    let mut scene = Scene::new();
    for name in ["out/old", "out/sub/old", "a.out", "src/a.out"] {
        scene.write(name, "x");
    }
    let before = scene.paths();
    scene.write(".gitignore", "out/\n*.out\n");
    for name in ["out/new", "out/sub/new", "out/more/x", "b.out"] {
        scene.write(name, "x");
    }
    scene.write("out/old", "another");
    std::fs::remove_file(scene.path("src/a.out")).unwrap();
    let out = reasons(&scene, SkipReason::Ignored);
    assert_eq!(out, ["b.out", "out/more", "out/new", "out/sub/new"]);
    let mut expected = vec![".gitignore".to_owned()];
    expected.extend(before.into_iter().filter(|path| path != "src/a.out"));
    assert_eq!(scene.paths(), expected);
    let back = scene.put_back();
    assert!(matches!(&back[&b"out/old"[..]], Thing::File(content, _) if content == b"another"));
    // With `forget_ignored`, it is left out of this and later captures, and stays in the folder.
    scene.looked_at(WorkspaceOptions::default().forget_ignored(true));
    assert_eq!(reasons(&scene, SkipReason::Ignored), ["a.out", "b.out", "out"]);
    scene.looked_at(WorkspaceOptions::default());
    assert_eq!(reasons(&scene, SkipReason::Ignored), ["a.out", "b.out", "out"]);
    assert!(scene.path("out/sub/old").exists());
}

#[test]
fn what_cannot_be_read_is_listed() {
    let scene = Scene::new();
    scene.write("shut", "x");
    scene.write("folder/x", "x");
    scene.write("open", "x");
    scene.mode("shut", 0);
    scene.mode("folder", 0);
    // Root can read everything: then nothing is denied.
    if std::fs::read(scene.path("shut")).is_err() {
        assert_eq!(reasons(&scene, SkipReason::Denied), ["folder", "shut"]);
        assert_eq!(scene.paths(), ["open"]);
    }
    scene.mode("folder", 0o755);
}

#[test]
fn a_part_of_a_repository_ignores_what_the_whole_does() {
    let scene = Scene::new();
    std::fs::create_dir(scene.dir.path().join(".git")).unwrap();
    std::fs::write(scene.dir.path().join(".gitignore"), "*.o\nwork/gen\nstore\n").unwrap();
    for name in ["a.o", "a.c", "gen/x", "sub/gen/x"] {
        scene.write(name, "x");
    }
    assert_eq!(reasons(&scene, SkipReason::Ignored), ["a.o", "gen"]);
}
