//! Captured files.

use milepost::Hash;
use milepost_workspace::{EntryKind, PathBytes, SnapshotEntry, TreePath};
use serde::Serialize;
use utoipa::ToSchema;

use super::Big;

/// A path of a captured folder. `milepost files --json` prints the same. Names that are no UTF-8 are `{"base64": "…"}`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileForm {
    /// Below the folder.
    #[schema(value_type = String)]
    path: TreePath,
    /// `file`, `directory` or `link`.
    kind: &'static str,
    /// The permission bits, octal: `0644`.
    mode: String,
    /// Of a file: its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Big>,
    /// Of a file: BLAKE3 of its content, 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    hash: Option<Hash>,
    /// Of a file: whether it was written to while it was captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    unstable: Option<bool>,
    /// Of a link: where it leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    target: Option<PathBytes>,
}

impl From<SnapshotEntry> for FileForm {
    fn from(entry: SnapshotEntry) -> Self {
        let (kind, mode) = (entry.item.kind, entry.item.mode);
        let is_file = kind.is_file();
        Self {
            path: entry.path,
            kind: match kind {
                EntryKind::Directory { .. } => "directory",
                EntryKind::Link { .. } => "link",
                _ => "file",
            },
            mode: format!("{mode:04o}"),
            size: kind.file_len().map(Big),
            hash: kind.file_hash(),
            unstable: is_file.then(|| kind.is_unstable()),
            target: match kind {
                EntryKind::Link { target } => Some(PathBytes(target)),
                _ => None,
            },
        }
    }
}
