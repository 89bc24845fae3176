//! Captured entries and their kinds.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use milepost_codec::{EntryKind, TreePath};

use super::*;

#[test]
fn names_are_bytes_whatever_they_are() {
    let scene = Scene::new();
    let long = [b'n'; 255];
    let names: [&[u8]; 14] = [
        b"plain",
        b"two words",
        b"new\nline",
        b"\xff\xfe",
        "\u{1f600}".as_bytes(),
        b"A",
        b"a",
        b"-x",
        &long,
        b"...",
        b" ",
        b"\x01",
        b"back\\slash",
        b".gitignored",
    ];
    for name in names {
        scene.write(name, name);
        scene.write([b"in \xff/", name].concat(), name);
    }
    let back = scene.put_back();
    assert_eq!(back, things(&scene.folder()));
    assert_eq!(back.len(), 29);
    assert_eq!(scene.skips(), []);
}

#[test]
fn links_are_taken_as_links_wherever_they_lead() {
    let scene = Scene::new();
    scene.write("d/file", "x");
    for (target, name) in [
        (&b"."[..], "loop"),
        (b"link", "link"),
        (b"nowhere", "dangling"),
        (b"/etc/passwd", "outside"),
        (b"../..", "d/up"),
        (b"d", "to d"),
        (b"\xff\n", "odd"),
    ] {
        symlink(OsStr::from_bytes(target), scene.path(name)).unwrap();
    }
    assert_eq!(scene.put_back(), things(&scene.folder()));
    assert_eq!(scene.capture().files, 1);
    let outside = TreePath::new(b"outside").unwrap();
    let snapshot = scene.snapshot();
    let entry = snapshot.entry(&outside).unwrap().unwrap();
    assert!(matches!(entry.item.kind, EntryKind::Link { target } if *target == *b"/etc/passwd"));
    // There is nothing below a symlink.
    assert_eq!(snapshot.entry(&TreePath::new(b"to d/file").unwrap()).unwrap(), None);
}

#[test]
fn bits_come_back_also_of_folders_that_cannot_be_written_to() {
    let scene = Scene::new();
    for (n, mode) in [0o644, 0o755, 0o600, 0o444, 0o777, 0o4755].into_iter().enumerate() {
        scene.write(format!("f{n}"), "x");
        scene.mode(format!("f{n}"), mode);
    }
    scene.write("shut/inner/file", "x");
    scene.mode("shut/inner", 0o500);
    scene.mode("shut", 0o1555);
    let back = scene.put_back();
    assert_eq!(back, things(&scene.folder()));
    assert_eq!(back[&b"f5"[..]], Thing::File(b"x".to_vec(), 0o755));
    assert_eq!(back[&b"shut"[..]], Thing::Folder(0o555));
    // Open the folders, so that any user can remove them.
    scene.mode("shut", 0o755);
    scene.mode("shut/inner", 0o755);
}

#[test]
fn empty_folders_and_files_and_names_of_one_inode_are_taken() {
    let scene = Scene::new();
    fs::create_dir_all(scene.path("a/b/c")).unwrap();
    fs::create_dir(scene.path("z")).unwrap();
    scene.write("empty", "");
    scene.write("one", "the same");
    fs::hard_link(scene.path("one"), scene.path("two")).unwrap();
    assert_eq!(scene.put_back(), things(&scene.folder()));
    let report = scene.capture();
    assert_eq!((report.files, report.bytes), (3, 16));
    assert_eq!(scene.snapshot().info().directories, 4);
}

#[test]
fn a_folder_without_anything_is_a_capture_too() {
    let scene = Scene::new();
    let report = scene.capture();
    assert_eq!((report.files, report.read), (0, 0));
    assert_eq!(scene.paths(), [""; 0]);
    assert!(scene.put_back().is_empty());
}

#[test]
fn files_of_any_length_come_back_byte_by_byte() {
    let scene = Scene::new();
    let mut seed = 1_u64;
    let mut noise = |len: usize| -> Vec<u8> {
        let next = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 56) as u8
        });
        next.take(len).collect()
    };
    let k = 1 << 10;
    for len in [1, 16 * k, 64 * k, 64 * k + 1, 100 * k, 256 * k, 256 * k + 1, 300 * k] {
        scene.write(format!("n{len}"), noise(len));
    }
    for len in [1 << 20, (1 << 20) + 1, (3 << 20) + 17] {
        scene.write(format!("n{len}"), noise(len));
        scene.write(format!("z{len}"), vec![0; len]);
    }
    // A sparse file is one of zeros.
    let sparse = fs::File::create(scene.path("sparse")).unwrap();
    sparse.set_len(40 << 20).unwrap();
    assert_eq!(scene.put_back(), things(&scene.folder()));
    let entry = scene.snapshot().entry(&TreePath::new(b"sparse").unwrap());
    assert!(matches!(
        entry.unwrap().unwrap().item.kind,
        EntryKind::Listed { len, .. } if len == 40 << 20
    ));
}

#[test]
fn the_same_content_is_stored_once() {
    let scene = Scene::new();
    let content = "the same content\n".repeat(20_000);
    scene.write("a", &content);
    scene.capture();
    let before = scene.engine.store().stats().unwrap().disk.packs;
    for n in 0..50 {
        scene.write(format!("copies/{n}"), &content);
    }
    scene.write("longer", format!("{content}and a bit"));
    scene.capture();
    let after = scene.engine.store().stats().unwrap().disk.packs;
    assert!(after - before < 64 << 10, "{before} {after}");
}

#[test]
fn a_folder_of_many_names_is_cut_and_comes_back() {
    let scene = Scene::new();
    for n in 0..3000 {
        scene.write(format!("many/name-{n:05}"), n.to_string());
    }
    let snapshot = scene.snapshot();
    for n in [0, 1, 1500, 2999] {
        let path = TreePath::new(format!("many/name-{n:05}").as_bytes()).unwrap();
        let mut content = String::new();
        std::io::Read::read_to_string(&mut snapshot.read(&path).unwrap(), &mut content).unwrap();
        assert_eq!(content, n.to_string());
    }
    for name in ["many/name-", "many/name-03000", "many/a", "many/z"] {
        let path = TreePath::new(name.as_bytes()).unwrap();
        assert_eq!(snapshot.entry(&path).unwrap(), None, "{name}");
    }
    assert_eq!(scene.put_back(), things(&scene.folder()));
    // One name more stores a few nodes, not the whole folder.
    scene.write("many/name-01500a", "x");
    let report = scene.capture();
    assert_eq!(report.read, 1);
    assert!(report.stored <= 7, "{report:?}");
}

#[test]
fn deep_folders_are_taken_up_to_the_limit() {
    let scene = Scene::new();
    let deep = vec!["d"; 256].join("/");
    fs::create_dir_all(scene.path(format!("{deep}/d"))).unwrap();
    scene.write(format!("{}/file", vec!["d"; 255].join("/")), "x");
    let skips = scene.skips();
    assert_eq!(skips, [(format!("{deep}/d"), SkipReason::Deep)]);
    assert_eq!(scene.paths().len(), 257);
    assert_eq!(scene.put_back().len(), 257);
    // A path of over 4096 bytes: such folders can only be created one by one.
    let name = "n".repeat(250);
    let mut at = crate::fs::at_root(&scene.folder()).unwrap();
    for _ in 0..20 {
        at = at.make_directory(name.as_bytes()).unwrap();
    }
    let skips = scene.skips();
    assert_eq!(skips.len(), 2);
    assert_eq!(skips[1], (vec![name.as_str(); 17].join("/"), SkipReason::Deep));
}
