//! No sentence about a plan or a restore contradicts the value that it is computed from.

use milepost_codec::{PathBytes, Skip, SkipReason, TreePath};

use super::table::plan_of;
use crate::plan::{
    Choices, ConflictWhy, LeftOut, LeftOutChange, LeftPath, LeftWhy, NotCovered, NoteWhat,
    PathConflict, Plan, PlanNote, PlannedPath, Way,
};
use crate::testing::fixtures::{Random, Things, path, random_sides, seeds};
use crate::testing::memory::MemoryChunks;

const WHYS: [LeftWhy; 7] = [
    LeftWhy::Made,
    LeftWhy::Changed,
    LeftWhy::Removed,
    LeftWhy::Unrecorded,
    LeftWhy::Outside,
    LeftWhy::AuthorUnknown,
    LeftWhy::Chosen,
];

const CHANGES: [LeftOutChange; 4] =
    [LeftOutChange::Gone, LeftOutChange::Changed, LeftOutChange::Touched, LeftOutChange::New];

fn some(random: &mut Random, list: impl Fn(&mut Random, TreePath)) {
    let most = random.of(&[0, 0, 1, 3, 60]);
    for n in 0..random.below(most + 1) {
        let at = match random.below(3) {
            0 => format!("f{n}"),
            _ => format!("dir/f{n}"),
        };
        list(random, path(&at));
    }
}

/// Returns a plan of random parts.
fn random_plan(random: &mut Random) -> Plan {
    let plan = std::cell::RefCell::new(Plan { done: random.below(2) == 0, ..Plan::default() });
    let planned = |at| PlannedPath { path: at, kind: "file".into(), bytes: Some(1) };
    some(random, |_, at| plan.borrow_mut().creates.push(planned(at)));
    some(random, |_, at| plan.borrow_mut().changes.push(planned(at)));
    some(random, |_, at| plan.borrow_mut().deletes.push(planned(at)));
    some(random, |random, at| {
        let why = random.of(&WHYS);
        plan.borrow_mut().left.push(LeftPath::new(&at, why, &[Way::Theirs]));
    });
    some(random, |random, at| {
        let reason = random.of(&[SkipReason::Ignored, SkipReason::Large, SkipReason::Special]);
        let one =
            LeftOut::new(PathBytes::from(at.as_bytes()), reason, random.of(&CHANGES), Some(7));
        plan.borrow_mut().left_out.push(one);
    });
    let mut plan = plan.into_inner();
    if plan.done && random.below(3) == 0 {
        plan.kept.push(PathBytes::from(&b"kept"[..]));
    }
    plan.late = random.of(&[0, 0, 0, 1, 5]);
    if random.below(4) == 0 {
        plan.not_covered.push(NotCovered::new("/srv/tree".into()));
    }
    plan.uncompared = random.of(&[0, 0, 0, 1, 5]);
    if random.below(4) == 0 {
        let what = random.of(&[NoteWhat::Ignored, NoteWhat::FolderStays, NoteWhat::Links]);
        plan.notes.push(PlanNote { path: path("note"), what, text: "a note".into() });
    }
    if !plan.done && random.below(4) == 0 {
        plan.conflicts.push(PathConflict::at(&path("c"), ConflictWhy::Changed));
    }
    plan
}

