//! Each operation has the same answer, or the same error, in this process and over HTTP.

use std::collections::BTreeSet;

use milepost::events::{MarkStatus, RunControl};
use milepost::{Json, Mark as NewMark, Scope};
use milepost_client::api::{
    Big, BranchRequest, CheckpointRequest, ControlRequest, EraseRequest, Fields, GuidanceRequest,
    PinRequest, RestoreRequest, RetentionRequest, SwitchRequest, TaskRequest, UndoFolderRequest,
    VerifyRequest,
};
use milepost_client::calls::{
    AliasQuery, Align, AlignQuery, AllCheckpoints, AllCheckpointsQuery, Anchor, Attach,
    Attachments, Bisect, BisectQuery, Blame, BlameQuery, Branch, Checkpoint, CheckpointQuery,
    Checkpoints, Control, DeleteTask, EditArtifacts, Erase, FileChanges, Folders, Guide, Lineages,
    Mark, MetricsQuery, Overview, OverviewQuery, Pin, Pins, PlanRestore, PlanRetention, PlanUndo,
    Point, Redo, Restore, Retain, Rows, RowsQuery, Search, SearchQuery, Series, SeriesQuery,
    StartTask, Stats, StatsQuery, Summary, Switch, Task, TaskMetrics, TaskQuery, Tasks, Turns,
    TurnsQuery, Undo, Unmark, UnmarkAll, UnmarkQuery, Unpin, Verify,
};
use milepost_client::{Client, ErrorKind};
use milepost_service::{Serve, View};
use serde_json::{Value, json};

use crate::served::Served;

/// Removes the times, which differ between two changes.
fn timeless(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| name != "time" && name != "time_us");
        fields.values_mut().for_each(|field| *field = timeless(field.take()));
    }
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(|item| *item = timeless(item.take()));
    }
    value
}

/// A store, a client of its service, and the operations that were answered.
struct BothWays {
    served: Served,
    /// The store of the calls in this process, if it is another one: an equal one.
    other: Option<Served>,
    client: Client,
    answered: BTreeSet<&'static str>,
}

impl BothWays {
    fn new(served: Served) -> Self {
        let client = served.client();
        Self { served, other: None, client, answered: BTreeSet::new() }
    }

    /// Performs an operation in this process, and then over HTTP.
    async fn compare<C: Serve>(&mut self, call: C) {
        let (engine, comparable): (_, fn(Value) -> Value) = match &self.other {
            Some(other) => (&other.engine, of_any_store),
            None => (&self.served.engine, timeless),
        };
        let here = call.clone().serve(&View::new(engine, None, None));
        let here = here.map(|answer| comparable(serde_json::to_value(answer).unwrap()));
        let there = self.client.call(&call).await;
        let there = there.map(|answer| comparable(serde_json::to_value(answer).unwrap()));
        match (here, there) {
            (Ok(here), Ok(there)) => {
                assert_eq!(here, there, "{}", C::ID);
                self.answered.insert(C::ID);
            }
            (Err(here), Err(there)) => {
                assert_eq!(here.to_string(), there.detail(), "{}", C::ID);
                assert_eq!(kind_of(&here), there.kind(), "{}", C::ID);
                let remedy = match &here {
                    milepost_service::Error::Restore(failure) => failure.remedy.as_ref(),
                    _ => None,
                };
                assert_eq!(remedy, there.remedy(), "{}", C::ID);
            }
            (here, there) => panic!("{}: {here:?} here, {there:?} over HTTP", C::ID),
        }
    }

    /// Checks that each of these operations had an answer, and not only errors.
    fn has_answered(&self, operations: &[&str]) {
        let missing: Vec<_> =
            operations.iter().filter(|id| !self.answered.contains(**id)).collect();
        assert!(missing.is_empty(), "{missing:?} had only errors");
    }
}

