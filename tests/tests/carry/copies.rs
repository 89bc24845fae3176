//! Copies: the same events under another origin.

use milepost::transfer::ExportTask;
use milepost::{Body, Engine, Options};
use milepost_tests::seed::{number, seed};

use super::{Given, assert_clean, given, said, world};

fn tasks(given: &[Given]) -> Vec<&ExportTask> {
    let mut tasks = Vec::new();
    for one in given {
        if let Given::Task(task) = one {
            tasks.push(task);
        }
    }
    tasks
}

/// Copies the items into a store, each task under another name.
fn copy(engine: &Engine, given: &[Given]) {
    let mut import = engine.transfer().import();
    for one in given {
        match one {
            Given::Task(task) => import.copy(&format!("{}, again", task.id), task),
            Given::Chunk(chunk) => import.chunk(chunk),
            Given::Event(event) => import.event(event),
        }
        .unwrap();
    }
    import.finish().unwrap();
}

/// A text without hashes, ids and the end of a copy's name.
fn plain(said: &str) -> String {
    let said = said.replace(", again", "");
    let parts = said.split(|c: char| !c.is_ascii_hexdigit());
    let hashes: Vec<&str> = parts.filter(|part| part.len() == 64).collect();
    hashes.into_iter().fold(said.clone(), |said, hash| said.replace(hash, "#"))
}

#[test]
fn a_random_task_can_be_copied_beside_itself() {
    let first = seed();
    let mut copied = 0;
    for n in 0..number("MILEPOST_CASES").unwrap_or(24) {
        let seed = first.wrapping_add(n);
        println!("case {seed}");
        let world = world(seed, false);
        let all = given(&world.engine, false);
        if tasks(&all).iter().any(|task| !task.begins.is_empty()) {
            continue;
        }
        copied += 1;
        let before = said(&world.engine);
        copy(&world.engine, &all);
        assert_clean(&world.engine);
        // Each says the same as its copy, but for hashes and ids.
        let after = said(&world.engine);
        assert_eq!(after.len(), 2 * before.len());
        for (one, other) in before.iter().zip(&after[before.len()..]) {
            assert_eq!(plain(one), plain(other));
        }
    }
    assert!(copied > 0, "all of them were trimmed");
}

#[test]
fn a_copy_says_where_it_comes_from() {
    let from = Engine::in_memory(Options::default()).unwrap();
    let task = from.start_task("essay", "ana").unwrap();
    let head = task.head().unwrap();
    let all = given(&from, false);
    let to = Engine::in_memory(Options::default()).unwrap();
    copy(&to, &all);
    let task = to.task("essay, again").unwrap();
    let opened = task.read(0..1).unwrap().next().unwrap().unwrap();
    let Some(Body::LineageOpened(opened)) = opened.body else {
        panic!("{opened:?}");
    };
    let copied_from = opened.copied_from.unwrap();
    assert_eq!(copied_from.origin, tasks(&all)[0].origin);
    assert_eq!((copied_from.offset, copied_from.hash), (head.next, head.hash));
    assert_ne!(task.head().unwrap().hash, head.hash);
    let copies = given(&to, false);
    assert_ne!(tasks(&copies)[0].origin, tasks(&all)[0].origin);
}
