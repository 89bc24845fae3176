//! Events without their bodies: erased in a store that is the same, and shown in a copy.

use milepost::events::{Application, CheckpointMarked, Control, Message};
use milepost::ids::LogKind;
use milepost::transfer::{ExportBody, ExportEvent};
use milepost::{
    Body, CheckpointId, Engine, Error, ErrorKind, Hash, Header, LineageId, Mark, Offset, Options,
};
use milepost_codec::{BodyForm, ChunkEntry, ChunkList, ChunkedBody, body_hash};
use milepost_tests::seed::{Random, number, seed};

use super::{Given, assert_clean, assert_same, given, import, said, take, world};

/// Kinds that others build on: lineages, changes of control, captures, checkpoints, restores.
const NEEDED: [&str; 7] = [
    "lineage_opened",
    "control_changed",
    "workspace_captured",
    "checkpoint_marked",
    "checkpoint_unmarked",
    "checkpoint_attached",
    "restored",
];

/// The hash of a body that is there.
fn hash_of(event: &ExportEvent) -> Hash {
    let (form, payload) = match &event.body {
        ExportBody::Inline(payload) => (BodyForm::Inline, payload.clone()),
        ExportBody::Chunked { payload, ends: [before, after] } => {
            let (rest, after) = payload.split_at(payload.len() - after);
            let (before, content) = rest.split_at(*before);
            let chunks = content.chunks(256 << 10).map(ChunkEntry::id_of).collect();
            let content = ChunkList { len: content.len() as u64, chunks };
            let body = ChunkedBody { before: before.into(), content, after: after.into() };
            (BodyForm::Chunked, body.encode())
        }
        ExportBody::Listed(list) => (BodyForm::Chunked, list.clone()),
        other => panic!("{other:?}"),
    };
    body_hash(&event.salt.unwrap(), form, &payload)
}

/// Takes the body away.
fn withhold(event: &mut ExportEvent, shown: Option<Vec<u8>>) {
    event.body = ExportBody::Withheld { hash: Some(hash_of(event)), shown };
    event.salt = None;
}

/// The number of a kind.
fn kind_of(name: &str) -> u16 {
    let found = (0..200).find(|kind| Body::name_of(*kind) == name);
    found.unwrap_or_else(|| panic!("no kind {name}"))
}

fn events(all: &mut [Given]) -> impl Iterator<Item = &mut ExportEvent> {
    all.iter_mut().filter_map(|one| match one {
        Given::Event(event) => Some(event),
        _ => None,
    })
}

fn event(all: &mut [Given], offset: Offset) -> &mut ExportEvent {
    let log = LogKind::Lineage(LineageId(0));
    events(all).find(|event| (event.log, event.offset) == (log, offset)).unwrap()
}

/// A task: an opening, a message, a checkpoint, a message, a checkpoint.
fn some() -> Vec<Given> {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    task.append(Message::text("user", "the key is sk-1")).unwrap();
    task.checkpoint(Mark::new().label("with sk-1")).unwrap();
    task.append(Message::text("user", "and more")).unwrap();
    task.checkpoint(Mark::new().label("two")).unwrap();
    given(&engine, false)
}

fn copy(all: &[Given]) -> Result<Engine, Error> {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let mut import = engine.transfer().import();
    let Given::Task(task) = &all[0] else {
        panic!("{:?}", all[0]);
    };
    import.copy(&task.id, task)?;
    take(&mut import, &all[1..])?;
    import.finish()?;
    assert_clean(&engine);
    Ok(engine)
}

fn refused(all: &[Given]) -> Error {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let error = import(&engine, all).unwrap_err();
    assert_eq!(engine.transfer().export(true).unwrap().tasks().unwrap(), [""; 0]);
    assert_clean(&engine);
    error
}

fn body(engine: &Engine, offset: Offset) -> Option<Body> {
    let task = engine.task("essay").unwrap();
    let read = task.read(offset..offset + 1).unwrap().next().unwrap().unwrap();
    read.body
}

