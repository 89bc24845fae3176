//! The table of plans, over all combinations, against an oracle written from the rules of
//! docs/WORKSPACE.md. The oracle judges each path alone, while the plan walks trees.

use std::collections::BTreeSet;

use milepost_codec::{Skip, TreePath};

use crate::plan::{Choices, ConflictWhy, PlannedRestore, Trees, make};
use crate::testing::fixtures::{Random, Thing, Things, follow, path, random_sides, seeds};
use crate::testing::memory::MemoryChunks;

pub(super) fn plan_of(
    chunks: &MemoryChunks,
    [last, target, present]: [&Things; 3],
    choices: &Choices,
    skips: &[Skip],
) -> PlannedRestore {
    let trees = Trees {
        contents: chunks,
        last: Some(chunks.tree(last)),
        target: chunks.tree(target),
        says: crate::tree::Budget::unbounded(),
        present: chunks.tree(present),
        skips,
        last_skips: &[],
        target_skips: &[],
        choices,
        elsewhere: false,
        by_hand: &std::collections::BTreeSet::new(),
        authors: None,
    };
    make(&trees, &mut chunks.keep()).unwrap()
}

fn is_dir(thing: Option<&Thing>) -> bool {
    matches!(thing, Some(Thing::Dir(_)))
}

fn below<'a>(
    things: &'a Things,
    at: &'a TreePath,
) -> impl Iterator<Item = (&'a TreePath, &'a Thing)> {
    things.iter().filter(move |(path, _)| *path != at && path.is_in(at))
}

/// Returns `true` if a folder above a path is a file in the target: the path is removed or kept
/// with that folder.
fn goes_with_folder(target: &Things, at: &TreePath) -> bool {
    let mut up = at.parent();
    while let Some(path) = up {
        if target.get(&path).is_some_and(|thing| !is_dir(Some(thing))) {
            return true;
        }
        up = path.parent();
    }
    false
}

/// Returns the conflicts according to the rules.
fn conflicts([last, target, present]: [&Things; 3]) -> BTreeSet<(TreePath, ConflictWhy)> {
    let mut found = BTreeSet::new();
    for (at, now) in present {
        let (l, t) = (last.get(at), target.get(at));
        if t == Some(now) {
            continue;
        }
        // A folder whose contents are all as recorded can be removed.
        let foreign = below(present, at).any(|(path, _)| !last.contains_key(path));
        let unchanged = below(present, at).all(|(path, thing)| last.get(path) == Some(thing));
        let mut way = |why| found.insert((at.clone(), why));
        match (l, t) {
            (None, None) => {}
            (None, Some(_)) => {
                way(ConflictWhy::Unrecorded);
            }
            (Some(l), t) => {
                let both = is_dir(Some(l)) && is_dir(Some(now));
                // A folder to remove that stays because of its contents is not touched.
                let stays = both && t.is_none() && !unchanged;
                // A conflict of a folder above covers its contents.
                let up_to_date = l == now || stays || said_above([last, target, present], at);
                if !up_to_date {
                    way(ConflictWhy::Changed);
                }
                if both && t.is_some() && !is_dir(t) && foreign {
                    way(ConflictWhy::InTheWay);
                }
            }
        }
    }
    found
}

/// Returns `true` if a folder above replaced a recorded file, or nothing, and conflicts as a whole.
fn said_above([last, target, present]: [&Things; 3], at: &TreePath) -> bool {
    let mut up = at.parent();
    while let Some(path) = up {
        let same_kind = is_dir(last.get(&path));
        let to_folder = is_dir(target.get(&path));
        if is_dir(present.get(&path)) && !same_kind && !to_folder {
            return true;
        }
        up = path.parent();
    }
    false
}

pub(super) fn preview(made: &PlannedRestore) -> BTreeSet<(TreePath, ConflictWhy)> {
    let conflicts = made.preview.conflicts.iter();
    conflicts.map(|conflict| (conflict.path.clone().unwrap(), conflict.why)).collect()
}

