//! Bodies of requests with documents of hooks.

// tidy: one form

use std::collections::BTreeMap;

use milepost_codec::PathBytes;
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// A document that a coding agent gave to a hook, with its circumstances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct HookRequest {
    /// The id of the call, unique in the store.
    pub id: String,
    /// The name of the agent, as the hook was called with it.
    pub agent: String,
    /// The folder of the project, as an absolute path.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub project: PathBytes,
    /// The time of the call, in microseconds since the Unix epoch.
    pub time_us: Big,
    /// Variables of the environment, of a fixed list of names.
    pub env: BTreeMap<String, String>,
    /// The processes above the hook, the nearest one first: a shell, and the agent.
    pub parents: Vec<u32>,
    /// `true` if the document did not end in time, or was too large: `payload` is its beginning.
    pub is_cut: bool,
    /// The document as it came.
    pub payload: String,
}
