//! Data attached to checkpoints.

use milepost_client::ErrorKind;
use milepost_client::api::AttachmentForm;
use milepost_client::calls::{AliasQuery, Attachments};
use milepost_client::codec::{Data, Json};

use crate::served::Served;

fn attached(task: &str, alias: &str) -> Attachments {
    Attachments::new(task, AliasQuery { alias: alias.into() })
}

fn attachments() -> Vec<AttachmentForm> {
    let one =
        |index, data| AttachmentForm { writer: "judge".into(), index, name: "score".into(), data };
    vec![one(0, Data::Json(Json::new("0.7").unwrap())), one(-1, Data::Bytes(vec![0, 255]))]
}

pub async fn attach() {
    let served = Served::with_essay().await;
    let client = served.client();
    assert_eq!(client.attach("essay", "try-1", attachments()).await.unwrap().added, 2);
    // The last of a negative index counts, so it is attached again.
    assert_eq!(client.attach("essay", "try-1", attachments()).await.unwrap().added, 1);
    let error = client.attach("none", "try-1", attachments()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = client.attach("essay", "", attachments()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

pub async fn list() {
    let served = Served::with_essay().await;
    let client = served.client();
    assert_eq!(client.call(&attached("essay", "try-1")).await.unwrap().items, []);
    client.attach("essay", "try-1", attachments()).await.unwrap();
    assert_eq!(client.call(&attached("essay", "try-1")).await.unwrap().items, attachments());
    let error = client.call(&attached("none", "try-1")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
