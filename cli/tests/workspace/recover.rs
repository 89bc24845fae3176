//! `recover`: restores that were cut short.

use std::fs;

use serde_json::json;

use crate::common::dying::{When, dying, restore};
use crate::common::{Place, Ran, text};
use crate::workspace::place;
use crate::workspace::rollback::{edited, held};

/// A restore to `first` that is cut short after the whole folder was restored.
fn cut(place: &Place) {
    restore((&place.store(), &place.path("work")), When::Applied, "essay@first");
    assert!(place.path("work/gone.txt").exists());
}

/// The place with such a restore.
fn cut_short() -> Place {
    let place = edited();
    cut(&place);
    place
}

/// The place with a restore to `first` that was cut short when it had ended, before it was cleared
/// up.
fn not_cleared() -> Place {
    let place = edited();
    restore((&place.store(), &place.path("work")), When::Clearing, "essay@first");
    assert_eq!(left_over(&place), 1);
    place
}

/// Asserts the message of a command that first undid a restore.
#[track_caller]
fn said(ran: &Ran, end: &str) {
    let line = ran.err.lines().next().unwrap_or_default();
    assert!(line.starts_with("milepost: the interrupted restore of "), "{ran:?}");
    assert!(line.ends_with(&format!("/work is {end}")), "{ran:?}");
}

#[test]
fn with_nothing_pending_it_says_so() {
    let place = place();
    let nothing = "nothing is pending: no restore was interrupted\n";
    for command in ["recover", "recover essay", "recover essay --give-up"] {
        assert_eq!(place.say(command).ok(), nothing);
    }
    assert_eq!(place.json("recover"), json!([]));
    place.say("recover nobody").failed(1, "nobody");
    assert_eq!(place.say("recover --give-up").code, 2);
}

#[test]
fn a_restore_that_was_cut_short_is_taken_back() {
    let place = edited();
    let before = held(&place, "work");
    drop(place);
    let place = cut_short();
    let out = place.say("recover").ok();
    assert!(out.starts_with("essay: the restore of "), "{out}");
    assert!(out.ends_with(" was undone\n"), "{out}");
    assert_eq!(held(&place, "work"), before);
    assert_eq!(left_over(&place), 0);
    let out = place.say("recover essay").ok();
    assert!(out.starts_with("nothing is pending"), "{out}");
    place.say("rollback essay@first").ok();
    place.say("verify").ok();
}

/// Counts the files that are in the folder's staging, or were kept.
fn left_over(place: &Place) -> usize {
    let names = fs::read_dir(place.path("work")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.as_encoded_bytes().starts_with(b".milepost")).count()
}

#[test]
fn what_a_restore_left_that_had_ended_is_cleared_up() {
    let place = not_cleared();
    let gone_back = fs::read(place.path("work/gone.txt")).unwrap();
    let out = place.say("recover essay").ok();
    assert!(out.starts_with("nothing is pending"), "{out}");
    assert_eq!(left_over(&place), 0);
    assert_eq!(fs::read(place.path("work/gone.txt")).unwrap(), gone_back);
}

#[test]
fn until_then_commands_that_take_nothing_back_say_what_to_do() {
    let place = cut_short();
    let before = held(&place, "work");
    // A plan has what is done after the recovery.
    let plan = place.say("rollback essay@first --dry-run");
    said(&plan, "undone first");
    assert!(plan.code == 0 && plan.out.contains("gone.txt"), "{plan:?}");
    for command in [
        "mark essay here",
        "record --task essay --user ada more.jsonl",
        "undo essay --dry-run",
        "cleanup --keep 1 --yes",
        "delete essay --yes",
    ] {
        let ran = place.say(command);
        assert_eq!(ran.code, 1, "{command}: {ran:?}");
        assert!(ran.err.contains("milepost recover essay"), "{command}: {ran:?}");
    }
    // Reading commands work, and do not mention it.
    for command in [
        "log essay",
        "tasks",
        "state essay",
        "lineages essay",
        "checkpoints essay",
        "files essay@4",
        "cat essay@4 draft.md",
        "verify",
    ] {
        place.say(command).ok();
    }
    assert_eq!(held(&place, "work"), before);
    // The cleanup took the checkpoint `first`.
    let ran = place.say("rollback essay@4");
    assert_eq!(ran.code, 0, "{ran:?}");
    said(&ran, "undone");
}

