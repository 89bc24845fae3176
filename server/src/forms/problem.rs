//! What went wrong, as `/v1` says it.

use serde::Serialize;
use utoipa::ToSchema;

use super::Big;

/// Problem details by RFC 9457.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// `https://milepost.dev/problems/KIND`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) title: &'static str,
    /// The status of the answer.
    pub(crate) status: u16,
    /// What was wrong, and what to do.
    pub(crate) detail: String,
    /// The id of the request.
    pub(crate) instance: String,
    /// The head, where another was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<Big>,
}
