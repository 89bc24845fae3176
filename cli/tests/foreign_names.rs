//! A store from elsewhere cannot make the command write outside of it, wait for a pipe or believe
//! forged settings.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use milepost_agent_tests::skipped;

use crate::common::{Place, Ran};

/// The commands whose names are collected: each that opens a file of its own in a store.
const USES: &[&[&str]] = &[
    &["record", "--task", "t", "r.jsonl"],
    &["capture", "w", "--task", "t", "--label", "one"],
    &["mark", "t", "m"],
    &["run", "--task", "t", "--", "true"],
    &["rollback", "t@one", "--files", "w"],
    &["undo", "t"],
    &["token", "create", "--user", "ana"],
    &["verify"],
    &["compact"],
    &["doctor"],
    &["repair"],
    &["log", "t"],
];

/// The commands that meet a foreign name: one that looks, one that writes, one that makes a token.
const MEETS: &[&[&str]] = &[
    &["tasks"],
    &["doctor"],
    &["repair", "--dry-run"],
    &["capture", "w", "--task", "t"],
    &["token", "create", "--user", "bob"],
];

/// A store in which everything was used, and every name in it that exists or was opened.
fn everything(place: &Place) -> BTreeSet<PathBuf> {
    place.write("r.jsonl", r#"{"kind":"message","role":"user","content":"hello"}"#);
    fs::create_dir(place.path("w")).unwrap();
    place.write("w/a.txt", "a\n".repeat(4000));
    let store = place.store();
    let mut names = BTreeSet::new();
    let traces = Command::new("strace").arg("-V").output().is_ok();
    if !traces {
        skipped("strace is missing: only names that stay are tried");
    }
    for args in USES {
        let trace = place.path("trace");
        let done = match traces {
            true => {
                let calls =
                    "trace=open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2";
                let mut all = vec!["-f", "-qq", "-y", "-s", "4096", "-e", calls, "-o", "trace"];
                all.push(env!("CARGO_BIN_EXE_milepost"));
                all.extend(args.iter());
                place.command_of("strace", all).output().unwrap()
            }
            false => place.command(args.iter()).output().unwrap(),
        };
        assert!(done.status.success(), "{args:?}: {done:?}");
        let traced = fs::read_to_string(&trace).unwrap_or_default();
        names.extend(traced.lines().flat_map(|line| named(line, &store)));
        walk(&store, &store, &mut names);
    }
    names
}

/// The names below the store in one line of a trace.
fn named(line: &str, store: &Path) -> Vec<PathBuf> {
    let words = line.split('"').skip(1).step_by(2).map(Path::new);
    let folder = store.parent().unwrap();
    let below = words.filter_map(|word| {
        let full = folder.join(word);
        let inner = full.strip_prefix(store).ok()?;
        (inner.components().next().is_some()).then(|| inner.to_owned())
    });
    below.collect()
}

fn walk(root: &Path, dir: &Path, names: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        names.insert(path.strip_prefix(root).unwrap().to_owned());
        if entry.file_type().unwrap().is_dir() {
            walk(root, &path, names);
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, beside) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().unwrap().is_dir() {
            true => copy(&path, &beside),
            false => drop(fs::copy(&path, &beside).unwrap()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Put {
    Link,
    LinkToFolder,
    HardLink,
    Pipe,
    Owner,
}

const PRECIOUS: &str = "the user's own file\n";

/// Puts a foreign name in the place of one; whether it could be.
fn put(what: Put, name: &Path, victim: &Path, victims: &Path) -> bool {
    let there = fs::symlink_metadata(name).ok();
    let is_dir = there.as_ref().is_some_and(|is| is.is_dir());
    if what == Put::Owner {
        let nobody = |path: &Path| std::os::unix::fs::chown(path, Some(65_534), None).is_ok();
        if there.is_none() {
            fs::write(name, "").unwrap();
        }
        return nobody(name);
    }
    match is_dir {
        true => fs::remove_dir_all(name).unwrap(),
        false if there.is_some() => fs::remove_file(name).unwrap(),
        false => {}
    }
    match what {
        Put::Link => symlink(victim, name).unwrap(),
        Put::LinkToFolder => symlink(victims, name).unwrap(),
        Put::HardLink => fs::hard_link(victim, name).unwrap(),
        _ => {
            let made = Command::new("mkfifo").arg(name).status().unwrap();
            assert!(made.success());
        }
    }
    true
}

#[test]
fn a_name_that_no_store_makes_refuses_the_store_and_nothing_is_written_through_it() {
    let place = Place::new();
    let names = everything(&place);
    for known in ["lock", "store.copy", "packs", "journal/0000000001.seg", "sled/db", "acked"] {
        assert!(names.contains(Path::new(known)), "{known} in {names:?}");
    }
    let template = place.path("template");
    fs::rename(place.store(), &template).unwrap();
    let (victim, victims) = (place.path("precious"), place.path("folder"));
    let root = fs::metadata(&template).unwrap().uid() == 0;
    if !root {
        eprintln!("not root: names of other users are not tried");
    }
    let kinds = [Put::Link, Put::LinkToFolder, Put::HardLink, Put::Pipe, Put::Owner];
    for (number, name) in names.iter().enumerate() {
        for kind in kinds.into_iter().filter(|kind| root || *kind != Put::Owner) {
            copy(&template, &place.store());
            fs::write(&victim, PRECIOUS).unwrap();
            fs::create_dir(&victims).unwrap();
            for inner in ["db", "0000000001.seg", "0000000001.pack", "tokens.json"] {
                fs::write(victims.join(inner), PRECIOUS).unwrap();
            }
            let full = place.store().join(name);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            if put(kind, &full, &victim, &victims) {
                let args = MEETS[number % MEETS.len()];
                for args in [MEETS[0], args] {
                    let all = ["60", env!("CARGO_BIN_EXE_milepost")];
                    let all = all.into_iter().chain(args.iter().copied());
                    let done = place.command_of("timeout", all).output().unwrap();
                    let said = String::from_utf8_lossy(&done.stderr).into_owned();
                    let out = String::from_utf8_lossy(&done.stdout).into_owned();
                    let told = format!("{kind:?} at {} by {args:?}: {said}{out}", name.display());
                    assert_ne!(done.status.code(), Some(124), "it hangs: {told}");
                    assert!(!done.status.success(), "{told}");
                    let path = full.display().to_string();
                    assert!((said.clone() + &out).contains(&path), "{told}");
                    assert_eq!(fs::read_to_string(&victim).unwrap(), PRECIOUS, "{told}");
                }
                completes_nothing(&place);
            }
            let mut listed = BTreeSet::new();
            walk(&victims, &victims, &mut listed);
            assert_eq!(listed.len(), 4, "{kind:?} at {}: {listed:?}", name.display());
            for inner in listed {
                assert_eq!(fs::read_to_string(victims.join(inner)).unwrap(), PRECIOUS);
            }
            fs::remove_dir_all(place.store()).unwrap();
            fs::remove_dir_all(&victims).unwrap();
            fs::remove_file(&victim).unwrap();
        }
    }
}

/// A shell that completes the name of a task is offered none, and nothing is printed.
fn completes_nothing(place: &Place) {
    let words = ["60", env!("CARGO_BIN_EXE_milepost"), "--", "milepost", "log", ""];
    let mut command = place.command_of("timeout", words);
    command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "2");
    let done = command.output().unwrap();
    assert_ne!(done.status.code(), Some(124));
    let out = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(!out.lines().any(|line| line.starts_with('t')), "{out}");
}

#[test]
fn a_store_that_is_a_link_is_opened_only_where_it_is_named() {
    let place = Place::recorded();
    let elsewhere = place.path("elsewhere");
    fs::rename(place.store(), &elsewhere).unwrap();
    symlink(&elsewhere, place.store()).unwrap();
    let refused = place.run(["tasks"]);
    refused.failed(1, "is a symbolic link");
    assert!(refused.err.contains("--store"), "{refused:?}");
    place.run(["--store", ".milepost", "tasks"]).ok();
    // A link that names nothing hides no store above.
    let below = place.path("below");
    fs::create_dir(&below).unwrap();
    symlink("nothing", below.join(".milepost")).unwrap();
    let mut command = place.command(["tasks"]);
    let done = Ran::of(command.current_dir(&below).output().unwrap());
    done.failed(1, "is a symbolic link");
}

#[test]
fn settings_are_written_again_only_after_all_of_them_was_checked() {
    let place = Place::recorded();
    let good = fs::read(place.store().join("store")).unwrap();
    let copied = place.store().join("store.copy");
    for (field, value) in [
        ("key", serde_json::json!("$(echo x)")),
        ("key", serde_json::json!("ab".repeat(31) + "\u{1b}[")),
        ("sled_segment", serde_json::json!(4_000_000_001_u32)),
        ("sled_segment", serde_json::json!(0)),
    ] {
        let mut settings: serde_json::Map<_, _> = serde_json::from_slice(&good).unwrap();
        settings.remove("check");
        // In the order in which they are written.
        let mut text = String::from("{\"milepost\":1,\"store\":");
        text += &settings["store"].to_string();
        let segment = match field {
            "key" => {
                text += &format!(",\"key\":{value}");
                settings["sled_segment"].clone()
            }
            _ => value.clone(),
        };
        text += &format!(",\"sled_segment\":{segment}");
        let check = blake3::hash(format!("{text}}}").as_bytes()).to_hex();
        fs::write(place.store().join("store"), format!("{text},\"check\":\"{check}\"}}")).unwrap();
        fs::remove_file(&copied).unwrap();
        let done = place.run(["tasks"]);
        assert_ne!(done.code, 0, "{done:?}");
        assert!(!done.err.contains("echo x") && !done.err.contains('\u{1b}'), "{done:?}");
        assert!(!copied.exists(), "{field} {value}");
        fs::write(&copied, &good).unwrap();
    }
}

#[test]
fn a_dry_run_of_repair_writes_nothing() {
    let place = Place::recorded();
    let before = stamps(&place.store());
    place.run(["repair", "--dry-run"]).ok();
    assert_eq!(stamps(&place.store()), before);
    fs::remove_file(place.store().join("lock")).unwrap();
    let before = stamps(&place.store());
    place.run(["repair", "--dry-run"]).ok();
    assert_eq!(stamps(&place.store()), before);
}

/// Every name with its bytes and the time it was changed.
fn stamps(store: &Path) -> Vec<(PathBuf, Vec<u8>, i64, i64)> {
    let mut names = BTreeSet::from([PathBuf::new()]);
    walk(store, store, &mut names);
    let of = |name: PathBuf| {
        let about = fs::metadata(store.join(&name)).unwrap();
        let bytes = match about.is_file() {
            true => fs::read(store.join(&name)).unwrap(),
            false => Vec::new(),
        };
        (name, bytes, about.ctime(), about.ctime_nsec())
    };
    names.into_iter().map(of).collect()
}
