//! Captured files.

use std::borrow::Cow;

use milepost_codec::{Hash, PathBytes, TreePath};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// A path of a captured folder. `milepost files --json` prints the same. Names that are no UTF-8
/// are `{"base64": "…"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FileForm {
    /// Below the folder.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub path: TreePath,
    /// `file`, `directory` or `link`.
    pub kind: Cow<'static, str>,
    /// The permission bits, octal: `0644`.
    pub mode: String,
    /// Of a file: its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Big>,
    /// Of a file: BLAKE3 of its content, 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub hash: Option<Hash>,
    /// Of a file: whether it was written to while it was captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstable: Option<bool>,
    /// Of a link: where it leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub target: Option<PathBytes>,
}
