//! Tasks go back, and on again.

use milepost::Mark;
use milepost::events::PhaseChanged;
use milepost_workspace::{Workspace, WorkspaceOptions};
use serde_json::{Value, json};

use crate::changing::{Three, problem};

const RESTORES: &str = "/v1/restores";
const PLAN: &str = "/v1/restores/plan";
const UNDO: &str = "/v1/tasks/hers/undo";
const PLAN_UNDO: &str = "/v1/tasks/hers/undo/plan";
const REDO: &str = "/v1/tasks/hers/redo";
const ACTIVE: &str = "/v1/tasks/hers/active";
const ROOT: &str = r#"{"lineage": 0}"#;
const DRAFT: &str = r#"{"to": "hers@draft"}"#;

/// Makes ana's task: a phase, a checkpoint `draft`, and another phase.
fn drafted() -> Three {
    let three = Three::new();
    let task = three.served.engine.task("hers").unwrap();
    let phase = |phase: &str| PhaseChanged { phase: phase.into(), ..PhaseChanged::default() };
    task.append(phase("drafting")).unwrap();
    task.checkpoint(Mark::new().label("draft")).unwrap();
    task.append(phase("printing")).unwrap();
    three
}

fn phase(three: &Three) -> String {
    let engine = &three.served.engine;
    let state = engine.run_state(&engine.point("hers").unwrap()).unwrap();
    state.phase.unwrap()
}

#[tokio::test]
async fn a_plan_says_what_would_change_and_changes_nothing() {
    let three = drafted();
    let came = three.post(PLAN, DRAFT).await;
    assert_eq!(came.status, 200, "{came:?}");
    let plan = came.json();
    assert_eq!((&plan["task"], &plan["scope"]), (&json!("hers"), &json!("state")));
    assert_eq!((&plan["from"]["offset"], &plan["to"]["offset"]), (&json!(4), &json!(2)));
    let checkpoint = three.served.engine.task("hers").unwrap().last_successful();
    let checkpoint = checkpoint.unwrap().unwrap();
    assert_eq!(plan["to"]["checkpoint"], json!(checkpoint.id));
    assert_eq!(plan["to"]["hash"], json!(checkpoint.hash));
    let phase =
        json!({"path": "/phase", "kind": "replace", "before": "printing", "after": "drafting"});
    assert!(plan["changes"].as_array().unwrap().contains(&phase), "{plan}");
    assert_eq!(plan["more"], false);
    assert_eq!(three.served.engine.task("hers").unwrap().epoch(), 1);
}

#[tokio::test]
async fn what_a_restore_writes_has_who_asked_and_by_which_request() {
    let three = drafted();
    let id = [("x-request-id", "req-9")];
    let came = three.with("POST", RESTORES, &id, DRAFT).await;
    assert_eq!(came.status, 201, "{came:?}");
    let task = three.served.engine.task("hers").unwrap();
    let events: Vec<_> = task.read(3..).unwrap().map(Result::unwrap).collect();
    assert!(events.len() >= 2);
    for event in events {
        let by = (event.header.user, event.header.correlation);
        assert_eq!(by, (Some("ana".into()), Some("req-9".into())));
    }
}

#[tokio::test]
async fn a_task_goes_back_in_a_new_lineage_and_on_again() {
    let three = drafted();
    let body = r#"{"to": "hers@draft", "scope": "state", "description": "not yet"}"#;
    let came = three.post(RESTORES, body).await;
    assert_eq!(came.status, 201, "{came:?}");
    let form = came.json();
    assert_eq!((&form["task"]["id"], &form["task"]["active"]), (&json!("hers"), &json!(1)));
    let lineage = &form["lineage"];
    assert_eq!((&lineage["id"], &lineage["type"]), (&json!(1), &json!("restore")));
    assert_eq!((&lineage["description"], &lineage["active"]), (&json!("not yet"), &json!(true)));
    assert_eq!(phase(&three), "drafting");
    let came = three.post(UNDO, "").await;
    assert_eq!(came.status, 200, "{came:?}");
    let form = came.json();
    assert_eq!((&form["task"]["active"], &form["lineage"]["id"]), (&json!(0), &json!(0)));
    assert_eq!(phase(&three), "printing");
    let nothing = three.post(UNDO, "").await;
    assert_eq!(problem(&nothing), (400, "invalid".into()));
}

