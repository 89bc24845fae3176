//! Single cases of plans.

use milepost_codec::{ActionKind, PathBytes, Skip, SkipReason};

use super::table::{plan_of, preview};
use crate::plan::{Choices, ConflictWhy, NoteWhat, Plan, PlanNote, Trees, make};
use crate::testing::fixtures::{Thing, Things, path};
use crate::testing::memory::MemoryChunks;

fn one(at: &str, thing: Thing) -> Things {
    [(path(at), thing)].into()
}

fn text(bytes: &str) -> Thing {
    Thing::File(bytes.into(), 0o644)
}

#[test]
fn what_captures_leave_out_is_in_the_way_and_only_keeping_it_settles_that() {
    let chunks = MemoryChunks::default();
    let skip = |at: &[u8], reason| Skip { path: PathBytes::from(at), reason, size: 0 };
    let folder: Things = [(path("x"), Thing::Dir(0o755)), (path("x/f"), text("a"))].into();
    let file = one("x", text("b"));
    let git = [
        skip(b"w", SkipReason::Git),
        skip(b"x/.git", SkipReason::Git),
        skip(b"x-y", SkipReason::Git),
    ];
    for theirs in [Choices::default(), Choices::default().theirs(path("x"))] {
        let made = plan_of(&chunks, [&folder, &file, &folder], &theirs, &git);
        assert_eq!(preview(&made), [(path("x"), ConflictWhy::InTheWay)].into());
        assert!(made.preview.conflicts[0].text.contains("x/.git"), "{:?}", made.preview);
    }
    let mine = Choices::default().keep_mine(path("x"));
    let made = plan_of(&chunks, [&folder, &file, &folder], &mine, &git);
    assert!(made.preview.conflicts.is_empty() && made.actions.actions.is_empty());

    // A folder that would be removed stays because of the skipped path.
    let made = plan_of(&chunks, [&folder, &Things::new(), &folder], &Choices::default(), &git);
    assert!(made.preview.conflicts.is_empty());
    assert_eq!(made.actions.actions.len(), 1);
    assert_eq!(made.preview.notes[0].what, NoteWhat::FolderStays);

    // Skips outside of the folder are no conflict.
    let beside = [skip(b"w", SkipReason::Git), skip(b"x-y", SkipReason::Git)];
    let made = plan_of(&chunks, [&folder, &file, &folder], &Choices::default(), &beside);
    assert!(made.preview.conflicts.is_empty());

    // A special file is where the snapshot has a file.
    let pipe = [skip(b"x", SkipReason::Special)];
    let made = plan_of(&chunks, [&file, &file, &Things::new()], &Choices::default(), &pipe);
    assert_eq!(preview(&made), [(path("x"), ConflictWhy::InTheWay)].into());
    // The content that a removal would affect is unknown too.
    for reason in [SkipReason::Special, SkipReason::Denied] {
        for (choices, conflicts) in [
            (Choices::default(), 1),
            (Choices::default().theirs(path("x")), 1),
            (Choices::default().keep_mine(path("x")), 0),
        ] {
            let none = Things::new();
            let here = [skip(b"x", reason)];
            let made = plan_of(&chunks, [&file, &none, &none], &choices, &here);
            assert_eq!(made.preview.conflicts.len(), conflicts, "{:?}", made.preview);
            assert!(made.actions.actions.is_empty());
            let (empty, below) = (one("x", Thing::Dir(0o755)), [skip(b"x/f", reason)]);
            let made = plan_of(&chunks, [&folder, &empty, &empty], &choices, &below);
            assert_eq!(made.preview.conflicts.len(), conflicts, "{:?}", made.preview);
            // Paths that were never recorded are not affected.
            let made = plan_of(&chunks, [&none, &none, &none], &choices, &here);
            assert!(made.preview.conflicts.is_empty());
        }
    }
    // Unstable files were captured.
    let unstable = [skip(b"x/f", SkipReason::Unstable)];
    let made = plan_of(&chunks, [&folder, &file, &folder], &Choices::default(), &unstable);
    assert!(made.preview.conflicts.is_empty());
}

