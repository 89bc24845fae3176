//! Blame and bisect against a fold of every prefix: random histories, forks of forks, trimmed ones.

use milepost::events::{PromptChanged, StepStarted};
use milepost::query::{Bisect, Condition, Verdict};
use milepost::retention::Policy;
use milepost::{Engine, Error, Mark, Options, Point, RunState};
use milepost_tests::bodies;
use milepost_tests::seed::{Random, seed};
use serde_json::Value;

const POINTERS: [&str; 22] = [
    "/control",
    "/phase",
    "/previous_phase",
    "/iteration",
    "/step",
    "/step/status",
    "/prompt",
    "/variables",
    "/variables/k3",
    "/variables/none",
    "/context/c1",
    "/messages/0",
    "/messages/7/content",
    "/message_count",
    "/guidance/2/text",
    "/guidance_count",
    "/open_calls",
    "/open_calls/c1/arguments/n",
    "/finished_calls",
    "/abandoned_calls",
    "/metrics",
    "/last_error",
];

fn append(engine: &Engine, random: &mut Random, events: u64) {
    let task = engine.task("t").unwrap();
    for _ in 0..events {
        let body = bodies::body(random.below(12) as u8, random.number(), 60);
        task.append(body).unwrap();
    }
}

/// A task whose lineages fork from each other.
fn forked(dir: &tempfile::TempDir, random: &mut Random, events: u64) -> Engine {
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    engine.start_task("t", "ana").unwrap();
    append(&engine, random, events);
    for _ in 0..3 {
        let head = engine.point("t").unwrap();
        let back = head.offset / 2 + random.below(head.offset / 2);
        let point = engine.point(&format!("t@{back}")).unwrap();
        engine.restore(&point).run().unwrap();
        append(&engine, random, events / 3);
    }
    engine
}

fn at(engine: &Engine, point: &Point, offset: u64) -> RunState {
    let name = format!("t/{}@{offset}", point.lineage);
    engine.run_state(&engine.point(&name).unwrap()).unwrap()
}

/// The changes of a pointer by the state of every prefix, newest first.
fn naive(states: &[Value], pointer: &str, begin: u64) -> Vec<(u64, Option<Value>, Option<Value>)> {
    let values: Vec<_> = states.iter().map(|state| state.pointer(pointer).cloned()).collect();
    let pairs = values.windows(2).zip(begin..);
    let mut changes: Vec<_> = pairs
        .filter(|(pair, _)| pair[0] != pair[1])
        .map(|(pair, offset)| (offset, pair[0].clone(), pair[1].clone()))
        .collect();
    changes.reverse();
    changes
}

fn check_blame(engine: &Engine, point: &Point, begin: u64) {
    let chunks = engine.chunks();
    let states: Vec<_> = (begin..=point.offset)
        .map(|offset| at(engine, point, offset))
        .map(|state| state.to_json(&*chunks, milepost::state::MessageRange::All).unwrap())
        .collect();
    for pointer in POINTERS {
        let expected = naive(&states, pointer, begin);
        let all = engine.query().blame(point, pointer, true).unwrap();
        let found: Vec<_> = all
            .changes
            .iter()
            .map(|blame| (blame.point.offset, blame.before.clone(), blame.after.clone()))
            .collect();
        assert_eq!(found, expected, "{pointer} at {point}");
        for blame in &all.changes {
            let (event, _) = engine.event(&blame.point).unwrap();
            let told = (blame.lineage, blame.time_us, blame.kind);
            let body = event.body.as_ref().unwrap();
            let is = (event.lineage, event.header.time_us, milepost::Body::name_of(body.kind()));
            assert_eq!(told, is);
        }
        let last = engine.query().blame(point, pointer, false).unwrap();
        assert_eq!(last.changes, all.changes[..all.changes.len().min(1)]);
        assert_eq!(last.value, all.value);
        if begin == 0 {
            assert_eq!((last.before_oldest, all.before_oldest), (None, None));
        }
    }
}

