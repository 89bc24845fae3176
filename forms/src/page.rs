//! Lists.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Listed<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// The cursor of the next page; `null` where this is the last.
    pub next: Option<String>,
}
