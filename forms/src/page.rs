//! Lists.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct Listed<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// The cursor of the next page; `null` on the last page.
    pub next: Option<String>,
}
