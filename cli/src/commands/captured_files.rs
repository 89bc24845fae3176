//! Functions that the commands about captured files share: paths and output.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use milepost_workspace::{EntryKind, Item, TreePath};
use serde_json::{Value, json};

use crate::error::{Failure, Result};
use crate::output::{big, shell_word};

/// Parses a path in a capture. Shells add `./` in front and `/` at the end: both are removed.
pub fn tree_path(given: &OsStr) -> Result<TreePath> {
    let mut bytes = given.as_bytes();
    while let Some(rest) = bytes.strip_prefix(b"./") {
        bytes = rest;
    }
    while let Some(rest) = bytes.strip_suffix(b"/") {
        bytes = rest;
    }
    TreePath::new(bytes).map_err(|error| {
        let hint = "a path begins below the captured folder, as `milepost files ADDRESS` prints it";
        Failure::from(error).hint(hint)
    })
}

/// Returns the failure for a path that is not in the capture.
pub fn nothing_at(path: &TreePath, address: &str) -> Failure {
    let address = shell_word(address);
    Failure::new(format!("{path} is not in the capture")).hint(format!(
        "`milepost files {address}` lists what is in it, with --skips what was left out"
    ))
}

/// Returns the failure for a path that is in neither capture.
pub fn in_neither(path: &TreePath, before: &str, after: &str) -> Failure {
    let (before, after) = (shell_word(before), shell_word(after));
    Failure::new(format!("{path} is in neither capture")).hint(format!(
        "`milepost files {before}` and `milepost files {after}` list what is in them"
    ))
}

/// Formats the permission bits, as `0644`.
pub fn mode(item: &Item) -> String {
    format!("{:04o}", item.mode)
}

/// Formats the kind and the permission bits, as `-rw-r--r--`.
pub fn mode_line(kind: &str, mode: &str) -> String {
    let mut line = String::with_capacity(10);
    line.push(match kind {
        "directory" => 'd',
        "link" => 'l',
        _ => '-',
    });
    let mode = u32::from_str_radix(mode, 8).unwrap_or_default();
    for at in (0..9).rev() {
        let letter = ['x', 'w', 'r'].get(at % 3).copied().unwrap_or_default();
        line.push(if mode >> at & 1 == 1 { letter } else { '-' });
    }
    line
}

/// Describes an entry as JSON, without its path.
pub fn side(item: &Item) -> Value {
    match &item.kind {
        EntryKind::Directory { .. } => json!({"kind": "directory", "mode": mode(item)}),
        EntryKind::Link { target } => {
            json!({"kind": "link", "mode": mode(item), "target": content(target)})
        }
        kind => json!({
            "kind": "file",
            "mode": mode(item),
            "size": kind.file_len().map(big),
            "hash": kind.file_hash(),
            "unstable": kind.is_unstable(),
        }),
    }
}

/// Converts bytes to JSON: a string, or `{"base64"}`.
pub fn content(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({"base64": data_encoding::BASE64.encode(bytes)}),
    }
}
