//! `rollback`, `restore --files` and `undo` with a folder.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Place, text};
use crate::workspace::{capture, place, set_mode};

/// Content of a folder: each path with its kind, its bits and its bytes.
pub type Held = BTreeMap<Vec<u8>, (bool, u32, Vec<u8>)>;

/// Reads a folder, byte by byte.
pub fn held(place: &Place, name: &str) -> Held {
    fn walk(folder: &Path, root: &Path, all: &mut Held) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let content = if meta.is_dir() {
                walk(&path, root, all);
                Vec::new()
            } else if meta.is_symlink() {
                fs::read_link(&path).unwrap().as_os_str().as_bytes().into()
            } else {
                fs::read(&path).unwrap()
            };
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes();
            let bits = meta.permissions().mode();
            all.insert(name.into(), (meta.is_dir(), bits, content));
        }
    }
    let mut all = Held::new();
    let root = place.path(name);
    walk(&root, &root, &mut all);
    all
}

/// Makes the place with the checkpoints `first` and `second`; `second` has one more message, and
/// the folder is as it was captured then.
pub fn edited() -> Place {
    let place = place();
    place.write("work/gone.txt", "bye");
    set_mode(&place, "work/gone.txt", 0o600);
    capture(&place, "first");
    place.write(
        "more.jsonl",
        "{\"kind\":\"step_started\",\"step\":2}\n{\"kind\":\"step_finished\",\"step\":2}\n",
    );
    place.say("record --task essay --user ada more.jsonl").ok();
    place.write("work/draft.md", "one\n2\nthree\nfour\n");
    fs::remove_file(place.path("work/gone.txt")).unwrap();
    fs::create_dir(place.path("work/new")).unwrap();
    place.write("work/new/a.txt", "a");
    set_mode(&place, "work/src/main.rs", 0o755);
    capture(&place, "second");
    place
}

/// Returns the state at a task's head.
fn state(place: &Place) -> Value {
    let mut state = place.json("state essay");
    // The address and the root of the files differ between lineages.
    let fields = state.as_object_mut().unwrap();
    for name in ["workspace", "lineage", "offset", "address", "point", "hash"] {
        fields.remove(name);
    }
    state
}

fn read(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path(name)).unwrap()
}

#[test]
fn a_rollback_takes_state_and_files_back_and_undo_gives_both_again_byte_by_byte() {
    let place = place();
    place.write("work/kept", "k");
    capture(&place, "first");
    let (then, then_state) = (held(&place, "work"), state(&place));
    drop(place);

    let place = edited();
    // The undo also brings back content that was not captured before the restore.
    place.write("work/new/b.txt", b"b\0\xff");
    let (before, before_state) = (held(&place, "work"), state(&place));
    let out = place.say("rollback essay@first -m again").ok();
    let lines: Vec<_> = out.lines().collect();
    for line in ["+ gone.txt", "~ draft.md", "~ src/main.rs", "- new/a.txt"] {
        assert!(lines.contains(&line), "{line}: {out}");
    }
    assert!(out.contains("\nback to essay/"), "{out}");
    assert!(out.ends_with("`milepost undo essay` takes this back\n"), "{out}");
    assert_eq!(read(&place, "work/draft.md"), "one\ntwo\nthree\n");
    assert_eq!(read(&place, "work/gone.txt"), "bye");
    // Not ours to remove.
    assert!(place.path("work/new/b.txt").exists());
    assert_eq!(state(&place), then_state);
    assert_eq!(held(&place, "work/src"), {
        let src = then.iter().filter(|(path, _)| path.starts_with(b"src/"));
        src.map(|(path, held)| (path[4..].to_vec(), held.clone())).collect()
    });
    let lineages = place.say("lineages essay").ok();
    assert!(lineages.contains("again"), "{lineages}");

    let out = place.say("undo essay").ok();
    assert!(out.contains("+ new/a.txt\n~ draft.md\n"), "{out}");
    assert!(out.contains("the last restore is undone, with the files of "));
    assert!(out.contains(": `milepost rollback essay/"), "{out}");
    assert_eq!(held(&place, "work"), before);
    assert_eq!(state(&place), before_state);

    // An undo is undone by going there again.
    let there = out.split('`').nth(1).unwrap().to_owned();
    let there = there.strip_prefix("milepost ").unwrap();
    place.say(there).ok();
    assert_eq!(read(&place, "work/gone.txt"), "bye");
    place.say("verify").ok();
}

