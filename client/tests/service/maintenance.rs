//! Maintenance of the store, and its health.

use milepost_client::ErrorKind;
use milepost_client::api::{Big, RetentionRequest, VerifyRequest};
use milepost_client::calls::{Anchor, Checkpoints, PlanRetention, Retain, Verify};
use milepost_client::codec::Message;

use crate::served::{Served, mark_of};

pub async fn verify() {
    let served = Served::with_essay().await;
    let client = served.client();
    let store = client.call(&Verify::new(VerifyRequest::default())).await.unwrap();
    assert!(store.ok && store.faults.is_empty() && store.frames > Big(0));
    let task = Some("essay".into());
    let of_task = VerifyRequest { task, states: true, ..VerifyRequest::default() };
    let task = client.call(&Verify::new(of_task)).await.unwrap();
    assert_eq!((task.ok, task.tasks, task.frames), (true, Big(1), Big(0)));
}

pub async fn anchor() {
    let served = Served::with_essay().await;
    let client = served.client();
    let anchor = client.call(&Anchor::new()).await.unwrap();
    client.append("essay", Message::text("user", "more")).await.unwrap();
    let compared =
        |anchor| Verify::new(VerifyRequest { anchor: Some(anchor), ..VerifyRequest::default() });
    assert!(client.call(&compared(anchor)).await.unwrap().ok);
    let other = Served::with_essay().await.client().call(&Anchor::new()).await.unwrap();
    let error = client.call(&compared(other)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

pub async fn plan_retention() {
    let served = Served::with_essay().await;
    let client = served.client();
    client.call(&mark_of(Some("two"))).await.unwrap();
    let task = Some("essay".to_owned());
    let one = RetentionRequest { keep_count: Some(1), task, ..RetentionRequest::default() };
    let plan = client.call(&PlanRetention::new(one.clone())).await.unwrap();
    assert!(plan.dry_run && plan.captures.is_some());
    assert_eq!((plan.total.go, plan.total.stay), (Big(1), Big(1)));
    let user = Some("local".to_owned());
    let younger_than_seconds = Some(Big(3600));
    let young = RetentionRequest {
        younger_than_seconds,
        user: user.clone(),
        ..RetentionRequest::default()
    };
    let plan = client.call(&PlanRetention::new(young)).await.unwrap();
    assert_eq!((plan.total.go, plan.total.stay), (Big(0), Big(2)));
    for invalid in [RetentionRequest::default(), RetentionRequest { user, ..one }] {
        let error = client.call(&PlanRetention::new(invalid)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}

pub async fn retain() {
    let served = Served::with_essay().await;
    let client = served.client();
    client.call(&mark_of(Some("two"))).await.unwrap();
    let (keep_count, undo) = (Some(1), Some(0));
    let policy =
        RetentionRequest { keep_count, undo, marks_only: true, ..RetentionRequest::default() };
    let done = client.call(&Retain::new(policy)).await.unwrap();
    assert!(!done.dry_run);
    assert_eq!(done.total.go, Big(1));
    let left = client.call(&Checkpoints::new("essay", Default::default())).await.unwrap();
    assert_eq!(left.items.len(), 1);
    client.call(&mark_of(Some("three"))).await.unwrap();
    let (task, remove) = (Some("essay".to_owned()), Some(vec![left.items[0].id]));
    let policy = RetentionRequest { task, remove, ..RetentionRequest::default() };
    let trim_before = Some("essay@5".to_owned());
    let trimmed = RetentionRequest { trim_before, ..policy.clone() };
    let done = client.call(&Retain::new(trimmed)).await.unwrap();
    assert_eq!((done.total.go, done.total.stay), (Big(0), Big(2)));
    let retain = Retain::new(policy);
    for gone in [1, 0] {
        assert_eq!(client.call(&retain).await.unwrap().total.go, Big(gone));
    }
}

pub async fn health() {
    let served = Served::with_essay().await;
    let client = served.client();
    client.health().await.unwrap();
    client.ready().await.unwrap();
    served.engine.close().unwrap();
    client.health().await.unwrap();
    let error = client.ready().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.detail().contains("the store is closed"), "{error}");
}