/// Returns the kind that a client gives to an error of an operation.
fn kind_of(error: &milepost_service::Error) -> ErrorKind {
    let error = match error {
        milepost_service::Error::Forbidden(_) => return ErrorKind::Forbidden,
        milepost_service::Error::TooMuch(_) => return ErrorKind::TooLarge,
        milepost_service::Error::Engine(error) => error,
        milepost_service::Error::Restore(failure) => &failure.error,
    };
    match error.kind() {
        milepost::ErrorKind::NotFound => ErrorKind::NotFound,
        milepost::ErrorKind::Invalid => ErrorKind::Invalid,
        milepost::ErrorKind::Conflict => ErrorKind::Conflict,
        _ => ErrorKind::Unavailable,
    }
}

#[tokio::test]
async fn an_operation_says_the_same_in_this_process_and_over_http() {
    let mut both = BothWays::new(Served::with_essay().await);
    both.served.engine.start_task("other", "ana").unwrap();
    let marked = both.served.engine.task("essay").unwrap().checkpoint(NewMark::new()).unwrap();
    let query = |limit| TaskQuery { limit: Some(limit), ..TaskQuery::default() };
    for limit in [0, 1, 100, 101] {
        both.compare(Tasks::new(query(limit))).await;
    }
    let cursor = Some("no cursor".to_owned());
    both.compare(Tasks::new(TaskQuery { cursor, ..TaskQuery::default() })).await;
    for task in ["essay", "none"] {
        both.compare(Task::new(task)).await;
        both.compare(Summary::new(task)).await;
        both.compare(Lineages::new(task)).await;
    }
    let id = marked.id.to_string();
    let long = "x".repeat(2000);
    for id in [&id, &id[..8], &id[..4], "0123456789", "no id"] {
        for reason in [None, Some("the best"), Some(long.as_str())] {
            let body = PinRequest { reason: reason.map(str::to_owned) };
            both.compare(Pin::new(id, body)).await;
        }
        both.compare(Pins::new("essay")).await;
        both.compare(Unpin::new(id)).await;
    }
    both.compare(Pins::new("none")).await;
    both.has_answered(&["tasks", "task", "summary", "lineages", "pin", "pins", "unpin"]);
}