#[test]
fn blame_names_what_a_fold_of_every_prefix_does() {
    let seed = seed();
    for round in 0..2 {
        let mut random = Random::new(seed.wrapping_add(round));
        let dir = tempfile::tempdir().unwrap();
        let engine = forked(&dir, &mut random, 60);
        for lineage in engine.task("t").unwrap().lineages().unwrap() {
            let point = engine.point(&format!("t/{}", lineage.id)).unwrap();
            check_blame(&engine, &point, 0);
        }
        engine.close().unwrap();
    }
}

#[test]
fn a_condition_is_denied_only_after_every_state_was_looked_at() {
    let seed = seed();
    let mut random = Random::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let engine = forked(&dir, &mut random, 60);
    let chunks = engine.chunks();
    for lineage in engine.task("t").unwrap().lineages().unwrap() {
        let end = engine.point(&format!("t/{}", lineage.id)).unwrap();
        for _ in 0..6 {
            // Starts from a state in the middle, and from none.
            let state = at(&engine, &end, random.below(end.offset + 1));
            let value = state.value_at("/variables", &*chunks).unwrap().unwrap_or_default();
            let text = match random.below(4) {
                0 => "/variables == 17".to_owned(),
                1 => format!("/message_count == {}", state.messages.len()),
                _ => format!("/variables == {value}"),
            };
            let condition: Condition = text.parse().unwrap();
            let holds = |offset| condition.holds(&at(&engine, &end, offset), &*chunks).unwrap();
            let all: Vec<bool> = (0..=end.offset).map(holds).collect();
            let first = all.iter().position(|holds| *holds);
            let said = engine.query().first_where(None, &end, &condition);
            match (all[0], all.last(), first) {
                (true, ..) => assert!(said.unwrap_err().to_string().contains("already")),
                (_, _, None) => {
                    assert!(said.unwrap_err().to_string().contains("nowhere"), "{text}")
                }
                (_, Some(true), _) => {
                    let found = said.unwrap().found().unwrap().offset as usize;
                    assert!(!all[found] && all[found + 1], "{text}");
                }
                (_, _, Some(first)) => {
                    let said = said.unwrap();
                    let after = all.iter().skip(first).position(|holds| !holds).unwrap();
                    assert_eq!(said.found().unwrap().offset as usize, first - 1, "{text}");
                    let until = said.until().unwrap().offset as usize;
                    assert_eq!(until, first + after - 1, "{text}");
                }
            }
        }
    }
    engine.close().unwrap();
}

#[test]
fn blame_looks_through_stretches_until_it_is_found() {
    let mut random = Random::new(seed());
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let step = |step| StepStarted { step, ..Default::default() };
    let first = task.append(step(7)).unwrap().first;
    for _ in 0..7000 {
        drop(task.submit(bodies::body(8, random.number(), 60)).unwrap());
    }
    task.append(bodies::body(8, 1, 60)).unwrap();
    let point = engine.point("t").unwrap();
    let blamed = engine.query().blame(&point, "/step/number", false).unwrap();
    assert_eq!(blamed.changes[0].point.offset, first);
    let all = engine.query().blame(&point, "/step", true).unwrap();
    assert_eq!(all.changes.len(), 1);
    engine.close().unwrap();
}

#[test]
fn what_retention_trimmed_is_said_to_be_set_before_the_oldest_event() {
    let mut random = Random::new(seed());
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(bodies::body(8, 1, 60)).unwrap();
    for _ in 0..3 {
        for _ in 0..30 {
            let kind = [2, 3, 9][random.below(3) as usize];
            task.append(bodies::body(kind, random.number(), 60)).unwrap();
        }
        task.checkpoint(Mark::new()).unwrap();
    }
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    let begin = task.lineage().info().unwrap().begin;
    assert!(begin > 0, "it was trimmed");
    task.append(bodies::body(3, 1, 60)).unwrap();
    let point = engine.point("t").unwrap();
    check_blame(&engine, &point, begin);
    let blamed = engine.query().blame(&point, "/prompt", false).unwrap();
    assert_eq!((blamed.changes.len(), blamed.before_oldest), (0, Some(begin)));
    assert!(blamed.value.is_some());
    let never = engine.query().blame(&point, "/variables/none", true).unwrap();
    assert_eq!((never.changes.len(), never.before_oldest), (0, None));
    engine.close().unwrap();
}

