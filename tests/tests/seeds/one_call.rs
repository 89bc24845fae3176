//! 000: `create_checkpoint(execution_id, step_name, step_index, state, context, variables)`.

use milepost::events::MarkStatus;
use milepost::{Engine, Json, Options};
use milepost_runtime::run::{Run, RunOptions, StepSave};

#[test]
fn seed_000_a_step_with_its_state_context_and_variables_is_saved_in_one_call() {
    let json = |text: &str| Some(Json::new(text).unwrap());
    let engine = Engine::in_memory(Options::default()).unwrap();
    let run = Run::resume_or_start(&engine, "exec-001", "ana", RunOptions::default()).unwrap();
    let first = StepSave {
        name: "load_data".into(),
        state: json(r#"{"rows": 120}"#),
        context: json(r#"{"source": "a.csv"}"#),
        variables: json(r#"{"limit": null}"#),
        ..StepSave::default()
    };
    let before = engine.store().metrics().commits;
    let saved = run.save(first).unwrap().unwrap();
    assert_eq!(engine.store().metrics().commits - before, 1, "one commit");
    assert_eq!(saved.label.as_deref(), Some("load_data"));
    let second = StepSave {
        index: 1,
        name: "clean data".into(),
        state: json(r#"{"rows": 90}"#),
        error: Some("no space left".into()),
        ..StepSave::default()
    };
    let failed = run.save(second).unwrap().unwrap();
    assert_eq!(failed.status, MarkStatus::Failure);
    let state = |address: &str| engine.run_state(&engine.point(address).unwrap()).unwrap();
    let then = state("@ckpt-exec-001-0");
    assert_eq!(then.artifacts["state"].text(), r#"{"rows": 120}"#);
    assert_eq!(then.variables.text(), r#"{"limit":null}"#);
    let now = state("@ckpt-exec-001-1");
    assert_eq!(now.artifacts["state"].text(), r#"{"rows": 90}"#);
    assert_eq!(now.context, then.context, "what is not given stays");
    engine.restore(&engine.point("exec-001@ok").unwrap()).run().unwrap();
    assert_eq!(run.task().renewed().unwrap().state().unwrap().artifacts, then.artifacts);
}
