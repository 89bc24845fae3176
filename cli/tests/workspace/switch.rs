//! `switch`, `redo` and `restore` where files were captured: they stay, and a line reports it.

use std::fs;

use crate::common::text;
use crate::workspace::rollback::{edited, held};

/// The line about files that stay.
fn about_files(out: &str) -> &str {
    out.lines().find(|line| line.starts_with("the files stay")).unwrap_or_default()
}

#[test]
fn a_restore_says_how_many_files_differ_and_which_command_restores_them() {
    let place = edited();
    let out = place.say("restore essay@first").ok();
    let expected = "the files stay as they are: 4 files differ from those of essay/0@4, which \
                    `milepost rollback essay/0@4` restores";
    assert_eq!(about_files(&out), expected);
    place.say("rollback essay/0@4").ok();
    assert!(place.path("work/gone.txt").exists());
    place.say("undo essay").ok();
    place.say("undo essay").ok();
    let restored = place.json("restore essay@first");
    let files = &restored["files"];
    assert_eq!((&files["differing"], &files["more"]), (&4.into(), &false.into()));
    assert_eq!(text(files, "address"), "essay/0@4");
    // Without a differing file, the line is missing.
    let out = place.say("restore essay/0").ok();
    assert_eq!(about_files(&out), "");
}

#[test]
fn after_a_switch_and_back_no_file_is_named() {
    let place = edited();
    place.say("branch essay@first").ok();
    for back in ["switch essay/0", "undo essay"] {
        let out = place.say("switch essay/1").ok();
        assert!(about_files(&out).contains(" 4 files differ "), "{out}");
        let out = place.say(back).ok();
        assert_eq!(about_files(&out), "", "the folder has the files of lineage 0");
    }
}

#[test]
fn a_switch_to_the_lineage_of_a_rollback_leaves_the_files_and_so_does_its_undo() {
    let place = edited();
    let second = held(&place, "work");
    place.say("rollback essay@first").ok();
    let first = held(&place, "work");
    place.write("work/draft.md", "on the other lineage\n");
    place.say("capture work --task essay").ok();
    let other = held(&place, "work");
    place.say("undo essay").ok();
    assert_eq!(held(&place, "work"), second);
    let refused = place.say("redo essay");
    refused.failed(4, "`milepost rollback essay/1` brings state and files there");
    let out = place.say("switch essay/1").ok();
    let command = "which `milepost rollback essay/1` restores";
    assert!(about_files(&out).ends_with(command), "{out}");
    assert_eq!(held(&place, "work"), second);
    let out = place.say("undo essay").ok();
    assert!(out.starts_with("the last restore or switch is undone\n"), "{out}");
    assert_eq!(held(&place, "work"), second);
    // The undo of the switch can be redone, and the command that it names restores the files.
    let out = place.say("redo essay").ok();
    assert!(about_files(&out).ends_with(command), "{out}");
    let out = place.say("rollback essay/1").ok();
    assert!(out.contains("back to essay/1@"), "{out}");
    assert_eq!(held(&place, "work"), other);
    assert_ne!(first, other);
    place.say("undo essay").ok();
    assert_eq!(held(&place, "work"), second);
    // A change after the switch is a conflict, as for every restore.
    fs::write(place.path("work/draft.md"), "by hand\n").unwrap();
    let ran = place.say("rollback essay/1");
    assert_eq!(ran.code, 4, "{ran:?}");
}
