//! The caller of a service, and its sessions.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// The caller and the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct MeForm {
    /// The user of the caller.
    pub user: String,
    /// True if the caller sees and may do everything.
    pub admin: bool,
    /// True if the caller may not change anything.
    pub read_only: bool,
    /// The only task that the caller's token is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The time when the caller's token or session expires: RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The store.
    pub store: StoreIdForm,
    /// The version of the service.
    pub version: String,
    /// The limits of requests.
    pub limits: LimitsForm,
}

/// The identity of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct StoreIdForm {
    /// The id, in hexadecimal digits.
    pub id: String,
    /// True if a key is needed to compute the store's hashes.
    pub keyed: bool,
}

/// A request for a session: of the request's token, or of a code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// A code of the program that serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// A new session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SessionForm {
    /// The session, which is sent as a token is. The service keeps only its hash.
    pub session: String,
    /// The time when it expires: RFC 3339, UTC.
    pub expires: String,
    /// The user.
    pub user: String,
    /// True if the user sees and may do everything.
    pub admin: bool,
}

/// The limits of requests of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct LimitsForm {
    /// The bytes of a request's body.
    pub body: Big,
    /// The rows of a page.
    pub rows: u32,
    /// The turns of a page.
    pub turns: u32,
    /// The summaries of a page.
    pub summaries: u32,
}
