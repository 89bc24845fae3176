//! Withheld and erased content over rounds: shared, imported, compacted, reopened, erased, exported
//! and shared again. None of it comes back, nothing else is lost, and each store is whole.

use std::fs;
use std::path::Path;

use milepost::events::Message;
use milepost::{Append, Engine, Mark, Options};
use milepost_api::ShareRequest;
use milepost_tests::seed::{Random, number, seed};
use milepost_tests::sweep::list::files;

use super::shares::{given_of, imported_into, shared, tasks};
use super::{assert_clean, assert_same, given, import, world};

const ROUNDS: usize = 4;

/// A text that redaction finds, and one that a pattern of a share names.
fn secrets(n: u64) -> [String; 2] {
    [format!("sk-{}{n:04}", "abcdefghij".repeat(2)), format!("codename-{n:04}-otter")]
}

/// Adds secrets to the tasks of a store, in messages, labels and descriptions.
fn plant(engine: &Engine, random: &mut Random) -> Vec<String> {
    let mut planted = Vec::new();
    for name in tasks(engine) {
        let task = engine.task(&name).unwrap();
        for n in 0..2 + random.below(4) {
            let [key, word] = secrets(random.below(9000));
            let text = format!("{} {key} and {word}", "so ".repeat(random.below(400) as usize));
            let append = Append::from(Message::text("user", &text)).key(format!("planted {n}"));
            task.append(append).unwrap();
            if random.below(3) == 0 {
                task.checkpoint(Mark::new().label(format!("with {word}"))).unwrap();
            }
            planted.extend([key, word]);
        }
    }
    planted
}

/// The files of a store that have one of some texts.
fn holding(store: &Path, texts: &[String]) -> Vec<String> {
    let has = |file: &String| {
        let bytes = fs::read(store.join(file)).unwrap();
        let is_in = |text: &String| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        texts.iter().any(is_in)
    };
    files(store).into_iter().filter(has).collect()
}

/// No text of those is among the events.
fn assert_without(engine: &Engine, texts: &[String]) {
    for one in given(engine, false) {
        let said = match &one {
            super::Given::Event(event) => format!("{event:?}"),
            other => format!("{other:?}"),
        };
        // Bytes are printed as numbers.
        let as_bytes = |text: &String| {
            let bytes: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
            said.contains(text.as_str()) || said.contains(&bytes.join(", "))
        };
        let found = texts.iter().find(|text| as_bytes(text));
        assert_eq!(found, None, "{said}");
    }
}

/// Compacts a store and opens it again.
fn reopened(engine: Engine, store: &Path) -> Engine {
    engine.retention().compact(&mut |_| {}).unwrap();
    engine.close().unwrap();
    let engine = Engine::open(store, Options::default()).unwrap();
    assert_clean(&engine);
    engine
}

#[test]
fn what_is_withheld_stays_away_over_rounds_and_what_is_there_stays_there() {
    let first = seed();
    let whole = ShareRequest { redact: false, ..ShareRequest::default() };
    let (mut rounds, mut erased) = (0, 0);
    for n in 0..number("MILEPOST_CASES").unwrap_or(4) {
        let seed = first.wrapping_add(n);
        println!("case {seed}");
        let mut random = Random::new(seed);
        let from = world(seed, false);
        let planted = plant(&from.engine, &mut random);
        let before = given(&from.engine, false);
        let pattern = vec!["codename-[0-9]+-otter".to_owned()];
        let asked = ShareRequest { withhold: pattern, ..ShareRequest::default() };
        for name in tasks(&from.engine) {
            let Some(mut file) = shared(&from.engine, &name, &asked) else { continue };
            for round in 0..ROUNDS {
                let dir = tempfile::tempdir().unwrap();
                let store = dir.path().join("store");
                let engine = Engine::open(&store, Options::default()).unwrap();
                imported_into(&engine, file);
                assert_without(&engine, &planted);
                let all = given_of(&engine, &name);
                let engine = reopened(engine, &store);
                assert_eq!(given_of(&engine, &name), all, "round {round}: a compaction");
                assert_eq!(holding(&store, &planted), [""; 0], "round {round}");
                // The task is the same by way of an export, and of a file without redaction.
                let other = Engine::in_memory(Options::default()).unwrap();
                import(&other, &given(&engine, false)).unwrap();
                assert_same(&engine, &other);
                let other = Engine::in_memory(Options::default()).unwrap();
                imported_into(&other, shared(&engine, &name, &whole).unwrap());
                assert_eq!(given_of(&other, &name), all, "round {round}: shared again");
                // With redaction too: nothing is left to withhold.
                let other = Engine::in_memory(Options::default()).unwrap();
                imported_into(&other, shared(&engine, &name, &asked).unwrap());
                assert_eq!(given_of(&other, &name), all, "round {round}: redacted again");
                // One more event goes in each round.
                let task = engine.task(&name).unwrap();
                let point = task.point(1 + random.below(task.head().unwrap().next - 1)).unwrap();
                erased += u64::from(engine.retention().erase(&point, Some("a name")).is_ok());
                let engine = reopened(engine, &store);
                file = shared(&engine, &name, &asked).unwrap();
                rounds += 1;
            }
        }
        assert_eq!(given(&from.engine, false), before, "a share changes nothing");
    }
    println!("{rounds} rounds, {erased} erased");
    assert!(rounds >= ROUNDS && erased > 0, "{rounds} rounds, {erased} erased");
}
