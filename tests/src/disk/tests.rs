//! The simulated disk, against what docs/RECOVERY.md says of it.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use super::*;
use crate::faults::temp_dir;
use crate::seed::Random;

fn read(disk: &Disk, variant: Variant, name: &str) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("image");
    disk.image(variant, &mut Random::new(1), &to).unwrap();
    fs::read(to.join(name)).ok()
}

fn disk(ops: &[Op]) -> Disk {
    let mut disk = Disk::new();
    ops.iter().for_each(|op| disk.apply(op));
    disk
}

fn create(inode: u64, path: &str) -> Op {
    Op::Create { inode, mode: 0o644, path: path.into() }
}

fn write(inode: u64, offset: u64, data: &[u8]) -> Op {
    let data = data.to_vec();
    Op::Write { inode, offset, data }
}

fn sync_dir(path: &str) -> Op {
    Op::SyncDir { path: path.into() }
}

#[test]
fn a_synced_file_has_its_bytes_but_not_its_name_until_the_folder_is_synced() {
    let mut disk = disk(&[create(7, "a"), write(7, 0, b"one"), Op::Sync { inode: 7 }]);
    assert_eq!(read(&disk, Variant::None, "a"), None);
    assert_eq!(read(&disk, Variant::All, "a").unwrap(), b"one");
    disk.apply(&sync_dir(""));
    disk.apply(&write(7, 3, b"two"));
    assert_eq!(read(&disk, Variant::None, "a").unwrap(), b"one");
    assert_eq!(read(&disk, Variant::All, "a").unwrap(), b"onetwo");
}

#[test]
fn a_name_without_a_sync_of_the_file_gives_an_empty_file() {
    let disk = disk(&[create(7, "a"), write(7, 0, b"one"), sync_dir("")]);
    assert_eq!(read(&disk, Variant::None, "a").unwrap(), b"");
    let mut seen = BTreeSet::new();
    for n in 0..50 {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("image");
        disk.image(Variant::Lengths, &mut Random::new(n), &to).unwrap();
        seen.insert(fs::read(to.join("a")).unwrap());
    }
    let expected = [b"\0\0\0".to_vec(), b"one".to_vec()];
    assert_eq!(seen, expected.into());
}

#[test]
fn a_failed_sync_is_not_made_good_by_the_next() {
    let disk = disk(&[
        create(7, "a"),
        sync_dir(""),
        write(7, 0, &[1; 600]),
        Op::SyncFailed { inode: 7 },
        write(7, 512, &[2; 88]),
        Op::Sync { inode: 7 },
    ]);
    let lost = read(&disk, Variant::None, "a").unwrap();
    assert_eq!(lost[..512], [0; 512]);
    assert_eq!(lost[512..], [2; 88]);
    assert_eq!(read(&disk, Variant::All, "a").unwrap()[..512], [1; 512]);
}

#[test]
fn a_renamed_file_is_at_one_of_its_names() {
    let ops = [create(7, "a"), sync_dir(""), create(8, "b")];
    let mut disk = disk(&ops);
    disk.apply(&Op::Rename { from: "b".into(), to: "a".into() });
    disk.apply(&write(8, 0, b"new"));
    disk.apply(&Op::Sync { inode: 8 });
    assert_eq!(read(&disk, Variant::None, "a").unwrap(), b"");
    assert_eq!(read(&disk, Variant::All, "a").unwrap(), b"new");
    disk.apply(&sync_dir(""));
    assert_eq!(read(&disk, Variant::None, "a").unwrap(), b"new");
    assert_eq!(read(&disk, Variant::None, "b"), None);
}

fn mkdir(inode: u64, path: &str) -> Op {
    Op::Mkdir { inode, mode: 0o755, path: path.into() }
}

fn rename(from: &str, to: &str) -> Op {
    let (from, to) = (from.into(), to.into());
    Op::Rename { from, to }
}

fn unlink(path: &str) -> Op {
    Op::Unlink { path: path.into() }
}

fn mode(inode: u64, mode: u32) -> Op {
    Op::Mode { inode, mode }
}

/// Looks at images of all kinds, many of each, and gives all that was seen.
fn seen<T: Ord>(disk: &Disk, mut look: impl FnMut(PathBuf) -> T) -> BTreeSet<T> {
    let mut seen = BTreeSet::new();
    let dir = temp_dir();
    for n in 0..40 {
        for variant in VARIANTS {
            let to = dir.path().join(format!("{n}-{variant:?}"));
            disk.image(variant, &mut Random::new(n), &to).unwrap();
            seen.insert(look(to));
        }
    }
    seen
}

