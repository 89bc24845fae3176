//! Optional values that may be `null`.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Deserializes a present value, which may be `null`.
pub(crate) fn there<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(d).map(Some)
}
