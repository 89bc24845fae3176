//! Differences between two states.

use milepost_replay::ChangeKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::values::there;

/// The differences from one state to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ChangesForm {
    /// At most 10,000 changes; fewer if they take more than 16 MiB.
    pub items: Vec<ChangeForm>,
    /// True if there are more changes.
    pub more: bool,
}

/// One change of a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ChangeForm {
    /// The place, as a JSON pointer (RFC 6901).
    pub path: String,
    /// `add`, `remove` or `replace`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub kind: ChangeKind,
    /// The value before; absent if the path did not exist.
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value after; absent if the path was removed.
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_null_is_there() {
        let text = r#"{"path":"/a","kind":"replace","before":1,"after":null}"#;
        let change: ChangeForm = serde_json::from_str(text).unwrap();
        assert_eq!(change.after, Some(Value::Null));
        assert_eq!(serde_json::to_string(&change).unwrap(), text);
        let text = r#"{"path":"/a","kind":"add","after":null}"#;
        let change: ChangeForm = serde_json::from_str(text).unwrap();
        assert_eq!(change.before, None);
    }
}