#[test]
fn any_events_that_can_be_erased_come_in_as_erased_ones() {
    let first = seed();
    let mut all_withheld = 0;
    for n in 0..number("MILEPOST_CASES").unwrap_or(24) {
        let seed = first.wrapping_add(n);
        println!("case {seed}");
        let mut random = Random::new(seed);
        let from = world(seed, false);
        let mut file = given(&from.engine, false);
        let (mut withheld, mut name) = (Vec::new(), String::new());
        for one in &mut file {
            match one {
                Given::Task(task) => name.clone_from(&task.id),
                Given::Event(event) => {
                    let is_there = !matches!(event.body, ExportBody::Erased(_));
                    let LogKind::Lineage(lineage) = event.log else { continue };
                    if !is_there || random.below(3) > 0 || !event.is_erasable().unwrap() {
                        continue;
                    }
                    let log = from.engine.task(&name).unwrap().lineage_named(lineage).unwrap();
                    let point = log.point(event.offset).unwrap();
                    // It may be part of a base.
                    if from.engine.retention().erase(&point, Some("withheld")).is_ok() {
                        withhold(event, None);
                        withheld.push((name.clone(), lineage, event.offset));
                    }
                }
                Given::Chunk(_) => {}
            }
        }
        all_withheld += withheld.len();
        let to = Engine::in_memory(Options::default()).unwrap();
        import(&to, &file).unwrap();
        assert_clean(&to);
        assert_eq!(said(&from.engine), said(&to));
        let again = given(&to, false);
        assert_eq!(plain(&given(&from.engine, false)), plain(&again));
        let third = Engine::in_memory(Options::default()).unwrap();
        import(&third, &again).unwrap();
        assert_same(&to, &third);
    }
    assert!(all_withheld > 100, "{all_withheld} withheld");
}

/// An export without the time, the salt and the hash of each erasure, which are never the same.
fn plain(all: &[Given]) -> Vec<Given> {
    let mut all = all.to_vec();
    for one in &mut all {
        match one {
            Given::Event(event) if event.log == LogKind::Control => {
                let header = Header::decode(&event.header).unwrap();
                event.header = Header { time_us: 0, ..header }.encode();
                (event.salt, event.hash) = (None, None);
            }
            Given::Task(task) => task.heads[0].1.hash = Hash::ZERO,
            _ => {}
        }
    }
    // If the control log has events in between, they come in another order.
    all.sort_by_key(|one| match one {
        Given::Task(_) => (0, None, 0),
        Given::Chunk(_) => (1, None, 0),
        Given::Event(event) => (2, Some(event.log), event.offset),
    });
    all
}

#[test]
fn the_erasures_are_the_last_events_of_the_control_log() {
    let mut all = some();
    withhold(event(&mut all, 1), Some(b"nothing of it is read".to_vec()));
    withhold(event(&mut all, 3), None);
    let engine = Engine::in_memory(Options::default()).unwrap();
    import(&engine, &all).unwrap();
    assert_eq!((body(&engine, 1), body(&engine, 3)), (None, None));
    let mut again = given(&engine, false);
    let control: Vec<_> = events(&mut again).filter(|e| e.log == LogKind::Control).collect();
    let erased = |event: &ExportEvent| {
        let ExportBody::Inline(payload) = &event.body else {
            panic!("{event:?}");
        };
        let kind = Header::decode(&event.header).unwrap().kind;
        match Control::decode(kind, payload).unwrap() {
            Control::Erased(erased) => (erased.offset, erased.reason),
            other => panic!("{other:?}"),
        }
    };
    let reason = || Some("withheld".to_owned());
    assert_eq!(control.len(), 4);
    assert_eq!([erased(control[2]), erased(control[3])], [(1, reason()), (3, reason())]);
    let head = engine.task("essay").unwrap().head().unwrap();
    let Given::Task(task) = &all[0] else { panic!() };
    assert_eq!(Some(head), task.head());
}

