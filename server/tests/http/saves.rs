//! 001: checkpoints that the service marks for clients that only append.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use milepost::clock::ManualClock;
use milepost::events::{GuidanceGiven, MarkCause, RunControl};
use milepost::{Engine, Options, Task};
use milepost_runtime::run::{Checkpointer, EverySteps, Risk};
use milepost_server::{Server, ServerOptions, Tokens};
use serde_json::json;
use tower::ServiceExt as _;

use crate::served::{NOW_US, Served, request};

const EVENTS: &str = "/v1/tasks/exec-001/events";
const MINUTE_US: u64 = 60 * 1_000_000;

fn step(kind: &str, step: u64) -> String {
    let body = match kind {
        "step_failed" => json!({"step": step, "error": "no"}),
        _ => json!({"step": step}),
    };
    json!({"kind": kind, "body": body}).to_string()
}

/// A service with a policy, and the task of a client.
fn with(checkpoints: Checkpointer) -> (Served, Task) {
    let served = Served::with(ServerOptions::default().checkpoints(checkpoints));
    let task = served.engine.start_task("exec-001", "ana").unwrap();
    (served, task)
}

async fn append(served: &Served, query: &str, body: &str) -> serde_json::Value {
    let came = served.post(&format!("{EVENTS}{query}"), body).await;
    assert_eq!(came.status, 201, "{came:?}");
    came.json()
}

#[tokio::test]
async fn seed_001_ac1_a_client_that_only_posts_steps_gets_a_checkpoint_a_step() {
    let (served, task) = with(Checkpointer::default());
    for n in 1..=5 {
        let begun = append(&served, "", &step("step_started", n)).await;
        assert!(begun.get("checkpoint").is_none());
        let kind = if n == 3 { "step_failed" } else { "step_finished" };
        let ended = append(&served, "", &step(kind, n)).await;
        let id = ended["checkpoint"].as_str().unwrap();
        let marked = served.get(&format!("/v1/checkpoints/{id}")).await.json();
        assert_eq!(marked["cause"], "step");
        assert_eq!(marked["status"], if n == 3 { "failure" } else { "success" });
        assert_eq!(marked["metadata"], json!({"steps": 1, "files": 0, "step": n}));
    }
    assert_eq!(task.checkpoints().unwrap(), 5);
    // One that the client marks itself is the only one.
    let marked = json!({"kind": "step_finished", "body": {"step": 6}, "mark": {"label": "mine"}});
    append(&served, "", &marked.to_string()).await;
    assert_eq!(task.checkpoints().unwrap(), 6);
}

#[tokio::test]
async fn seed_001_ac1_every_nth_step_is_saved_and_a_repeated_request_appends_nothing() {
    let (served, task) = with(Checkpointer::default().policy(EverySteps(3)));
    for n in 1..=7 {
        let keyed = || {
            let (name, value) = ("idempotency-key", format!("step-{n}"));
            let mut keyed: Request<Body> = request("POST", EVENTS, None, &step("step_finished", n));
            keyed.headers_mut().insert(name, value.try_into().unwrap());
            keyed
        };
        let first = served.ask(keyed()).await;
        assert_eq!(first.status, 201);
        assert_eq!(first.json().get("checkpoint").is_some(), n % 3 == 0, "{n}");
        let again = served.ask(keyed()).await;
        assert_eq!((again.status.as_u16(), &again.json()["first"]), (200, &first.json()["first"]));
    }
    assert_eq!((task.checkpoints().unwrap(), task.head().unwrap().next), (2, 1 + 7 + 2));
}

#[tokio::test]
async fn seed_001_the_risk_rule_reaches_clients_of_the_service() {
    let (served, task) = with(Checkpointer::default().policy(Risk::default()));
    // Two of four hold at the first step: there is no checkpoint yet, and the user asks.
    append(&served, "?asked=true", &step("step_finished", 1)).await;
    assert_eq!(task.checkpoints().unwrap(), 1);
    append(&served, "?touched=6", &step("step_finished", 2)).await;
    assert_eq!(task.checkpoints().unwrap(), 1, "files alone are one factor");
    // The state before the call is saved, with the files of the step before.
    let called = json!({"kind": "tool_called", "body":
        {"call": "c-1", "tool": "remove", "arguments": {"path": "old.txt"}}});
    append(&served, "?destructive=true", &called.to_string()).await;
    assert_eq!(task.checkpoints().unwrap(), 2);
    let last = task.last_successful().unwrap().unwrap();
    assert_eq!((last.cause, last.at), (MarkCause::BeforeTool, task.head().unwrap().next - 2));
}

