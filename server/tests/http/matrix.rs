//! Access rights: every route of the service, requested by each kind of caller. The statuses are
//! those of `docs/HTTP.md`.

use milepost::Mark;
use milepost::events::Message;
use milepost_server::NewToken;
use milepost_workspace::{Workspace, WorkspaceOptions};
use serde_json::Value;

use crate::changing::dressed;
use crate::served::{Came, NOW_US, Served, request};

/// A requested route: `TASK` is a task of ana's, `ID` its checkpoint.
struct Row {
    method: &'static str,
    path: &'static str,
    accept: &'static str,
    body: &'static str,
    /// Statuses for ana, bob and an admin.
    statuses: [u16; 3],
}

const fn row(
    method: &'static str,
    path: &'static str,
    body: &'static str,
    statuses: [u16; 3],
) -> Row {
    Row { method, path, accept: "*/*", body, statuses }
}

const fn get(path: &'static str, statuses: [u16; 3]) -> Row {
    row("GET", path, "", statuses)
}

const fn get_as(path: &'static str, accept: &'static str) -> Row {
    Row { accept, ..get(path, OWN) }
}

const OPEN: [u16; 3] = [200, 200, 200];
const OWN: [u16; 3] = [200, 404, 200];
const ADMIN: [u16; 3] = [403, 403, 200];

/// A document of a hook.
const HOOK: &str = r#"{"id": "1", "agent": "codex", "project": "/work", "time_us": "0",
    "env": {}, "parents": [], "is_cut": false, "payload": "{}"}"#;

const ATTACHED: &str = r#"{"alias": "a", "attachments": [{"writer": "w", "index": 0, "data": 1}]}"#;

const HELLO: &str = r#"{"kind": "message", "body": {"role": "user", "content": "hello"}}"#;

const CLEANUP: &str = "/api/v0/checkpoint/direct/cleanup";
const STATS: &str = "/api/v0/checkpoint/direct/stats";

