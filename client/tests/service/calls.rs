//! Each method once, and its answer.

use std::os::unix::ffi::OsStrExt as _;

use milepost_client::api::{
    Big, ControlRequest, EraseRequest, Fields, FileChangeForm, FileChangeKind, MarkRequest,
    StatsForm,
};
use milepost_client::calls::{
    AllCheckpoints, AllCheckpointsQuery, Blame, BlameQuery, Checkpoint, CheckpointQuery,
    Checkpoints, Control, DeleteTask, EditArtifacts, Erase, FileChanges, Lineages, Point,
    StartTask, Stats, StatsQuery, Summary, Task, TaskQuery, Tasks,
};
use milepost_client::codec::{
    ArtifactsEdited, Body, Json, LineageId, MarkStatus, Message, RunControl, TreePath,
};
use milepost_client::{
    Append, Client, ClientBuilder, Conditions, ErrorKind, EventQuery, Followed, Start,
};
use milepost_workspace::{Workspace, WorkspaceOptions};
use serde_json::json;

use crate::served::{Served, branch_of, guide_of, labelled, long, mark_of, restore_of, start_of};

fn blame_of(pointer: &str, history: bool) -> Blame {
    Blame::new("essay", BlameQuery { pointer: pointer.to_owned(), history })
}

fn message(text: &str) -> Message {
    Message::text("user", text)
}

fn json_of(value: serde_json::Value) -> Json {
    Json::from_value(&value).unwrap()
}

/// Returns a request of a copy of a task.
fn copy_of(original: &str, id: &str) -> StartTask {
    let mut copy = start_of(id);
    copy.body.copy_of = Some(original.to_owned());
    copy
}

/// Not there any more, or never.
async fn is_gone(client: &Client, task: &str) -> bool {
    let error = client.call(&Task::new(task)).await.unwrap_err();
    error.kind() == ErrorKind::NotFound
}

pub async fn tasks() {
    let served = Served::with_essay().await;
    served.engine.start_task("other", "ana").unwrap();
    let client = served.client();
    let query = TaskQuery { limit: Some(1), ..Default::default() };
    let first = client.call(&Tasks::new(query.clone())).await.unwrap();
    assert_eq!(first.items[0].id, "other");
    let cursor = first.next;
    assert!(cursor.is_some());
    let second = TaskQuery { cursor, ..query };
    let second = client.call(&Tasks::new(second)).await.unwrap();
    assert_eq!((second.items[0].id.as_str(), second.next), ("essay", None));
    let query = TaskQuery { user: Some("ana".into()), ..Default::default() };
    let of_ana = client.call(&Tasks::new(query)).await.unwrap();
    assert_eq!(of_ana.items.len(), 1);
    let query = TaskQuery { prefix: Some("ess".into()), ..Default::default() };
    let begun = client.call(&Tasks::new(query.clone())).await.unwrap();
    assert_eq!((begun.items.len(), begun.items[0].id.as_str()), (1, "essay"));
    assert_eq!(client.summaries(query).await.unwrap().items.len(), 1);
}

