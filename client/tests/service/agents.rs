//! Documents of hooks of coding agents, and their answers.

// tidy: one operation

use milepost_client::ErrorKind;
use milepost_client::api::HookRequest;

use crate::served::Served;

pub async fn take_hook() {
    let served = Served::with_essay().await;
    let hook = r#"{"id": "1", "agent": "codex", "project": "/work", "time_us": "0", "env": {},
        "parents": [], "is_cut": false, "payload": "{}"}"#;
    let hook: HookRequest = serde_json::from_str(hook).unwrap();
    // Hooks are at the store's own socket.
    let error = served.client().take_hook(&hook).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden, "{error}");
}
