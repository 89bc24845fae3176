//! I5: a state is the same with snapshots, without them, and with damaged ones. A part of a state
//! that did not change is stored once.

use std::fs;
use std::path::Path;

use milepost::events::PromptChanged;
use milepost::state::{Chunks, MessageRange, RunReducer};
use milepost::{Append, Body, Engine, ErrorKind, Event, Options, Reducer, Result, Task};
use milepost_tests::seed::{Random, seed};
use milepost_tests::{bodies, folder};

/// Counts kinds of events, and sums their offsets: any event left out or taken twice shows.
#[derive(Debug, Clone, Copy)]
struct Tally;

impl Reducer for Tally {
    type State = [u64; 3];
    fn name(&self) -> &str {
        "test.tally"
    }
    fn version(&self) -> u32 {
        1
    }
    fn initial(&self) -> [u64; 3] {
        [0; 3]
    }
    fn apply(&self, state: &mut [u64; 3], event: &Event, _: &dyn Chunks) -> Result<()> {
        let messages = u64::from(matches!(event.body, Some(Body::Message(_))));
        *state = [state[0] + 1, state[1] + event.offset, state[2] + messages];
        Ok(())
    }
    fn encode(&self, state: &[u64; 3]) -> Result<Vec<u8>> {
        Ok(state.iter().flat_map(|n| n.to_le_bytes()).collect())
    }
    fn decode(&self, bytes: &[u8]) -> Result<[u64; 3]> {
        let mut state = [0; 3];
        for (n, eight) in state.iter_mut().zip(bytes.chunks(8)) {
            *n = u64::from_le_bytes(
                eight
                    .try_into()
                    .map_err(|_| milepost::Error::corrupt("tally", "8 bytes", eight.len()))?,
            );
        }
        Ok(state)
    }
}

fn options() -> Options {
    Options::default().reducer(Tally)
}

/// Waits until a condition of the store holds. It does in the end, or the test is stopped.
fn wait(engine: &Engine, holds: impl Fn(&milepost::metrics::Stats) -> bool) {
    while !holds(&engine.store().stats().unwrap()) {
        std::thread::yield_now();
    }
}

fn run(task: &Task, random: &mut Random, events: u64) {
    for _ in 0..events / 5 {
        let batch: Vec<Body> =
            (0..5).map(|_| bodies::body(random.below(11) as u8, random.number(), 900)).collect();
        task.append(batch).unwrap();
    }
}

#[test]
fn snapshots_that_a_rebuilt_index_does_not_know_are_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let mut random = Random::new(seed());
    let engine = Engine::open(&root, options()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    run(&task, &mut random, 2500);
    wait(&engine, |stats| stats.snapshots >= 4);
    let head = task.head().unwrap().next;
    let points: Vec<_> = (1..=5).map(|part| task.point(head * part / 5).unwrap()).collect();
    let states = |engine: &Engine| -> Vec<_> {
        points.iter().map(|point| engine.run_state(point).unwrap()).collect()
    };
    let expected = states(&engine);
    drop(task);
    engine.close().unwrap();
    fs::remove_dir_all(root.join("sled")).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    assert!(engine.store().report().index_rebuilt);
    wait(&engine, |stats| stats.snapshots >= 4);
    assert_eq!(states(&engine), expected);
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean() && report.snapshots >= 4, "{report:?}");
    engine.close().unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    assert!(!engine.store().report().index_rebuilt);
    engine.close().unwrap();
}

/// A long run with several lineages, snapshots of which are there.
fn long(root: &Path, random: &mut Random) -> Engine {
    let engine = Engine::open(root, options()).unwrap();
    let mut task = engine.start_task("t", "ana").unwrap();
    run(&task, random, 2500);
    wait(&engine, |stats| stats.snapshots >= 4);
    for n in 0..4 {
        let at = random.below(task.head().unwrap().next);
        let point = task.point(at).unwrap();
        if n % 2 == 0 {
            task = engine.restore(&point).run().unwrap();
            run(&task, random, 1200);
        } else {
            run_lineage(&engine.branch(&point).run().unwrap(), random, 600);
        }
    }
    wait(&engine, |stats| stats.snapshots >= 8);
    engine
}

fn run_lineage(lineage: &milepost::Lineage, random: &mut Random, events: u64) {
    for _ in 0..events {
        let body = bodies::body(random.below(11) as u8, random.number(), 900);
        lineage.append(body).unwrap();
    }
}