#[test]
fn a_command_that_writes_takes_back_first_what_was_interrupted() {
    let place = edited();
    let before = held(&place, "work");
    drop(place);
    for command in [
        "capture work --task essay",
        "restore essay@second",
        "run --task essay --dir work -- true",
        "run --task essay --no-files -- true",
        "capture other --task essay",
    ] {
        let place = cut_short();
        fs::create_dir(place.path("other")).unwrap();
        let ran = place.say(command);
        assert_eq!(ran.code, 0, "{command}: {ran:?}");
        said(&ran, "undone");
        assert_eq!(held(&place, "work"), before, "{command}");
        assert_eq!(left_over(&place), 0, "{command}");
        // And once only.
        assert!(!place.say(command).err.contains("interrupted"));
        place.say("verify").ok();
    }
    let place = cut_short();
    let ran = place.say("rollback essay@first");
    assert_eq!(ran.code, 0, "{ran:?}");
    said(&ran, "undone");
    assert!(place.path("work/gone.txt").exists());
    place.say("undo essay").ok();
    assert_eq!(held(&place, "work"), before);
}

#[test]
fn a_restore_of_another_folder_leaves_what_was_interrupted_and_names_it() {
    let place = cut_short();
    fs::create_dir(place.path("other")).unwrap();
    let before = held(&place, "work");
    for command in
        ["rollback essay@first --files other --moved", "restore essay@first --files other"]
    {
        for command in [command.to_owned(), format!("{command} --dry-run")] {
            let ran = place.say(&command);
            assert_eq!(ran.code, 1, "{command}: {ran:?}");
            assert!(
                ran.err.contains("was interrupted in ") && ran.err.contains("/work"),
                "{ran:?}"
            );
            assert!(ran.err.contains("`milepost recover essay`"), "{ran:?}");
        }
    }
    assert_eq!((held(&place, "work"), held(&place, "other").is_empty()), (before, true));
}

#[test]
fn a_restore_that_had_ended_is_said_to_be_finished() {
    for command in ["capture work --task essay", "undo essay"] {
        let place = not_cleared();
        let ran = place.say(command);
        assert_eq!(ran.code, 0, "{ran:?}");
        said(&ran, "finished");
        assert_eq!(left_over(&place), 0);
    }
}

#[test]
fn an_undo_takes_back_what_was_interrupted_and_not_the_restore_before_it() {
    for first in ["", "restore essay@second", "rollback essay@second"] {
        let place = edited();
        if !first.is_empty() {
            place.say(first).ok();
        }
        let before = (held(&place, "work"), place.json("lineages essay"));
        cut(&place);
        let ran = place.say("undo essay");
        assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{first}: {ran:?}");
        said(&ran, "undone");
        assert!(ran.err.contains("run it again"), "{ran:?}");
        assert_eq!(held(&place, "work"), before.0);
        let lineages = place.json("lineages essay");
        assert_eq!(lineages[0]["active"], before.1[0]["active"]);
        assert_eq!(place.say("undo essay").code, i32::from(first.is_empty()));
    }
}

#[test]
fn an_undo_that_was_interrupted_is_done_again() {
    let place = edited();
    let before = held(&place, "work");
    place.say("rollback essay@first").ok();
    let places = (place.store(), place.path("work"));
    let done = dying((&places.0, &places.1), When::Applied, |engine, with| {
        engine.undo("essay").with(with).run().map(|_| ())
    });
    done.unwrap_err();
    let ran = place.say("undo essay");
    assert_eq!(ran.code, 0, "{ran:?}");
    said(&ran, "undone");
    assert_eq!(held(&place, "work"), before);
}

#[test]
fn where_the_folder_is_not_where_it_was_nothing_is_touched() {
    let place = cut_short();
    fs::rename(place.path("work"), place.path("moved")).unwrap();
    fs::create_dir(place.path("work")).unwrap();
    place.write("work/theirs", "t");
    let before = (held(&place, "work"), held(&place, "moved"));
    for command in [
        "capture work --task essay",
        "capture other --task essay",
        "restore essay@first",
        "rollback essay@first",
        "undo essay",
        "run --task essay --dir work -- true",
    ] {
        fs::create_dir_all(place.path("other")).unwrap();
        let ran = place.say(command);
        assert_eq!(ran.code, 1, "{command}: {ran:?}");
        assert!(ran.err.contains("milepost recover essay"), "{ran:?}");
    }
    assert_eq!((held(&place, "work"), held(&place, "moved")), before);
    // A command that names the moved folder records its new path.
    let ran = place.say("capture moved --task essay");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.err.contains("the interrupted restore of ") && ran.err.ends_with("/moved is undone\n"),
        "{ran:?}"
    );
    assert!(!place.path("moved/gone.txt").exists());
}

