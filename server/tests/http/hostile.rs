//! Whatever is sent, no route that changes something fails: the request is refused, or done.

use axum::body::Body;

use crate::changing::Three;
use crate::served::request;

/// Bodies that are none, or nearly one.
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
            ("POST", "/v1/verify"),
            ("POST", "/v1/retention/plan"),
            ("POST", "/v1/retention"),
            ("DELETE", "/v1/checkpoints/%ff"),
            ("DELETE", "/v1/tasks/%ff"),
        ] {
            for kind in ["application/json", "application/x-ndjson"] {
                let mut asked = request(method, path, Some(&three.root), "-");
                *asked.body_mut() = Body::from(body.clone());
                asked
                    .headers_mut()
                    .insert("content-type", kind.parse().unwrap());
                let status = three.served.ask(asked).await.status;
                let text = String::from_utf8_lossy(&body);
                let text: String = text.chars().take(80).collect();
                assert!(
                    !status.is_server_error(),
                    "{method} {path} {status}: {text}"
                );
            }
        }
        // What was taken can be read.
        let report = three.served.engine.verify(None, &mut |_, _| {}).unwrap();
        assert_eq!(report.faults, []);
        let engine = &three.served.engine;
        engine.run_state(&engine.point("hers").unwrap()).unwrap();
    }
}
