//! Whatever is sent, no route that changes something fails: the request is refused, or done.

use axum::body::Body;

use crate::changing::{Three, dressed, problem};
use crate::served::request;

/// Returns invalid bodies, and nearly valid ones.
fn bodies() -> Vec<Vec<u8>> {
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let event = |data: &str| {
        format!("{{\"kind\": \"application\", \"body\": {{\"name\": \"x\", \"data\": {data}}}}}")
    };
    let texts = [
        "{".to_owned(),
        "{}}".into(),
        "{\"id\": \"\\ud800\"}".into(),
        "{\"to\": \"\\ud800@1\", \"text\": \"\\ud800\"}".into(),
        "{\"to\": \"hers@99999999999999999999\"}".into(),
        "{\"to\": \"%zz@1\"}".into(),
        "{\"at\": \"18446744073709551615\"}".into(),
        "{\"a\": 1e999, \"b\": -0, \"\": null}".into(),
        "{\"younger_than_seconds\": \"18446744073709551615\", \"keep_count\": 0}".into(),
        format!("{{\"a\": {}}}", deep(100_000)),
        event(&deep(99)),
        event(&deep(100_000)),
        event("\"\\ud800\""),
        event("1e999"),
        "{\"kind\": \"message\", \"body\": {\"role\": \"\", \"\\ud800\": 1}}".into(),
        "{\"kind\": \"\\ud800\", \"body\": {}}".into(),
        "{\"kind\": \"unknown\", \"body\": {\"number\": 1, \"payload\": {\"base64\": \"\"}}}"
            .into(),
        "{\"kind\": \"step_started\", \"body\": {\"kind\": 3}}".into(),
        "{\"kind\": \"step_started\", \"body\": {\"step\": 1, \"step\": 2}}".into(),
        "{\"kind\": \"step_started\", \"body\": {  }}".into(),
        "{\"mark\": {\"metadata\": [], \"label\": \"\\u0000\"}}".into(),
    ];
    let mut bodies: Vec<_> = texts.map(String::into_bytes).into();
    bodies.extend([
        vec![0xff; 10],
        b"{\"id\": \"\xff\"}".to_vec(),
        vec![0; 3],
        b"\n".repeat(50_000),
    ]);
    bodies
}

#[tokio::test]
async fn no_body_makes_a_route_fail() {
    for body in bodies() {
        let three = Three::new();
        for (method, path) in [
            ("POST", "/v1/tasks"),
            ("POST", "/v1/tasks/hers/events"),
            ("POST", "/v1/tasks/hers/events?lineage=4294967295"),
            ("POST", "/v1/tasks/hers/checkpoints"),
            ("POST", "/v1/tasks/hers/control"),
            ("POST", "/v1/tasks/hers/guidance"),
            ("PATCH", "/v1/tasks/hers/artifacts"),
            ("POST", "/v1/restores/plan"),
            ("POST", "/v1/restores"),
            ("POST", "/v1/tasks/hers/undo"),
            ("POST", "/v1/tasks/hers/redo"),
            ("PUT", "/v1/tasks/hers/active"),
            ("POST", "/v1/verify"),
            ("POST", "/v1/retention/plan"),
            ("POST", "/v1/retention"),
            ("DELETE", "/v1/checkpoints/%ff"),
            ("DELETE", "/v1/tasks/%ff"),
        ] {
            for kind in ["application/json", "application/x-ndjson"] {
                let mut asked = request(method, path, Some(&three.root), "-");
                *asked.body_mut() = Body::from(body.clone());
                asked.headers_mut().insert("content-type", kind.parse().unwrap());
                let status = three.served.ask(asked).await.status;
                let text = String::from_utf8_lossy(&body);
                let text: String = text.chars().take(80).collect();
                assert!(!status.is_server_error(), "{method} {path} {status}: {text}");
            }
        }
        // Accepted requests are readable.
        let report = three.served.engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        assert_eq!(report.faults, []);
        let engine = &three.served.engine;
        engine.run_state(&engine.point("hers").unwrap()).unwrap();
    }
}