#[tokio::test]
async fn seed_001_ac1_a_client_chooses_the_policy_of_its_task() {
    let (served, task) = with(Checkpointer::default());
    for n in 1..=6 {
        append(&served, "?policy=steps:3", &step("step_finished", n)).await;
    }
    assert_eq!(task.checkpoints().unwrap(), 2);
    append(&served, "?policy=never", &step("step_finished", 7)).await;
    assert_eq!(task.checkpoints().unwrap(), 2);
    append(&served, "?policy=risk&touched=6&destructive=true", &step("step_failed", 8)).await;
    assert_eq!(task.checkpoints().unwrap(), 3);
    let phase = json!({"kind": "phase_changed", "body": {"phase": "score", "iteration": 1}});
    append(&served, "?policy=phases", &phase.to_string()).await;
    assert_eq!(task.checkpoints().unwrap(), 4);
    for wrong in ["sometimes", "steps:0", "steps:x"] {
        let came = served.post(&format!("{EVENTS}?policy={wrong}"), &phase.to_string()).await;
        assert_eq!(came.status, 400, "{wrong}");
    }
    // Without a policy of the service, none could be followed.
    let plain = Served::new();
    plain.engine.start_task("exec-001", "ana").unwrap();
    let came = plain.post(&format!("{EVENTS}?policy=steps"), &phase.to_string()).await;
    assert_eq!(came.status, 400);
}

#[tokio::test]
async fn seed_001_ac4_a_paused_task_is_saved_after_five_idle_minutes() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(NOW_US));
    let engine = Engine::open(dir.path(), Options::default().clock(clock.clone())).unwrap();
    let task = engine.start_task("exec-001", "ana").unwrap();
    let checkpoints = Arc::new(Checkpointer::default().policy(EverySteps(100)));
    let options = ServerOptions::default().checkpoints(Arc::clone(&checkpoints));
    let server = Server::new(&engine, Tokens::none(), options).unwrap();
    let post = async |path: &str, body: &str| {
        let request = request("POST", &format!("/v1/tasks/exec-001/{path}"), None, body);
        let response = server.router().oneshot(request).await.unwrap();
        assert!(response.status().is_success(), "{response:?}");
    };
    post("control", r#"{"to": "running"}"#).await;
    post("events", &step("step_finished", 1)).await;
    clock.advance(60 * MINUTE_US);
    assert_eq!(checkpoints.autosave(&engine), 0, "it is running");
    post("control", r#"{"to": "paused"}"#).await;
    clock.advance(5 * MINUTE_US - 1);
    assert_eq!(checkpoints.autosave(&engine), 0);
    clock.advance(1);
    assert_eq!(checkpoints.autosave(&engine), 1);
    assert_eq!(task.last_successful().unwrap().unwrap().cause, MarkCause::Idle);
    clock.advance(60 * MINUTE_US);
    assert_eq!(checkpoints.autosave(&engine), 0, "nothing is new");
}

#[test]
fn a_paused_task_with_guidance_of_an_earlier_process_is_saved_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(NOW_US));
    let options = || Options::default().clock(clock.clone());
    let engine = Engine::open(dir.path(), options()).unwrap();
    for n in 0..250 {
        let task = engine.start_task(&format!("t-{n}"), "ana").unwrap();
        task.control().change(RunControl::Running, None).unwrap();
        if n % 100 == 0 {
            task.control().change(RunControl::Paused, None).unwrap();
            task.append(GuidanceGiven::text("look at the log")).unwrap();
        }
    }
    engine.close().unwrap();
    let engine = Engine::open(dir.path(), options()).unwrap();
    clock.advance(5 * MINUTE_US);
    let checkpoints = Checkpointer::default();
    let saved: usize = (0..4).map(|_| checkpoints.autosave(&engine)).sum();
    assert_eq!(saved, 3);
    for n in 0..250 {
        let marks = engine.task(&format!("t-{n}")).unwrap().checkpoints().unwrap();
        assert_eq!(marks, u64::from(n % 100 == 0), "t-{n}");
    }
}

#[test]
fn a_task_is_saved_when_an_undo_brings_unsaved_events_back() {
    for control in [RunControl::Paused, RunControl::Stopped] {
        let clock = Arc::new(ManualClock::at(NOW_US));
        let engine = Engine::in_memory(Options::default().clock(clock.clone())).unwrap();
        let task = engine.start_task("exec-001", "ana").unwrap();
        let checkpoints = Checkpointer::default();
        checkpoints.watch(&task);
        task.control().change(RunControl::Running, None).unwrap();
        task.control().change(control, None).unwrap();
        task.checkpoint(milepost::Mark::new().label("saved")).unwrap();
        task.append(GuidanceGiven::text("unsaved")).unwrap();
        engine.restore(&engine.point("exec-001@saved").unwrap()).run().unwrap();
        // Nothing is unsaved on the restored lineage.
        assert_eq!(checkpoints.autosave(&engine), 0);
        engine.undo("exec-001").run().unwrap();
        assert_eq!(checkpoints.autosave(&engine), 0, "the undo restarts the time");
        clock.advance(5 * MINUTE_US);
        assert_eq!(checkpoints.autosave(&engine), 1, "{control:?}");
        let marks = engine.task("exec-001").unwrap();
        assert_eq!(marks.checkpoints().unwrap(), 2);
    }
}

#[tokio::test]
async fn without_a_policy_only_the_checkpoints_of_clients_are_marked() {
    let served = Served::new();
    let task = served.engine.start_task("exec-001", "ana").unwrap();
    append(&served, "?asked=true&touched=9", &step("step_finished", 1)).await;
    assert_eq!(task.checkpoints().unwrap(), 0);
}