#[test]
fn a_dry_run_touches_nothing_and_says_by_its_exit_code_whether_it_could_be() {
    let place = edited();
    let before = (held(&place, "work"), place.json("lineages essay"));
    let marks = place.items("checkpoints essay");
    for command in ["rollback essay@first --dry-run", "restore essay@first --files work --dry-run"]
    {
        let out = place.say(command).ok();
        assert!(out.contains("+ gone.txt\n~ draft.md\n"), "{out}");
        assert!(out.ends_with("this was a dry run: nothing was done\n"), "{out}");
    }
    let out = place.say("rollback essay@second --dry-run").ok();
    assert!(out.starts_with("the files are as they were then\n"));
    place.write("work/draft.md", "mine\n");
    let ran = place.say("rollback essay@first --dry-run");
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.out.contains("! draft.md  it was changed"), "{ran:?}");
    assert!(ran.err.contains("1 thing is in the way"), "{ran:?}");
    assert!(ran.err.contains("`--keep-mine draft.md`"), "{ran:?}");
    place.say("rollback essay@first --dry-run --theirs draft.md").ok();
    assert_eq!(read(&place, "work/draft.md"), "mine\n");
    place.write("work/draft.md", "one\n2\nthree\nfour\n");
    assert_eq!((held(&place, "work"), place.json("lineages essay")), before);
    assert_eq!(place.items("checkpoints essay"), marks);
}

#[test]
fn a_dry_run_of_an_undo_touches_nothing_and_says_what_it_would_do() {
    let place = edited();
    place.say("rollback essay@first").ok();
    let before = (held(&place, "work"), place.json("lineages essay"));
    let marks = place.items("checkpoints essay");
    let out = place.say("undo essay --dry-run").ok();
    assert!(out.contains("+ new/a.txt\n~ draft.md\n"), "{out}");
    assert!(out.ends_with("this was a dry run: nothing was done\n"), "{out}");
    let dry = place.json("undo essay --files work --dry-run");
    assert_eq!(dry["plan"]["deletes"][0]["path"], "gone.txt");
    assert_eq!((&dry["lineage"], &dry["kept"]), (&Value::Null, &json!([])));
    place.write("work/draft.md", "mine\n");
    let ran = place.say("undo essay --dry-run");
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.out.contains("! draft.md  it was changed"), "{ran:?}");
    assert!(ran.err.contains("`--keep-mine draft.md`"), "{ran:?}");
    place.say("undo essay --dry-run --theirs draft.md").ok();
    assert_eq!(read(&place, "work/draft.md"), "mine\n");
    place.write("work/draft.md", "one\ntwo\nthree\n");
    assert_eq!((held(&place, "work"), place.json("lineages essay")), before);
    assert_eq!(place.items("checkpoints essay"), marks);
    // The restore does what its plan said.
    let undone = place.json("undo essay");
    for part in ["creates", "changes", "deletes", "modes", "conflicts", "notes"] {
        assert_eq!(undone["plan"][part], dry["plan"][part], "{part}");
    }
}

#[test]
fn a_dry_run_of_an_undo_needs_a_restore_that_took_files_back() {
    let place = edited();
    place.say("undo essay --dry-run").failed(2, "took no files back");
    place.say("restore essay@first").ok();
    let lineages = place.json("lineages essay");
    place.say("undo essay --dry-run").failed(2, "took no files back");
    assert_eq!(place.json("lineages essay"), lineages);
}