#[test]
fn the_oldest_event_of_a_trimmed_history_is_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for _ in 0..20 {
        task.append(StepStarted::default()).unwrap();
    }
    task.checkpoint(Mark::new()).unwrap();
    let before = engine.point("t").unwrap().offset;
    task.append(PromptChanged { prompt: "be brief".to_owned() }).unwrap();
    task.checkpoint(Mark::new().at(before)).unwrap();
    engine.retention().retain(&Policy::new().keep(1)).unwrap();
    let begin = task.lineage().info().unwrap().begin;
    assert_eq!(begin, before, "it begins with the prompt");
    let head = engine.point("t").unwrap();
    let blamed = engine.query().blame(&head, "/prompt", true).unwrap();
    assert_eq!(blamed.changes.len(), 1);
    assert_eq!((blamed.changes[0].point.offset, blamed.before_oldest), (begin, None));
    for first_bad in begin + 1..=head.offset {
        let mut bisect = engine.query().bisect(None, &head).unwrap();
        assert_eq!(bisect.good().offset, begin);
        search(&engine, &mut bisect, first_bad, &[]).unwrap();
        assert_eq!(bisect.found().unwrap().offset, first_bad - 1);
    }
    let gone = engine.point(&format!("t@{}", begin - 1));
    assert!(gone.and_then(|gone| engine.query().bisect(Some(&gone), &head)).is_err());
    engine.close().unwrap();
}

#[test]
fn a_pointer_that_names_nothing_or_too_much_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    engine.start_task("t", "ana").unwrap();
    let point = engine.point("t").unwrap();
    for (pointer, said) in [
        ("", "empty pointer"),
        ("phase", "no JSON pointer"),
        ("/nothing", "its fields are control, "),
        ("/messages", "name one of them, as in `/messages/0`"),
    ] {
        let error = engine.query().blame(&point, pointer, false).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    engine.close().unwrap();
}

fn search(
    engine: &Engine,
    bisect: &mut Bisect,
    first_bad: u64,
    skips: &[u64],
) -> Result<u64, Error> {
    let mut built = 0;
    bisect.run(engine, |point, _| {
        built += 1;
        Ok::<_, Error>(match point.offset {
            at if skips.contains(&at) => Verdict::Skip,
            at if at < first_bad => Verdict::Good,
            _ => Verdict::Bad,
        })
    })?;
    assert_eq!(built, bisect.looked());
    Ok(built)
}

#[test]
fn bisect_finds_every_event_of_a_forked_history_with_few_states() {
    let mut random = Random::new(seed());
    let dir = tempfile::tempdir().unwrap();
    let engine = forked(&dir, &mut random, 60);
    let bad = engine.point("t").unwrap();
    for begin in [0, 1, bad.offset / 3, bad.offset - 1] {
        // The good point is named on the root, which the lineage comes from, as far as it does.
        let lineage = if begin <= 1 { 0 } else { bad.lineage.0 };
        let good = engine.point(&format!("t/{lineage}@{begin}")).unwrap();
        let events = bad.offset - begin;
        // And the two ends.
        let most = u64::from(events.next_power_of_two().ilog2()) + 2;
        let mut mostly = 0;
        for first_bad in begin + 1..=bad.offset {
            let mut bisect = engine.query().bisect(Some(&good), &bad).unwrap();
            assert_eq!(u64::from(bisect.left()) + 2, most);
            let built = search(&engine, &mut bisect, first_bad, &[]).unwrap();
            assert_eq!(bisect.found().unwrap().offset, first_bad - 1);
            assert_eq!(bisect.left(), 0);
            mostly = mostly.max(built);
        }
        assert_eq!(mostly, most, "states of {events} events");
    }
    engine.close().unwrap();
}

