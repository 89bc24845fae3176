//! The share: a task as one HTML file, as `docs/SHARE.md` defines it. Its export is cut into
//! pieces, each of which is a gzip stream in base64 in a script element.
//!
//! ```text
//! document  the lines around the pieces, for writer and reader
//! read      reads the export in a share
//! ```

mod document;
mod read;
#[cfg(test)]
mod tests;

pub use document::{contents_tag, head, tail};
pub use read::ShareReader;

/// Version of the format.
pub const VERSION: u32 = 1;

/// The first bytes of every version.
pub const PREFIX: &str = "<!doctype html><!-- milepost share ";

/// The first line of this version.
pub const BEGINNING: &str = "<!doctype html><!-- milepost share 1 -->\n";

/// The id of the script element with the contents.
pub const CONTENTS_ID: &str = "share";

/// The beginning of the ids of pieces of the index.
pub const INDEX_ID: &str = "index-";

/// The beginning of the ids of pieces of the export.
pub const EXPORT_ID: &str = "export-";

/// The type of the script element of a piece.
pub const PIECE_TYPE: &str = "application/gzip;base64";

/// The length at which a piece of the export ends, with the line that reaches it, in bytes.
pub const PIECE: u64 = 512 << 10;

/// The start tag of the viewer, which is the last element.
pub const VIEWER: &str = r#"<script type="module">"#;

/// The end tag of a script element.
pub const END_TAG: &str = "</script>";

/// Maximum length of the first line.
pub(crate) const FIRST_LINE_MAX: u64 = 80;

/// Returns the start tag of a piece, without a line end. `id` is [`EXPORT_ID`] or [`INDEX_ID`].
pub fn start_tag(id: &str, number: u64) -> String {
    format!(r#"<script type="{PIECE_TYPE}" id="{id}{number}">"#)
}

/// Returns the version of a share that begins with these bytes; `None` if they are not a share.
pub fn version(start: &[u8]) -> Option<u32> {
    let line = start.strip_prefix(PREFIX.as_bytes())?.split(|byte| *byte == b'\n').next()?;
    let digits = std::str::from_utf8(line).ok()?.strip_suffix(" -->")?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_plain)
}
