//! Hostile paths, queries and headers: each is refused, and changes nothing.

use axum::http::HeaderValue;
use serde_json::json;

use crate::changing::{Three, dressed, problem};
use crate::served::request;

/// Names as they stand in a path that nothing has.
fn names() -> Vec<String> {
    let names = [
        "..",
        ".",
        "%2e%2e",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "..%2fhers",
        "%00",
        "hers%00",
        "%2F",
        "%ff",
        "%C0%AF",
        "%ED%A0%80",
        "%",
        "%zz",
        "%0d%0aX-Injected:%20yes",
        "%F0%9F%92%A9",
        "%20",
        "hers%20",
        "@",
        "@@",
        "@%00",
        "~",
        "hers~99999999999999999999",
        "hers~4294967296",
        "hers@99999999999999999999",
        "hers@-1",
        "hers@1e3",
        "hers%2F4294967296@1",
        "hers%2F-1@1",
        "%2F0@1",
        "ffffffff",
        "fffffff",
        "'%20OR%201=1--",
        "%3Cscript%3E",
        "*",
        "{task}",
    ];
    let mut names: Vec<_> = names.map(str::to_owned).into();
    names.extend([
        "a".repeat(10_000),
        "%61".repeat(10_000),
        "@".to_owned() + &"f".repeat(64),
        "f".repeat(65),
        "~1".repeat(5000),
    ]);
    names
}

const EVENT: &str = r#"{"kind": "step_started", "body": {"step": 1}}"#;