#[test]
fn bisect_finds_what_a_fold_of_every_prefix_does() {
    let mut random = Random::new(seed());
    let dir = tempfile::tempdir().unwrap();
    let engine = forked(&dir, &mut random, 60);
    let bad = engine.point("t").unwrap();
    for wanted in [1, 5, 9] {
        let is_so = |state: &RunState| state.messages.len() >= wanted;
        let first = (0..=bad.offset).find(|offset| is_so(&at(&engine, &bad, *offset)));
        let mut bisect = engine.query().bisect(None, &bad).unwrap();
        let done = bisect.run(&engine, |_, state| {
            Ok::<_, Error>(if is_so(state) { Verdict::Bad } else { Verdict::Good })
        });
        match first {
            Some(first) => assert_eq!(bisect.found().unwrap().offset + 1, first),
            None => assert!(done.unwrap_err().to_string().contains("not so at")),
        }
    }
    engine.close().unwrap();
}

#[test]
fn a_state_that_cannot_be_judged_is_passed_over() {
    let mut random = Random::new(seed());
    let dir = tempfile::tempdir().unwrap();
    let engine = forked(&dir, &mut random, 200);
    let bad = engine.point("t").unwrap();
    let middle = bad.offset / 2;
    let skips: Vec<u64> = (middle - 3..middle + 3).collect();
    for first_bad in [5, middle - 5, middle + 5, bad.offset] {
        let mut bisect = engine.query().bisect(None, &bad).unwrap();
        search(&engine, &mut bisect, first_bad, &skips).unwrap();
        assert_eq!(bisect.found().unwrap().offset, first_bad - 1);
    }
    // The event is among those that were passed over.
    let mut bisect = engine.query().bisect(None, &bad).unwrap();
    search(&engine, &mut bisect, middle, &skips).unwrap();
    assert_eq!((bisect.found(), bisect.next_point()), (None, None));
    assert_eq!(bisect.good().offset, middle - 4);
    assert_eq!(bisect.bad().offset, middle + 3);
    // And passing over has an end.
    let mut bisect = engine.query().bisect(None, &bad).unwrap();
    let all: Vec<u64> = (1..bad.offset).collect();
    let error = search(&engine, &mut bisect, 5, &all).unwrap_err();
    assert!(error.to_string().contains("64 states were passed over"), "{error}");
    engine.close().unwrap();
}

#[test]
fn ends_that_are_not_what_they_should_be_are_told() {
    let mut random = Random::new(seed());
    let dir = tempfile::tempdir().unwrap();
    let engine = forked(&dir, &mut random, 60);
    engine.start_task("other", "ana").unwrap();
    let bad = engine.point("t").unwrap();
    let mut bisect = engine.query().bisect(None, &bad).unwrap();
    let error = search(&engine, &mut bisect, 0, &[]).unwrap_err();
    assert!(error.to_string().contains("is so at t/3@0 already"), "{error}");
    let mut bisect = engine.query().bisect(None, &bad).unwrap();
    let error = search(&engine, &mut bisect, u64::MAX, &[]).unwrap_err();
    assert!(error.to_string().contains("is not so at"), "{error}");
    for good in ["other", "t/0"] {
        let good = engine.point(good).unwrap();
        let error = engine.query().bisect(Some(&good), &bad).unwrap_err();
        assert!(error.to_string().contains("not in the history"), "{error}");
    }
    let error = engine.query().bisect(Some(&bad), &bad).unwrap_err();
    assert!(error.to_string().contains("comes first"), "{error}");
    engine.close().unwrap();
}