fn bits(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

/// Lists the names that exist.
fn there(root: &Path, names: &[&str]) -> String {
    let there = names.iter().filter(|name| root.join(name).symlink_metadata().is_ok());
    there.copied().collect::<Vec<_>>().join(" ")
}

#[test]
fn bits_are_any_that_were_given_until_the_inode_itself_is_synced() {
    let mut disk = disk(&[create(7, "a"), mkdir(8, "d"), Op::SyncAll]);
    disk.apply(&mode(7, 0o600));
    disk.apply(&mode(7, 0o755));
    disk.apply(&mode(8, 0o500));
    // The folder that they are in stores neither, and contents alone are not the inode.
    disk.apply(&sync_dir(""));
    disk.apply(&Op::SyncData { inode: 7 });
    let both = |root: PathBuf| (bits(&root.join("a")), bits(&root.join("d")));
    let of = |a: &[u32], d: &[u32]| -> BTreeSet<(u32, u32)> {
        let pairs = a.iter().flat_map(|a| d.iter().map(|d| (*a, *d)));
        pairs.collect()
    };
    let all = of(&[0o644, 0o600, 0o755], &[0o755, 0o500]);
    assert_eq!(seen(&disk, both), all);
    disk.apply(&Op::Sync { inode: 7 });
    disk.apply(&sync_dir("d"));
    assert_eq!(seen(&disk, both), of(&[0o755], &[0o500]));
    assert!(!disk.is_pending());
}

#[test]
fn a_rename_and_an_exchange_across_folders_are_stored_on_both_sides_or_on_neither() {
    for folder in ["x", "y"] {
        let mut disk = disk(&[mkdir(1, "x"), mkdir(2, "y")]);
        for (inode, path) in [(3, "x/moved"), (4, "x/a"), (5, "y/b")] {
            disk.apply(&create(inode, path));
            disk.apply(&write(inode, 0, path.as_bytes()));
        }
        disk.apply(&Op::SyncAll);
        disk.apply(&rename("x/moved", "y/moved"));
        disk.apply(&Op::Exchange { one: "x/a".into(), other: "y/b".into() });
        let look = |root: PathBuf| {
            let moved = there(&root, &["x/moved", "y/moved"]);
            let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
            format!("{moved}, {} {}", read("x/a"), read("y/b"))
        };
        let all = ["x/moved, x/a y/b", "x/moved, y/b x/a", "y/moved, x/a y/b", "y/moved, y/b x/a"];
        let all: BTreeSet<String> = all.map(str::to_owned).into();
        assert_eq!(seen(&disk, look), all);
        disk.apply(&sync_dir(folder));
        assert_eq!(seen(&disk, look), ["y/moved, y/b x/a".to_owned()].into());
    }
}

#[test]
fn a_hard_link_is_the_same_file_and_the_first_name_does_not_go_before_it() {
    let mut disk = disk(&[mkdir(1, "x"), mkdir(2, "y"), create(3, "x/a"), Op::SyncAll]);
    disk.apply(&Op::Link { from: "x/a".into(), to: "y/a".into() });
    let both = seen(&disk, |root| {
        let inode = |path| root.join(path).metadata().ok().map(|meta| meta.ino());
        inode("y/a").is_none_or(|other| inode("x/a") == Some(other))
    });
    assert_eq!(both, [true].into());
    disk.apply(&unlink("x/a"));
    let look = |root: PathBuf| there(&root, &["x/a", "y/a"]);
    let all = ["x/a", "x/a y/a", "y/a"].map(str::to_owned);
    assert_eq!(seen(&disk, look), all.into());
    // The folder of the first name stores the removal, and everything before it.
    disk.apply(&sync_dir("x"));
    assert_eq!(seen(&disk, look), ["y/a".to_owned()].into());
}

#[test]
fn a_symlink_has_its_target_where_its_name_is() {
    let mut disk = disk(&[Op::Symlink { path: "link".into(), target: "nowhere".into() }]);
    let target = |root: PathBuf| fs::read_link(root.join("link")).ok();
    let whole = Some(PathBuf::from("nowhere"));
    assert_eq!(seen(&disk, target), [None, whole.clone()].into());
    disk.apply(&sync_dir(""));
    assert_eq!(seen(&disk, target), [whole].into());
}

#[test]
fn a_second_name_of_a_symlink_is_the_same_symlink() {
    let mut disk = disk(&[Op::Symlink { path: "link".into(), target: "nowhere".into() }]);
    disk.apply(&Op::Link { from: "link".into(), to: "other".into() });
    disk.apply(&sync_dir(""));
    let names = |root: PathBuf| {
        ["link", "other"].map(|name| fs::symlink_metadata(root.join(name)).unwrap().nlink())
    };
    assert_eq!(seen(&disk, names), [[2, 2]].into());
}

#[test]
fn a_folder_goes_behind_what_was_in_it() {
    let mut disk = disk(&[mkdir(1, "d"), mkdir(2, "d/e"), create(3, "d/e/a")]);
    disk.apply(&Op::SyncAll);
    disk.apply(&rename("d/e/a", "a"));
    disk.apply(&Op::Rmdir { path: "d/e".into() });
    disk.apply(&Op::Rmdir { path: "d".into() });
    let look = |root: PathBuf| there(&root, &["d", "d/e", "d/e/a", "a"]);
    // An entry that was moved out of it is not lost with it.
    let all = ["d d/e d/e/a", "d d/e a", "d a", "a"].map(str::to_owned);
    assert_eq!(seen(&disk, look), all.into());
    disk.apply(&sync_dir(""));
    assert_eq!(seen(&disk, look), ["a".to_owned()].into());
    assert!(!disk.is_pending());
}

#[test]
fn what_takes_a_name_is_stored_behind_what_freed_it() {
    let mut disk = disk(&[create(1, "path"), create(2, "new"), Op::SyncAll]);
    disk.apply(&rename("path", "old"));
    disk.apply(&rename("new", "path"));
    let look = |root: PathBuf| there(&root, &["path", "new", "old"]);
    let all = ["path new", "new old", "path old"].map(str::to_owned);
    assert_eq!(seen(&disk, look), all.into());
}

#[test]
fn a_sync_stores_what_was_done_to_the_same_name_before() {
    let mut disk = disk(&[mkdir(1, "x"), mkdir(2, "y"), mkdir(3, "z")]);
    disk.apply(&create(4, "x/a"));
    disk.apply(&create(5, "x/b"));
    disk.apply(&Op::SyncAll);
    disk.apply(&rename("x/a", "y/a"));
    disk.apply(&rename("x/b", "y/b"));
    disk.apply(&rename("y/a", "z/a"));
    disk.apply(&sync_dir("z"));
    let look = |root: PathBuf| there(&root, &["x/a", "x/b", "y/a", "y/b", "z/a"]);
    // The other rename is not stored by that.
    let all = ["x/b z/a", "y/b z/a"].map(str::to_owned);
    assert_eq!(seen(&disk, look), all.into());
}

#[test]
fn a_sync_of_the_file_system_stores_all_before_it_and_one_that_fails_nothing() {
    let begun = [create(7, "a"), sync_dir("")];
    let done = [write(7, 0, b"one"), mode(7, 0o600), rename("a", "b")];
    let mut lost = disk(&begun);
    let mut disk = disk(&begun);
    for op in &done {
        disk.apply(op);
        lost.apply(op);
    }
    disk.apply(&Op::SyncAll);
    assert!(!disk.is_pending());
    disk.apply(&write(7, 0, b"two"));
    assert_eq!(read(&disk, Variant::None, "b").unwrap(), b"one");
    lost.apply(&Op::SyncAllFailed);
    lost.apply(&Op::Sync { inode: 7 });
    assert_eq!(read(&lost, Variant::None, "a").unwrap(), [0; 3]);
}

#[test]
fn what_is_loaded_is_built_again_with_its_links_and_bits() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    fs::create_dir_all(from.join("closed")).unwrap();
    fs::write(from.join("closed/a"), "a").unwrap();
    fs::hard_link(from.join("closed/a"), from.join("b")).unwrap();
    symlink("closed/a", from.join("link")).unwrap();
    let set = |path: &str, mode| {
        fs::set_permissions(from.join(path), Permissions::from_mode(mode)).unwrap();
    };
    set("closed/a", 0o755);
    set("closed", 0o555);
    let disk = Disk::load(&from).unwrap();
    assert!(!disk.is_pending());
    disk.image(Variant::None, &mut Random::new(1), &to).unwrap();
    assert_eq!(fs::read_to_string(to.join("link")).unwrap(), "a");
    let inode = |path| to.join(path).metadata().unwrap().ino();
    assert_eq!(inode("b"), inode("closed/a"));
    assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("closed/a"));
    assert_eq!((bits(&to.join("b")), bits(&to.join("closed"))), (0o755, 0o555));
    set("closed", 0o755);
    let closed = to.join("closed");
    fs::set_permissions(closed, Permissions::from_mode(0o755)).unwrap();
}
