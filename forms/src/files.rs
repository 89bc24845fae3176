//! Captured files.

use std::borrow::Cow;

use milepost_codec::{Hash, PathBytes, TreePath};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// A path of a captured folder. `milepost files --json` prints the same. Names that are not UTF-8
/// are `{"base64": "…"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FileForm {
    /// The path relative to the folder.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub path: TreePath,
    /// `file`, `directory` or `link`.
    pub kind: Cow<'static, str>,
    /// The permission bits, octal: `0644`.
    pub mode: String,
    /// The length of a file, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Big>,
    /// BLAKE3 of a file's content, 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub hash: Option<Hash>,
    /// True if a file was written to while it was captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstable: Option<bool>,
    /// The target of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub target: Option<PathBytes>,
}
