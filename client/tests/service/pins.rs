//! Pinned checkpoints.

use milepost_client::ErrorKind;
use milepost_client::api::PinRequest;
use milepost_client::calls::{Pin, Pins, Unmark, Unpin};

use crate::served::{Served, mark_of};

fn pins_of(task: &str) -> Pins {
    Pins::new(task)
}

pub fn pin_of(id: &str, reason: Option<&str>) -> Pin {
    Pin::new(id, PinRequest { reason: reason.map(str::to_owned) })
}

pub async fn pins() {
    let served = Served::with_essay().await;
    let client = served.client();
    assert_eq!(client.call(&pins_of("essay")).await.unwrap().items, []);
    let error = client.call(&pins_of("none")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

pub async fn pin() {
    let served = Served::with_essay().await;
    let client = served.client();
    let id = client.call(&mark_of(None)).await.unwrap().id.to_string();
    let pin = client.call(&pin_of(&id, Some("the best"))).await.unwrap();
    assert_eq!(pin.reason.as_deref(), Some("the best"));
    assert_eq!(client.call(&pins_of("essay")).await.unwrap().items, [pin]);
    let error = client.call(&Unmark::new(&id)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

pub async fn unpin() {
    let served = Served::with_essay().await;
    let client = served.client();
    let id = client.call(&mark_of(None)).await.unwrap().id.to_string();
    client.call(&pin_of(&id, None)).await.unwrap();
    client.call(&Unpin::new(id)).await.unwrap();
    assert_eq!(client.call(&pins_of("essay")).await.unwrap().items, []);
}
