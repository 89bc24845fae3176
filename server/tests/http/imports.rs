//! Imports are jobs at the socket in a store.

use milepost::{Engine, Options};
use milepost_server::attach;
use serde_json::json;

use crate::attached::ask;

const HELLO: &str = "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"hello\"}\n";

#[test]
fn an_import_is_a_job_with_notes_and_a_report() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let attached = attach(&engine).unwrap();
    let file = dir.path().join("run.jsonl");
    std::fs::write(&file, HELLO.to_owned() + "nope\n" + HELLO).unwrap();
    let asked = json!({"import": {"default_user": "ana",
        "paths": [{"path": file, "name": "run.jsonl"}, {"path": dir.path().join("gone")}]}});
    let (status, job) = ask(attached.socket(), "POST /v1/jobs", &asked.to_string());
    assert_eq!((status, &job["kind"]), (201, &json!("import")), "{job}");
    let path = format!("GET /v1/jobs/{}?wait=30", job["id"].as_str().unwrap());
    let (_, job) = ask(attached.socket(), &path, "");
    assert_eq!(job["state"], "done", "{job}");
    let result = &job["result"]["import"];
    assert_eq!(result["bad_lines"], 1);
    assert_eq!(result["tasks"][0]["events"], 2);
    let failed = &result["failed"][0];
    assert_eq!((&failed["kind"], &failed["remedy"]["name"]), (&json!("io"), &json!("check_path")));
    assert_eq!(job["notes_total"], 2);
    let places: Vec<_> = job["notes"].as_array().unwrap().iter().map(|it| &it["note"]).collect();
    assert_eq!(places, ["skipped", "failed"].map(|name| json!(name)).iter().collect::<Vec<_>>());
    assert_eq!(engine.task("run").unwrap().user(), "ana");
    // A list has no notes.
    let (_, list) = ask(attached.socket(), "GET /v1/jobs", "");
    assert_eq!(
        (&list["items"][0]["notes"], &list["items"][0]["notes_total"]),
        (&json!([]), &json!(2))
    );
}

#[test]
fn only_absolute_paths_of_files_and_folders_are_imported() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path(), Options::default()).unwrap();
    let attached = attach(&engine).unwrap();
    for (path, problem) in [("run.jsonl", "absolute"), ("/dev/null", "no file and no folder")] {
        let asked = json!({"import": {"paths": [{"path": path}]}});
        let (_, job) = ask(attached.socket(), "POST /v1/jobs", &asked.to_string());
        let path = format!("GET /v1/jobs/{}?wait=30", job["id"].as_str().unwrap());
        let (_, job) = ask(attached.socket(), &path, "");
        assert_eq!(job["state"], "failed", "{job}");
        assert!(job["error"]["detail"].as_str().unwrap().contains(problem), "{job}");
    }
    assert!(engine.task("run").is_err());
}
