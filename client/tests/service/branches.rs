//! Branches that are opened together with their first events.

// tidy: one operation

use milepost_client::api::Big;
use milepost_client::codec::Message;
use milepost_client::{Append, ErrorKind, Mark};

use crate::served::Served;

pub async fn append_branch() {
    let served = Served::with_essay().await;
    let client = served.client();
    let other = || {
        let said = [Message::text("user", "another"), Message::text("user", "one")];
        Append::batch(said).mark(Mark::new().alias("other")).key("k")
    };
    let opened = client.append_branch("essay@one", Some("another"), other()).await.unwrap();
    assert_eq!(opened.lineage.0, 1);
    assert!(opened.appended.checkpoint.is_some() && !opened.appended.repeated);
    assert_eq!(client.task("essay").await.unwrap().active.0, 0);
    let again = client.append_branch("essay@one", None, other()).await.unwrap();
    assert_eq!((again.lineage, again.appended.first), (opened.lineage, opened.appended.first));
    assert!(again.appended.repeated);
    let lineages = client.lineages("essay").await.unwrap().items;
    assert_eq!(lineages.len(), 2);
    assert_eq!(lineages[1].head, Big(opened.appended.next.0));
    let said = Append::from(Message::text("user", "x"));
    let error = client.append_branch("none@1", None, said).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