/// States at many points of every lineage, as bytes and as JSON with all messages.
fn states(engine: &Engine, seed: u64) -> Vec<(String, Vec<u8>, String, [u64; 3])> {
    let mut random = Random::new(seed);
    let task = engine.task("t").unwrap();
    let (mut found, mut damaged) = (Vec::new(), 0);
    for lineage in task.lineages().unwrap() {
        for n in 0..12 {
            let at = match n {
                0 => lineage.head.next,
                1 => lineage.parent.map_or(0, |p| p.offset),
                _ => random.below(lineage.head.next + 1),
            };
            let name = format!("t/{}@{at}", lineage.id);
            let point = engine.point(&name).unwrap();
            let (bytes, json) = loop {
                let state = engine.run_state(&point).unwrap();
                match state.to_json(&*engine.chunks(), MessageRange::All) {
                    Ok(json) => break (RunReducer.encode(&state).unwrap(), json),
                    // A chunk of a sequence that is read after the state was given. Asked again,
                    // the state is folded from events, and what is damaged is stored anew.
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Corrupt, "I4: {error}");
                        damaged += 1;
                        assert!(damaged < 100, "it is not repaired: {error}");
                    }
                }
            };
            let tally = engine.state(&Tally, &point).unwrap();
            assert_eq!(tally[0], at, "I5: each event once");
            found.push((name, bytes, json.to_string(), tally));
        }
    }
    found
}

fn same(
    found: &[(String, Vec<u8>, String, [u64; 3])],
    wanted: &[(String, Vec<u8>, String, [u64; 3])],
) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found == wanted, "I5: the state at {} is another", wanted.0);
    }
}

#[test]
fn a_state_is_the_same_with_snapshots_without_them_and_with_damaged_ones() {
    let dir = tempfile::tempdir().unwrap();
    let (root, copy) = (dir.path().join("store"), dir.path().join("copy"));
    let seed = seed();
    let mut random = Random::new(seed);
    let engine = long(&root, &mut random);
    let with = states(&engine, seed);
    engine.close().unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    assert!(engine.store().stats().unwrap().snapshots >= 8, "they outlive a close");
    same(&states(&engine, seed), &with);
    engine.close().unwrap();

    // Without: packs and the index of snapshots gone, none are made.
    folder::copy(&root, &copy).unwrap();
    fs::remove_dir_all(copy.join("sled")).unwrap();
    fs::remove_dir_all(copy.join("packs")).unwrap();
    fs::create_dir(copy.join("packs")).unwrap();
    let engine = Engine::open(&copy, Options::default().snapshots(false)).unwrap();
    assert_eq!(engine.store().stats().unwrap().snapshots, 0);
    same(&states(&engine, seed), &with);
    engine.close().unwrap();

    // Damaged: many bits of the packs flipped, whatever they hit.
    let pack = folder::files(&root.join("packs"), ".pack").unwrap();
    let mut bytes = fs::read(&pack[0]).unwrap();
    for _ in 0..40 {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << random.below(8);
    }
    fs::write(&pack[0], bytes).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    same(&states(&engine, seed), &with);
    let task = engine.task("t").unwrap();
    run(&task, &mut random, 500);
    let head = task.head().unwrap().next;
    let tally = engine.state(&Tally, &task.point(head).unwrap()).unwrap();
    assert_eq!(tally[0], head);
}

#[test]
fn what_did_not_change_in_a_large_state_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let json = |n: u64, len| milepost::Json::string(&bodies::text(n, len));
    let artifacts = (0..60).map(|n| (format!("file {n}"), json(n, 4000))).collect();
    task.append(milepost::events::ArtifactsEdited { artifacts }).unwrap();
    let (mut made, mut batches) = (0, 0);
    while made < 10 {
        let prompt = |n| PromptChanged { prompt: bodies::text(n, 1000) };
        task.append(Append::batch((0..100).map(prompt))).unwrap();
        made = engine.store().stats().unwrap().snapshots;
        batches += 1;
        // 300 MB. One is due every 300 KB, and a writer that never pauses does not keep it off.
        assert!(batches < 3000, "{made} snapshots of about {}", batches / 3);
    }
    let point = engine.point("t").unwrap();
    let state = engine.run_state(&point).unwrap();
    let size = RunReducer.encode(&state).unwrap().len() as u64;
    assert!(size > 200_000);
    engine.store().drain().unwrap();
    let stats = engine.store().stats().unwrap();
    let (made, packs) = (stats.snapshots, stats.disk.packs);
    println!("{made} snapshots of {size} bytes take {packs} bytes");
    assert!(packs < 3 * size, "the artifacts once, the prompt each time");
}

#[test]
fn a_verification_beside_a_writer_finds_nothing_wrong() {
    // Chunks and entries that came while it read were taken for damage.
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().backlog_bytes(1 << 20);
    let engine = Engine::open(dir.path().join("store"), options).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let batch: Vec<Body> = (0..20).map(|i| bodies::bytes(n + i, 3000)).collect();
                task.append(batch).unwrap();
                task.checkpoint(milepost::Mark::new()).unwrap();
                n += 20;
            }
        });
        for _ in 0..12 {
            let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
            if !report.is_clean() {
                done.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            assert!(report.is_clean(), "{:?}", report.faults);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
