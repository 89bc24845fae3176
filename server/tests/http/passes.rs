//! `/v1/tasks/{task}/states`: the checkpoints of a lineage, each with its state.

use milepost::events::{ArtifactsEdited, Message};
use milepost::retention::Policy;
use milepost::{Json, Mark, Task};
use serde_json::{Value, json};

use crate::served::{Served, request};

/// The lines of an answer.
async fn lines(served: &Served, path: &str) -> Vec<Value> {
    let came = served.get(path).await;
    assert_eq!(came.status, 200, "{path}: {came:?}");
    assert_eq!(came.header("content-type"), "application/x-ndjson");
    let text = String::from_utf8(came.bytes).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the answers of the routes of a single checkpoint and a single state for each checkpoint
/// of a task, oldest first.
async fn one_by_one(served: &Served, task: &str, messages: &str) -> Vec<Value> {
    let all = served.get(&format!("/v1/tasks/{task}/checkpoints?limit=100")).await.json();
    let mut lines = Vec::new();
    for checkpoint in all["items"].as_array().unwrap().iter().rev() {
        let id = checkpoint["id"].as_str().unwrap();
        let state = served.get(&format!("/v1/points/@{id}/state{messages}")).await.json();
        let of_id = served.get(&format!("/v1/checkpoints/{id}")).await.json();
        lines.push(json!({
            "checkpoint": of_id, "point": state["point"], "state": state["state"],
        }));
    }
    lines
}

/// Steps with messages and artifacts that are longer each time, up to many buffers.
fn growing(task: &Task, steps: u64) {
    for n in 0..steps {
        let text = "word ".repeat(1 << (2 * n));
        task.append(Message::text("user", &text)).unwrap();
        let artifact = Json::new(format!("[\n{n},\r\n \"{text}\"]")).unwrap();
        let artifacts = [(format!("a-{}", n % 3), artifact)].into();
        task.append(ArtifactsEdited { artifacts }).unwrap();
        let metadata = Json::new(format!("{{\n\"n\": {n}\n}}")).unwrap();
        task.checkpoint(Mark::new().metadata(metadata)).unwrap();
    }
}

#[tokio::test]
async fn each_line_has_what_the_routes_of_one_checkpoint_answer() {
    let served = Served::new();
    let task = served.task("essay", "ana", 2);
    growing(&task, 9);
    task.checkpoint(Mark::new().at(2).label("earlier")).unwrap();
    for messages in ["", "?messages=0", "?messages=2"] {
        let expected = one_by_one(&served, "essay", messages).await;
        let found = lines(&served, &format!("/v1/tasks/essay/states{messages}")).await;
        assert_eq!(found.len(), 12);
        assert!(found == expected, "{messages}");
    }
}

#[tokio::test]
async fn a_range_a_limit_and_a_lineage_are_what_is_asked_for() {
    let served = Served::new();
    let task = served.task("essay", "ana", 0);
    growing(&task, 4);
    let branch = served.engine.branch(&served.engine.point("essay~2").unwrap()).run().unwrap();
    branch.append(Message::text("user", "elsewhere")).unwrap();
    branch.checkpoint(Mark::new().label("branched")).unwrap();
    let all = lines(&served, "/v1/tasks/essay/states").await;
    let marks: Vec<_> = all.iter().map(|line| line["checkpoint"]["mark"].clone()).collect();
    assert_eq!(marks, [3, 6, 9, 12].map(Value::from));
    let some = |query: &'static str| lines(&served, query);
    assert_eq!(some("/v1/tasks/essay/states?from=4&to=9").await, all[1..2]);
    assert_eq!(some("/v1/tasks/essay/states?from=6&limit=2").await, all[1..3]);
    assert_eq!(some("/v1/tasks/essay/states?from=13").await, all[..0]);
    let branched = some("/v1/tasks/essay/states?lineage=1").await;
    // A branch at a checkpoint has the mark of it.
    assert_eq!(branched[..3], all[..3], "what was before the fork is part of it");
    assert_eq!(branched[3]["checkpoint"]["label"], "branched");
    assert_eq!(branched[3]["point"]["lineage"], 1);
    assert_eq!(branched.len(), 4);
}

#[tokio::test]
async fn what_cannot_be_asked_for_is_said() {
    let served = Served::new();
    growing(&served.task("essay", "ana", 0), 3);
    for (query, status) in [
        ("?from=3&to=2", 400),
        ("?from=99", 400),
        ("?limit=0", 400),
        ("?limit=1001", 400),
        ("?messages=1001", 400),
        ("?lineage=7", 404),
        ("?pointer=/step", 400),
    ] {
        let came = served.get(&format!("/v1/tasks/essay/states{query}")).await;
        assert_eq!(came.status, status, "{query}: {came:?}");
    }
    assert_eq!(served.get("/v1/tasks/none/states").await.status, 404);
    let mut asked = request("GET", "/v1/tasks/essay/states", None, "");
    asked.headers_mut().insert("accept", "application/json".parse().unwrap());
    assert_eq!(served.ask(asked).await.status, 406);
    served.engine.retention().retain(&Policy::new().keep(1)).unwrap();
    assert_eq!(served.get("/v1/tasks/essay/states?from=1").await.status, 404);
    assert_eq!(lines(&served, "/v1/tasks/essay/states").await.len(), 1);
}

#[tokio::test]
async fn an_event_whose_json_has_line_breaks_is_one_line() {
    let served = Served::new();
    growing(&served.task("essay", "ana", 0), 2);
    let mut asked = request("GET", "/v1/tasks/essay/events", None, "");
    asked.headers_mut().insert("accept", "application/x-ndjson".parse().unwrap());
    let came = served.ask(asked).await;
    let text = String::from_utf8(came.bytes).unwrap();
    let read: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let page = served.get("/v1/tasks/essay/events").await.json();
    assert_eq!(Value::from(read), page["items"]);
}