#[tokio::test]
async fn lists_of_checkpoints_are_the_same_in_this_process_and_over_http() {
    let mut both = BothWays::new(Served::with_files().await);
    let task = both.served.engine.task("essay").unwrap();
    task.checkpoint(NewMark::new().alias("a").status(MarkStatus::Failure)).unwrap();
    let filters = [None, Some("{}"), Some(r#"{"a": 1}"#), Some("7"), Some("no JSON")];
    for filter in filters.map(|filter| filter.map(str::to_owned)) {
        for alias in [None, Some("a".to_owned())] {
            let (filter, alias) = (filter.clone(), alias.clone());
            let query = CheckpointQuery { filter, alias, ..CheckpointQuery::default() };
            for task in ["essay", "none"] {
                both.compare(Checkpoints::new(task, query.clone())).await;
            }
            let CheckpointQuery { filter, alias, .. } = query;
            let query = AllCheckpointsQuery { filter, alias, ..AllCheckpointsQuery::default() };
            both.compare(AllCheckpoints::new(query)).await;
        }
        let query = UnmarkQuery { filter, ..UnmarkQuery::default() };
        both.compare(UnmarkAll::new(query)).await;
    }
    for (task, alias) in [("essay", "a"), ("essay", ""), ("none", "a")] {
        let query = AliasQuery { alias: alias.into() };
        both.compare(Attachments::new(task, query)).await;
    }
    for task in ["essay", "none"] {
        both.compare(Folders::new(task)).await;
    }
    both.compare(Unmark::new("0123456789")).await;
    both.has_answered(&["checkpoints", "all_checkpoints", "unmark_all", "attachments", "folders"]);
}

/// A change over HTTP follows the same change in this process: it leaves the store as it is, or is
/// refused for the same reason.
#[tokio::test]
async fn a_repeated_change_says_the_same_in_this_process_and_over_http() {
    let mut both = BothWays::new(Served::with_essay().await);
    both.served.engine.restore(&both.served.engine.point("essay@one").unwrap()).run().unwrap();
    for lineage in [0, 1, 2] {
        both.compare(Switch::new("essay", SwitchRequest { lineage })).await;
    }
    both.compare(Switch::new("none", SwitchRequest { lineage: 0 })).await;
    for task in ["essay", "none"] {
        both.compare(Redo::new(task)).await;
    }
    for address in ["essay/1@4", "essay@99", "essay@none", "none@1"] {
        both.compare(Erase::new(address, EraseRequest::default())).await;
    }
    let erase = Erase::new("essay/0@1", EraseRequest::default());
    erase.clone().serve(&View::new(&both.served.engine, None, None)).unwrap();
    both.compare(erase).await;
    both.has_answered(&["switch", "erase"]);
}

#[tokio::test]
async fn readings_are_the_same_in_this_process_and_over_http() {
    let mut both = BothWays::new(Served::with_files().await);
    for task in ["essay", "none"] {
        for (lineage, limit, failed) in [(None, None, false), (Some(0), Some(1), true)] {
            let rows = RowsQuery { lineage, limit, failed, ..RowsQuery::default() };
            both.compare(Rows::new(task, rows)).await;
            let turns = TurnsQuery { lineage, limit, failed, ..TurnsQuery::default() };
            both.compare(Turns::new(task, turns)).await;
            let overview = OverviewQuery { lineage, buckets: limit };
            both.compare(Overview::new(task, overview)).await;
            both.compare(TaskMetrics::new(task, MetricsQuery { lineage })).await;
        }
    }
    let (from, to) = (Some(Big(3)), Some(Big(1)));
    let rows = RowsQuery { from, to, ..RowsQuery::default() };
    both.compare(Rows::new("essay", rows)).await;
    let turns = TurnsQuery { from, near: to, ..TurnsQuery::default() };
    both.compare(Turns::new("essay", turns)).await;
    for limit in [None, Some(0), Some(1001)] {
        let align = AlignQuery { limit, ..AlignQuery::default() };
        both.compare(Align::new("essay@one", "essay", align)).await;
        let search = SearchQuery { limit, text: Some("hello".into()), ..SearchQuery::default() };
        both.compare(Search::new(search)).await;
    }
    both.compare(Search::new(SearchQuery::default())).await;
    for (user, limit) in [(Some("local"), Some(1)), (Some("local"), Some(0)), (None, Some(1))] {
        let (user, cursor) = (user.map(str::to_owned), None);
        both.compare(Stats::new(StatsQuery { user, limit, cursor })).await;
    }
    for address in ["essay", "essay@one", "essay/0@2", "essay@99", "none"] {
        both.compare(Point::new(address)).await;
        both.compare(FileChanges::new("essay@files", address)).await;
    }
    let marks = Checkpoints::new("essay", CheckpointQuery::default());
    let marks = marks.serve(&View::new(&both.served.engine, None, None)).unwrap().items;
    for id in [&marks[0].id.to_string(), "0123456789", "01234", "no id"] {
        both.compare(Checkpoint::new(id)).await;
    }
    both.has_answered(&[
        "rows",
        "turns",
        "overview",
        "task_metrics",
        "align",
        "search",
        "stats",
        "point",
        "file_changes",
        "checkpoint",
    ]);
}

/// Removes what differs between two stores of the same history: times, and hashes, of which the
/// ids of checkpoints are some.
fn of_any_store(mut value: Value) -> Value {
    const OWN: [&str; 7] =
        ["created", "created_us", "hash", "opened", "opened_us", "time", "time_us"];
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| !OWN.contains(&name.as_str()));
        fields.values_mut().for_each(|field| *field = of_any_store(field.take()));
    }
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(|item| *item = of_any_store(item.take()));
    }
    match value.as_str() {
        Some(text) if text.len() == 64 => Value::Null,
        _ => value,
    }
}