/// A valid event, and invalid bytes.
fn broken() -> Vec<(&'static str, Vec<u8>)> {
    let (json, lines) = ("application/json", "application/x-ndjson");
    let one = r#"{"kind": "step_started", "body": {"step": 1}}"#;
    let text = |kind: &'static str, text: &str| (kind, text.as_bytes().to_vec());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let mut broken = vec![
        text(json, &format!("\u{feff}{one}")),
        text(json, &format!("{one}\0")),
        text(json, &format!("{one}{one}")),
        text(json, &format!("{one},")),
        text(json, &format!("[{one}]")),
        text(json, &one[..one.len() - 1]),
        text(json, r#"{"kind": "step_started", "kind": "step_started", "body": {"step": 1}}"#),
        text(json, r#"{"kind": "step_started", "body": {"step": 1e999}}"#),
        text(json, r#"{"kind": "step_started", "body": {"step": -1}}"#),
        text(json, r#"{"kind": "step_started", "body": {"step": 18446744073709551616}}"#),
        text(json, "{\"kind\": \"message\", \"body\": {\"role\": \"a\nb\"}}"),
        text(json, &format!(r#"{{"kind": "message", "body": {deep}}}"#)),
        text(lines, &format!("{one}\n{}", &one[..one.len() - 3])),
        text(lines, &format!("{one}\n{one}\n{{\"mark\": {{")),
        text(lines, &format!("\u{feff}{one}\n")),
        text(lines, &format!("{one}{one}\n")),
        text(lines, &format!("{one}\n\0\n")),
        text("text/plain", one),
        text("application/xml", one),
        text("", one),
        text("application/json, application/json", one),
        text("multipart/form-data", one),
        text("application/x-www-form-urlencoded", one),
    ];
    broken.push((json, b"{\"kind\": \"message\", \"body\": {\"role\": \"\xff\"}}".to_vec()));
    broken
}

#[tokio::test]
async fn what_is_nearly_an_event_appends_nothing() {
    let three = Three::new();
    let before = three.served.engine.store().metrics().commits;
    for (kind, body) in broken() {
        let text = String::from_utf8_lossy(&body).chars().take(80).collect::<String>();
        let mut asked = request("POST", "/v1/tasks/hers/events", Some(&three.ana), "-");
        *asked.body_mut() = Body::from(body);
        asked.headers_mut().insert("content-type", kind.parse().unwrap());
        let came = three.served.ask(asked).await;
        assert!(came.status.is_client_error(), "{kind} {text}: {came:?}");
        problem(&came);
    }
    assert_eq!(three.served.engine.store().metrics().commits, before);
}

/// JSON by its grammar, and values beyond the range of most programs.
#[tokio::test]
async fn what_is_kept_word_for_word_can_be_read_in_every_form() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    for value in ["\"\\ud800\"", "1e999", "{\"a\": 1, \"a\": 2}", "-0.0", &deep] {
        let three = Three::new();
        let message =
            format!(r#"{{"kind": "message", "body": {{"role": "user", "content": {value}}}}}"#);
        let artifacts = format!(r#"{{"a": {value}}}"#);
        let initial = format!(r#"{{"id": "new", "initial": {{"variables": {{"a": {value}}}}}}}"#);
        for (method, path, body) in [
            ("POST", "/v1/tasks/hers/events", &message),
            ("PATCH", "/v1/tasks/hers/artifacts", &artifacts),
            ("POST", "/v1/tasks", &initial),
        ] {
            let status = three.ask(method, path, &three.ana, body).await.status;
            assert!(!status.is_server_error(), "{path} {value} {status}");
        }
        for task in ["hers", "new"] {
            for path in [
                format!("/v1/tasks/{task}/events"),
                format!("/v1/points/{task}/state"),
                format!("/v1/points/{task}/state?pointer=/messages/0/content"),
                format!("/v1/points/{task}/state?pointer=/artifacts/a"),
                format!("/v1/points/{task}/diff/hers@1"),
                format!("/v1/points/hers@1/diff/{task}"),
                format!("/v1/points/{task}@1/event"),
                format!("/api/v1/tasks/{task}/checkpoints"),
            ] {
                for accept in ["*/*", "application/json-patch+json, */*;q=0.1"] {
                    let asked = request("GET", &path, Some(&three.ana), "");
                    let came = three.served.ask(dressed(asked, &[("accept", accept)])).await;
                    assert!(!came.status.is_server_error(), "{path} {value} {came:?}");
                }
            }
        }
        let plan = three.post("/v1/restores/plan", r#"{"to": "hers@1"}"#).await;
        assert!(!plan.status.is_server_error(), "{value} {plan:?}");
    }
}