#[test]
fn where_a_path_was_changed_since_a_command_stops_and_says_which() {
    for command in [
        "capture work --task essay",
        "restore essay@first",
        "rollback essay@first",
        "undo essay",
        "run --task essay --dir work -- true",
    ] {
        let place = cut_short();
        place.write("work/draft.md", "since\n");
        let marks = place.items("checkpoints essay");
        let ran = place.say(command);
        ran.failed(4, "an interrupted restore cannot be undone");
        assert!(ran.err.contains("`draft.md`"), "{ran:?}");
        assert!(ran.err.contains("milepost recover essay --keep-mine PATH"), "{ran:?}");
        assert_eq!(fs::read(place.path("work/draft.md")).unwrap(), b"since\n");
        assert_eq!(place.items("checkpoints essay"), marks);
    }
}

#[test]
fn what_was_changed_since_is_decided() {
    let place = cut_short();
    place.write("work/draft.md", "since\n");
    let ran = place.say("recover essay");
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.out.ends_with(" is still pending\n"), "{ran:?}");
    assert!(ran.err.contains("draft.md"), "{ran:?}");
    assert!(ran.err.contains("milepost recover essay --keep-mine PATH"));
    place.say("recover essay --keep-mine draft.md").ok();
    let draft = fs::read_to_string(place.path("work/draft.md")).unwrap();
    assert_eq!(draft, "since\n");
    assert!(place.path("work/new/a.txt").exists());
}

#[test]
fn a_folder_that_was_moved_is_recovered_where_it_is() {
    let place = cut_short();
    fs::rename(place.path("work"), place.path("moved")).unwrap();
    let gone = place.say("recover essay");
    assert_eq!(gone.code, 1, "{gone:?}");
    assert!(gone.err.contains("is no folder now"), "{gone:?}");
    assert!(gone.err.contains("--give-up"), "{gone:?}");
    fs::create_dir(place.path("work")).unwrap();
    for command in ["recover essay", "recover essay --files work --theirs draft.md"] {
        let other = place.say(command);
        assert_eq!(other.code, 4, "{other:?}");
        assert!(other.err.contains("is another folder"), "{other:?}");
        assert!(other.err.contains("recover essay --files DIR"), "{other:?}");
    }
    assert!(held(&place, "work").is_empty());
    place.say("recover essay --files moved").ok();
    assert!(place.path("moved/new/a.txt").exists());
    assert!(!place.path("moved/gone.txt").exists());
}

#[test]
fn what_was_changed_in_a_folder_that_was_moved_is_decided() {
    for (choice, draft) in [("keep-mine", "since\n"), ("theirs", "one\n2\nthree\nfour\n")] {
        let place = cut_short();
        fs::rename(place.path("work"), place.path("moved")).unwrap();
        place.write("moved/draft.md", "since\n");
        let ran = place.say("recover essay --files moved");
        assert_eq!(ran.code, 4, "{ran:?}");
        assert!(ran.out.ends_with(" is still pending\n"), "{ran:?}");
        let hint = "`milepost recover essay --files moved --keep-mine PATH`";
        assert!(ran.err.contains(hint), "{ran:?}");
        place.say(&format!("recover essay --files moved --{choice} draft.md")).ok();
        let now = fs::read_to_string(place.path("moved/draft.md")).unwrap();
        assert_eq!(now, draft, "{choice}");
        assert!(place.path("moved/new/a.txt").exists());
        place.say("mark essay here").ok();
    }
}

#[test]
fn giving_up_ends_it_and_leaves_the_folder() {
    let place = cut_short();
    let before = held(&place, "work");
    let given_up = place.json("recover essay --give-up");
    assert_eq!(text(&given_up[0], "outcome"), "given_up");
    assert!(text(&given_up[0], "folder").ends_with("/work"));
    assert_eq!(held(&place, "work"), before);
    place.say("mark essay here").ok();
}