/// These changes can be made once, so each way has a store of its own.
#[tokio::test]
async fn a_change_that_is_made_once_says_the_same_in_two_equal_stores() {
    let (here, there) = (Served::with_essay().await, Served::with_essay().await);
    for served in [&here, &there] {
        let engine = &served.engine;
        engine.restore(&engine.point("essay@one").unwrap()).run().unwrap();
        engine.undo("essay").run().unwrap();
    }
    let (view, client) = (View::new(&here.engine, None, None), there.client());
    let redo = Redo::new("essay");
    let one = serde_json::to_value(redo.clone().serve(&view).unwrap()).unwrap();
    let two = serde_json::to_value(client.call(&redo).await.unwrap()).unwrap();
    assert_eq!(one["lineage"]["id"], 1);
    assert_eq!(of_any_store(one), of_any_store(two));
    let ids = [&here, &there].map(|served| {
        let marked = served.engine.task("essay").unwrap().checkpoint(NewMark::new());
        marked.unwrap().id.to_string()
    });
    Unmark::new(&ids[0]).serve(&view).unwrap();
    client.call(&Unmark::new(&ids[1])).await.unwrap();
    for (served, id) in [&here, &there].into_iter().zip(&ids) {
        let gone = served.engine.query().checkpoint(id).unwrap_err();
        assert_eq!(gone.kind(), milepost::ErrorKind::NotFound);
    }
}

#[tokio::test]
async fn reads_of_states_are_the_same_in_this_process_and_over_http() {
    let mut both = BothWays::new(Served::with_essay().await);
    for address in ["essay", "essay@one", "essay@99", "none"] {
        for (pointer, history) in [("/messages/0", false), ("/message_count", true), ("no", false)]
        {
            let query = BlameQuery { pointer: pointer.to_owned(), history };
            both.compare(Blame::new(address, query)).await;
        }
        for (when, good) in
            [("/message_count >= 1", None), ("/x > 1", Some("essay@1")), ("?", None)]
        {
            let (when, good) = (when.to_owned(), good.map(str::to_owned));
            both.compare(Bisect::new(address, BisectQuery { when, good })).await;
        }
        for (metric, x, points) in
            [("loss", None, None), ("loss", Some("time"), Some(1)), ("loss", Some("y"), Some(0))]
        {
            let at = vec![address.to_owned(), "essay".to_owned()];
            let (metric, x) = (metric.to_owned(), x.map(str::to_owned));
            both.compare(Series::new(SeriesQuery { at, metric, x, points })).await;
        }
        for scope in [None, Some(Scope::State), Some(Scope::All), Some(Scope::Files)] {
            both.compare(PlanRestore::new(restore(address, scope))).await;
        }
    }
    both.compare(Series::new(SeriesQuery::default())).await;
    both.has_answered(&["blame", "bisect", "series", "plan_restore"]);
}

fn restore(to: &str, scope: Option<Scope>) -> RestoreRequest {
    RestoreRequest { to: to.to_owned(), scope, ..RestoreRequest::default() }
}

#[tokio::test]
async fn a_refused_restore_of_files_says_the_same_in_this_process_and_over_http() {
    let mut both = BothWays::new(Served::with_files().await);
    let draft = both.served.folder().join("draft.md");
    std::fs::write(&draft, "# Two\n").unwrap();
    for folder in [both.served.folder(), "/nowhere".into(), "relative".into()] {
        for to in ["essay@files", "essay@one", "none"] {
            let asked =
                RestoreRequest { folder: Some(folder.clone()), ..restore(to, Some(Scope::All)) };
            both.compare(Restore::new(asked)).await;
        }
    }
    assert_eq!(std::fs::read_to_string(draft).unwrap(), "# Two\n");
    let asked = RestoreRequest {
        folder: Some(both.served.folder()),
        ..restore("essay@files", Some(Scope::All))
    };
    let refused = both.client.call(&Restore::new(asked)).await.unwrap_err();
    let files = refused.result().unwrap().files.as_ref().unwrap();
    assert_eq!(files["conflicts"][0]["path"], "draft.md");
}

