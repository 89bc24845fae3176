//! Tasks that go from one store into another, and are the same there: `docs/EXPORT.md`.
//!
//! ```text
//! same.rs      they are the same, whatever happened to them before
//! lines.rs     the file
//! half.rs      nothing of them is there before all of it is
//! copies.rs    copies, which have hashes of their own
//! refused.rs   what is refused
//! withheld.rs  events without their bodies
//! shares.rs    tasks as HTML files
//! rounds.rs    withheld content, shared and imported again and again
//! backups.rs   exports before a cleanup, under faults
//! ```

mod backups;
mod copies;
mod half;
mod lines;
mod refused;
mod rounds;
mod same;
mod shares;
mod withheld;

use milepost::events::{Message, StepStarted};
use milepost::query::CheckpointQuery;
use milepost::retention::Policy;
use milepost::state::RunReducer;
use milepost::transfer::{ExportChunk, ExportEvent, ExportItem, ExportTask, Import};
use milepost::{Append, Engine, Error, Mark, Reducer, Result};
use milepost_tests::bodies;
use milepost_tests::seed::Random;
use milepost_tests::world::{Adding, Expect, Marking, Who, World};

/// Item of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    Task(ExportTask),
    Chunk(ExportChunk),
    Event(ExportEvent),
}

/// All that a store gives.
pub fn given(engine: &Engine, files: bool) -> Vec<Given> {
    let mut export = engine.transfer().export(files).unwrap();
    let mut all = Vec::new();
    for task in export.tasks().unwrap() {
        let take = &mut |carried: ExportItem<'_>| {
            all.push(match carried {
                ExportItem::Task(task) => Given::Task(task.clone()),
                ExportItem::Chunk(chunk) => Given::Chunk(chunk.clone()),
                ExportItem::Event(event) => Given::Event(event.clone()),
                _ => panic!("something else"),
            });
            Ok::<(), Error>(())
        };
        export.task(&task, take).unwrap();
    }
    all
}

/// Imports the items, up to the first error.
pub fn take(import: &mut Import, given: &[Given]) -> Result<()> {
    for one in given {
        match one {
            Given::Task(task) => import.task(task)?,
            Given::Chunk(chunk) => import.chunk(chunk)?,
            Given::Event(event) => import.event(event)?,
        }
    }
    Ok(())
}

/// The same into a store, to its end.
pub fn import(engine: &Engine, given: &[Given]) -> Result<()> {
    let mut import = engine.transfer().import();
    take(&mut import, given)?;
    import.finish().map(|_| ())
}

pub fn assert_clean(engine: &Engine) {
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert_eq!(report.faults, []);
}

/// Asserts that two stores agree about all their tasks: their exports, and their answers.
pub fn assert_same(one: &Engine, other: &Engine) {
    assert_eq!(given(one, true), given(other, true));
    assert_eq!(said(one), said(other));
}

/// Returns a store's answers about its tasks: checkpoints, pins, lineages, states.
pub fn said(engine: &Engine) -> Vec<String> {
    let mut said = Vec::new();
    for task in engine.transfer().export(false).unwrap().tasks().unwrap() {
        let query = CheckpointQuery {
            task: Some(task.clone()),
            limit: Some(10_000),
            ..CheckpointQuery::default()
        };
        said.push(format!("{:?}", engine.query().checkpoints(&query).unwrap().items));
        said.push(format!("{:?}", engine.retention().pins(&task).unwrap()));
        let handle = engine.task(&task).unwrap();
        let (user, epoch) = (handle.user(), handle.epoch());
        said.push(format!("{user} {epoch} {:?}", handle.lineages().unwrap()));
        let created = handle.info().unwrap().created_us;
        said.push(format!("{created} {}", handle.checkpoints().unwrap()));
        for lineage in handle.lineages().unwrap() {
            let point = handle.lineage_named(lineage.id).unwrap();
            let point = point.point(lineage.head.next).unwrap();
            let state = engine.run_state(&point).unwrap();
            said.push(format!("{:?}", RunReducer.encode(&state).unwrap()));
        }
    }
    said
}

/// A store in memory or in a folder with a random history of a few tasks.
pub fn world(seed: u64, in_folder: bool) -> World {
    let mut random = Random::new(seed);
    let options = milepost::Options::default().snapshots(random.below(2) == 0);
    let mut world = World::new(in_folder, options);
    for _ in 0..1 + random.below(3) {
        world.start();
    }
    for _ in 0..random.below(60) {
        operate(&mut world, &mut random);
    }
    let_go(&world.engine, &mut random);
    world
}

fn operate(world: &mut World, random: &mut Random) {
    let task = world.pick(random.below(3) as u8).unwrap();
    let who = match random.below(3) {
        0 => Who::Named(random.below(5) as u8),
        _ => Who::Current,
    };
    let (lineage, at) = (random.below(5) as u8, random.below(1000) as u16);
    match random.below(12) {
        0 => world.restore(task, lineage, at, random.below(2) == 0),
        1 => world.branch(task, lineage, at),
        2 => world.undo(task),
        3..6 => world.mark(task, &marking(who, random)),
        _ => {
            let count = 1 + random.below(4);
            let body = |_| bodies::body(random.number() as u8, random.number(), 500);
            let bodies = (0..count).map(body).collect();
            let key = None;
            let expect = Expect::Nothing;
            let adding = Adding { who, bodies, expect, key };
            world.append(task, &[adding]);
        }
    }
}

fn marking(who: Who, random: &mut Random) -> Marking {
    Marking {
        who,
        label: Some(random.below(4) as u8),
        failed: random.below(4) == 0,
        at: (random.below(4) == 0).then(|| random.below(100) as u16),
        metadata: (random.below(2) == 0).then(|| random.below(8) as u8),
    }
}

/// Pins, erases, and cleans up, now and then.
fn let_go(engine: &Engine, random: &mut Random) {
    let tasks = engine.transfer().export(false).unwrap().tasks().unwrap();
    for task in &tasks {
        let handle = engine.task(task).unwrap();
        if let Some(checkpoint) = handle.last_successful().unwrap()
            && random.below(2) == 0
        {
            engine.retention().pin(&checkpoint.id, Some("to compare with")).unwrap();
        }
        handle.append(Append::from(Message::text("user", "gone")).key("gone")).unwrap();
        let last = handle.head().unwrap().next - 1;
        if random.below(2) == 0 {
            let point = handle.point(last).unwrap();
            engine.retention().erase(&point, Some("a name was in it")).unwrap();
        }
        handle.append(StepStarted::default()).unwrap();
        handle.checkpoint(Mark::new().alias("last")).unwrap();
    }
    if random.below(2) == 0 {
        let policy = Policy::new().keep(1 + random.below(3) as usize);
        let plan = engine.retention().plan(&policy).unwrap();
        engine.retention().apply(&plan, &mut |_, _| {}).unwrap();
    }
    if random.below(4) == 0 && tasks.len() > 1 {
        engine.retention().delete_task(&tasks[0]).unwrap();
    }
}
