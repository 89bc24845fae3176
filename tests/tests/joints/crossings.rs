//! Switches, redos, undos and restores of one task from several threads: the answers are those of
//! one order of the calls.

use std::collections::BTreeMap;
use std::sync::Mutex;

use milepost::events::Message;
use milepost::{Engine, ErrorKind, LineageId, Options};
use milepost_tests::seed::{Random, number, seed};

const THREADS: u64 = 4;
const CALLS: u64 = 100;

/// The activations that answers name, by epoch: the lineage, and whether a call surely made it.
type Told = BTreeMap<u64, (LineageId, bool)>;

/// Takes an answer: all that name an epoch name one lineage, and one call made it.
fn take(told: &mut Told, (epoch, lineage): (u64, LineageId), made: bool) {
    let before = told.entry(epoch).or_insert((lineage, false));
    assert_eq!(before.0, lineage, "epoch {epoch}");
    assert!(!(before.1 && made), "two calls made epoch {epoch}");
    before.1 |= made;
}

/// Makes one call, and takes its answer.
fn call(engine: &Engine, random: &mut Random, told: &Mutex<Told>) {
    let task = engine.task("t").unwrap();
    let to = LineageId(random.below(4) as u32);
    let what = random.below(6);
    let answer = match what {
        0..=2 => engine.switch(&task.lineage_named(to).unwrap()).run(),
        3 => engine.redo("t").run(),
        4 => engine.undo("t").run(),
        _ => engine.restore(&task.point(1).unwrap()).run(),
    };
    match answer {
        Ok(task) => {
            let lineage = task.lineage().id();
            assert!(what > 2 || lineage == to, "a switch to {to} came to {lineage}");
            take(&mut told.lock().unwrap(), (task.epoch(), lineage), what > 3);
        }
        // Nothing is to be undone or redone, or another call came first.
        Err(error) => {
            let is_due = matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Conflict);
            assert!(is_due && what > 2, "{error}");
        }
    }
}

#[test]
fn each_activation_is_told_of_by_the_call_that_made_it_whatever_crosses_it() {
    let first = seed();
    for case in 0..number("MILEPOST_CASES").unwrap_or(8) {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        task.append(Message::text("user", "hello")).unwrap();
        for _ in 0..3 {
            engine.branch(&task.point(1).unwrap()).run().unwrap();
        }
        let told = Mutex::new(Told::from([(task.epoch(), (task.lineage().id(), true))]));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (engine, told) = (&engine, &told);
                let mut random = Random::new(first.wrapping_add(THREADS * case + thread));
                scope.spawn(move || (0..CALLS).for_each(|_| call(engine, &mut random, told)));
            }
        });
        let (told, task) = (told.into_inner().unwrap(), engine.task("t").unwrap());
        let epochs: Vec<u64> = told.keys().copied().collect();
        assert_eq!(epochs, (1..=task.epoch()).collect::<Vec<_>>(), "each is told of");
        assert_eq!(told[&task.epoch()].0, task.lineage().id());
        assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
    }
}
