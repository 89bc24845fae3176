//! `diff --files`.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::common::{Place, number, text};
use crate::workspace::{capture, place, set_mode};

/// The place with the checkpoints `first` and `second`, between which there is some of everything.
fn edited() -> Place {
    let place = place();
    place.write("work/old.txt", "moved as it is\n");
    place.write("work/gone.txt", "bye");
    place.write("work/kind", "a file\n");
    for name in ["work/gone.txt", "work/kind"] {
        set_mode(&place, name, 0o644);
    }
    capture(&place, "first");
    place.write("work/draft.md", "one\n2\nthree\nfour\n");
    place.write("work/picture", b"\x89PNG\0\x01\xff");
    place.write("work/new.txt", "hello\n");
    set_mode(&place, "work/new.txt", 0o644);
    fs::rename(place.path("work/old.txt"), place.path("work/src/moved.txt")).unwrap();
    fs::remove_file(place.path("work/gone.txt")).unwrap();
    fs::remove_file(place.path("work/kind")).unwrap();
    symlink("draft.md", place.path("work/kind")).unwrap();
    set_mode(&place, "work/src/main.rs", 0o755);
    capture(&place, "second");
    place
}

#[test]
fn a_diff_of_files_is_a_unified_one() {
    let place = edited();
    let out = place.say("diff essay@first essay@second --files").ok();
    let expected = "\
diff --git a/draft.md b/draft.md
--- a/draft.md
+++ b/draft.md
@@ -1,3 +1,4 @@
 one
-two
+2
 three
+four
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
\\ No newline at end of file
diff --git a/kind b/kind
deleted file mode 100644
--- a/kind
+++ /dev/null
@@ -1 +0,0 @@
-a file
diff --git a/kind b/kind
new file mode 120000
--- /dev/null
+++ b/kind
@@ -0,0 +1 @@
+draft.md
\\ No newline at end of file
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+hello
diff --git a/picture b/picture
Binary files a/picture and b/picture differ
diff --git a/src/main.rs b/src/main.rs
old mode 100644
new mode 100755
diff --git a/old.txt b/src/moved.txt
rename from old.txt
rename to src/moved.txt
";
    assert_eq!(out, expected);
    assert_eq!(place.say("diff essay@first essay@first --files").ok(), "the files are the same\n");
}

#[test]
fn a_diff_takes_paths_and_counts() {
    let place = edited();
    let of = |rest: &str| {
        let line = format!("diff essay@first essay@second --files {rest}");
        place.say(&line).ok()
    };
    assert_eq!(
        of("--stat"),
        "\
draft.md | +2 -1
gone.txt | +0 -1
kind | +0 -1
kind | +1 -0
new.txt | +1 -0
picture | binary, 7 B -> 7 B
src/main.rs | mode 0644 -> 0755
old.txt => src/moved.txt | +0 -0
8 files changed, 4 lines added, 3 lines removed
"
    );
    assert_eq!(
        of("--stat new.txt src/main.rs"),
        "new.txt | +1 -0\nsrc/main.rs | mode 0644 -> 0755\n2 files changed, 1 line added, 0 lines removed\n"
    );
    // A file that was moved away is a change of where it was.
    assert!(of("old.txt").contains("rename to src/moved.txt\n"));
    assert_eq!(of("link"), "the files are the same\n");
    let none = place.say("diff essay@first essay@second --files nowhere");
    none.failed(1, "nowhere is in neither capture");
    let colored = of("draft.md --color always");
    assert!(colored.contains("\x1b[32m+2\x1b[0m\n"), "{colored}");
}

#[test]
fn a_diff_for_programs_is_a_list_without_text() {
    let place = edited();
    let changes = place.json("diff essay@first essay@second --files");
    let names: Vec<_> = changes
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (text(change, "change"), text(change, "path")))
        .collect();
    assert_eq!(
        names,
        [
            ("changed", "draft.md"),
            ("removed", "gone.txt"),
            ("changed", "kind"),
            ("added", "new.txt"),
            ("changed", "picture"),
            ("mode", "src/main.rs"),
            ("renamed", "src/moved.txt"),
        ]
    );
    assert_eq!(number(&changes[0]["before"], "size"), 14);
    assert_eq!(number(&changes[0]["after"], "size"), 17);
    assert_eq!(changes[1]["after"], Value::Null);
    assert_eq!(changes[2]["after"]["kind"], "link");
    assert_eq!(changes[6]["from"], "old.txt");
    assert_eq!(place.json("diff essay@first essay@first --files"), json!([]));
}

#[test]
fn a_diff_without_files_is_that_of_the_states() {
    let place = edited();
    let out = place.say("diff essay@first essay@second").ok();
    assert!(!out.contains("draft.md"), "{out}");
    assert_eq!(place.say("diff essay@first essay@second draft.md").code, 2);
    assert_eq!(place.say("diff essay@first essay@second --stat").code, 2);
}

#[test]
fn folders_are_in_a_diff_with_what_is_in_them() {
    let place = place();
    capture(&place, "first");
    fs::create_dir_all(place.path("work/deep/empty")).unwrap();
    set_mode(&place, "work/deep", 0o755);
    set_mode(&place, "work/deep/empty", 0o700);
    fs::remove_dir_all(place.path("work/src")).unwrap();
    capture(&place, "second");
    let out = place.say("diff essay@first essay@second --files").ok();
    assert!(
        out.starts_with(
            "new folder deep mode 0755\nnew folder deep/empty mode 0700\ndeleted folder src mode "
        ),
        "{out}"
    );
    assert!(out.contains("deleted file mode 100644\n--- a/src/main.rs\n"), "{out}");
}

#[test]
fn what_is_no_text_or_too_large_is_not_compared_line_by_line() {
    let place = place();
    let late_zero = |end: &str| format!("{}\0\n{end}\n", "line\n".repeat(2000));
    let large = |end: &str| format!("{}{end}", "0123456789abcde\n".repeat((16 << 20) / 16));
    let write = |end: &str, latin: &[u8]| {
        place.write("work/late", late_zero(end));
        place.write("work/latin", latin);
        place.write("work/large", large(end));
    };
    write("one", b"caf\xe9\n");
    capture(&place, "first");
    write("two", b"caf\xe8\n");
    capture(&place, "second");
    let of = |rest: &str| {
        let line = format!("diff essay@first essay@second --files {rest}");
        place.say(&line).ok()
    };
    assert!(of("late").ends_with(" line\n \0\n-one\n+two\n"));
    assert!(of("latin").ends_with("\nBinary files a/latin and b/latin differ\n"));
    assert!(
        of("large").ends_with("b/large differ, and are too large to be compared line by line\n")
    );
    assert!(of("large latin --stat").starts_with(
        "large | large, 16.0 MiB -> 16.0 MiB\nlatin | binary, 5 B -> 5 B\n2 files changed, "
    ));
}
