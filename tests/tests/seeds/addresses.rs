//! 000: a checkpoint of an execution by its id there, and the last successful one.

use milepost::events::{MarkStatus, Message};
use milepost::{Engine, ErrorKind, Mark, Options};

/// Three steps of an execution as the source document has them; the last one failed.
fn exec_001() -> Engine {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("exec-001", "ana").unwrap();
    for (index, step) in ["fetch", "transform", "load"].iter().enumerate() {
        task.append(Message::text("assistant", step)).unwrap();
        let status = if *step == "load" { MarkStatus::Failure } else { MarkStatus::Success };
        let mark = Mark::new().label(*step).status(status).alias(format!("ckpt-exec-001-{index}"));
        task.checkpoint(mark).unwrap();
    }
    engine
}

#[test]
fn seed_000_the_last_successful_checkpoint_of_an_execution_has_an_address() {
    let engine = exec_001();
    let ok = engine.point("exec-001@ok").unwrap();
    assert_eq!(ok, engine.point("exec-001@transform").unwrap());
    // On a lineage that was forked before it, an earlier one is the last.
    let fetch = engine.point("exec-001@fetch").unwrap();
    engine.restore(&fetch).run().unwrap();
    assert_eq!(engine.point("exec-001/0@ok").unwrap(), ok);
    assert_eq!(engine.point("exec-001@ok").unwrap().offset, fetch.offset);
    engine.start_task("exec-000", "ana").unwrap();
    assert_eq!(engine.point("exec-000@ok").unwrap_err().kind(), ErrorKind::NotFound);
    // A label of that name is the label.
    let task = engine.task("exec-001").unwrap();
    task.checkpoint(Mark::new().label("ok").status(MarkStatus::Failure)).unwrap();
    let marked = engine.point("exec-001@ok").unwrap();
    assert_eq!(marked.offset, task.head().unwrap().next - 1);
}

#[test]
fn seed_000_a_checkpoint_is_found_by_the_id_of_its_execution() {
    let engine = exec_001();
    let wanted = engine.point("exec-001@transform").unwrap();
    for address in ["@ckpt-exec-001-1", "ckpt-exec-001-1", "exec-001@ckpt-exec-001-1"] {
        assert_eq!(engine.point(address).unwrap(), wanted, "{address}");
    }
    let checkpoint = engine.query().checkpoint("ckpt-exec-001-1").unwrap();
    assert_eq!(Some(checkpoint.id), wanted.checkpoint);
    for unknown in
        ["@ckpt-exec-001-9", "ckpt-exec-001-9", "@beef", "@550e8400-e29b-41d4-a716-446655440000"]
    {
        assert_eq!(engine.point(unknown).unwrap_err().kind(), ErrorKind::NotFound, "{unknown}");
    }
    // Others see neither the checkpoint nor that there is one.
    let eve = engine.as_user("eve");
    assert_eq!(eve.point("@ckpt-exec-001-1").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn seed_000_an_id_that_two_executions_use_has_to_be_named_with_its_task() {
    let engine = exec_001();
    let other = engine.start_task("exec-002", "ana").unwrap();
    other.checkpoint(Mark::new().alias("ckpt-exec-001-1")).unwrap();
    let ambiguous = engine.point("@ckpt-exec-001-1").unwrap_err();
    assert_eq!(ambiguous.kind(), ErrorKind::Invalid);
    assert!(ambiguous.to_string().contains("exec-001@ckpt-exec-001-1"), "{ambiguous}");
    assert_eq!(engine.point("exec-002@ckpt-exec-001-1").unwrap().task, "exec-002");
    engine.retention().delete_task("exec-002").unwrap();
    assert_eq!(engine.point("@ckpt-exec-001-1").unwrap().task, "exec-001");
}