#[tokio::test]
async fn what_is_no_restore_is_refused() {
    let three = drafted();
    for path in [PLAN, RESTORES] {
        for body in [
            "",
            "{}",
            r#"{"to": 3}"#,
            r#"{"to": "hers@99"}"#,
            r#"{"to": "hers@"}"#,
            r#"{"to": "hers@1", "scope": "some"}"#,
            r#"{"to": "hers@1", "force": true}"#,
        ] {
            let came = three.post(path, body).await;
            assert_eq!(problem(&came), (400, "invalid".into()), "{path} {body}");
        }
        let none = three.post(path, r#"{"to": "hers@final"}"#).await;
        assert_eq!(problem(&none), (404, "not_found".into()));
    }
    let keyed = [("idempotency-key", "k")];
    let files = r#"{"to": "hers@draft", "scope": "files", "folder": "/nowhere"}"#;
    let came = three.with("POST", RESTORES, &keyed, files).await;
    assert_eq!(problem(&came), (400, "invalid".into()));
    assert_eq!(three.served.engine.task("hers").unwrap().epoch(), 1);
}

#[tokio::test]
async fn somebody_elses_task_goes_nowhere() {
    let three = drafted();
    let none = r#"{"to": "none@draft"}"#;
    three.hides_in("POST", (PLAN, DRAFT), (PLAN, none)).await;
    three.hides_in("POST", (RESTORES, DRAFT), (RESTORES, none)).await;
    // By the checkpoint's id, too.
    let id = three.served.engine.task("hers").unwrap().last_successful();
    let [hers, nobodys] = [id.unwrap().unwrap().id.to_string(), "0".repeat(64)]
        .map(|id| format!("{{\"to\": \"@{id}\"}}"));
    three.hides_in("POST", (PLAN, &hers), (PLAN, &nobodys)).await;
    three.hides("POST", PLAN_UNDO, "/v1/tasks/none/undo/plan", "").await;
    three.hides("POST", UNDO, "/v1/tasks/none/undo", "").await;
    three.hides("POST", REDO, "/v1/tasks/none/redo", "").await;
    three.hides_in("PUT", (ACTIVE, ROOT), ("/v1/tasks/none/active", ROOT)).await;
}

#[tokio::test]
async fn a_task_switches_to_a_lineage_and_undo_and_redo_go_there_and_back() {
    let three = drafted();
    let engine = &three.served.engine;
    engine.branch(&engine.point("hers@draft").unwrap()).run().unwrap();
    let put = async |body: &str, headers: &[(&'static str, &str)]| {
        three.with("PUT", ACTIVE, headers, body).await
    };
    let came = put(r#"{"lineage": 1}"#, &[]).await;
    assert_eq!(came.status, 200, "{came:?}");
    let form = came.json();
    assert_eq!((&form["task"]["active"], &form["lineage"]["id"]), (&json!(1), &json!(1)));
    assert_eq!((&form["task"]["epoch"], phase(&three).as_str()), (&json!(2), "drafting"));
    // Again: nothing is changed.
    assert_eq!(put(r#"{"lineage": 1}"#, &[]).await.json()["task"]["epoch"], 2);
    assert_eq!(three.post(UNDO, "").await.json()["lineage"]["id"], 0);
    let redone = three.post(REDO, "").await;
    assert_eq!((redone.status.as_u16(), &redone.json()["lineage"]["id"]), (200, &json!(1)));
    assert_eq!(problem(&three.post(REDO, "").await), (400, "invalid".into()));
    assert_eq!(problem(&put(r#"{"lineage": 9}"#, &[]).await), (404, "not_found".into()));
    for wrong in ["", "{}", r#"{"lineage": -1}"#, r#"{"lineage": 0, "to": 1}"#] {
        assert_eq!(put(wrong, &[]).await.status, 400, "{wrong}");
    }
    // The head of the lineage that it leaves is a condition, and a key is used once.
    let came = put(ROOT, &[("if-match", "\"99\"")]).await;
    assert_eq!((came.status.as_u16(), &came.json()["head"]), (412, &json!(4)), "{came:?}");
    let key = [("idempotency-key", "s")];
    assert_eq!(put(ROOT, &key).await.json()["lineage"]["id"], 0);
    assert_eq!(three.post(UNDO, "").await.json()["lineage"]["id"], 1);
    assert_eq!(put(ROOT, &key).await.json()["lineage"]["id"], 0);
    assert_eq!(engine.task("hers").unwrap().lineage().id().0, 1, "it is not done again");
    assert_eq!(put(r#"{"lineage": 1}"#, &key).await.status, 409);
}

/// A store next to a folder with one file, captured before `ana` changed it; and a restore of it.
struct Captured {
    three: Three,
    folder: tempfile::TempDir,
}

impl Captured {
    fn new() -> Self {
        let three = Three::new();
        let folder = tempfile::tempdir().unwrap();
        let captured = Self { three, folder };
        captured.write("first");
        let workspace = Workspace::open(captured.folder.path(), WorkspaceOptions::default());
        let (engine, workspace) = (&captured.three.served.engine, workspace.unwrap());
        let task = engine.task("hers").unwrap();
        let mark = Mark::new().label("draft");
        workspace.capture(engine, &task, Some(mark)).unwrap();
        captured.write("second, and longer");
        workspace.capture(engine, &task, None).unwrap();
        captured
    }

    fn write(&self, text: &str) {
        std::fs::write(self.folder.path().join("essay.md"), text).unwrap();
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("essay.md")).unwrap()
    }

    fn body(&self, scope: &str, choices: Value) -> String {
        let folder = self.folder.path();
        json!({"to": "hers@draft", "scope": scope, "folder": folder, "choices": choices})
            .to_string()
    }
}

#[tokio::test]
async fn files_go_back_with_the_state_or_without_for_an_admin() {
    for scope in ["all", "files"] {
        let captured = Captured::new();
        let three = &captured.three;
        let body = captured.body(scope, json!({}));
        let plan = three.ask("POST", PLAN, &three.root, &body).await;
        assert_eq!(plan.status, 200, "{plan:?}");
        let plan = plan.json();
        assert_eq!(plan["scope"], scope);
        assert_eq!(plan["files"]["changes"][0]["path"], "essay.md");
        assert_eq!(plan["files"]["changes"][0]["bytes"], 5);
        assert_eq!(plan["files"]["conflicts"], json!([]));
        assert_eq!(plan["changes"] == json!([]), scope == "files", "{plan}");
        assert_eq!(captured.text(), "second, and longer");
        let came = three.ask("POST", RESTORES, &three.root, &body).await;
        assert_eq!(came.status, 201, "{came:?}");
        let form = came.json();
        assert_eq!(form["lineage"]["type"], "rollback");
        assert_eq!(form["files"]["changes"][0]["path"], "essay.md");
        assert_eq!(form["kept"], json!([]));
        assert_eq!(captured.text(), "first");
        // A switch away from it is undone without the folder.
        let came = three.with("PUT", ACTIVE, &[], ROOT).await;
        assert_eq!(came.status, 200, "{came:?}");
        assert_eq!(three.post(UNDO, "").await.json()["lineage"]["type"], "rollback");
        let undo = three.post(UNDO, "").await;
        assert_eq!(problem(&undo), (403, "forbidden".into()), "files are for admins");
        let undo = three.ask("POST", UNDO, &three.root, "").await;
        assert_eq!(problem(&undo), (409, "conflict".into()), "it does not know the folder");
    }
}

#[tokio::test]
async fn an_undo_takes_files_back_through_a_workspace_that_joined_and_for_an_admin_only() {
    let captured = Captured::new();
    let three = &captured.three;
    let body = captured.body("all", json!({}));
    assert_eq!(three.ask("POST", RESTORES, &three.root, &body).await.status, 201);
    let engine = &three.served.engine;
    let workspace = Workspace::open(captured.folder.path(), WorkspaceOptions::default()).unwrap();
    let task = engine.task("hers").unwrap();
    let _joined = engine.restores().join(&task, workspace.participant()).unwrap();
    let undo = three.post(UNDO, "").await;
    assert_eq!(problem(&undo), (403, "forbidden".into()));
    assert_eq!(captured.text(), "first");
    let undo = three.ask("POST", UNDO, &three.root, "").await;
    assert_eq!(undo.status, 200, "{undo:?}");
    assert_eq!((&undo.json()["files"], &undo.json()["files_lineage"]), (&json!({}), &json!(0)));
    assert_eq!(captured.text(), "second, and longer");
}

#[tokio::test]
async fn what_stands_in_the_way_of_files_is_said_and_decided_about() {
    let captured = Captured::new();
    let three = &captured.three;
    captured.write("mine");
    let body = captured.body("all", json!({}));
    let plan = three.ask("POST", PLAN, &three.root, &body).await.json();
    assert_eq!(plan["files"]["conflicts"][0]["path"], "essay.md", "{plan}");
    let refused = three.ask("POST", RESTORES, &three.root, &body).await;
    assert_eq!(problem(&refused), (409, "conflict".into()));
    assert_eq!(captured.text(), "mine");
    let theirs = captured.body("all", json!({"theirs": ["essay.md"]}));
    let came = three.ask("POST", RESTORES, &three.root, &theirs).await;
    assert_eq!(came.status, 201, "{came:?}");
    assert_eq!(captured.text(), "first");
}

#[tokio::test]
async fn files_are_refused_to_users_and_without_an_absolute_folder() {
    let captured = Captured::new();
    let three = &captured.three;
    let body = captured.body("all", json!({}));
    for path in [PLAN, RESTORES] {
        for body in [&body, r#"{"to": "none@1", "scope": "files", "folder": "/"}"#] {
            let came = three.post(path, body).await;
            assert_eq!(problem(&came), (403, "forbidden".into()), "{path}");
        }
        for (body, status) in [
            (r#"{"to": "hers@draft", "scope": "all"}"#, 400),
            (r#"{"to": "hers@draft", "scope": "all", "folder": "work"}"#, 400),
            (r#"{"to": "hers@draft", "scope": "all", "folder": "/is/not/there"}"#, 404),
            (
                r#"{"to": "hers@draft", "scope": "all", "folder": "/", "choices": {"all": true}}"#,
                400,
            ),
            (
                r#"{"to": "hers@draft", "scope": "all", "folder": "/tmp", "choices": {"theirs": ["../x"]}}"#,
                400,
            ),
            (r#"{"to": "hers@draft", "folder": "/tmp"}"#, 400),
            (r#"{"to": "his", "scope": "all", "folder": "/tmp"}"#, 404),
        ] {
            let came = three.ask("POST", path, &three.root, body).await;
            assert_eq!(problem(&came).0, status, "{path} {body} {came:?}");
        }
    }
    assert_eq!(captured.text(), "second, and longer");
}

#[tokio::test]
async fn a_plan_of_an_undo_says_what_would_change_and_changes_nothing() {
    let three = drafted();
    let nothing = three.post(PLAN_UNDO, "").await;
    assert_eq!(problem(&nothing), (400, "invalid".into()));
    assert_eq!(three.post(RESTORES, DRAFT).await.status, 201);
    let came = three.post(PLAN_UNDO, "").await;
    assert_eq!(came.status, 200, "{came:?}");
    let plan = came.json();
    assert_eq!((&plan["scope"], &plan["files"]), (&json!("state"), &Value::Null));
    assert_eq!((&plan["from"]["lineage"], &plan["to"]["lineage"]), (&json!(1), &json!(0)));
    let phase =
        json!({"path": "/phase", "kind": "replace", "before": "drafting", "after": "printing"});
    assert!(plan["changes"].as_array().unwrap().contains(&phase), "{plan}");
    assert_eq!(three.served.engine.task("hers").unwrap().epoch(), 2);
    // A restore of the state takes no folder.
    let folder = r#"{"folder": "/tmp"}"#;
    assert_eq!(problem(&three.post(PLAN_UNDO, folder).await), (403, "forbidden".into()));
    for path in [PLAN_UNDO, UNDO] {
        for body in [folder, r#"{"choices": {"moved": true}}"#, r#"{"scope": "all"}"#] {
            let came = three.ask("POST", path, &three.root, body).await;
            assert_eq!(problem(&came), (400, "invalid".into()), "{path} {body}");
        }
    }
    assert_eq!(three.served.engine.task("hers").unwrap().epoch(), 2);
}

#[tokio::test]
async fn an_undo_takes_the_files_of_a_folder_that_is_named_back_as_its_plan_says() {
    let captured = Captured::new();
    let three = &captured.three;
    let body = captured.body("all", json!({}));
    assert_eq!(three.ask("POST", RESTORES, &three.root, &body).await.status, 201);
    assert_eq!(problem(&three.post(PLAN_UNDO, "").await), (403, "forbidden".into()));
    // Without the folder its files are not planned.
    let plan = three.ask("POST", PLAN_UNDO, &three.root, "").await.json();
    assert_eq!((&plan["scope"], plan.get("files")), (&json!("all"), None));
    let folder = captured.folder.path();
    let with = |choices: Value| json!({"folder": folder, "choices": choices}).to_string();
    captured.write("mine");
    let plan = three.ask("POST", PLAN_UNDO, &three.root, &with(json!({}))).await;
    assert_eq!(plan.status, 200, "{plan:?}");
    assert_eq!(plan.json()["files"]["conflicts"][0]["path"], "essay.md");
    for path in [PLAN_UNDO, UNDO] {
        let refused = three.post(path, &with(json!({}))).await;
        assert_eq!(problem(&refused), (403, "forbidden".into()), "{path}");
    }
    let refused = three.ask("POST", UNDO, &three.root, &with(json!({}))).await;
    assert_eq!(problem(&refused), (409, "conflict".into()));
    assert_eq!(captured.text(), "mine");
    let theirs = with(json!({"theirs": ["essay.md"]}));
    let plan = three.ask("POST", PLAN_UNDO, &three.root, &theirs).await.json();
    assert_eq!(plan["files"]["changes"][0]["path"], "essay.md", "{plan}");
    let undone = three.ask("POST", UNDO, &three.root, &theirs).await;
    assert_eq!(undone.status, 200, "{undone:?}");
    let form = undone.json();
    assert_eq!((&form["lineage"]["id"], &form["kept"]), (&json!(0), &json!([])));
    assert_eq!(form["files"]["changes"][0]["path"], "essay.md");
    assert_eq!(captured.text(), "second, and longer");
}

#[tokio::test]
async fn a_branch_is_activated_where_that_is_asked_for() {
    let three = drafted();
    let path = "/v1/points/hers@draft/branch";
    let came = three.post(path, r#"{"description": "another", "activate": true}"#).await;
    assert_eq!(came.status, 201, "{came:?}");
    assert_eq!((&came.json()["id"], &came.json()["active"]), (&json!(1), &json!(true)));
    assert_eq!(phase(&three), "drafting");
    assert_eq!(three.post(path, "").await.json()["active"], false);
    assert_eq!(three.post(UNDO, "").await.json()["lineage"]["id"], 0);
}