#[test]
fn what_stands_in_the_way_stops_all_until_it_is_decided() {
    let place = edited();
    place.write("work/draft.md", "mine\n");
    place.write("work/gone.txt", "never captured\n");
    let before = (held(&place, "work"), place.items("checkpoints essay"));
    for command in [
        "rollback essay@first",
        "restore essay@first --files work",
        "rollback essay@first --theirs draft.md",
    ] {
        let ran = place.say(command);
        assert_eq!(ran.code, 4, "{ran:?}");
        assert!(ran.out.contains("! gone.txt  what is there was never captured"));
        assert!(ran.err.contains("hint: `--theirs "), "{ran:?}");
    }
    assert_eq!((held(&place, "work"), place.items("checkpoints essay")), before);
    let both = place.say("rollback essay@first --theirs draft.md --keep-mine draft.md");
    both.failed(1, "choose one");
    place.say("rollback essay@first --theirs draft.md --keep-mine ./gone.txt").ok();
    assert_eq!(read(&place, "work/draft.md"), "one\ntwo\nthree\n");
    assert_eq!(read(&place, "work/gone.txt"), "never captured\n");
    // A kept file is in a capture.
    assert_eq!(place.say("cat essay gone.txt").ok(), "never captured\n");
    place.say("undo essay").ok();
    assert_eq!(held(&place, "work"), before.0);
}

#[test]
fn what_only_others_changed_is_left_and_listed_if_it_is_asked_for() {
    let place = place();
    capture(&place, "first");
    place.write("edit.sh", "echo run > draft.md; echo run > made.txt");
    assert_eq!(place.say("run --task essay --dir work -- sh ../edit.sh").code, 0);
    place.write("work/mine.txt", "mine\n");
    assert_eq!(place.say("run --task essay --dir work -- sh ../edit.sh").code, 0);
    let before = held(&place, "work");
    assert_eq!(place.say("undo essay --leave-others").code, 2);
    place.say("restore essay@first --leave-others").failed(2, "are for files");
    let dry = place.json("restore essay@first --files work --leave-others --dry-run");
    assert_eq!(dry["plan"]["left"][0]["path"], "mine.txt");
    assert_eq!(dry["plan"]["left"][0]["why"], "made");
    let out = place.say("rollback essay@first --leave-others").ok();
    assert!(
        out.contains("~ draft.md\n- made.txt\n= mine.txt  it stays: others made it (`--theirs mine.txt` takes it)\n"),
        "{out}"
    );
    assert_eq!(read(&place, "work/mine.txt"), "mine\n");
    assert!(!place.path("work/made.txt").exists());
    place.say("undo essay").ok();
    assert_eq!(held(&place, "work"), before);
    // A path that both changed is a conflict.
    place.write("work/draft.md", "mine\n");
    let ran = place.say("rollback essay@first --leave-others");
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.out.contains("! draft.md  others changed it too\n"), "{ran:?}");
    place.say("rollback essay@first --leave-others --keep-mine draft.md").ok();
    assert_eq!(read(&place, "work/draft.md"), "mine\n");
}

#[test]
fn an_undo_is_stopped_by_what_was_changed_since() {
    let place = edited();
    place.say("rollback essay@first").ok();
    place.write("work/draft.md", "mine\n");
    let ran = place.say("undo essay");
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.out.contains("! draft.md  it was changed"), "{ran:?}");
    place.say("undo essay --keep-mine draft.md").ok();
    assert_eq!(read(&place, "work/draft.md"), "mine\n");
    assert!(place.path("work/new/a.txt").exists());
}

#[test]
fn files_only_leaves_the_messages_and_undo_the_files_again() {
    let place = edited();
    let (before, before_state) = (held(&place, "work"), state(&place));
    let out = place.say("restore essay@first --files work").ok();
    assert!(out.contains("the state stays"), "{out}");
    assert_eq!(read(&place, "work/draft.md"), "one\ntwo\nthree\n");
    assert_eq!(state(&place), before_state);
    place.say("undo essay --files work").ok();
    assert_eq!(held(&place, "work"), before);
    assert_eq!(state(&place), before_state);
}