/// Checks all promises of one comparison.
fn holds(chunks: &MemoryChunks, all: [&Things; 3], context: &str) {
    let [last, target, present] = all;
    let made = plan_of(chunks, all, &Choices::default(), &[]);
    let context =
        format!("{context}\nL {last:?}\nT {target:?}\nP {present:?}\n{:#?}", made.preview);
    assert_eq!(preview(&made), conflicts(all), "{context}");
    if made.preview.conflicts.is_empty() {
        let after = follow(chunks, &made.actions, present);
        assert_eq!(chunks.things(&made.tree), *target, "{context}");
        for (at, thing) in target {
            assert_eq!(after.get(at), Some(thing), "{at} {context}");
        }
        for (at, now) in present {
            // Nothing was overwritten or removed unless it is as recorded.
            if last.get(at) != Some(now) {
                let stays = is_dir(Some(now)) && last.contains_key(at) && !target.contains_key(at);
                assert!(
                    after.get(at) == Some(now) || stays && !after.contains_key(at),
                    "{at} {context}"
                );
            }
        }
        for at in after.keys().filter(|at| !target.contains_key(*at)) {
            let foreign = |path: &TreePath| !last.contains_key(path) && present.contains_key(path);
            let for_it = below(&after, at).any(|(path, _)| foreign(path));
            assert!(foreign(at) || for_it, "{at} stayed: {context}");
        }
        let touched: BTreeSet<_> = [
            &made.preview.creates,
            &made.preview.changes,
            &made.preview.deletes,
            &made.preview.modes,
        ]
        .into_iter()
        .flatten()
        .map(|planned| planned.path.clone())
        .collect();
        let differs = |at: &&TreePath| present.get(*at) != after.get(*at);
        let all: BTreeSet<_> =
            present.keys().chain(after.keys()).filter(differs).cloned().collect();
        assert_eq!(touched, all, "the plan says all that is done: {context}");
    }

    // With `keep_mine`, paths stay and are recorded as they are.
    let roots: BTreeSet<_> = all
        .iter()
        .flat_map(|things| things.keys())
        .filter(|path| path.parent().is_none())
        .cloned()
        .collect();
    let mine = roots.iter().fold(Choices::default(), |c, path| c.keep_mine(path.clone()));
    let made = plan_of(chunks, all, &mine, &[]);
    assert_eq!(preview(&made), BTreeSet::new(), "{context}");
    assert_eq!(follow(chunks, &made.actions, present), *present, "{context}");
    let kept = chunks.things(&made.tree);
    for (at, thing) in &kept {
        assert_eq!(present.get(at), Some(thing), "{at} {context}");
    }
    for (at, thing) in
        present.iter().filter(|(at, _)| last.contains_key(*at) || target.contains_key(*at))
    {
        assert_eq!(kept.get(at), Some(thing), "{at} {context}");
    }

    snapshot_wins_with_theirs(chunks, all, &roots, &context);
}

/// With `theirs`, the snapshot wins, and paths that neither tree has stay.
fn snapshot_wins_with_theirs(
    chunks: &MemoryChunks,
    all: [&Things; 3],
    roots: &BTreeSet<TreePath>,
    context: &str,
) {
    let [last, target, present] = all;
    let theirs = roots.iter().fold(Choices::default(), |c, path| c.theirs(path.clone()));
    let made = plan_of(chunks, all, &theirs, &[]);
    assert_eq!(preview(&made), BTreeSet::new(), "{context}");
    let after = follow(chunks, &made.actions, present);
    assert_eq!(chunks.things(&made.tree), *target, "{context}");
    for (at, thing) in target {
        assert_eq!(after.get(at), Some(thing), "{at} {context}");
    }
    for (at, now) in present.iter().filter(|(at, _)| !target.contains_key(*at)) {
        let unrecorded = !last.contains_key(at);
        if unrecorded && !goes_with_folder(target, at) && !under_file(last, at) {
            assert_eq!(after.get(at), Some(now), "{at} {context}");
        }
    }
}

/// Returns `true` if the last tree has a file at a folder above.
fn under_file(last: &Things, at: &TreePath) -> bool {
    goes_with_folder(last, at)
}

fn kinds() -> Vec<Things> {
    let file = |bytes: &str, mode| Thing::File(bytes.into(), mode);
    let of = |list: &[(&str, Thing)]| -> Things {
        list.iter().map(|(at, thing)| (path(at), thing.clone())).collect()
    };
    let dir = |mode| ("x", Thing::Dir(mode));
    vec![
        of(&[]),
        of(&[("x", file("a", 0o644))]),
        of(&[("x", file("b", 0o644))]),
        of(&[("x", file("a", 0o755))]),
        of(&[("x", Thing::Link(b"a".to_vec()))]),
        of(&[dir(0o755)]),
        of(&[dir(0o555)]),
        of(&[dir(0o755), ("x/f", file("a", 0o644))]),
        of(&[dir(0o755), ("x/f", file("b", 0o644))]),
        of(&[dir(0o755), ("x/f", file("a", 0o644)), ("x/own", file("mine", 0o600))]),
        of(&[dir(0o755), ("x/f", Thing::Dir(0o755)), ("x/f/own", file("mine", 0o600))]),
    ]
}

#[test]
fn every_combination_of_last_target_and_present_is_planned_by_the_rules() {
    let (chunks, kinds) = (MemoryChunks::default(), kinds());
    let mut count = 0;
    for last in &kinds {
        for target in &kinds {
            for present in &kinds {
                holds(&chunks, [last, target, present], "");
                count += 1;
            }
        }
    }
    assert_eq!(count, 11 * 11 * 11);
}

#[test]
fn random_folders_are_planned_by_the_rules() {
    for seed in seeds(600) {
        let mut random = Random::new(seed);
        let chunks = MemoryChunks::default();
        let [last, target, present] = random_sides(&mut random);
        holds(&chunks, [&last, &target, &present], &format!("MILEPOST_SEED={seed}"));
    }
}
