//! The table of plans, over all combinations, against an oracle that was written from the rules of
//! docs/WORKSPACE.md: it looks at each path by itself, where the plan walks trees.

use std::collections::BTreeSet;

use milepost_codec::{Skip, TreePath};

use crate::plan::{Choices, ConflictWhy, Made, Trees, make};
use crate::testing::fixtures::{Random, Thing, Things, edit, follow, path, random_things, seeds};
use crate::testing::memory::MemoryChunks;

pub(super) fn plan_of(
    chunks: &MemoryChunks,
    [last, target, present]: [&Things; 3],
    choices: &Choices,
    skips: &[Skip],
) -> Made {
    let trees = Trees {
        contents: chunks,
        last: Some(chunks.tree(last)),
        target: chunks.tree(target),
        says: crate::tree::Budget::unbounded(),
        present: chunks.tree(present),
        skips,
        choices,
        elsewhere: false,
        by_hand: &std::collections::BTreeSet::new(),
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

/// Whether a path is below one at which the target has a file and the folder has a folder: what is
/// there goes, or stays, with that folder.
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

/// Which paths stand in the way, by the rules.
fn conflicts([last, target, present]: [&Things; 3]) -> BTreeSet<(TreePath, ConflictWhy)> {
    let mut found = BTreeSet::new();
    for (at, now) in present {
        let (l, t) = (last.get(at), target.get(at));
        if t == Some(now) {
            continue;
        }
        // All that the folder has is as it was recorded: it can go.
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
                // A folder that is to go and stays for what is in it is not touched.
                let stays = both && t.is_none() && !unchanged;
                // What goes with a folder that the engine never had as one is said of that one.
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

/// Whether a folder above is one that was put in the place of a recorded file, or of nothing, and
/// is in the way as a whole.
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

pub(super) fn shown(made: &Made) -> BTreeSet<(TreePath, ConflictWhy)> {
    let conflicts = made.shown.conflicts.iter();
    conflicts.map(|conflict| (conflict.path.clone().unwrap(), conflict.why)).collect()
}

/// All that is promised of one comparison.
fn holds(chunks: &MemoryChunks, all: [&Things; 3], context: &str) {
    let [last, target, present] = all;
    let made = plan_of(chunks, all, &Choices::default(), &[]);
    let context = format!("{context}\nL {last:?}\nT {target:?}\nP {present:?}\n{:#?}", made.shown);
    assert_eq!(shown(&made), conflicts(all), "{context}");
    if made.shown.conflicts.is_empty() {
        let after = follow(chunks, &made.actions, present);
        assert_eq!(chunks.things(&made.tree), *target, "{context}");
        for (at, thing) in target {
            assert_eq!(after.get(at), Some(thing), "{at} {context}");
        }
        for (at, now) in present {
            // Nothing that is not recorded as it is was overwritten or removed.
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
        let touched: BTreeSet<_> =
            [&made.shown.creates, &made.shown.changes, &made.shown.deletes, &made.shown.modes]
                .into_iter()
                .flatten()
                .map(|planned| planned.path.clone())
                .collect();
        let differs = |at: &&TreePath| present.get(*at) != after.get(*at);
        let all: BTreeSet<_> =
            present.keys().chain(after.keys()).filter(differs).cloned().collect();
        assert_eq!(touched, all, "the plan says all that is done: {context}");
    }

    // What is kept is left and recorded as it is.
    let roots: BTreeSet<_> = all
        .iter()
        .flat_map(|things| things.keys())
        .filter(|path| path.parent().is_none())
        .cloned()
        .collect();
    let mine = roots.iter().fold(Choices::default(), |c, path| c.keep_mine(path.clone()));
    let made = plan_of(chunks, all, &mine, &[]);
    assert_eq!(shown(&made), BTreeSet::new(), "{context}");
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

    // The snapshot's is taken, and what neither has stays.
    let theirs = roots.iter().fold(Choices::default(), |c, path| c.theirs(path.clone()));
    let made = plan_of(chunks, all, &theirs, &[]);
    assert_eq!(shown(&made), BTreeSet::new(), "{context}");
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

/// Whether the last tree has a file where a folder above is now.
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
        let count = random.below(14);
        let last = random_things(&mut random, count);
        let (mut target, mut present) = (last.clone(), last.clone());
        for _ in 0..random.below(6) {
            edit(&mut random, &mut target, false);
        }
        for _ in 0..random.below(4) {
            edit(&mut random, &mut present, false);
        }
        holds(&chunks, [&last, &target, &present], &format!("MILEPOST_SEED={seed}"));
    }
}
