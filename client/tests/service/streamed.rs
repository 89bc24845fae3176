//! Streamed answers: all events, and files.

use milepost::events::{Message, PhaseChanged};
use milepost_client::api::Big;
use milepost_client::codec::TreePath;
use milepost_client::{ErrorKind, EventQuery};

use crate::proxy::Proxy;
use crate::served::{Served, guide_of, restore_of};

#[tokio::test]
async fn all_events_are_those_of_one_lineage_whatever_the_pages() {
    let served = Served::with_essay().await;
    let task = served.engine.task("essay").unwrap();
    for number in 5..25 {
        task.append(Message::text("user", &number.to_string())).unwrap();
    }
    let client = served.client();
    let query = EventQuery { limit: Some(7), ..Default::default() };
    let mut events = client.all_events("essay", query.clone());
    for offset in 0..10 {
        let event = events.next().await.unwrap().unwrap();
        assert_eq!(event.offset, Big(offset));
    }
    // The stream continues on the lineage that it began with, though another one is active.
    client.call(&restore_of("essay@one")).await.unwrap();
    client.call(&guide_of("from here")).await.unwrap();
    for offset in 10..25 {
        let event = events.next().await.unwrap().unwrap();
        assert_eq!((event.offset, event.lineage.0), (Big(offset), 0));
    }
    assert!(events.next().await.is_none());
    assert!(events.next().await.is_none());
    let query = EventQuery { from: Some(2), to: Some(20), lineage: Some(0), ..query };
    let mut some = client.all_events("essay", query);
    let mut count = 0;
    while let Some(event) = some.next().await {
        assert_eq!(event.unwrap().offset, Big(2 + count));
        count += 1;
    }
    assert_eq!(count, 18);
    let mut none = client.all_events("nothing", EventQuery::default());
    let error = none.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(none.next().await.is_none());
}

#[tokio::test]
async fn seed_001_all_events_of_an_iteration_and_of_kinds_come_over_empty_pages() {
    let served = Served::with_essay().await;
    let task = served.engine.task("essay").unwrap();
    for iteration in 0..3 {
        task.append(PhaseChanged { previous: None, phase: "draft".into(), iteration }).unwrap();
        for number in 0..9 {
            task.append(Message::text("user", &number.to_string())).unwrap();
        }
    }
    let client = served.client();
    let count = async |query: EventQuery| {
        let mut events = client.all_events("essay", query);
        let mut count = 0;
        while let Some(event) = events.next().await {
            event.unwrap();
            count += 1;
        }
        count
    };
    let second = EventQuery { iteration: Some(1), limit: Some(3), ..EventQuery::default() };
    assert_eq!(count(second.clone()).await, 10);
    let kinds = vec!["phase_changed".to_owned(), "step_finished".to_owned()];
    assert_eq!(count(EventQuery { kinds: kinds.clone(), ..second }).await, 1);
    assert_eq!(count(EventQuery { kinds, ..EventQuery::default() }).await, 4);
    let page = EventQuery { iteration: Some(9), ..EventQuery::default() };
    assert!(client.events("essay", page).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_file_that_does_not_come_to_its_end_is_an_error_and_one_that_is_long_comes_in_pieces() {
    let served = Served::with_files().await;
    let path = TreePath::new(b"src/a b%.bin").unwrap();
    let client = served.client();
    let mut bytes = client.file("essay@files", &path).await.unwrap();
    let (mut pieces, mut len) = (0, 0);
    while let Some(piece) = bytes.next().await {
        pieces += 1;
        len += piece.unwrap().len();
    }
    assert!(pieces > 1 && len == 700_000, "{pieces} {len}");
    let proxy = Proxy::new(served.at, || Some(300_000)).await;
    let mut bytes = proxy.client().file("essay@files", &path).await.unwrap();
    let mut last = bytes.next().await.unwrap();
    while last.is_ok() {
        last = bytes.next().await.expect("no end without an error");
    }
    assert_eq!(last.unwrap_err().kind(), ErrorKind::Transport);
    assert!(bytes.next().await.is_none());
    let few = proxy.builder().answer_limit(100_000).build().unwrap();
    let bytes = few.file("essay@files", &path).await.unwrap();
    let error = bytes.whole().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Answer, "{error}");
}