#[test]
fn another_hash_of_a_withheld_body_is_refused() {
    let mut all = some();
    withhold(event(&mut all, 1), None);
    event(&mut all, 1).body = ExportBody::Withheld { hash: Some(Hash::ZERO), shown: None };
    let error = refused(&all);
    assert_eq!(error.kind(), ErrorKind::Diverged, "{error}");
    // Without the hash after it, the checkpoint after it is another one.
    for event in events(&mut all) {
        event.hash = None;
    }
    let error = refused(&all).to_string();
    assert!(error.contains("the checkpoint that it marks has the id"), "{error}");
}

#[test]
fn what_others_build_on_is_withheld_from_a_copy_only() {
    for name in NEEDED {
        let mut all = some();
        let event = event(&mut all, 1);
        withhold(event, None);
        let header = Header::decode(&event.header).unwrap();
        event.header = Header { kind: kind_of(name), ..header }.encode();
        let error = refused(&all).to_string();
        assert!(error.contains("imported as a copy"), "{name}: {error}");
        // A copy needs what is shown of it.
        let error = copy(&all).unwrap_err().to_string();
        assert!(error.contains("nothing of it is shown"), "{name}: {error}");
    }
    let mut all = some();
    withhold(events(&mut all).find(|event| event.log == LogKind::Control).unwrap(), None);
    let error = refused(&all).to_string();
    assert!(error.contains("imported as a copy"), "{error}");
    let mut all = some();
    event(&mut all, 1).body = ExportBody::Withheld { hash: None, shown: None };
    event(&mut all, 1).salt = None;
    let error = refused(&all).to_string();
    assert!(error.contains("its header is redacted"), "{error}");
}

#[test]
fn a_copy_has_what_is_shown() {
    let mut all = some();
    let shown = Body::from(Message::text("user", "the key is [redacted:api-key]"));
    let (_, payload) = shown.encode();
    withhold(event(&mut all, 1), Some(payload));
    withhold(event(&mut all, 3), None);
    // The checkpoint has another label, and an id that is an alias of its own.
    let id = CheckpointId([7; 32]);
    let first = event(&mut all, 2);
    first.checkpoint = Some(id);
    let labelled = Body::from(mark_of(first, |mark| mark.label = Some("with [redacted]".into())));
    withhold(first, Some(labelled.encode().1));
    let second = event(&mut all, 4);
    let child = Body::from(mark_of(second, |mark| mark.parent = Some(id)));
    second.body = ExportBody::Withheld { hash: None, shown: Some(child.encode().1) };
    second.salt = None;

    let engine = copy(&all).unwrap();
    assert_eq!(body(&engine, 1), Some(shown));
    let Some(Body::Application(Application { name, data })) = body(&engine, 3) else {
        panic!("{:?}", body(&engine, 3));
    };
    assert_eq!((name.as_str(), format!("{data:?}").contains("message")), ("withheld", true));
    let task = engine.task("essay").unwrap();
    let first = engine.point("essay@with [redacted]").unwrap();
    assert_eq!(first.offset, 2);
    let Some(Body::CheckpointMarked(second)) = body(&engine, 4) else {
        panic!("{:?}", body(&engine, 4));
    };
    let query = milepost::query::CheckpointQuery::default();
    let found = engine.query().checkpoints(&query).unwrap().items;
    assert!(found.iter().any(|found| Some(found.id) == second.parent), "{second:?}");
    assert_ne!(second.parent, Some(id));
    assert_eq!(task.head().unwrap().next, 5);
}

/// The mark of an event, changed.
fn mark_of(event: &ExportEvent, change: impl FnOnce(&mut CheckpointMarked)) -> CheckpointMarked {
    let ExportBody::Inline(payload) = &event.body else {
        panic!("{event:?}");
    };
    let Body::CheckpointMarked(mut mark) =
        Body::decode(kind_of("checkpoint_marked"), payload).unwrap()
    else {
        panic!("{event:?}");
    };
    change(&mut mark);
    mark
}
