//! Random requests: nothing fails, and each refusal has the right form.

use axum::http::Method;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::changing::{Three, dressed};
use crate::served::{Came, request};

/// The kinds that `docs/HTTP.md` lists.
const KINDS: [&str; 14] = [
    "invalid",
    "unauthorized",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "conflict",
    "too_large",
    "media_type",
    "too_many",
    "corrupt",
    "unavailable",
    "poisoned",
    "timeout",
    "bug",
];

const PATHS: &[&str] = &[
    "/v1/tasks",
    "/v1/tasks/NAME",
    "/v1/tasks/NAME/lineages",
    "/v1/tasks/NAME/events",
    "/v1/tasks/NAME/checkpoints",
    "/v1/tasks/NAME/control",
    "/v1/tasks/NAME/guidance",
    "/v1/tasks/NAME/artifacts",
    "/v1/tasks/NAME/folders",
    "/v1/tasks/NAME/undo",
    "/v1/tasks/NAME/undo/plan",
    "/v1/tasks/NAME/redo",
    "/v1/tasks/NAME/active",
    "/v1/points/NAME",
    "/v1/points/NAME/event",
    "/v1/points/NAME/state",
    "/v1/points/NAME/diff/NAME",
    "/v1/points/NAME/files",
    "/v1/points/NAME/files/NAME",
    "/v1/checkpoints/NAME",
    "/v1/restores",
    "/v1/restores/plan",
    "/v1/verify",
    "/v1/retention",
    "/v1/retention/plan",
    "/v1/stats",
    "/v1/me",
    "/v1/sessions",
    "/v1/sessions/current",
    "/v1/NAME",
    "/api/v1/tasks/NAME/checkpoints",
    "/api/v1/checkpoints/NAME",
    "/api/v1/meta/checkpoint-metrics",
    "/api/v0/checkpoint/direct/cleanup",
    "/api/v0/checkpoint/direct/stats",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/docs/NAME",
    "/page/NAME",
    "/favicon.ico",
    "/",
];

fn method() -> impl Strategy<Value = Method> {
    let usual = select(vec![Method::GET, Method::POST]);
    let others =
        select(vec![Method::HEAD, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS]);
    prop_oneof![3 => usual, 1 => others]
}

/// A name as part of a path: an existing one, a similar one, or an invalid one.
fn name() -> impl Strategy<Value = String> {
    let known =
        ["hers", "his", "hers@1", "hers@first", "hers%2F0@1", "hers%2F1", "hers~1", "essay.md"];
    let bytes = prop::collection::vec(any::<u8>(), 1..12);
    let encoded = bytes.prop_map(|bytes| bytes.iter().map(|byte| format!("%{byte:02x}")).collect());
    prop_oneof![
        4 => select(known.to_vec()).prop_map(str::to_owned),
        1 => "hers[@~][0-9]{1,20}",
        1 => "hers%2F[0-9]{1,12}(@[0-9]{1,3})?",
        1 => "@?[0-9a-f]{7,65}",
        1 => encoded,
    ]
}

fn query() -> impl Strategy<Value = String> {
    let names = [
        "limit", "cursor", "from", "to", "lineage", "status", "user", "pointer", "follow", "other",
    ];
    let value = prop_oneof![
        "[0-9]{1,3}",
        "-?[0-9]{1,25}",
        "(/[a-z0-9~%]{0,8}){0,3}",
        "(true|false|ana|success)"
    ];
    let one = (select(names.to_vec()), value).prop_map(|(name, value)| format!("{name}={value}"));
    // Endless streams have their own test.
    let all = prop::collection::vec(one, 0..3);
    all.prop_map(|all| all.join("&").replace("%", "%25"))
}