#[tokio::test]
async fn maintenance_says_the_same_in_this_process_and_over_http() {
    let mut both = BothWays::new(Served::with_files().await);
    both.compare(Anchor::new()).await;
    let anchor = Some(both.client.call(&Anchor::new()).await.unwrap());
    for task in [None, Some("essay"), Some("none")] {
        for (anchor, states) in [(None, true), (anchor.clone(), false)] {
            let task = task.map(str::to_owned);
            let asked = VerifyRequest { task, states, anchor, acknowledge: false };
            both.compare(Verify::new(asked)).await;
        }
    }
    let number = Some(Json::new("7").unwrap());
    both.compare(Verify::new(VerifyRequest { anchor: number, ..VerifyRequest::default() })).await;
    for keep_count in [None, Some(0), Some(1), Some(2_000_000)] {
        for task in [None, Some("essay"), Some("none")] {
            let task = task.map(str::to_owned);
            let policy = RetentionRequest { keep_count, task, ..RetentionRequest::default() };
            both.compare(PlanRetention::new(policy)).await;
        }
    }
    both.has_answered(&["anchor", "verify", "plan_retention"]);
}

/// Each request is made in two equal stores: over HTTP in one, in this process in the other.
#[tokio::test]
async fn a_change_says_the_same_in_this_process_and_over_http() {
    let mut pair = BothWays::new(Served::with_essay().await);
    pair.other = Some(Served::with_essay().await);
    for (id, user, copy_of) in
        [("new", None, None), ("new", Some("ana"), None), ("copy", None, Some("essay"))]
    {
        // The service fills in its caller.
        let user = Some(user.unwrap_or("local").to_owned());
        let (id, copy_of) = (id.to_owned(), copy_of.map(str::to_owned));
        pair.compare(StartTask::new(TaskRequest { id, user, initial: None, copy_of })).await;
    }
    for task in ["essay", "none"] {
        for label in ["draft", "7"] {
            let label = Some(label.to_owned());
            let at = Some(Big(2));
            pair.compare(Mark::new(task, CheckpointRequest { label, at, ..Default::default() }))
                .await;
        }
        for alias in ["a", ""] {
            let attachment = json!({"writer": "w", "index": 0, "data": 1});
            let asked = json!({"alias": alias, "attachments": [attachment]});
            pair.compare(Attach::new(task, serde_json::from_value(asked).unwrap())).await;
        }
        for to in [RunControl::Running, RunControl::Running, RunControl::Paused, RunControl::Idle] {
            pair.compare(Control::new(task, ControlRequest { to, reason: None })).await;
        }
        let asked = GuidanceRequest { text: "shorter".into(), target: Some("essay.md".into()) };
        pair.compare(Guide::new(task, asked)).await;
        let edit = [("a".to_owned(), Json::null())];
        pair.compare(EditArtifacts::new(task, Fields(edit.into()))).await;
        pair.compare(EditArtifacts::new(task, Fields([].into()))).await;
    }
    for address in ["essay@one", "essay@99", "none"] {
        for activate in [false, true] {
            let asked = BranchRequest { activate, description: Some("other".into()) };
            pair.compare(Branch::new(address, asked)).await;
        }
        for scope in [None, Some(Scope::All)] {
            pair.compare(Restore::new(restore(address, scope))).await;
        }
    }
    for _ in 0..4 {
        pair.compare(PlanUndo::new("essay", UndoFolderRequest::default())).await;
        pair.compare(Undo::new("essay", UndoFolderRequest::default())).await;
    }
    let folder = UndoFolderRequest { folder: Some("/nowhere".into()), choices: None };
    pair.compare(PlanUndo::new("essay", folder.clone())).await;
    pair.compare(Undo::new("essay", folder)).await;
    let policy = RetentionRequest { keep_count: Some(1), ..Default::default() };
    pair.compare(Retain::new(policy)).await;
    for _ in 0..2 {
        pair.compare(DeleteTask::new("copy")).await;
    }
    pair.has_answered(&[
        "start_task",
        "mark",
        "attach",
        "control",
        "guide",
        "edit_artifacts",
        "branch",
        "restore",
        "plan_undo",
        "undo",
        "retain",
        "delete_task",
    ]);
}
