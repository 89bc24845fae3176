//! Checkpoints: marked, listed, removed.

use milepost_client::ErrorKind;
use milepost_client::api::Big;
use milepost_client::calls::{
    AllCheckpoints, AllCheckpointsQuery, Checkpoint, CheckpointOrder, CheckpointQuery, Checkpoints,
    Mark, Unmark, UnmarkAll, UnmarkQuery,
};
use milepost_client::codec::{Json, MarkCause, MarkStatus};
use serde_json::json;

use crate::pins::pin_of;
use crate::served::{Served, mark_of};

fn json_of(value: serde_json::Value) -> Json {
    Json::from_value(&value).unwrap()
}

/// Returns a request of a mark with aliases.
fn named(aliases: &[&str]) -> Mark {
    let mut mark = mark_of(None);
    mark.body.aliases = aliases.iter().map(|&alias| alias.to_owned()).collect();
    mark
}

pub async fn checkpoints() {
    let served = Served::with_essay().await;
    let client = served.client();
    let mut failed = mark_of(Some("two"));
    failed.body.status = Some(MarkStatus::Failure);
    client.call(&failed).await.unwrap();
    let all = client.call(&Checkpoints::new("essay", Default::default())).await;
    let labels: Vec<_> = all.unwrap().items.into_iter().map(|one| one.label).collect();
    assert_eq!(labels, [Some("two".to_owned()), Some("one".to_owned())]);
    for (status, label) in [(MarkStatus::Success, "one"), (MarkStatus::Failure, "two")] {
        let query = CheckpointQuery {
            lineage: Some(0),
            status: Some(status),
            limit: Some(1),
            ..CheckpointQuery::default()
        };
        let found = client.call(&Checkpoints::new("essay", query)).await.unwrap();
        assert_eq!(found.items[0].label.as_deref(), Some(label));
    }
    let query = CheckpointQuery { limit: Some(1), ..Default::default() };
    let first = client.call(&Checkpoints::new("essay", query.clone())).await.unwrap();
    let cursor = first.next;
    let rest = CheckpointQuery { cursor, ..query };
    let rest = client.call(&Checkpoints::new("essay", rest)).await.unwrap();
    assert_eq!(rest.items[0].label.as_deref(), Some("one"));
    client.call(&named(&["a", "c"])).await.unwrap();
    let b = client.call(&named(&["b"])).await.unwrap().id;
    let query = CheckpointQuery {
        before: Some("c".into()),
        order: CheckpointOrder::Alias,
        ..CheckpointQuery::default()
    };
    let found = client.call(&Checkpoints::new("essay", query)).await.unwrap().items;
    let aliases: Vec<_> = found.iter().map(|one| one.aliases.join(" ")).collect();
    assert_eq!(aliases, ["b", "a c"]);
    let query = CheckpointQuery { alias: Some("b".into()), ..CheckpointQuery::default() };
    let found = client.call(&Checkpoints::new("essay", query.clone())).await.unwrap().items;
    assert_eq!(found.iter().map(|one| one.id).collect::<Vec<_>>(), [b]);
    let query = AllCheckpointsQuery { alias: query.alias, ..AllCheckpointsQuery::default() };
    let error = client.call(&AllCheckpoints::new(query)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

pub async fn mark() {
    let served = Served::with_essay().await;
    let mut mark = named(&["m-1"]);
    mark.body.label = Some("then".into());
    mark.body.at = Some(Big(2));
    mark.body.metadata = Some(json_of(json!({"score": 0.93})));
    let marked = served.client().call(&mark).await.unwrap();
    assert_eq!((marked.at, marked.label.as_deref()), (Big(2), Some("then")));
    assert_eq!((marked.cause, marked.status), (MarkCause::Manual, MarkStatus::Success));
    assert_eq!(marked.metadata.unwrap().text(), r#"{"score":0.93}"#);
    assert_eq!(marked.aliases, ["m-1"]);
}

pub async fn checkpoint() {
    let served = Served::with_essay().await;
    let client = served.client();
    let marked = client.call(&mark_of(None)).await.unwrap();
    let id = marked.id.to_string();
    assert_eq!(client.call(&Checkpoint::new(&id)).await.unwrap(), marked);
    assert_eq!(client.call(&Checkpoint::new(&id[..8])).await.unwrap(), marked);
}

pub async fn unmark() {
    let served = Served::with_essay().await;
    let client = served.client();
    let id = client.call(&mark_of(None)).await.unwrap().id.to_string();
    client.call(&Unmark::new(&id)).await.unwrap();
    let error = client.call(&Checkpoint::new(&id)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

pub async fn unmark_all() {
    let served = Served::with_essay().await;
    let client = served.client();
    let mut ids = Vec::new();
    for run in ["r-1", "r-1", "r-1", "r-2"] {
        let mut mark = mark_of(None);
        mark.body.metadata = Some(json_of(json!({"run": run})));
        ids.push(client.call(&mark).await.unwrap().id.to_string());
    }
    client.call(&pin_of(&ids[1], None)).await.unwrap();
    for filter in [None, Some("{}".to_owned())] {
        let query = UnmarkQuery { filter, ..UnmarkQuery::default() };
        let error = client.call(&UnmarkAll::new(query)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
    let filter = Some(json!({"run": "r-1"}).to_string());
    let query = UnmarkQuery { filter, ..UnmarkQuery::default() };
    assert_eq!(client.call(&UnmarkAll::new(query)).await.unwrap().removed, Big(2));
    for (id, is_there) in ids.iter().zip([false, true, false, true]) {
        assert_eq!(client.call(&Checkpoint::new(id)).await.is_ok(), is_there);
    }
}