pub async fn start_task() {
    let served = Served::new().await;
    let client = served.client();
    let plain = client.call(&start_of("plain")).await.unwrap();
    assert_eq!((plain.user.as_str(), plain.head), ("local", Big(1)));
    let odd = "a/b c@1%2F?#é";
    let initial = json_of(json!({"variables": {"a b+c%": "dry"}}));
    let mut begun = start_of(odd);
    begun.body.user = Some("ana".into());
    begun.body.initial = Some(initial.clone());
    let begun = client.call(&begun).await.unwrap();
    assert_eq!((begun.id.as_str(), begun.user.as_str()), (odd, "ana"));
    assert_eq!(client.call(&Task::new(odd)).await.unwrap(), begun);
    let mut odd = start_of("b c?#é");
    odd.body.initial = Some(initial);
    client.call(&odd).await.unwrap();
    let part = client.state_at("b c?#é/0@1", "/variables/a b+c%");
    assert_eq!(part.await.unwrap().value, Json::string("dry"));
    let copy = client.call(&copy_of("a/b c@1%2F?#é", "copy")).await.unwrap();
    assert_eq!((copy.head, copy.user.as_str()), (begun.head, "local"));
    let error = client.call(&copy_of("plain", "copy")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let error = client.call(&copy_of("none", "new")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

pub async fn task() {
    let served = Served::with_essay().await;
    let task = served.client().call(&Task::new("essay")).await.unwrap();
    assert_eq!((task.head, task.lineages, task.active.0), (Big(5), 1, 0));
}

pub async fn delete_task() {
    let served = Served::with_essay().await;
    let client = served.client();
    client.call(&DeleteTask::new("essay")).await.unwrap();
    assert!(is_gone(&client, "essay").await);
}

pub async fn lineages() {
    let served = Served::with_essay().await;
    let client = served.client();
    client.call(&restore_of("essay@one")).await.unwrap();
    let lineages = client.call(&Lineages::new("essay")).await.unwrap();
    let active: Vec<bool> = lineages.items.iter().map(|lineage| lineage.active).collect();
    assert_eq!(active, [false, true]);
    let parent = lineages.items[1].parent.as_ref().unwrap();
    assert_eq!((parent.lineage.0, parent.offset), (0, Big(4)));
}

pub async fn summaries() {
    let served = Served::with_essay().await;
    let client = served.client();
    client.call(&start_of("other")).await.unwrap();
    let query = TaskQuery { limit: Some(1), ..TaskQuery::default() };
    let first = client.summaries(query.clone()).await.unwrap();
    assert_eq!((first.items.len(), first.items[0].id.as_str()), (1, "other"));
    let rest = client.summaries(TaskQuery { cursor: first.next, ..query }).await.unwrap();
    assert_eq!(rest.items, [client.call(&Summary::new("essay")).await.unwrap()]);
    assert_eq!(rest.next, None);
}

pub async fn summary() {
    let served = Served::with_essay().await;
    let client = served.client();
    client.append("essay", message("how long is it?")).await.unwrap();
    client.call(&restore_of("essay@one")).await.unwrap();
    let essay = client.call(&Summary::new("essay")).await.unwrap();
    assert_eq!(essay.lineages.len(), 2);
    assert_eq!(essay.lineages[1].fork, Some(Big(4)));
    assert_eq!(essay.active().unwrap().id.0, 1);
    let missing = client.call(&Summary::new("nope")).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

pub async fn append() {
    let served = Served::with_essay().await;
    let client = served.client();
    let appended = client.append("essay", message("one")).await.unwrap();
    assert_eq!((appended.first, appended.next), (Big(5), Big(6)));
    assert!(!appended.repeated && appended.checkpoint.is_none());
    // JSON of several lines, in one event word for word, in many on one line each.
    let lines = Json::new("{\n\"a\":\r\n 1e400}").unwrap();
    let edited = ArtifactsEdited { artifacts: [("a".to_owned(), lines.clone())].into() };
    let one = Append::from(edited.clone()).mark(labelled("marked"));
    let one = client.append("essay", one).await.unwrap();
    assert!(one.checkpoint.is_some());
    let event = client.event("essay@6").await.unwrap();
    assert_eq!(event.event.body, Some(edited.clone().into()));
    let bodies: [Body; 2] = [edited.into(), message("last").into()];
    let (status, aliases) = (Some(MarkStatus::Failure), vec!["m-1".to_owned()]);
    let mark = MarkRequest { status, aliases, ..labelled("many") };
    let many = Append::batch(bodies).mark(mark).key("k").expect_head(8);
    let many = many.lineage(0);
    let done = client.append("essay", many.clone()).await.unwrap();
    assert_eq!((done.first, done.next), (Big(8), Big(11)));
    let event = client.event("essay@8").await.unwrap();
    let Some(Body::ArtifactsEdited(edited)) = event.event.body else { panic!("{event:?}") };
    assert_eq!(edited.artifacts["a"].text(), "{ \"a\":\r  1e400}");
    assert_eq!(event.event.key.as_deref(), Some("k"));
    let again = client.append("essay", many).await.unwrap();
    assert!(again.repeated && again.checkpoint == done.checkpoint);
    let id = done.checkpoint.unwrap().to_string();
    let checkpoint = client.call(&Checkpoint::new(&id)).await.unwrap();
    assert_eq!(checkpoint.aliases, ["m-1"]);
    let elsewhere = Append::from(message("x")).lineage(7);
    let error = client.append("essay", elsewhere).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

pub async fn events() {
    let served = Served::with_essay().await;
    let client = served.client();
    let query = EventQuery {
        from: Some(1),
        to: Some(4),
        limit: Some(2),
        lineage: Some(0),
        ..EventQuery::default()
    };
    let page = client.events("essay", query).await.unwrap();
    let kinds: Vec<&str> = page.items.iter().map(|event| &*event.kind).collect();
    assert_eq!(kinds, ["message", "step_finished"]);
    assert_eq!((page.next, page.head), (Some(Big(3)), Big(5)));
    let mut following = client.follow("essay", Start::Offset(4));
    let followed = following.next().await.unwrap().unwrap();
    let last = client.event("essay@4").await.unwrap();
    assert_eq!(followed, Followed::Event(last.event));
}

pub async fn point() {
    let served = Served::with_essay().await;
    let client = served.client();
    let point = client.call(&Point::new("essay@one")).await.unwrap();
    assert_eq!((point.address.as_str(), point.offset), ("essay/0@3", Big(3)));
    assert_eq!(client.call(&Point::new("essay/0@3")).await.unwrap().hash, point.hash);
}

pub async fn event() {
    let served = Served::with_essay().await;
    let at = served.client().event("essay@1").await.unwrap();
    assert_eq!((at.task.as_str(), at.event.offset), ("essay", Big(1)));
    assert_eq!(at.event.body, Some(message("hello").into()));
}

pub async fn state() {
    let served = Served::with_essay().await;
    let client = served.client();
    let state = client.state("essay@one").await.unwrap();
    assert_eq!(state.point.offset, Big(3));
    let value = state.state.value().unwrap();
    assert_eq!(value["messages"][0]["content"], "hello");
    let part = client.state_at("essay@one", "/messages/0/content");
    let part = part.await.unwrap();
    assert_eq!(part.value, Json::string("hello"));
    assert_eq!(part.pointer, "/messages/0/content");
    let none = client.state_at("essay@one", "/nothing").await.unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound);
    let short = client.state_with("essay@one", 0).await.unwrap();
    let short = short.state.value().unwrap();
    assert_eq!((&short["messages"], &short["prompt"]), (&json!([]), &value["prompt"]));
}

pub async fn diff() {
    let served = Served::with_essay().await;
    let client = served.client();
    let changes = client.diff("essay@1", "essay@one").await.unwrap();
    assert!(!changes.more);
    let added = changes.items.iter().find(|change| change.path == "/messages/0");
    assert_eq!(added.unwrap().after.as_ref().unwrap()["content"], "hello");
    let patch = client.patch("essay@1", "essay@one").await.unwrap();
    let patch = patch.value().unwrap();
    assert_eq!(patch.as_array().unwrap().len(), changes.items.len());
    assert!(patch[0]["op"].is_string());
}

pub async fn files() {
    let served = Served::with_files().await;
    let files = served.client().files("essay@files").await.unwrap();
    let files: Vec<_> =
        files.items.iter().map(|file| (file.path.to_string(), &*file.kind, file.size)).collect();
    let expected = [
        ("draft.md".to_owned(), "file", Some(Big(6))),
        ("src".to_owned(), "directory", None),
        ("src/a b%.bin".to_owned(), "file", Some(Big(700_000))),
    ];
    assert_eq!(files, expected);
}

pub async fn workspace() {
    let served = Served::with_files().await;
    let state = served.client().workspace("essay").await.unwrap();
    let folder = served.folder().canonicalize().unwrap();
    let named = state.folder.unwrap();
    assert_eq!(named.as_bytes(), folder.as_os_str().as_bytes());
    assert_eq!((state.state.as_str(), state.before.as_deref()), ("idle", Some("creating")));
    let missing = served.client().workspace("nope").await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

pub async fn file_changes() {
    let served = Served::with_files().await;
    std::fs::write(served.folder().join("draft.md"), "# Two\n").unwrap();
    std::fs::rename(served.folder().join("src/a b%.bin"), served.folder().join("a.bin")).unwrap();
    std::fs::write(served.folder().join("new"), "").unwrap();
    let workspace = Workspace::open(served.folder(), WorkspaceOptions::default()).unwrap();
    let task = served.engine.task("essay").unwrap();
    workspace.capture(&served.engine, &task, None).unwrap();
    let client = served.client();
    let changes = client.call(&FileChanges::new("essay@files", "essay")).await.unwrap();
    let name = |change: &FileChangeForm| (change.path().unwrap().to_string(), change.change);
    let names: Vec<_> = changes.items.iter().map(name).collect();
    let expected = [
        ("a.bin".to_owned(), FileChangeKind::Renamed),
        ("draft.md".to_owned(), FileChangeKind::Changed),
        ("new".to_owned(), FileChangeKind::Added),
    ];
    assert_eq!((names, changes.more), (expected.to_vec(), false));
    let none = client.call(&FileChanges::new("essay", "essay")).await.unwrap();
    assert!(none.items.is_empty());
    let error = client.call(&FileChanges::new("essay@0", "essay")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

pub async fn file() {
    let served = Served::with_files().await;
    let path = TreePath::new(b"src/a b%.bin").unwrap();
    let client = served.client();
    let bytes = client.file("essay@files", &path).await.unwrap();
    assert_eq!(bytes.size(), Some(700_000));
    assert_eq!(bytes.whole().await.unwrap(), long());
    let folder = TreePath::new(b"src").unwrap();
    let error = client.file("essay@files", &folder).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

pub async fn control() {
    let served = Served::with_essay().await;
    let client = served.client();
    let control = |to, reason: Option<&str>| {
        Control::new("essay", ControlRequest { to, reason: reason.map(str::to_owned) })
    };
    let running = client.call(&control(RunControl::Running, None)).await.unwrap();
    assert_eq!((running.control, running.repeated), (RunControl::Running, false));
    let (pause, key) = (control(RunControl::Paused, Some("to look")), Conditions::new().key("p"));
    client.call_under(&pause, &key).await.unwrap();
    let again = client.call_under(&pause, &key).await.unwrap();
    assert_eq!((again.control, again.repeated), (RunControl::Paused, true));
    assert_eq!(served.engine.task("essay").unwrap().control().now().unwrap(), RunControl::Paused);
    let error = client.call(&control(RunControl::Paused, None)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

pub async fn guide() {
    let served = Served::with_essay().await;
    let client = served.client();
    let mut guidance = guide_of("shorter");
    guidance.body.target = Some("draft.md".into());
    let at_five = Conditions::new().expect_head(5);
    let given = client.call_under(&guidance, &at_five).await.unwrap();
    assert_eq!((given.first, given.next), (Big(5), Big(6)));
    let event = client.event("essay@5").await.unwrap().event;
    let Some(Body::GuidanceGiven(guidance)) = event.body else { panic!("{event:?}") };
    assert_eq!(guidance.text, "shorter");
    assert_eq!(guidance.data.unwrap().text(), r#"{"target":"draft.md"}"#);
}

pub async fn edit_artifacts() {
    let served = Served::with_essay().await;
    let client = served.client();
    let edit = |artifacts: &[(&str, Json)]| {
        let artifacts = artifacts.iter().map(|(name, value)| (name.to_string(), value.clone()));
        EditArtifacts::new("essay", Fields(artifacts.collect()))
    };
    let set = edit(&[("a", Json::string("one")), ("b", json_of(json!([1])))]);
    client.call(&set).await.unwrap();
    let (remove, key) = (edit(&[("b", Json::null())]), Conditions::new().key("e"));
    client.call_under(&remove, &key).await.unwrap();
    assert!(client.call_under(&remove, &key).await.unwrap().repeated);
    let part = client.state_at("essay", "/artifacts").await.unwrap();
    assert_eq!(part.value.text(), r#"{"a":"one"}"#);
}

pub async fn blame() {
    let served = Served::with_essay().await;
    let client = served.client();
    let blamed = client.call(&blame_of("/messages/0", false)).await.unwrap();
    assert_eq!(blamed.changes.len(), 1);
    assert_eq!(blamed.changes[0].kind, "message");
    let all = client.call(&blame_of("/message_count", true)).await.unwrap();
    assert!(!all.changes.is_empty());
    let error = client.call(&blame_of("messages", false)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

pub async fn branch() {
    let served = Served::with_essay().await;
    let client = served.client();
    let opened = client.call(&branch_of("essay@one", Some("shorter"))).await.unwrap();
    assert_eq!((opened.id.0, opened.head, opened.active), (1, Big(5), false));
    assert_eq!(client.call(&Task::new("essay")).await.unwrap().active.0, 0);
}

pub async fn erase() {
    let served = Served::with_essay().await;
    let client = served.client();
    let secret = Message::text("user", "secret");
    let at = client.append("essay", secret).await.unwrap().first;
    let address = format!("essay@{at}");
    let erased = client
        .call(&Erase::new(&address, EraseRequest { reason: Some("a name".into()) }))
        .await
        .unwrap();
    assert_eq!((erased.was_erased, erased.offset), (false, at));
    assert!(client.call(&Erase::new(&address, EraseRequest::default())).await.unwrap().was_erased);
    assert_eq!(client.event(&address).await.unwrap().event.body, None);
}

pub async fn all_checkpoints() {
    let served = Served::with_essay().await;
    let client = served.client();
    let metadata = Json::from_value(&serde_json::json!({"step": 7})).unwrap();
    let mut mark = mark_of(None);
    mark.body.lineage = Some(LineageId(0));
    mark.body.metadata = Some(metadata.clone());
    let id = client.call(&mark).await.unwrap().id;
    let filter = Some(metadata.text().to_owned());
    let query = AllCheckpointsQuery { filter: filter.clone(), ..AllCheckpointsQuery::default() };
    let found = client.call(&AllCheckpoints::new(query)).await.unwrap();
    let ids: Vec<_> = found.items.iter().map(|one| one.id).collect();
    assert_eq!(ids, [id]);
    let query = CheckpointQuery { filter, ..CheckpointQuery::default() };
    assert_eq!(client.call(&Checkpoints::new("essay", query)).await.unwrap(), found);
    let all = client.call(&AllCheckpoints::new(AllCheckpointsQuery::default())).await;
    assert!(all.unwrap().items.len() > 1);
}

pub async fn me() {
    let served = Served::with_essay().await;
    let me = served.client().me().await.unwrap();
    assert_eq!((me.user.as_str(), me.admin, me.read_only), ("local", true, false));
    let store = served.engine.store();
    assert_eq!((me.store.id, me.store.keyed), (store.id().to_string(), false));
}

pub async fn start_session() {
    let served = Served::new().await;
    let session = served.client_of("ana", false).start_session(None).await.unwrap();
    assert_eq!((session.user.as_str(), session.admin), ("ana", false));
    let code = served.server.code().unwrap();
    let by_code = served.client().start_session(Some(&code)).await.unwrap();
    assert_eq!((by_code.user.as_str(), by_code.admin), ("local", true));
    let error = served.client().start_session(Some(&code)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
}

pub async fn end_session() {
    let served = Served::new().await;
    let token = served.client_of("ana", false);
    let session = token.start_session(None).await.unwrap().session;
    let client = ClientBuilder::new(&served.url()).token(session).build().unwrap();
    client.end_session().await.unwrap();
    assert_eq!(client.me().await.unwrap_err().kind(), ErrorKind::Unauthorized);
    assert_eq!(token.end_session().await.unwrap_err().kind(), ErrorKind::NotFound);
}

pub async fn stats() {
    let served = Served::with_essay().await;
    let client = served.client();
    let all = client.call(&Stats::new(StatsQuery::default())).await.unwrap();
    let StatsForm::Store(store) = all else { panic!("{all:?}") };
    assert_eq!((store.tasks, store.checkpoints), (Big(1), Big(1)));
    let query = StatsQuery { user: Some("local".into()), limit: Some(1), cursor: None };
    let own = client.call(&Stats::new(query)).await.unwrap();
    let StatsForm::User(user) = own else { panic!("{own:?}") };
    assert_eq!((user.user.as_str(), user.total.events), ("local", Big(5)));
}
