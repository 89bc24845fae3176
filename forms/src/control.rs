//! Control of runs.

use milepost_codec::RunControl;
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// The control of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ControlForm {
    /// `idle`, `running`, `paused` or `stopped`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub control: RunControl,
    /// True if the control was changed before, under the same key.
    pub repeated: bool,
}
