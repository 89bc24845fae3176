//! The state of the folder of a task.

use milepost::hooks::{WorkspaceChange, WorkspaceState};
use serde_json::{Value, json};

use crate::served::{Events, Served, request};

const PATH: &str = "/v1/tasks/site/workspace";

fn change(before: WorkspaceState, state: WorkspaceState, error: Option<&str>) -> WorkspaceChange {
    let mut change = WorkspaceChange::new("site", "/srv/site", before, state);
    (change.files, change.error) = (3, error.map(str::to_owned));
    change
}

#[tokio::test]
async fn the_state_of_a_folder_is_told_now_and_as_it_changes() {
    use WorkspaceState::{Creating, Error, Idle, Restoring};
    let served = Served::new();
    served.task("site", "ana", 0);
    let ana = served.token("ana", false);
    let now = || async { served.get_as(&ana, PATH).await.json() };
    let first = now().await;
    assert_eq!((&first["state"], &first["folder"]), (&json!("idle"), &Value::Null));
    let mut events = Events::of(&served, Some(&ana), PATH).await;
    assert_eq!(events.next().await, ("workspace".to_owned(), first));
    let captures = served.engine.captures();
    for (before, state, error) in [
        (Idle, Creating, None),
        (Creating, Idle, None),
        (Idle, Restoring, None),
        (Restoring, Error, Some("the disk is full")),
    ] {
        captures.report(&change(before, state, error));
        let told = now().await;
        assert_eq!(
            (&told["state"], &told["before"]),
            (&json!(state.name()), &json!(before.name()))
        );
        assert_eq!((&told["files"], &told["error"]), (&json!(3), &json!(error)));
        assert_eq!((&told["folder"], &told["task"]), (&json!("/srv/site"), &json!("site")));
        assert_eq!(events.next().await, ("workspace".to_owned(), told));
    }
    let text = request("GET", PATH, Some(&ana), "");
    let text = crate::changing::dressed(text, &[("accept", "text/plain")]);
    assert_eq!(served.ask(text).await.status, 406);
}

#[tokio::test]
async fn a_task_with_the_id_of_a_deleted_one_has_a_folder_of_its_own() {
    let served = Served::new();
    served.task("site", "ana", 0);
    let ana = served.token("ana", false);
    let change = change(WorkspaceState::Idle, WorkspaceState::Creating, None);
    served.engine.captures().report(&change);
    let mut events = Events::of(&served, Some(&ana), PATH).await;
    assert_eq!(events.next().await.1["state"], "creating");
    served.engine.retention().delete_task("site").unwrap();
    assert_eq!(events.next().await.0, "problem");
    assert_eq!(served.get_as(&ana, PATH).await.status, 404);
    served.task("site", "ana", 0);
    assert_eq!(served.get_as(&ana, PATH).await.json()["state"], "idle");
}
