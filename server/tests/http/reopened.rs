//! A store whose write failed is opened again, and a disk that is nearly full takes no more.

use milepost::{Engine, Options};
use milepost_server::ServerOptions;

use crate::served::{Served, request};

const EVENTS: &str = "/v1/tasks/hers/events";

#[tokio::test(flavor = "multi_thread")]
async fn a_store_whose_write_failed_is_opened_again_by_itself() {
    let served = Served::new();
    served.task("hers", "ana", 1);
    let store = served.dir.path().to_owned();
    let open = move || Engine::open(&store, Options::default()).map_err(|e| e.to_string());
    let _kept = served.server().keep_open(open).unwrap();
    // The next file of the archive has no folder.
    let (archive, away) = (served.dir.path().join("archive"), served.dir.path().join("away"));
    std::fs::rename(&archive, &away).unwrap();
    // Each with another text: one that comes again takes no room.
    let event = |n: u32| {
        let content = format!("{n:04}").repeat(25_000);
        serde_json::json!({"kind": "message", "body": {"role": "user", "content": content}})
            .to_string()
    };
    let mut n = 0;
    while served.post(EVENTS, &event(n)).await.status == 201 {
        n += 1;
        assert!(n < 1000, "nothing was archived");
    }
    assert!(served.engine.store().is_poisoned());
    std::fs::rename(&away, &archive).unwrap();
    while served.get("/readyz").await.status != 200 {
        tokio::task::yield_now().await;
    }
    let came = served.post(EVENTS, &event(n)).await;
    assert_eq!(came.status, 201, "{:?}", came.json());
    served.server().engine().close().unwrap();
}

#[tokio::test]
async fn what_makes_a_store_grow_is_507_where_its_disk_is_nearly_full() {
    let served = Served::with(ServerOptions::default().disk_reserve(u64::MAX));
    served.task("hers", "ana", 1);
    let event = r#"{"kind": "step_started", "body": {"step": 1}}"#;
    for (method, path, body) in [
        ("POST", EVENTS, event),
        ("POST", "/v1/tasks", r#"{"id": "new"}"#),
        ("POST", "/v1/tasks/hers/checkpoints", "{}"),
        ("PATCH", "/v1/tasks/hers/artifacts", r#"{"a": 1}"#),
        ("POST", "/v1/restores", r#"{"to": "hers@1"}"#),
    ] {
        let came = served.ask(request(method, path, None, body)).await;
        assert_eq!(came.status, 507, "{path}: {came:?}");
        assert_eq!(came.header("retry-after"), "1");
    }
    assert_eq!(served.get("/v1/tasks/hers").await.status, 200);
    for (method, path, body) in [
        ("POST", "/v1/restores/plan", r#"{"to": "hers@1"}"#),
        ("POST", "/v1/retention", r#"{"keep_count": 1}"#),
        ("DELETE", "/v1/tasks/hers", ""),
    ] {
        let came = served.ask(request(method, path, None, body)).await;
        assert!(came.status.is_success(), "{path}: {came:?}");
    }
}
