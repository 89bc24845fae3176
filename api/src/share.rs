//! Settings of a share, and its plan.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// Settings of a share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareRequest {
    /// Withhold events with a text that resembles a secret.
    pub redact: bool,
    /// Regular expressions: withhold events with a text that matches one, too.
    pub withhold: Vec<String>,
    /// The most bytes of the file; at most [`ShareRequest::MAX`].
    pub max: u64,
}

impl ShareRequest {
    /// The most bytes of any file: 256 MiB.
    pub const MAX: u64 = 256 << 20;
}

impl Default for ShareRequest {
    /// Returns settings with redaction, and 32 MiB.
    fn default() -> Self {
        Self { redact: true, withhold: Vec::new(), max: 32 << 20 }
    }
}

/// The sizes of a share, and what it withholds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SharePlanForm {
    /// The length of the file, in bytes.
    pub bytes: Big,
    /// The number of events, those of the control log included.
    pub events: Big,
    /// The number of events whose bodies are withheld.
    pub withheld: Big,
    /// The number of events whose headers are redacted, and whose hashes are taken on trust.
    pub trusted: Big,
    /// The finds of each pattern.
    pub finds: Vec<FindForm>,
    /// The number of texts that are withheld since the file would be too large.
    pub long: Big,
    /// The length over which texts are withheld, in bytes; absent if all fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub longest: Option<Big>,
    /// True if the task can be imported as a copy only.
    pub copy_only: bool,
    /// The number of captured folders, whose files are not in a share.
    pub captures: Big,
}

/// The finds of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FindForm {
    /// The name of the pattern; `folder` for the hash of a captured folder.
    pub name: String,
    /// Their number.
    pub count: Big,
    /// The addresses of the first events that have them.
    pub places: Vec<String>,
}