#[test]
fn lost_contents_are_a_conflict_of_the_paths_that_need_them() {
    let chunks = MemoryChunks::default();
    let target: Things = [
        (path("d"), Thing::Dir(0o755)),
        (path("d/lost"), text("gone")),
        (path("d/there"), text("there")),
        (path("list"), Thing::File(vec![b'z'; 300], 0o644)),
    ]
    .into();
    let tree = chunks.tree(&target);
    let forget = |bytes: &[u8]| {
        let id = milepost_codec::ChunkEntry::id_of(bytes);
        assert!(chunks.all.lock().remove(&id).is_some());
    };
    forget(b"gone");
    forget(&[b'z'; 100]);
    let present = Things::new();
    let choices = Choices::default().keep_mine(path("d/lost"));
    for (choices, hit) in [(Choices::default(), 2), (choices, 1)] {
        let trees = Trees {
            contents: &chunks,
            last: None,
            target: tree,
            says: crate::tree::Budget::unbounded(),
            present: chunks.tree(&present),
            skips: &[],
            last_skips: &[],
            target_skips: &[],
            choices: &choices,
            elsewhere: false,
            by_hand: &std::collections::BTreeSet::new(),
            authors: None,
        };
        let made = make(&trees, &mut chunks.keep()).unwrap();
        let hits = preview(&made);
        assert_eq!(hits.len(), hit, "{hits:?}");
        assert!(hits.iter().all(|(_, why)| *why == ConflictWhy::Missing));
    }
}

#[test]
fn a_folder_elsewhere_is_asked_about_unless_it_is_empty() {
    let chunks = MemoryChunks::default();
    let file = one("x", text("a"));
    for (present, moved, asked) in
        [(&file, false, true), (&file, true, false), (&Things::new(), false, false)]
    {
        let choices = Choices { moved, ..Choices::default() };
        let trees = Trees {
            contents: &chunks,
            last: None,
            target: chunks.tree(&file),
            says: crate::tree::Budget::unbounded(),
            present: chunks.tree(present),
            skips: &[],
            last_skips: &[],
            target_skips: &[],
            choices: &choices,
            elsewhere: true,
            by_hand: &std::collections::BTreeSet::new(),
            authors: None,
        };
        let made = make(&trees, &mut |_, _| ()).unwrap();
        assert_eq!(!made.preview.conflicts.is_empty(), asked);
        assert!(
            made.preview
                .conflicts
                .iter()
                .all(|c| c.why == ConflictWhy::OtherFolder && c.path.is_none())
        );
    }
}

#[test]
fn the_longer_choice_counts_and_two_for_one_path_are_refused() {
    let choices = Choices::default().theirs(path("a")).keep_mine(path("a/b"));
    assert_eq!(choices.of(&path("a/x")), Some(crate::plan::Choice::Theirs));
    assert_eq!(choices.of(&path("a/b/c")), Some(crate::plan::Choice::KeepMine));
    assert_eq!(choices.of(&path("ab")), None);
    let both = choices.keep_mine(path("a"));
    assert_eq!(both.check().unwrap_err().kind(), milepost::ErrorKind::Invalid);
}

#[test]
fn the_text_and_the_json_of_a_plan_name_each_path() {
    let chunks = MemoryChunks::default();
    let last: Things = [(path("gone"), text("a")), (path("x"), text("a"))].into();
    let target: Things =
        [(path("x"), text("b")), (path("new\n"), text("n")), (path("own"), text("t"))].into();
    let mut present = last.clone();
    present.insert(path("own"), text("mine"));
    let made = plan_of(&chunks, [&last, &target, &present], &Choices::default(), &[]);
    let lines = "+ new\\x0a\n~ x\n- gone\n! own  what is there was never captured\n";
    assert_eq!(made.preview.to_string(), lines);
    let json = serde_json::to_value(&made.preview).unwrap();
    assert_eq!(json["conflicts"][0]["why"], "unrecorded");
    assert_eq!(json["creates"][0]["path"], "new\n");
    assert_eq!(serde_json::from_value::<crate::plan::Plan>(json).unwrap(), made.preview);
}

