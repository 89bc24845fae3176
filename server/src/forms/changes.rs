//! What is different between two states.

use milepost::{Change, ChangeKind, Changes};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What is different, from one state to the other.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangesForm {
    /// At most 10,000; fewer where they have more than 16 MiB.
    pub(crate) items: Vec<ChangeForm>,
    /// Whether there are more.
    pub(crate) more: bool,
}

/// One change of a state, as `milepost diff --json` prints it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChangeForm {
    /// The place, as a JSON pointer (RFC 6901).
    path: String,
    /// `add`, `remove` or `replace`.
    #[schema(value_type = String)]
    kind: ChangeKind,
    /// The value before; absent where the place was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    /// The value after; absent where the place is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Value>,
}

impl From<Changes> for ChangesForm {
    fn from(changes: Changes) -> Self {
        Self {
            items: changes.items.into_iter().map(ChangeForm::from).collect(),
            more: changes.more,
        }
    }
}

impl From<Change> for ChangeForm {
    fn from(change: Change) -> Self {
        Self {
            path: change.path,
            kind: change.kind,
            before: change.before,
            after: change.after,
        }
    }
}
