//! Bisect: the first event after which a condition holds.

// tidy: one form
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::{Big, ChangesForm, EventAt};

/// The event that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct BisectedForm {
    /// The address of the event.
    pub found: String,
    /// The event.
    pub event: EventAt,
    /// The step that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Big>,
    /// The changes of the state that the event made.
    pub changes: ChangesForm,
    /// The address of the event after which the condition no longer holds. Without it, the
    /// condition holds at the point of the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The number of states that were looked at.
    pub states: Big,
}