#[test]
fn what_was_lost_of_the_last_tree_counts_as_never_recorded() {
    let chunks = MemoryChunks::default();
    let last: Things =
        [(path("d"), Thing::Dir(0o755)), (path("d/x"), text("a")), (path("y"), text("a"))].into();
    let target: Things = [(path("d"), Thing::Dir(0o755)), (path("d/x"), text("b"))].into();
    let inner = chunks.tree(&one("x", text("a")));
    let trees = Trees {
        contents: &chunks,
        last: Some(chunks.tree(&last)),
        target: chunks.tree(&target),
        says: crate::tree::Budget::unbounded(),
        // The scan of the present stores nodes of its own.
        present: chunks
            .tree(&[last.clone(), one("d/z", text("z"))].into_iter().flatten().collect()),
        skips: &[],
        last_skips: &[],
        target_skips: &[],
        choices: &Choices::default(),
        elsewhere: false,
        by_hand: &std::collections::BTreeSet::new(),
        authors: None,
    };
    assert!(chunks.all.lock().remove(&inner).is_some());
    let made = make(&trees, &mut chunks.keep()).unwrap();
    assert_eq!(preview(&made), [(path("d/x"), ConflictWhy::Unrecorded)].into());
    assert_eq!(made.preview.deletes[0].path, path("y"));
}

#[test]
fn a_folder_that_is_closed_to_its_owner_is_opened_up_and_closed_again() {
    let chunks = MemoryChunks::default();
    let last: Things = [(path("d"), Thing::Dir(0o555)), (path("d/x"), text("a"))].into();
    let mut target = last.clone();
    target.insert(path("d/x"), text("b"));
    let made = plan_of(&chunks, [&last, &target, &last], &Choices::default(), &[]);
    let [change, close] = made.actions.actions.as_slice() else { panic!("{:?}", made.actions) };
    assert_eq!(change.path, path("d/x"));
    let mode = |item: &Option<milepost_codec::Item>| item.as_ref().map(|item| item.mode);
    assert_eq!(
        (close.kind, mode(&close.before), mode(&close.after)),
        (ActionKind::Mode, Some(0o555), Some(0o555))
    );
    // It is not a change in the report.
    assert!(made.preview.modes.is_empty());
}

#[test]
fn what_the_rules_of_the_target_ignore_is_kept_though_it_was_recorded_since() {
    let chunks = MemoryChunks::default();
    let all = |list: &[(&str, &str)]| -> Things {
        let one = |(at, content): &(&str, &str)| one(at, text(content));
        list.iter().flat_map(one).collect()
    };
    let target = all(&[(".gitignore", "results/\n*.log\n!keep.log\n"), ("a", "good")]);
    let mut present = all(&[
        (".gitignore", "# new"),
        ("a", "bad"),
        ("results/run.csv", "a year"),
        ("sub/x.log", "kept"),
        ("sub/keep.log", "goes"),
        ("made", "goes"),
    ]);
    for folder in ["results", "sub"] {
        present.insert(path(folder), Thing::Dir(0o755));
    }
    let made = |choices: Choices| {
        let trees = Trees {
            contents: &chunks,
            last: Some(chunks.tree(&present)),
            target: chunks.tree(&target),
            says: crate::tree::Budget::unbounded(),
            present: chunks.tree(&present),
            skips: &[],
            last_skips: &[],
            target_skips: &[],
            choices: &choices,
            elsewhere: false,
            by_hand: &std::collections::BTreeSet::new(),
            authors: None,
        };
        make(&trees, &mut chunks.keep()).unwrap().preview
    };
    let preview = made(Choices::default());
    let gone = |preview: &Plan| -> Vec<String> {
        preview.deletes.iter().map(|planned| planned.path.to_string()).collect()
    };
    assert_eq!(gone(&preview), ["made", "sub/keep.log"], "{preview}");
    let notes = preview.notes.iter().filter(|note| note.what == NoteWhat::Ignored);
    let kept: Vec<_> = notes.map(|note| note.path.to_string()).collect();
    assert_eq!(kept, ["results", "sub/x.log"], "{preview}");
    let all = made(Choices::default().take_ignored());
    assert!(gone(&all).contains(&"sub/x.log".to_owned()), "{all}");
    let preview = made(Choices::default().theirs(path("results")));
    assert!(gone(&preview).contains(&"results/run.csv".to_owned()), "{preview}");
    // It may have been there then.
    let goes =
        |note: &PlanNote| note.path == path("results/run.csv") && note.text.starts_with("it goes");
    assert_eq!((preview.uncompared, preview.notes.iter().any(goes)), (1, true), "{preview}");
}