#[tokio::test]
async fn no_name_in_a_path_leads_anywhere() {
    let three = Three::new();
    let commits = || three.served.engine.store().metrics().commits;
    let before = commits();
    for name in names() {
        for (method, path, body) in [
            ("GET", "/v1/tasks/NAME", ""),
            ("DELETE", "/v1/tasks/NAME", ""),
            ("GET", "/v1/tasks/NAME/lineages", ""),
            ("GET", "/v1/tasks/NAME/events", ""),
            ("POST", "/v1/tasks/NAME/events", EVENT),
            ("GET", "/v1/tasks/NAME/checkpoints", ""),
            ("POST", "/v1/tasks/NAME/checkpoints", "{}"),
            ("POST", "/v1/tasks/NAME/control", r#"{"to": "running"}"#),
            ("POST", "/v1/tasks/NAME/guidance", r#"{"text": "a"}"#),
            ("PATCH", "/v1/tasks/NAME/artifacts", r#"{"a": 1}"#),
            ("POST", "/v1/tasks/NAME/undo", ""),
            ("POST", "/v1/tasks/NAME/redo", ""),
            ("PUT", "/v1/tasks/NAME/active", r#"{"lineage": 0}"#),
            ("GET", "/v1/points/NAME", ""),
            ("GET", "/v1/points/NAME/event", ""),
            ("GET", "/v1/points/NAME/state", ""),
            ("GET", "/v1/points/NAME/diff/hers", ""),
            ("GET", "/v1/points/hers/diff/NAME", ""),
            ("GET", "/v1/points/NAME/files", ""),
            ("GET", "/v1/points/NAME/files/a", ""),
            ("GET", "/v1/points/hers/files/NAME", ""),
            ("GET", "/v1/points/hers/files/a/NAME/b", ""),
            ("GET", "/v1/checkpoints/NAME", ""),
            ("DELETE", "/v1/checkpoints/NAME", ""),
            ("GET", "/api/v1/tasks/NAME/checkpoints", ""),
            ("GET", "/api/v1/checkpoints/NAME", ""),
            ("GET", "/NAME", ""),
        ] {
            let path = path.replace("NAME", &name);
            let came = three.ask(method, &path, &three.root, body).await;
            let short: String = path.chars().take(80).collect();
            let said = format!("{method} {short} {}", came.status);
            assert!(came.status.is_client_error(), "{said} {came:?}");
            assert!(came.headers.get("x-injected").is_none(), "{said}");
            if !path.starts_with("/api/") {
                problem(&came);
            }
            assert!(came.bytes.len() < 64 << 10, "{said}");
        }
        // A page and what it needs come with the program: no file is opened.
        let path = format!("/docs/{name}");
        let status = three.served.get(&path).await.status.as_u16();
        assert!(matches!(status, 200 | 400 | 404), "{path} {status}");
    }
    assert_eq!(commits(), before);
}

#[tokio::test]
async fn a_task_of_any_name_is_found_where_its_location_says() {
    let three = Three::new();
    for id in [
        "a/../b",
        "%2e%2e",
        "a b",
        "50%",
        "a?b#c",
        "\u{1f4a9}",
        "\"quoted\"",
        "a;b,c",
        "'",
        "a@b",
        "a~1",
        "/",
        "\u{2028}",
    ] {
        let body = json!({ "id": id }).to_string();
        let came = three.post("/v1/tasks", &body).await;
        if came.status == 400 {
            // Addresses could not name it.
            problem(&came);
            continue;
        }
        assert_eq!(came.status, 201, "{id}: {came:?}");
        let location = came.header("location").to_owned();
        assert_eq!(location.matches('/').count(), 3, "{location}");
        let found = three.ask("GET", &location, &three.ana, "").await;
        assert_eq!(found.json()["id"], id);
    }
    let before = three.served.engine.store().metrics().commits;
    for id in ["", "\0", "a\r\nX-Injected: yes", "\u{7f}", &"a".repeat(1025), &"a".repeat(10_000)] {
        let body = json!({ "id": id }).to_string();
        let came = three.post("/v1/tasks", &body).await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{id:?}");
    }
    assert_eq!(three.served.engine.store().metrics().commits, before);
}

#[tokio::test]
async fn numbers_that_are_none_are_refused() {
    let three = Three::new();
    for number in ["-1", "1e18", "99999999999999999999", "1.5", "0x10", "NaN", "", "%00", "1%20"] {
        for query in [
            "/v1/tasks?limit=",
            "/v1/tasks/hers/checkpoints?limit=",
            "/v1/tasks/hers/checkpoints?lineage=",
            "/v1/tasks/hers/events?limit=",
            "/v1/tasks/hers/events?from=",
            "/v1/tasks/hers/events?to=",
            "/v1/tasks/hers/events?lineage=",
        ] {
            let path = format!("{query}{number}");
            let came = three.ask("GET", &path, &three.ana, "").await;
            assert_eq!(problem(&came), (400, "invalid".into()), "{path}");
        }
        let path = format!("/api/v1/tasks/hers/checkpoints?limit={number}");
        assert_eq!(three.ask("GET", &path, &three.ana, "").await.status, 400, "{path}");
    }
    for path in [
        "/v1/tasks?limit=0",
        "/v1/tasks?limit=101",
        "/v1/tasks?limit=5&limit=6",
        "/v1/tasks?limits=5",
        "/v1/tasks/hers/events?limit=0",
        "/v1/tasks/hers/events?limit=1001",
        "/v1/tasks/hers/checkpoints?limit=0",
        "/v1/tasks/hers/checkpoints?limit=101",
        "/v1/tasks/hers/checkpoints?status=fine",
    ] {
        let came = three.ask("GET", path, &three.ana, "").await;
        assert_eq!(problem(&came), (400, "invalid".into()), "{path}");
    }
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused_and_one_of_another_user_shows_nothing_of_theirs() {
    let three = Three::new();
    let task = three.served.engine.task("hers").unwrap();
    for _ in 0..3 {
        task.checkpoint(milepost::Mark::new()).unwrap();
    }
    three.served.task("also", "ana", 3);
    let lists = [
        "/v1/tasks?limit=1",
        "/v1/tasks/hers/checkpoints?limit=1",
        "/v1/tasks/also/checkpoints?limit=1",
    ];
    let mut cursors = Vec::new();
    for list in lists {
        let came = three.ask("GET", list, &three.ana, "").await;
        cursors.push(came.json()["next"].as_str().unwrap().to_owned());
    }
    for (list, own) in lists.iter().zip(&cursors) {
        for cursor in &cursors {
            let came = three.ask("GET", &format!("{list}&cursor={cursor}"), &three.ana, "").await;
            assert_eq!(came.status == 200, cursor == own, "{list} {cursor}");
        }
        for cursor in ["", "zz", "0", "00", "%00", &own.to_uppercase(), &"ab".repeat(4000)] {
            // A cursor without letters is the same in upper case.
            if cursor == own {
                continue;
            }
            let came = three.ask("GET", &format!("{list}&cursor={cursor}"), &three.ana, "").await;
            assert_eq!(problem(&came), (400, "invalid".into()), "{list} {cursor}");
        }
    }
    // Made up, but of the list: its end.
    let long = format!("/v1/tasks?cursor={}{}", cursors[0], "ff".repeat(1000));
    assert_eq!(three.ask("GET", &long, &three.ana, "").await.status, 200);
    let path = format!("/v1/tasks?cursor={}", cursors[0]);
    let bobs = three.ask("GET", &path, &three.bob, "").await;
    let items = bobs.json()["items"].clone();
    let whose = items.as_array().unwrap().iter().all(|task| task["user"] == "bob");
    assert!(whose, "{items}");
}

#[tokio::test]
async fn long_queries_and_many_tags_are_answered() {
    let three = Three::new();
    let long = "x".repeat(8 << 10);
    for (path, status) in [
        (format!("/v1/tasks?user={long}"), 200),
        (format!("/v1/tasks?{long}=1"), 400),
        (format!("/v1/points/hers/state?pointer=/{long}"), 404),
        (format!("/v1/points/hers/state?pointer={}", "/a".repeat(4 << 10)), 404),
        (format!("/v1/points/hers/state?pointer=/~{long}"), 400),
        (format!("/v1/points/hers?{}", "a=1&".repeat(2 << 10)), 400),
        (format!("/v1/stats?user={}", "%00".repeat(2 << 10)), 200),
    ] {
        let came = three.ask("GET", &path, &three.root, "").await;
        assert_eq!(came.status, status, "{}", &path[..40]);
    }
    let mut asked = request("GET", "/v1/points/hers/state", Some(&three.ana), "");
    for n in 0..200 {
        let tags: Vec<_> = (0..50).map(|m| format!("W/\"{n}-{m}\"")).collect();
        let tags = tags.join(", ").parse().unwrap();
        asked.headers_mut().append("if-none-match", tags);
    }
    let came = three.served.ask(asked).await;
    assert_eq!(came.status, 200);
    for value in [&b"\xff\xfe"[..], b"\"", b"\"\"\"", b"\xc3\xbc", b"\ta\tb"] {
        let value = HeaderValue::from_bytes(value).unwrap();
        let mut asked = request("GET", "/v1/points/hers/state", Some(&three.ana), "");
        asked.headers_mut().insert("if-none-match", value.clone());
        assert_eq!(three.served.ask(asked).await.status, 200, "{value:?}");
        for name in ["idempotency-key", "if-match"] {
            let mut asked = request("POST", "/v1/tasks/hers/events", Some(&three.ana), EVENT);
            asked.headers_mut().insert(name, value.clone());
            let came = three.served.ask(asked).await;
            assert_eq!(problem(&came), (400, "invalid".into()), "{name} {value:?}");
        }
    }
}

#[tokio::test]
async fn ten_thousand_wrong_tokens_are_answered_alike() {
    let three = Three::new();
    let (begin, _) = three.ana.rsplit_once('_').unwrap();
    let mut first = None;
    for n in 0..10_000u32 {
        let token = match n % 4 {
            0 => format!("mp_{n:08x}_{n:043}"),
            1 => format!("{begin}_{n:043}"),
            2 => "x".repeat(n as usize),
            _ => format!("mp_{n}"),
        };
        let asked = request("GET", "/v1/tasks", Some(&token), "");
        let came = three.served.ask(dressed(asked, &[("x-request-id", "same")])).await;
        let came = (came.status, came.headers, came.bytes);
        let first = first.get_or_insert_with(|| came.clone());
        assert_eq!(*first, came, "{n}");
    }
    assert_eq!(first.unwrap().0, 401);
    assert_eq!(three.ask("GET", "/v1/tasks", &three.ana, "").await.status, 200);
}
