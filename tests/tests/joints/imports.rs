//! Imports with concurrent work.

use milepost::events::{Application, Data, Message};
use milepost::retention::Policy;
use milepost::transfer::ExportItem;
use milepost::{Body, Engine, Error, Mark, Options};
use milepost_tests::seed::Random;

#[test]
fn a_task_with_many_branches_goes_into_another_store() {
    let dir = tempfile::tempdir().unwrap();
    let options = || Options::default().snapshots(false);
    let from = Engine::open(dir.path().join("from"), options()).unwrap();
    let task = from.start_task("beam", "ana").unwrap();
    // Forty branches first, then events on each: no control event lies between, so parts of all of
    // them gather in one commit of the import.
    let root = task.point(1).unwrap();
    let branches: Vec<_> = (0..40).map(|_| from.branch(&root).run().unwrap()).collect();
    let mut random = Random::new(7);
    for branch in &branches {
        for _ in 0..9 {
            let data = Data::Bytes(random.bytes(100_000));
            let name = "x".into();
            let body = Body::from(Application { name, data });
            branch.append(body).unwrap();
        }
    }
    let to = Engine::open(dir.path().join("to"), options()).unwrap();
    let other = to.start_task("other", "ana").unwrap();
    let mut import = to.transfer().import();
    let mut export = from.transfer().export(false).unwrap();
    export
        .task("beam", &mut |carried| match carried {
            ExportItem::Task(task) => import.task(task),
            ExportItem::Chunk(chunk) => import.chunk(chunk),
            ExportItem::Event(event) => import.event(event),
            _ => Ok::<(), Error>(()),
        })
        .unwrap();
    import.finish().unwrap();
    other.append(Message::text("user", "x")).unwrap();
    let beam = to.task("beam").unwrap();
    assert_eq!(beam.lineages().unwrap().len(), 41);
}

#[test]
fn an_anchor_can_be_taken_while_a_task_is_imported() {
    let from = Engine::in_memory(Options::default()).unwrap();
    let task = from.start_task("essay", "ana").unwrap();
    for n in 0..3000 {
        let text = format!("message {n}");
        task.append(Message::text("user", &text)).unwrap();
    }
    let to = Engine::in_memory(Options::default()).unwrap();
    let other = to.start_task("other", "ana").unwrap();
    let mut import = to.transfer().import();
    let (mut events, mut anchor) = (0, None);
    let mut export = from.transfer().export(false).unwrap();
    export
        .task("essay", &mut |carried| {
            match carried {
                ExportItem::Task(task) => import.task(task)?,
                ExportItem::Chunk(chunk) => import.chunk(chunk)?,
                ExportItem::Event(event) => import.event(event)?,
                _ => {}
            }
            events += 1;
            if events == 2500 {
                other.append(Message::text("user", "beside the import"))?;
                anchor = Some(to.integrity().anchor()?);
            }
            Ok::<(), Error>(())
        })
        .unwrap();
    import.finish().unwrap();
    let anchor = anchor.unwrap();
    assert!(anchor.logs.iter().all(|log| log.task.0 <= 1), "{anchor:?}");
    assert!(to.integrity().verify_anchor(&anchor).unwrap().is_empty());
}

#[test]
fn a_task_that_was_trimmed_twice_is_imported() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    for _ in 0..2 {
        for n in 0..3 {
            let text = format!("m{n}");
            task.append(Message::text("user", &text)).unwrap();
            task.checkpoint(Mark::new()).unwrap();
        }
        let report = engine.retention().retain(&Policy::new().keep(1)).unwrap();
        assert!(!report.tasks[0].trimmed.is_empty(), "{report:?}");
    }
    let other = Engine::in_memory(Options::default()).unwrap();
    let mut import = other.transfer().import();
    let mut export = engine.transfer().export(true).unwrap();
    export
        .task("essay", &mut |carried| match carried {
            ExportItem::Task(task) => import.task(task),
            ExportItem::Chunk(chunk) => import.chunk(chunk),
            ExportItem::Event(event) => import.event(event),
            _ => Ok::<(), Error>(()),
        })
        .unwrap();
    import.finish().unwrap();
    let report = other.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.faults);
}