#[test]
fn no_sentence_contradicts_the_value_that_it_is_computed_from() {
    for seed in seeds(3_000) {
        let plan = random_plan(&mut Random::new(seed));
        let (summary, text) = (plan.summary(), plan.to_string());
        let context = format!("MILEPOST_SEED={seed}\n{summary}\n{text}\n{plan:?}");
        // The files are said to be as they were then where nothing differs, and only there.
        assert_eq!(summary.contains("as they were then"), plan.is_whole(), "{context}");
        assert_eq!(
            summary.contains("not compared"),
            plan.uncompared > 0 && plan.conflicts.is_empty()
        );
        for (words, is) in
            [("came late", plan.late > 0), ("not covered", !plan.not_covered.is_empty())]
        {
            assert_eq!(summary.contains(words), is && plan.conflicts.is_empty(), "{context}");
        }
        // Others are named only where it is known that they changed something.
        let known = [LeftWhy::Made, LeftWhy::Changed, LeftWhy::Removed, LeftWhy::Outside];
        let of_others = plan.left.iter().any(|left| known.contains(&left.why));
        if summary.contains("others") {
            assert!(of_others, "{context}");
        }
        assert!(plan.conflicts.is_empty() != summary.contains("in the way"), "{context}");
        assert!(!summary.contains("went back") || plan.done, "{context}");
        if !plan.conflicts.is_empty() {
            continue;
        }
        for why in WHYS.into_iter().filter(|why| !known[..3].contains(why)) {
            let number = plan.left.iter().filter(|left| left.why == why).count();
            let count = if number == 1 { "1 path stays".into() } else { format!("{number} paths") };
            assert!(number == 0 || summary.contains(&count), "{why:?} {context}");
        }
        let number = plan.number();
        let count = if number == 1 { "1 path ".into() } else { format!("{number} paths ") };
        assert!(number == 0 || summary.starts_with(&count), "{context}");
        // Each path has a line of its own, or is in the line of its folder.
        for left in &plan.left {
            let own = format!("= {}  {}", left.path, left.text);
            let folded = format!("paths in it; each: {}", left.text);
            assert!(text.contains(&own) || text.contains(&folded), "{} {context}", left.path);
        }
        for one in &plan.left_out {
            let (own, folded) = (format!("= {one}"), format!("paths in it; each: {}", one.text));
            assert!(text.contains(&own) || text.contains(&folded), "{} {context}", one.path);
        }
        for (sign, list) in [("+", &plan.creates), ("~", &plan.changes), ("-", &plan.deletes)] {
            for planned in list {
                let own = format!("{sign} {}\n", planned.path);
                assert!(
                    text.contains(&own) || text.contains(&format!("{sign} dir/  ")),
                    "{context}"
                );
            }
        }
    }
}

/// Moves some leaves of the present to the paths that captures leave out.
fn leave_out(random: &mut Random, present: &mut Things) -> Vec<Skip> {
    let leaves: Vec<TreePath> = present
        .keys()
        .filter(|at| !present.keys().any(|other| other != *at && other.is_in(at)))
        .cloned()
        .collect();
    let mut skips = Vec::new();
    for at in leaves {
        if random.below(6) == 0 {
            present.remove(&at);
            let reason = random.of(&[SkipReason::Special, SkipReason::Denied]);
            skips.push(Skip { path: PathBytes::from(at.as_bytes()), reason, size: 0 });
        }
    }
    skips.sort_by(|a, b| a.path.cmp(&b.path));
    skips
}

#[test]
fn each_way_that_a_conflict_names_resolves_it() {
    let mut resolved = 0;
    for seed in seeds(600) {
        let mut random = Random::new(seed);
        let chunks = MemoryChunks::default();
        let [last, target, mut present] = random_sides(&mut random);
        let skips = leave_out(&mut random, &mut present);
        let all = [&last, &target, &present];
        let made = plan_of(&chunks, all, &Choices::default(), &skips);
        for conflict in &made.preview.conflicts {
            let at = conflict.path.clone().unwrap();
            assert!(!conflict.ways.is_empty(), "MILEPOST_SEED={seed} {conflict:?}");
            for way in &conflict.ways {
                let choices = match way {
                    Way::Theirs => Choices::default().theirs(at.clone()),
                    _ => Choices::default().keep_mine(at.clone()),
                };
                let made = plan_of(&chunks, all, &choices, &skips);
                let is_same = |other: &&PathConflict| {
                    other.path == conflict.path && other.why == conflict.why
                };
                let left = made.preview.conflicts.iter().find(is_same);
                assert_eq!(left, None, "MILEPOST_SEED={seed} {way:?} {:?}", made.preview);
                resolved += 1;
            }
        }
    }
    assert!(resolved > 100 || seeds(600).len() == 1, "{resolved}");
}
