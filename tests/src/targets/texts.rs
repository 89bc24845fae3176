//! Texts: the JSON form of events, addresses, anchors.

use std::cell::RefCell;

use milepost::integrity::Anchor;
use milepost::state::{MemoryChunks, RunReducer, fold};
use milepost::{Address, Append, Body, Engine, ErrorKind, Hash, Options, Reducer, Task};

use crate::targets::bounds::bounded;

/// Number of inputs after which the store in memory is replaced.
const INPUTS_PER_STORE: u32 = 200;

/// A store in memory that bodies are appended to.
struct Memory {
    engine: Engine,
    task: Task,
    left: u32,
}

impl Memory {
    fn new() -> Self {
        let engine = Engine::in_memory(Options::default().snapshots(false)).expect("a store");
        let task = engine.start_task("t", "ana").expect("a task");
        let left = INPUTS_PER_STORE;
        Self { engine, task, left }
    }
}

/// Does something with a store in memory.
fn in_memory<T>(work: impl FnOnce(&Engine, &Task) -> T) -> T {
    thread_local! {
        static MEMORY: RefCell<Option<Memory>> = const { RefCell::new(None) };
    }
    MEMORY.with_borrow_mut(|memory| {
        if memory.as_ref().is_none_or(|memory| memory.left == 0) {
            *memory = Some(Memory::new());
        }
        let memory = memory.get_or_insert_with(Memory::new);
        memory.left -= 1;
        work(&memory.engine, &memory.task)
    })
}

/// A text as the JSON form of an event; a parsed one is the same after its bytes, its JSON form,
/// and an append to a store.
pub fn json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let body = match bounded("json", text.len(), 0, || Body::from_json(text)) {
        Ok(body) => body,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            return;
        }
    };
    comes_back(&body);
    append(vec![body]);
}

/// Asserts that a parsed body is the same after a round trip of its bytes and of its JSON form.
pub(crate) fn comes_back(body: &Body) {
    let (kind, payload) = body.encode();
    let decoded = Body::decode(kind, &payload).expect("a payload that was just encoded");
    assert_eq!(&decoded, body);
    let text = body.to_json().expect("the JSON form of what came from JSON");
    let again = Body::from_json(&text).expect("a JSON form that was just made");
    assert_eq!(&again, body, "{text}");
}

/// Appends bodies to a store; accepted ones are read back unchanged, and fold into a state, or the
/// fold returns the reason.
pub(crate) fn append(bodies: Vec<Body>) {
    in_memory(|_, task| {
        let done = match task.append(Append::from(bodies.clone())) {
            Ok(done) => done,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
                return;
            }
        };
        let events: Vec<_> = task
            .read(done.first..)
            .expect("what was appended")
            .collect::<Result<_, _>>()
            .expect("what was appended");
        let read: Vec<_> = events.iter().filter_map(|e| e.body.clone()).collect();
        assert_eq!(read, bodies);
        let chunks = MemoryChunks::default();
        let initial = RunReducer.initial();
        if let Ok(state) = fold(&RunReducer, initial, events.into_iter().map(Ok), &chunks) {
            let _ = format!("{state:?}");
        }
    });
}

/// A text as an address; a parsed one is the same after formatting, and a store has an answer to
/// it.
pub fn address(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let read = bounded("address", text.len(), 0, || text.parse::<Address>());
    match read {
        Ok(address) => {
            assert_eq!(address.to_string().parse().ok(), Some(address.clone()));
            in_memory(|engine, _| {
                if let Err(error) = engine.resolve(&address) {
                    let kind = error.kind();
                    let expected = [ErrorKind::Invalid, ErrorKind::NotFound];
                    assert!(expected.contains(&kind), "{kind:?}: {error}");
                }
            });
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Invalid, "{error}"),
    }
}

/// The bytes behind a flag byte as an anchor. Bit 0: its digest is made right; bit 1: it becomes
/// one of the store it is compared with.
pub fn anchor(bytes: &[u8]) {
    let Some((flags, rest)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let mut text = text.to_owned();
    if let Ok(mut anchor) = serde_json::from_str::<Anchor>(&text) {
        if flags & 2 != 0 {
            liken(&mut anchor);
        }
        if flags & 3 != 0 {
            anchor.digest = digest(&anchor);
            text = anchor.to_json();
        }
    }
    let read = bounded("anchor", text.len(), 0, || text.parse::<Anchor>());
    match read {
        Ok(anchor) => {
            assert_eq!(anchor.to_json().parse().ok(), Some(anchor.clone()));
            in_memory(|engine, _| match engine.integrity().verify_anchor(&anchor) {
                Ok(faults) => drop(format!("{faults:?}")),
                Err(error) => {
                    let kind = error.kind();
                    assert_eq!(kind, ErrorKind::Invalid, "{error}");
                    let own = engine.integrity().anchor().expect("an anchor").store;
                    assert_ne!(anchor.store, own, "{error}");
                }
            });
        }
        Err(error) => crate::targets::bounds::told("anchor", &error),
    }
}

/// Makes an anchor one of the store in memory, so that its logs are compared.
fn liken(anchor: &mut Anchor) {
    in_memory(|engine, _| {
        let own = engine.integrity().anchor().expect("an anchor");
        anchor.store = own.store;
        for log in &mut anchor.logs {
            let mut same = own.logs.iter().filter(|l| l.task == log.task);
            if let Some(first) = same.next() {
                log.origin = first.origin;
            }
        }
    });
}

/// The digest that an anchor should have.
fn digest(anchor: &Anchor) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"milepost.anchor1").update(&anchor.store.0);
    for log in &anchor.logs {
        let number = log.lineage.map_or(u32::MAX, |lineage| lineage.0);
        hasher
            .update(&log.task.0.to_le_bytes())
            .update(&log.origin.0)
            .update(&number.to_le_bytes())
            .update(&log.next.to_le_bytes())
            .update(&log.hash.0);
    }
    Hash(*hasher.finalize().as_bytes())
}
