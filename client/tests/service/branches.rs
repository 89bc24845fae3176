//! Branches that are opened together with their first events, and events with keys.

// tidy: one operation

use milepost_client::api::{Big, MarkRequest};
use milepost_client::calls::{Lineages, Task};
use milepost_client::codec::Message;
use milepost_client::{Append, ErrorKind};

use crate::served::{Served, labelled};

pub async fn append_branch() {
    let served = Served::with_essay().await;
    let client = served.client();
    let other = || {
        let said = [Message::text("user", "another"), Message::text("user", "one")];
        let mark = MarkRequest { aliases: vec!["other".into()], ..MarkRequest::default() };
        Append::batch(said).mark(mark).key("k")
    };
    let opened = client.append_branch("essay@one", Some("another"), other()).await.unwrap();
    assert_eq!(opened.lineage.0, 1);
    assert!(opened.appended.checkpoint.is_some() && !opened.appended.repeated);
    assert_eq!(client.call(&Task::new("essay")).await.unwrap().active.0, 0);
    let again = client.append_branch("essay@one", None, other()).await.unwrap();
    assert_eq!((again.lineage, again.appended.first), (opened.lineage, opened.appended.first));
    assert!(again.appended.repeated);
    let lineages = client.call(&Lineages::new("essay")).await.unwrap().items;
    assert_eq!(lineages.len(), 2);
    assert_eq!(lineages[1].head, Big(opened.appended.next.0));
    let said = Append::from(Message::text("user", "x"));
    let error = client.append_branch("none@1", None, said).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn events_with_keys_of_their_own_are_appended_once_and_a_retry_needs_no_other_key() {
    let served = Served::with_essay().await;
    let client = served.client();
    let lines =
        |ids: &[&str]| Append::each_keyed(ids.iter().map(|id| (*id, Message::text("user", id))));
    let first = client.append("essay", lines(&["a", "b"])).await.unwrap();
    assert!(!first.repeated && first.events.iter().all(|event| !event.repeated));
    let marked = lines(&["b", "c"]).mark(labelled("c"));
    let second = client.append("essay", marked).await.unwrap();
    assert_eq!((second.events[0].offset, second.events[0].repeated), (Big(first.next.0 - 1), true));
    assert_eq!((second.events[1].offset, second.first), (first.next, first.next));
    assert!(second.checkpoint.is_some());
    let again = client.append("essay", lines(&["a", "b", "c"])).await.unwrap();
    assert!(again.repeated && again.events.iter().all(|event| event.repeated));
    let one = client.append("essay", lines(&["d"])).await.unwrap();
    assert_eq!(one.events.len(), 1);
    let other = Append::each_keyed([("a", Message::text("user", "other"))]);
    let error = client.append("essay", other).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let error = client.append("essay", lines(&["e"]).key("k")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
