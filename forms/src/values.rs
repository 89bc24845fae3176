//! Values that may be `null`, and may be absent.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A value that is there. It may be `null`.
pub(crate) fn there<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(d).map(Some)
}
