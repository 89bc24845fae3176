//! Refused appends leave memory and disk as they were (I1, I2).

use milepost::events::{CheckpointMarked, Message};
use milepost::{Append, Body, Engine, ErrorKind, Mark, Options};

fn said(text: &str) -> Body {
    Message::text("user", text).into()
}

/// Returns a body with the kind of a mark and other content.
fn no_mark() -> Body {
    Body::Unknown { kind: CheckpointMarked::KIND, payload: vec![0xFF; 3] }
}

#[test]
fn a_refused_append_leaves_no_hole_in_the_offsets() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let other = engine.start_task("other", "ana").unwrap();
    task.append(said("one")).unwrap();
    let refused = task.append(Append::batch([said("half"), no_mark()]));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    let head = task.head().unwrap().next;
    let two = task.append(said("two")).unwrap();
    assert_eq!(two.first, head, "offsets are dense (I2)");
    other.append(said("of another user")).unwrap();
    assert!(task.read(..).unwrap().all(|event| event.is_ok()));
    drop((task, other));
    engine.close().unwrap();
    let again = Engine::open(&root, Options::default()).unwrap();
    assert_eq!(again.task("other").unwrap().head().unwrap().next, 2);
    assert!(again.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn a_refused_append_does_not_keep_the_store_from_opening_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let (root, copy) = (dir.path().join("store"), dir.path().join("copy"));
    let engine = Engine::open(&root, Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let refused = task.append(Append::batch([said("half"), no_mark()]));
    assert!(refused.is_err());
    for n in 0..100 {
        task.append(said(&format!("acknowledged {n}"))).unwrap();
    }
    milepost_tests::folder::copy_store(&root, &copy).unwrap();
    let again = Engine::open(&copy, Options::default()).unwrap();
    assert_eq!(again.task("essay").unwrap().head().unwrap().next, 101);
}

#[test]
fn a_body_of_a_known_kind_is_taken_as_its_structure_only() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let long = CheckpointMarked { label: Some("l".repeat(5000)), ..CheckpointMarked::default() };
    let (kind, payload) = Body::CheckpointMarked(long).encode();
    let mut refused = 0;
    for body in [Body::Unknown { kind, payload }, no_mark()] {
        let done = task.append(body);
        refused += usize::from(done.is_err_and(|e| e.kind() == ErrorKind::Invalid));
    }
    for kind in 0..64 {
        let payload = vec![0xFF; 3];
        let known = Body::name_of(kind) != "unknown";
        let done = task.append(Body::Unknown { kind, payload });
        assert_eq!(done.is_err(), known, "kind {kind}");
        refused += usize::from(known);
    }
    assert!(refused > 20, "{refused}");
    task.checkpoint(Mark::new()).unwrap();
    let read: Result<Vec<_>, _> = task.read(..).unwrap().collect();
    read.unwrap();
    engine.run_state(&engine.point("essay").unwrap()).unwrap();
}