const ROWS: &[Row] = &[
    get("/healthz", OPEN),
    get("/readyz", OPEN),
    get("/openapi.json", OPEN),
    get("/docs", [308, 308, 308]),
    get("/docs/", OPEN),
    get("/", OPEN),
    get("/page/nothing", [404, 404, 404]),
    get("/favicon.ico", [204, 204, 204]),
    get("/metrics", ADMIN),
    get("/v1/nothing", [404, 404, 404]),
    // Tasks
    get("/v1/tasks", OPEN),
    get("/v1/tasks?user=ana", [200, 403, 200]),
    get("/v1/tasks?prefix=TASK", OPEN),
    get("/v1/tasks/TASK", OWN),
    get("/v1/tasks/TASK/lineages", OWN),
    get("/v1/summaries", OPEN),
    get("/v1/tasks/TASK/summary", OWN),
    row("DELETE", "/v1/tasks/TASK", "", [204, 404, 204]),
    // Events
    get("/v1/tasks/TASK/events", OWN),
    get_as("/v1/tasks/TASK/events", "application/x-ndjson"),
    get_as("/v1/tasks/TASK/events?follow=false", "text/event-stream"),
    row(
        "POST",
        "/v1/tasks/TASK/events",
        r#"{"kind": "step_started", "body": {"step": 1}}"#,
        [201, 404, 201],
    ),
    // Points
    get("/v1/points/TASK", OWN),
    get("/v1/points/TASK@first", OWN),
    get("/v1/points/@ID", OWN),
    get("/v1/points/TASK@1/event", OWN),
    get("/v1/points/@ID/state", OWN),
    get("/v1/points/@ID/encoded/milepost.run", OWN),
    get("/v1/points/@ID/encoded/other", [404, 404, 404]),
    get("/v1/tasks/TASK/states", OWN),
    get("/v1/points/TASK@first/diff/TASK@1", OWN),
    get_as("/v1/points/TASK/diff/TASK@1", "application/json-patch+json"),
    get("/v1/points/TASK/blame?pointer=/step", OWN),
    get("/v1/points/TASK@1/event?cut=256", OWN),
    get("/v1/points/TASK/bisect?when=exists%20/step/number", [400, 404, 400]),
    get("/v1/points/TASK@1/value?pointer=/kind", OWN),
    get("/v1/points/TASK@first/align/TASK", OWN),
    get("/v1/tasks/TASK/rows", OWN),
    get("/v1/tasks/TASK/turns?near=1", OWN),
    get("/v1/tasks/TASK/overview", OWN),
    get("/v1/tasks/TASK/metrics", OWN),
    get("/v1/search?text=hello", OPEN),
    get("/v1/tasks/TASK/export", OWN),
    get("/v1/tasks/TASK/share", OWN),
    get("/v1/tasks/TASK/share/plan?redact=false", OWN),
    get("/v1/series?at=TASK&metric=loss", OWN),
    row("POST", "/v1/points/TASK@1/branch", "", [201, 404, 201]),
    row("POST", "/v1/points/TASK@1/branch", r#"{"activate": true}"#, [201, 404, 201]),
    row("POST", "/v1/points/TASK@1/events", HELLO, [201, 404, 201]),
    row("POST", "/v1/points/TASK@1/erase", "", OWN),
    get("/v1/points/TASK/files", OWN),
    get("/v1/points/TASK/file-changes/TASK", OWN),
    get("/v1/tasks/TASK/workspace", OWN),
    get("/v1/tasks/TASK/folders", ADMIN),
    get("/v1/points/TASK/files/draft.md", OWN),
    // Checkpoints
    get("/v1/checkpoints", OPEN),
    get("/v1/checkpoints?task=TASK&order=alias", OWN),
    get("/v1/tasks/TASK/checkpoints", OWN),
    row("POST", "/v1/tasks/TASK/checkpoints", "{}", [201, 404, 201]),
    get("/v1/checkpoints/ID", OWN),
    row("DELETE", "/v1/checkpoints/ID", "", [204, 404, 204]),
    row("DELETE", "/v1/checkpoints?task=TASK", "", OWN),
    get("/v1/tasks/TASK/pins", OWN),
    get("/v1/tasks/TASK/attachments?alias=a", OWN),
    row("POST", "/v1/tasks/TASK/attachments", ATTACHED, [200, 404, 200]),
    row("PUT", "/v1/checkpoints/ID/pin", "", OWN),
    row("DELETE", "/v1/checkpoints/ID/pin", "", [204, 404, 204]),
    // Runs
    row("POST", "/v1/tasks/TASK/control", r#"{"to": "running"}"#, OWN),
    row("POST", "/v1/tasks/TASK/guidance", r#"{"text": "shorter"}"#, [201, 404, 201]),
    row("PATCH", "/v1/tasks/TASK/artifacts", r#"{"a": 1}"#, OWN),
    // Going back
    row("POST", "/v1/restores/plan", r#"{"to": "TASK@first"}"#, OWN),
    row(
        "POST",
        "/v1/restores/plan",
        r#"{"to": "TASK@first", "scope": "files", "folder": "relative"}"#,
        [403, 403, 400],
    ),
    row("POST", "/v1/restores", r#"{"to": "TASK@first"}"#, [201, 404, 201]),
    row(
        "POST",
        "/v1/restores",
        r#"{"to": "TASK@first", "scope": "all", "folder": "relative"}"#,
        [403, 403, 400],
    ),
    row("POST", "/v1/tasks/TASK/undo/plan", "", OWN),
    row("POST", "/v1/tasks/TASK/undo/plan", r#"{"folder": "relative"}"#, [403, 404, 400]),
    row("POST", "/v1/tasks/TASK/undo", "", OWN),
    row("POST", "/v1/tasks/TASK/undo", r#"{"folder": "relative"}"#, [403, 404, 400]),
    row("POST", "/v1/tasks/TASK/redo", "", OWN),
    row("PUT", "/v1/tasks/TASK/active", r#"{"lineage": 2}"#, OWN),
    // The store
    get("/v1/anchor", ADMIN),
    row("POST", "/v1/verify", "", ADMIN),
    row("POST", "/v1/verify", r#"{"task": "TASK"}"#, ADMIN),
    row("POST", "/v1/retention/plan", r#"{"keep_count": 9}"#, ADMIN),
    row("POST", "/v1/retention", r#"{"keep_count": 9, "task": "TASK"}"#, ADMIN),
    get("/v1/jobs", ADMIN),
    get("/v1/jobs/7", [403, 403, 404]),
    row("DELETE", "/v1/jobs/7", "", [403, 403, 404]),
    row("POST", "/v1/jobs", r#"{"compact": {"dry_run": true}}"#, [403, 403, 201]),
    row("POST", "/v1/jobs", r#"{"capture": {"folder": "/"}}"#, [403, 403, 403]),
    row("POST", "/v1/agent/hooks", HOOK, [403, 403, 403]),
    get("/v1/stats", OPEN),
    get("/v1/me", OPEN),
    row("POST", "/v1/sessions", "", [201, 201, 201]),
    row("DELETE", "/v1/sessions/current", "", [404, 404, 404]),
    get("/v1/stats?user=ana", [200, 403, 200]),
    // As the seeds have it
    get("/api/v1/tasks/TASK/checkpoints", OWN),
    get("/api/v1/checkpoints/ID", OWN),
    get("/api/v1/meta/checkpoint-metrics", ADMIN),
    row("POST", CLEANUP, "", ADMIN),
    row("POST", CLEANUP, r#"{"user_id": "ana"}"#, OWN),
    row("POST", CLEANUP, r#"{"thread_id": "TASK"}"#, OWN),
    get(STATS, ADMIN),
    get("/api/v0/checkpoint/direct/stats?user_id=ana", OWN),
    // Routes that start a task are last: it would be in the lists.
    row("POST", "/v1/tasks", r#"{"id": "TASK-of-hers", "user": "ana"}"#, [201, 403, 409]),
    row("POST", "/v1/tasks", r#"{"id": "started-by-WHO"}"#, [201, 201, 201]),
];

impl Row {
    fn is_open(&self) -> bool {
        let path = self.path;
        let begins = |begin| path.starts_with(begin);
        path.ends_with('z')
            || ["/", "/openapi.json", "/favicon.ico"].contains(&path)
            || begins("/docs")
            || begins("/page/")
    }

    async fn ask(&self, served: &Served, caller: &Caller, name: &str, id: &str) -> Came {
        let filled = |text: &str| {
            let text = text.replace("TASK", name).replace("ID", id);
            text.replace("WHO", caller.name)
        };
        let token = caller.token.as_deref();
        let asked = request(self.method, &filled(self.path), token, &filled(self.body));
        let headers = [("accept", self.accept), ("x-request-id", "same")];
        served.ask(dressed(asked, &headers)).await
    }
}

struct Caller {
    name: &'static str,
    token: Option<String>,
}

fn caller(name: &'static str, token: impl Into<Option<String>>) -> Caller {
    let token = token.into();
    Caller { name, token }
}

/// Callers of whom none is let in.
fn strangers(served: &Served) -> Vec<Caller> {
    let new = NewToken { user: "ana".into(), admin: true, ..NewToken::default() };
    let (info, revoked) = served.tokens.create(&new, 0).unwrap();
    served.tokens.revoke(&info.id, 1).unwrap();
    let ends = NewToken { expires_us: Some(NOW_US), ..new.clone() };
    let expired = served.tokens.create(&ends, 0).unwrap().1;
    let (_, good) = served.tokens.create(&new, 0).unwrap();
    let (begin, _) = good.rsplit_once('_').unwrap();
    vec![
        caller("nobody", None),
        caller("empty", String::new()),
        caller("malformed", "x".to_owned()),
        caller("without a secret", begin.to_owned()),
        caller("wrong secret", format!("{begin}_{}", "A".repeat(43))),
        caller("expired", expired),
        caller("revoked", revoked),
    ]
}

/// A task of ana's with something for every request, with two restores of which one is undone, and
/// its checkpoint's id.
fn whole(served: &Served, workspace: &Workspace, id: &str) -> String {
    let task = served.task(id, "ana", 0);
    task.append(Message::text("user", "hello")).unwrap();
    let first = Some(Mark::new().label("first"));
    workspace.capture(&served.engine, &task, first).unwrap();
    let point = served.engine.point(&format!("{id}@first")).unwrap();
    served.engine.restore(&point).run().unwrap();
    served.engine.restore(&point).run().unwrap();
    served.engine.undo(id).run().unwrap();
    point.checkpoint.unwrap().to_string()
}

fn folder() -> (tempfile::TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("draft.md"), "# One\n").unwrap();
    let workspace = Workspace::open(folder.path(), WorkspaceOptions::default()).unwrap();
    (folder, workspace)
}

/// Returns the whole answer: even the request's id and the time are the same.
fn all_of(came: &Came) -> (u16, &axum::http::HeaderMap, &[u8]) {
    (came.status.as_u16(), &came.headers, &came.bytes)
}

#[tokio::test]
async fn each_route_answers_each_caller_as_the_page_says() {
    let (served, elsewhere) = (Served::new(), Served::new());
    let (_folder, workspace) = folder();
    let strangers = strangers(&served);
    let ana = caller("ana", served.token("ana", false));
    let bob = caller("bob", served.token("bob", false));
    let root = caller("root", served.token("root", true));
    // The same request where nothing of ana's is.
    let bob_there = caller("bob", elsewhere.token("bob", false));
    for (n, row) in ROWS.iter().enumerate() {
        let said = format!("{} {} {}", row.method, row.path, row.body);
        let names = [format!("hers-{n}"), format!("also-{n}")];
        let [hers, also] = [&names[0], &names[1]].map(|name| whole(&served, &workspace, name));
        let commits = || served.engine.store().metrics().commits;
        let before = commits();
        for stranger in &strangers {
            let came = row.ask(&served, stranger, &names[0], &hers).await;
            let open = row.is_open();
            let status = if open { row.statuses[0] } else { 401 };
            assert_eq!(came.status, status, "{said} by {}: {came:?}", stranger.name);
            let bearer = if open { "" } else { "Bearer" };
            assert_eq!(came.header("www-authenticate"), bearer);
        }
        let [owner, other, admin] = row.statuses;
        let came = row.ask(&served, &bob, &names[0], &hers).await;
        assert_eq!(came.status, other, "{said} by bob: {came:?}");
        // The store's id differs.
        if !row.is_open() && other != 201 && row.path != "/v1/me" {
            assert_eq!(commits(), before, "{said}: who may not changes nothing");
            let there = row.ask(&elsewhere, &bob_there, &names[0], &hers).await;
            assert_eq!(all_of(&came), all_of(&there), "{said}");
        }
        let came = row.ask(&served, &ana, &names[0], &hers).await;
        assert_eq!(came.status, owner, "{said} by ana: {came:?}");
        // A path without a task is the same request again: ana's new task exists now.
        let name = if admin == 409 { &names[0] } else { &names[1] };
        let came = row.ask(&served, &root, name, &also).await;
        assert_eq!(came.status, admin, "{said} by an admin: {came:?}");
    }
}

#[tokio::test]
async fn where_no_token_was_ever_made_whoever_asks_may_do_all() {
    let served = Served::new();
    let (_folder, workspace) = folder();
    for (n, row) in ROWS.iter().enumerate() {
        let name = format!("hers-{n}");
        let id = whole(&served, &workspace, &name);
        let came = row.ask(&served, &caller("local", None), &name, &id).await;
        let status = match row.statuses[2] {
            // No earlier request had this key.
            409 => 201,
            status => status,
        };
        assert_eq!(came.status, status, "{} {} {came:?}", row.method, row.path);
    }
}

/// Adds the places of texts of digits, which are no numbers, apart from names and modes of files.
fn texts_of_digits(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| !["id", "mode"].contains(&name.as_str()));
            fields.for_each(|(name, value)| {
                texts_of_digits(value, &format!("{place}/{name}"), found)
            });
        }
        Value::Array(items) => items.iter().for_each(|item| texts_of_digits(item, place, found)),
        Value::String(text) if !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()) => {
            found.push(format!("{place}: {text}"));
        }
        _ => {}
    }
}

#[tokio::test]
async fn a_whole_number_in_an_answer_is_a_number() {
    let served = Served::new();
    let (_folder, workspace) = folder();
    let mut answers = 0;
    // An anchor is a file with a form of its own.
    let rows = ROWS.iter().filter(|row| row.path.starts_with("/v1/") && row.path != "/v1/anchor");
    for (n, row) in rows.enumerate() {
        let name = format!("hers-{n}");
        let id = whole(&served, &workspace, &name);
        let came = row.ask(&served, &caller("local", None), &name, &id).await;
        let Ok(answer) = serde_json::from_slice::<Value>(&came.bytes) else { continue };
        answers += 1;
        let mut found = Vec::new();
        texts_of_digits(&answer, row.path, &mut found);
        assert!(found.is_empty(), "{} {}: {found:?}", row.method, row.path);
    }
    assert!(answers > 60, "{answers}");
}

/// Returns `true` if a requested path matches a route's pattern.
fn is_of(path: &str, pattern: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let (asked, named) = (path.split('/'), pattern.split('/'));
    let same = |(asked, named): (&str, &str)| named.starts_with('{') || asked == named;
    asked.clone().count() == named.clone().count() && asked.zip(named).all(same)
}

#[tokio::test]
async fn every_route_that_is_described_is_in_the_table() {
    let api = Served::new().get("/openapi.json").await.json();
    let paths = api["paths"].as_object().unwrap();
    let mut described = 0;
    for (pattern, methods) in paths {
        for method in methods.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            let found = ROWS.iter().any(|row| row.method == method && is_of(row.path, pattern));
            assert!(found, "{method} {pattern}");
            described += 1;
        }
    }
    assert!(described >= 27, "{described}");
    // And none of them is made up.
    for row in ROWS {
        let asked = |(pattern, methods): (&String, &serde_json::Value)| {
            let methods = methods.as_object().unwrap();
            let method = row.method.to_lowercase();
            is_of(row.path, pattern) && methods.contains_key(&method)
        };
        let ours = row.path.starts_with("/v1/") && row.path != "/v1/nothing";
        assert!(!ours || paths.iter().any(asked), "{} {}", row.method, row.path);
    }
}