fn value() -> impl Strategy<Value = Value> {
    let texts = [
        "hers",
        "his",
        "hers@1",
        "hers@first",
        "paused",
        "running",
        "state",
        "all",
        "/tmp",
        "success",
        "message",
        "",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(texts.to_vec()).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    let names = [
        "id",
        "user",
        "initial",
        "kind",
        "body",
        "mark",
        "label",
        "status",
        "metadata",
        "aliases",
        "at",
        "to",
        "reason",
        "text",
        "target",
        "scope",
        "description",
        "choices",
        "folder",
        "lineage",
        "task",
        "keep_count",
        "undo",
        "thread_id",
        "user_id",
        "role",
        "content",
        "step",
        "name",
        "data",
        "younger_than_seconds",
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        let name = select(names.to_vec()).prop_map(str::to_owned);
        let fields = prop::collection::vec((name, inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let well = [
        json!({"to": "hers@first"}),
        json!({"to": "running"}),
        json!({"text": "shorter"}),
        json!({"keep_count": 1}),
        json!({"label": "one", "aliases": ["a"]}),
        json!({"kind": "message", "body": {"role": "user", "content": "a"}}),
        json!({"id": "new"}),
    ];
    let json = prop_oneof![select(well.to_vec()), value()];
    let json = json.prop_map(|value| value.to_string().into_bytes());
    let lines = prop::collection::vec(json.clone(), 0..3).prop_map(|lines| lines.join(&b'\n'));
    prop_oneof![
        6 => json,
        2 => lines,
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => Just(Vec::new()),
    ]
}

fn headers() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let all = [
        ("content-type", "application/json"),
        ("content-type", "application/x-ndjson"),
        ("content-type", "text/plain"),
        ("accept", "application/x-ndjson"),
        ("accept", "application/json-patch+json"),
        ("accept", "text/html"),
        ("if-match", "\"2\""),
        ("if-match", "*"),
        ("idempotency-key", "k"),
        ("if-none-match", "*"),
        ("x-request-id", "mine"),
        ("last-event-id", "0:1"),
    ];
    prop::collection::vec(select(all.to_vec()), 0..4)
}

/// That an answer is in due form.
fn check(came: &Came, path: &str) {
    assert!(!came.status.is_server_error(), "{path}: {came:?}");
    assert!(!came.header("x-request-id").is_empty(), "{path}: {came:?}");
    let ours = !path.starts_with("/api/");
    if came.status.is_client_error() && ours && !came.bytes.is_empty() {
        let problem = came.json();
        assert_eq!(came.header("content-type"), "application/problem+json");
        assert_eq!(problem["status"], came.status.as_u16(), "{path}");
        assert_eq!(problem["instance"], came.header("x-request-id"));
        let kind = problem["type"].as_str().unwrap();
        let kind = kind.strip_prefix("https://milepost.dev/problems/").unwrap();
        assert!(KINDS.contains(&kind), "{path}: {kind}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(!detail.is_empty(), "{path}");
    }
    let is = |status: u16| came.status == status;
    assert_eq!(is(401), !came.header("www-authenticate").is_empty(), "{path}");
    assert!(!is(405) || !came.header("allow").is_empty(), "{path}");
}

/// A request, and its caller.
type Asked =
    (Method, &'static str, Vec<String>, String, Vec<u8>, Vec<(&'static str, &'static str)>, u8);

fn asked() -> impl Strategy<Value = Asked> {
    (
        method(),
        select(PATHS.to_vec()),
        prop::collection::vec(name(), 2),
        query(),
        body(),
        headers(),
        0..10u8,
    )
}

/// Some requests to one store, one after the other: what one does the next one finds.
async fn all_of(requests: Vec<Asked>) {
    let three = Three::new();
    let hers = three.served.engine.task("hers").unwrap();
    hers.checkpoint(milepost::Mark::new().label("first")).unwrap();
    for (method, path, names, query, body, headers, who) in requests {
        let mut path = path.to_owned();
        for name in names {
            path = path.replacen("NAME", &name, 1);
        }
        if !query.is_empty() {
            path = format!("{path}?{query}");
        }
        let token = match who {
            0 => None,
            1 => Some("mp_00000000_x"),
            2 => Some(&*three.bob),
            3..=6 => Some(&*three.ana),
            _ => Some(&*three.root),
        };
        let mut asked = request(method.as_str(), &path, token, "-");
        *asked.body_mut() = body.into();
        let came = three.served.ask(dressed(asked, &headers)).await;
        check(&came, &path);
    }
    let report = three.served.engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert_eq!(report.faults, []);
}

#[test]
fn whatever_is_asked_is_answered_in_due_form() {
    let nightly = std::env::var_os("MILEPOST_NIGHTLY").is_some();
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if nightly { 3000 } else { 100 })
    };
    proptest!(config, |(requests in prop::collection::vec(asked(), 1..12))| {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(all_of(requests));
    });
}