#[test]
fn an_undo_goes_to_the_folder_of_the_restore_that_it_takes_back() {
    let place = edited();
    fs::create_dir(place.path("try")).unwrap();
    let (work, other) = (held(&place, "work"), held(&place, "try"));
    place.say("restore essay@first --files try").ok();
    let tried = held(&place, "try");
    assert!(!tried.is_empty());
    place.say("rollback essay@first --files work").ok();
    assert_ne!(held(&place, "work"), work);
    // The first undo is of `work`, the second of `try`, although `work` was captured last.
    place.say("undo essay").ok();
    assert_eq!((held(&place, "work"), held(&place, "try")), (work.clone(), tried));
    let out = place.say("undo essay").ok();
    assert!(out.contains("/try"), "{out}");
    assert_eq!((held(&place, "work"), held(&place, "try")), (work, other));
}

#[test]
fn a_restore_without_files_is_as_it_was() {
    let place = edited();
    let before = held(&place, "work");
    for rest in ["--dry-run", "--theirs a", "--keep-mine a", "--moved", "--leave-others"] {
        place.say(&format!("restore essay@first {rest}")).failed(2, "are for files");
    }
    place.say("restore essay@first").ok();
    assert_eq!(held(&place, "work"), before);
    place.say("undo essay --files work").failed(2, "took no files back");
    place.say("undo essay").ok();
    assert_eq!(held(&place, "work"), before);
}

#[test]
fn programs_get_the_plan_the_lineage_and_what_was_kept() {
    let place = edited();
    let dry = place.json("rollback essay@first --dry-run");
    assert_eq!((&dry["lineage"], &dry["kept"]), (&Value::Null, &json!([])));
    place.write("work/draft.md", "mine\n");
    let ran = place.say("rollback essay@first --json");
    assert_eq!(ran.code, 4, "{ran:?}");
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    let conflict = &said["plan"]["conflicts"][0];
    assert_eq!(text(conflict, "path"), "draft.md");
    assert_eq!(text(conflict, "why"), "changed");
    assert_eq!(said["lineage"], Value::Null);
    let went = place.json("rollback essay@first --theirs draft.md");
    assert_eq!(went["plan"]["creates"][0]["path"], "gone.txt");
    assert_eq!(went["plan"]["conflicts"], json!([]));
    assert_eq!(text(&went["lineage"], "type"), "rollback");
    assert_eq!(text(&went["lineage"], "task"), "essay");
    assert_eq!(went["kept"], json!([]));
    let undone = place.json("undo essay");
    assert_eq!(undone["plan"]["deletes"][0]["path"], "gone.txt");
}

#[test]
fn a_folder_that_was_moved_is_named_and_said_to_be_the_same() {
    let place = edited();
    fs::rename(place.path("work"), place.path("moved")).unwrap();
    let gone = place.say("rollback essay@first");
    gone.failed(1, "which was captured, is no folder now");
    assert!(gone.err.contains("--files DIR --moved"), "{gone:?}");
    let other = place.say("rollback essay@first --files moved");
    assert_eq!(other.code, 4, "{other:?}");
    assert!(other.err.contains("--moved"), "{other:?}");
    place.say("rollback essay@first --files moved --moved").ok();
    assert_eq!(read(&place, "moved/gone.txt"), "bye");
    place.say("undo essay --moved").ok();
    assert!(place.path("moved/new/a.txt").exists());
}

#[test]
fn what_has_no_files_says_what_to_do() {
    let place = edited();
    let none = place.say("rollback essay@0");
    none.failed(1, "no folder was captured before essay@0");
    assert!(none.err.contains("milepost restore essay@0"), "{none:?}");
    place.say("rollback essay@first --files nowhere").failed(1, "nowhere");
    place.say("rollback nobody").failed(1, "nobody");
    place.say("rollback essay@first --theirs /etc/passwd").failed(1, "");
}
