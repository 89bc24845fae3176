//! Each operation has the same answer, or the same error, in this process and over HTTP.

use milepost::Mark;
use milepost::events::MarkStatus;
use milepost_client::api::{Big, EraseAsked, PinAsked, SwitchAsked};
use milepost_client::calls::{
    AliasQuery, Align, AlignQuery, AllCheckpoints, AllCheckpointsQuery, Attachments, Checkpoint,
    CheckpointQuery, Checkpoints, Erase, FileChanges, Folders, Lineages, MetricsQuery, Overview,
    OverviewQuery, Pin, Pins, Point, Redo, Rows, RowsQuery, Search, SearchQuery, Stats, StatsQuery,
    Summary, Switch, Task, TaskMetrics, TaskQuery, Tasks, Turns, TurnsQuery, Unmark, UnmarkAll,
    UnmarkQuery, Unpin,
};
use milepost_client::{Client, Error};
use milepost_service::{Serve, View};
use serde_json::Value;

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

/// Performs an operation in this process, and then over HTTP.
async fn compare<C: Serve + Clone>(served: &Served, client: &Client, call: C) {
    let here = call.clone().serve(&View::new(&served.engine, None, None));
    let here = here.map(|answer| timeless(serde_json::to_value(answer).unwrap()));
    let there = client.call(&call).await;
    let there = there.map(|answer| timeless(serde_json::to_value(answer).unwrap()));
    let here = here.map_err(|error| error.to_string());
    assert_eq!(here, there.map_err(|error: Error| error.detail().to_owned()), "{}", C::ID);
}

#[tokio::test]
async fn an_operation_says_the_same_in_this_process_and_over_http() {
    let served = Served::with_essay().await;
    served.engine.start_task("other", "ana").unwrap();
    let marked = served.engine.task("essay").unwrap().checkpoint(Mark::new()).unwrap();
    let client = served.client();
    let query = |limit| TaskQuery { limit: Some(limit), ..TaskQuery::default() };
    for limit in [0, 1, 100, 101] {
        compare(&served, &client, Tasks::new(query(limit))).await;
    }
    let cursor = Some("no cursor".to_owned());
    compare(&served, &client, Tasks::new(TaskQuery { cursor, ..TaskQuery::default() })).await;
    for task in ["essay", "none"] {
        compare(&served, &client, Task::new(task)).await;
        compare(&served, &client, Summary::new(task)).await;
        compare(&served, &client, Lineages::new(task)).await;
    }
    let id = marked.id.to_string();
    let long = "x".repeat(2000);
    for id in [&id, &id[..8], &id[..4], "0123456789", "no id"] {
        for reason in [None, Some("the best"), Some(long.as_str())] {
            let body = PinAsked { reason: reason.map(str::to_owned) };
            compare(&served, &client, Pin::new(id, body)).await;
        }
        compare(&served, &client, Pins::new("essay")).await;
        compare(&served, &client, Unpin::new(id)).await;
    }
    compare(&served, &client, Pins::new("none")).await;
}

