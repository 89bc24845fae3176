//! Events: each once, in order, off the append path.

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use milepost::events::{Message, StepFinished};
use milepost::hooks::{HookContext, TaskId};
use milepost::{Append, Engine, ErrorKind, Event, Hook, Mark, Offset, Options};

use super::{Listener, append};

/// Returns the reported offsets, by task and lineage.
fn by_lineage(told: Vec<(String, u32, Offset)>) -> BTreeMap<(String, u32), Vec<Offset>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (task, lineage, offset) in told {
        all.entry((task, lineage)).or_default().push(offset);
    }
    all
}

#[test]
fn each_event_is_told_once_and_in_its_order_however_slow_the_hook_is() {
    let dir = tempfile::tempdir().unwrap();
    let (listener, heard) = Listener::at_gate();
    let options = Options::default().hook(listener);
    let engine = Engine::open(dir.path().join("store"), options).unwrap();
    let mut expected = BTreeMap::new();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let engine = engine.clone();
            scope.spawn(move || {
                let task = engine.start_task(&format!("t{n}"), "ana").unwrap();
                append(&task, 60);
                task.checkpoint(Mark::new()).unwrap();
                let aside = engine.branch(&task.point(30).unwrap()).run().unwrap();
                let back = engine.restore(&task.point(10).unwrap()).run().unwrap();
                std::thread::scope(|scope| {
                    // Two writers on one lineage, and a third on another.
                    scope.spawn(|| append(&back, 40));
                    scope.spawn(|| append(&back, 40));
                    scope.spawn(|| append(&aside.as_task().unwrap(), 40));
                });
                let two = Append::from(vec![
                    Message::text("user", "a").into(),
                    Message::text("user", "b").into(),
                ]);
                back.append(two.mark(Mark::new())).unwrap();
            });
        }
    });
    heard.wait_at_gate();
    assert_eq!(heard.all(), []);
    for n in 0..4 {
        let task = engine.task(&format!("t{n}")).unwrap();
        for info in task.lineages().unwrap() {
            let from = info.parent.map_or(0, |parent| parent.offset);
            let offsets: Vec<Offset> = (from..info.head.next).collect();
            expected.insert((format!("t{n}"), info.id.0), offsets);
        }
    }
    assert_eq!(expected.len(), 12);
    heard.let_go();
    engine.close().unwrap();
    assert_eq!(by_lineage(heard.all()), expected);
}

