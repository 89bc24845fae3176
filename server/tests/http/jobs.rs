//! Jobs: started once, looked at, listed, cancelled.

use axum::body::Body;
use axum::http::Request;
use milepost_server::ServerOptions;
use serde_json::{Value, json};

use crate::served::{Came, Served, request};

fn keyed(key: &str, body: &str) -> Request<Body> {
    let mut request = request("POST", "/v1/jobs", None, body);
    request.headers_mut().insert("idempotency-key", key.parse().unwrap());
    request
}

const PLAN: &str = r#"{"compact": {"dry_run": true}}"#;

async fn ended(served: &Served, id: &Value) -> Value {
    served.get(&format!("/v1/jobs/{}?wait=30", id.as_str().unwrap())).await.json()
}

fn id(came: &Came) -> Value {
    assert_eq!(came.status, 201, "{}", came.json());
    came.json()["id"].clone()
}

#[tokio::test]
async fn a_job_is_started_looked_at_and_listed() {
    let served = Served::new();
    served.task("essay", "ana", 1);
    let started = served.post("/v1/jobs", PLAN).await;
    let id = id(&started);
    assert_eq!(started.header("location"), format!("/v1/jobs/{}", id.as_str().unwrap()));
    let job = ended(&served, &id).await;
    assert_eq!((&job["kind"], &job["state"]), (&json!("compact"), &json!("done")));
    let result = &job["result"]["compact"];
    assert_eq!((&result["dry_run"], &result["after"]), (&json!(true), &Value::Null), "{job}");
    assert_eq!(job["error"], Value::Null);
    let list = served.get("/v1/jobs").await.json();
    // The list leaves out what may be long.
    let mut short = job.clone();
    short["result"] = Value::Null;
    assert_eq!((&list["items"][0], &list["next"]), (&short, &Value::Null));
    // One that has ended stays as it is.
    let path = format!("/v1/jobs/{}", id.as_str().unwrap());
    let cancelled = served.ask(request("DELETE", &path, None, "")).await;
    assert_eq!((cancelled.status.as_u16(), cancelled.json()), (202, job));
}

#[tokio::test]
async fn a_job_is_started_once_under_a_key() {
    let served = Served::new();
    let first = id(&served.ask(keyed("k", PLAN)).await);
    assert_eq!(id(&served.ask(keyed("k", PLAN)).await), first);
    ended(&served, &first).await;
    assert_eq!(id(&served.ask(keyed("k", PLAN)).await), first);
    let other = served.ask(keyed("k", r#"{"compact": {"dry_run": true, "force": true}}"#)).await;
    assert_eq!(other.status, 409, "{}", other.json());
    assert_ne!(id(&served.ask(keyed("l", PLAN)).await), first);
}

#[tokio::test]
async fn what_is_no_job_is_refused_and_names_its_fault() {
    let served = Served::new();
    for (body, fault) in [
        ("{}", "expected"),
        (r#"{"paint": {}}"#, "paint"),
        (r#"{"compact": {"dry_rum": true}}"#, "dry_rum"),
        (r#"{"compact": {}, "capture": {"folder": "/"}}"#, "expected"),
        (r#"{"capture": {}}"#, "folder"),
    ] {
        let came = served.post("/v1/jobs", body).await;
        assert_eq!(came.status, 400, "{body}");
        let detail = came.json()["detail"].to_string();
        assert!(detail.contains(fault), "{body}: {detail}");
    }
    // A folder belongs to a machine.
    let came = served.post("/v1/jobs", r#"{"capture": {"folder": "/"}}"#).await;
    assert_eq!(came.status, 403);
    for path in ["/v1/jobs/7", "/v1/jobs/x"] {
        assert_eq!(served.get(path).await.status, 404);
    }
    assert_eq!(served.get("/v1/jobs/7?wait=soon").await.status, 400);
    assert_eq!(served.get("/v1/jobs").await.json()["items"], json!([]));
}

#[tokio::test]
async fn the_hundred_jobs_that_ended_last_are_kept() {
    let served = Served::with(ServerOptions::default());
    let mut ids = Vec::new();
    for _ in 0..120 {
        let id = id(&served.post("/v1/jobs", PLAN).await);
        ended(&served, &id).await;
        ids.push(id);
    }
    let list = served.get("/v1/jobs").await.json();
    let items = list["items"].as_array().unwrap();
    // The list forgets those before it.
    assert_eq!((items.len(), &items[0]["id"]), (100, &ids[119]));
    let first = format!("/v1/jobs/{}", ids[0].as_str().unwrap());
    assert_eq!(served.get(&first).await.status, 404);
}