#[tokio::test]
async fn lists_of_checkpoints_are_the_same_in_this_process_and_over_http() {
    let served = Served::with_files().await;
    let client = served.client();
    let task = served.engine.task("essay").unwrap();
    task.checkpoint(Mark::new().alias("a").status(MarkStatus::Failure)).unwrap();
    let filters = [None, Some("{}"), Some(r#"{"a": 1}"#), Some("7"), Some("no JSON")];
    for filter in filters.map(|filter| filter.map(str::to_owned)) {
        for alias in [None, Some("a".to_owned())] {
            let (filter, alias) = (filter.clone(), alias.clone());
            let query = CheckpointQuery { filter, alias, ..CheckpointQuery::default() };
            for task in ["essay", "none"] {
                compare(&served, &client, Checkpoints::new(task, query.clone())).await;
            }
            let CheckpointQuery { filter, alias, .. } = query;
            let query = AllCheckpointsQuery { filter, alias, ..AllCheckpointsQuery::default() };
            compare(&served, &client, AllCheckpoints::new(query)).await;
        }
        let query = UnmarkQuery { filter, ..UnmarkQuery::default() };
        compare(&served, &client, UnmarkAll::new(query)).await;
    }
    for (task, alias) in [("essay", "a"), ("essay", ""), ("none", "a")] {
        let query = AliasQuery { alias: alias.into() };
        compare(&served, &client, Attachments::new(task, query)).await;
    }
    for task in ["essay", "none"] {
        compare(&served, &client, Folders::new(task)).await;
    }
    compare(&served, &client, Unmark::new("0123456789")).await;
}

/// Both ways end in the same state, so a change that was made in this process changes nothing when
/// it comes over HTTP, or is refused with the same reason.
#[tokio::test]
async fn a_repeated_change_says_the_same_in_this_process_and_over_http() {
    let served = Served::with_essay().await;
    let client = served.client();
    served.engine.restore(&served.engine.point("essay@one").unwrap()).run().unwrap();
    for lineage in [0, 1, 2] {
        compare(&served, &client, Switch::new("essay", SwitchAsked { lineage })).await;
    }
    compare(&served, &client, Switch::new("none", SwitchAsked { lineage: 0 })).await;
    for task in ["essay", "none"] {
        compare(&served, &client, Redo::new(task)).await;
    }
    for address in ["essay/1@4", "essay@99", "essay@none", "none@1"] {
        compare(&served, &client, Erase::new(address, EraseAsked::default())).await;
    }
    let erase = Erase::new("essay/0@1", EraseAsked::default());
    erase.clone().serve(&View::new(&served.engine, None, None)).unwrap();
    compare(&served, &client, erase).await;
}

#[tokio::test]
async fn readings_are_the_same_in_this_process_and_over_http() {
    let served = Served::with_files().await;
    let client = served.client();
    for task in ["essay", "none"] {
        for (lineage, limit, failed) in [(None, None, false), (Some(0), Some(1), true)] {
            let rows = RowsQuery { lineage, limit, failed, ..RowsQuery::default() };
            compare(&served, &client, Rows::new(task, rows)).await;
            let turns = TurnsQuery { lineage, limit, failed, ..TurnsQuery::default() };
            compare(&served, &client, Turns::new(task, turns)).await;
            let overview = OverviewQuery { lineage, buckets: limit };
            compare(&served, &client, Overview::new(task, overview)).await;
            compare(&served, &client, TaskMetrics::new(task, MetricsQuery { lineage })).await;
        }
    }
    let (from, to) = (Some(Big(3)), Some(Big(1)));
    let rows = RowsQuery { from, to, ..RowsQuery::default() };
    compare(&served, &client, Rows::new("essay", rows)).await;
    let turns = TurnsQuery { from, near: to, ..TurnsQuery::default() };
    compare(&served, &client, Turns::new("essay", turns)).await;
    for limit in [None, Some(0), Some(1001)] {
        let align = AlignQuery { limit, ..AlignQuery::default() };
        compare(&served, &client, Align::new("essay@one", "essay", align)).await;
        let search = SearchQuery { limit, text: Some("hello".into()), ..SearchQuery::default() };
        compare(&served, &client, Search::new(search)).await;
    }
    compare(&served, &client, Search::new(SearchQuery::default())).await;
    for (user, limit) in [(Some("local"), Some(1)), (Some("local"), Some(0)), (None, Some(1))] {
        let (user, cursor) = (user.map(str::to_owned), None);
        compare(&served, &client, Stats::new(StatsQuery { user, limit, cursor })).await;
    }
    for address in ["essay", "essay@one", "essay/0@2", "essay@99", "none"] {
        compare(&served, &client, Point::new(address)).await;
        compare(&served, &client, FileChanges::new("essay@files", address)).await;
    }
    let marks = Checkpoints::new("essay", CheckpointQuery::default());
    let marks = marks.serve(&View::new(&served.engine, None, None)).unwrap().items;
    for id in [&marks[0].id.to_string(), "0123456789", "01234", "no id"] {
        compare(&served, &client, Checkpoint::new(id)).await;
    }
}