#[test]
fn what_is_committed_is_told_before_close_returns() {
    let (listener, heard) = Listener::at_gate();
    let engine = Engine::in_memory(Options::default().hook(listener)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    append(&task, 500);
    let tickets: Vec<_> =
        (0..50).map(|_| task.submit(Message::text("user", "queued")).unwrap()).collect();
    heard.wait_at_gate();
    let closing = std::thread::spawn(move || engine.close());
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    heard.let_go();
    closing.join().unwrap().unwrap();
    let told = heard.all();
    assert!(told.into_iter().map(|(.., offset)| offset).eq(0..551));
}

#[test]
fn a_hook_that_blocks_keeps_no_append_from_returning() {
    let (listener, heard) = Listener::at_gate();
    let engine = Engine::in_memory(Options::default().hook(listener)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    heard.wait_at_gate();
    append(&task, 1000);
    task.checkpoint(Mark::new().label("one")).unwrap();
    engine.restore(&task.point(5).unwrap()).run().unwrap();
    assert_eq!(heard.all(), [], "nobody was told yet, and all is there");
    heard.let_go();
    assert_eq!(heard.next(), ("t".into(), 0, 0));
    assert_eq!(heard.next(), ("t".into(), 0, 1));
}

#[test]
fn events_of_before_the_store_was_opened_are_not_told() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let engine = Engine::open(&store, Options::default()).unwrap();
    append(&engine.start_task("t", "ana").unwrap(), 5);
    engine.close().unwrap();
    let (listener, heard) = Listener::new();
    let engine = Engine::open(&store, Options::default().hook(listener)).unwrap();
    append(&engine.task("t").unwrap(), 2);
    engine.close().unwrap();
    let told = heard.all();
    assert_eq!(told, [("t".into(), 0, 6), ("t".into(), 0, 7)]);
}

/// Tells each event, and panics at those of offset 1 and 2.
struct Clumsy(Sender<Offset>, bool);

impl Hook for Clumsy {
    fn name(&self) -> &str {
        "clumsy"
    }

    fn wants_events(&self) -> bool {
        self.1
    }

    fn on_event(&self, _: &TaskId, event: &Event) {
        self.0.send(event.offset).unwrap();
        assert!(!(1..=2).contains(&event.offset), "told to");
    }
}

#[test]
fn a_hook_that_panics_at_an_event_is_told_the_next_and_others_all() {
    let (clumsy, told) = channel();
    let (listener, heard) = Listener::new();
    let options = Options::default().hook(Arc::new(Clumsy(clumsy, true)));
    let engine = Engine::in_memory(options.hook(listener)).unwrap();
    append(&engine.start_task("t", "ana").unwrap(), 4);
    engine.close().unwrap();
    assert!(told.iter().eq(0..5));
    assert_eq!(heard.all().len(), 5);
}

#[test]
fn who_does_not_want_events_is_told_none() {
    let (clumsy, told) = channel();
    let (listener, heard) = Listener::new();
    let options = Options::default().hook(Arc::new(Clumsy(clumsy, false)));
    let engine = Engine::in_memory(options.hook(listener)).unwrap();
    append(&engine.start_task("t", "ana").unwrap(), 4);
    engine.close().unwrap();
    assert_eq!(heard.all().len(), 5);
    assert_eq!(told.iter().count(), 0);
}

/// Writes down each notification: a store is opened, has an event, and closes.
struct Phases(Mutex<Vec<&'static str>>);

impl Hook for Phases {
    fn name(&self) -> &str {
        "phases"
    }

    fn opened(&self, store: &HookContext) -> Option<Vec<Arc<dyn Hook>>> {
        self.0.lock().unwrap().push(if store.store().is_none() { "opened" } else { "elsewhere" });
        None
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn on_event(&self, _: &TaskId, _: &Event) {
        self.0.lock().unwrap().push("event");
    }

    fn longest_call(&self) -> Duration {
        Duration::from_secs(70)
    }

    fn flush(&self, at_most: Duration) {
        assert_eq!(at_most, self.longest_call());
        self.0.lock().unwrap().push("flushed");
    }
}

#[test]
fn a_hook_is_told_of_the_opening_first_and_of_the_close_last() {
    let phases = Arc::new(Phases(Mutex::default()));
    let engine = Engine::in_memory(Options::default().hook(phases.clone())).unwrap();
    append(&engine.start_task("t", "ana").unwrap(), 1);
    engine.clone().close().unwrap();
    drop(engine);
    assert_eq!(*phases.0.lock().unwrap(), ["opened", "event", "event", "flushed"]);
}

#[test]
fn a_hook_that_hangs_does_not_hold_close_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let (listener, heard) = Listener::at_gate();
    let options = Options::default().hook(listener);
    let options = options.hooks_at_close(Duration::from_millis(20));
    let engine = Engine::open(&store, options).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    append(&task, 3);
    heard.wait_at_gate();
    engine.close().unwrap();
    // The store is closed, though a thread of it is not: it can be opened again.
    let again = Engine::open(&store, Options::default()).unwrap();
    assert_eq!(again.task("t").unwrap().head().unwrap().next, 4);
    drop(task);
    heard.let_go();
    let told: Vec<_> = heard.told.iter().collect();
    assert_eq!(told, [("t".into(), 0, 0)], "what waited behind it is not told");
}

/// Does something with an engine at the first event.
struct Busy<F>(Slot<F>);

type Slot<F> = Arc<Mutex<Option<(Engine, F)>>>;

impl<F: FnOnce(Engine) + Send> Hook for Busy<F> {
    fn name(&self) -> &str {
        "busy"
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn on_event(&self, _: &TaskId, event: &Event) {
        if matches!(event.body, Some(milepost::Body::StepFinished(_)))
            && let Some((engine, work)) = self.0.lock().unwrap().take()
        {
            work(engine);
        }
    }
}

fn at_a_step(work: impl FnOnce(Engine) + Send + 'static) -> Engine {
    let slot = Slot::default();
    let options = Options::default().hook(Arc::new(Busy(Arc::clone(&slot))));
    let engine = Engine::in_memory(options).unwrap();
    *slot.lock().unwrap() = Some((engine.clone(), work));
    let task = engine.start_task("t", "ana").unwrap();
    task.append(StepFinished::default()).unwrap();
    engine
}

#[test]
fn a_hook_may_append_and_mark_where_it_is_told() {
    let (done, marked) = channel();
    let engine = at_a_step(move |engine| {
        let task = engine.task("t").unwrap();
        task.append(Message::text("user", "seen")).unwrap();
        done.send(task.checkpoint(Mark::new()).unwrap()).unwrap();
    });
    assert_eq!(marked.recv().unwrap().at, 3);
    engine.close().unwrap();
}

#[test]
fn a_hook_may_close_the_store_it_is_told_by() {
    let (done, closed) = channel();
    let engine = at_a_step(move |engine| done.send(engine.close()).unwrap());
    closed.recv().unwrap().unwrap();
    let error = engine.task("t").and_then(|task| task.append(Message::text("user", "late")));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn an_event_that_cannot_be_read_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let (listener, heard) = Listener::at_gate();
    let engine = Engine::open(&store, Options::default().hook(listener)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    heard.wait_at_gate();
    append(&task, 1);
    // A large body is in chunks, and those are damaged before the hook is free.
    let large: String = (0..200_000).map(|n| format!("{n} ")).collect();
    task.append(Message::text("user", &large)).unwrap();
    append(&task, 2);
    for pack in fs::read_dir(store.join("packs")).unwrap() {
        let pack = pack.unwrap().path();
        let size = fs::metadata(&pack).unwrap().len() as usize;
        fs::write(&pack, vec![0xAA; size]).unwrap();
    }
    heard.let_go();
    let _ = engine.close();
    let told: Vec<Offset> = heard.all().into_iter().map(|(.., offset)| offset).collect();
    assert_eq!(told, [0, 1, 3, 4]);
}
