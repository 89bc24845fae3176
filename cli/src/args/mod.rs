//! Arguments that several commands share.
//!
//! A structure that commands flatten has no doc comment: it would replace the help of the command.

mod conversion;
mod going_back;
mod moment;
mod number;
mod scan;
mod serve;

use std::time::Duration;

pub use conversion::InputArgs;
pub use going_back::{FolderOptions, GoingBack, Paths};
pub use moment::moment;
pub use number::{at_least_one, whole};
pub use scan::ScanOptions;
pub use serve::{LogFormat, ServeFlags};

/// Parses a time span: a whole number and `ms`, `s`, `m`, `h` or `d`.
pub fn span(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text.strip_prefix(digits)? {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 3600 * 1000,
        "d" => 86_400 * 1000,
        _ => return None,
    };
    // `parse` accepts a sign, too.
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = plain.then(|| digits.parse().ok())??;
    number.checked_mul(unit).map(Duration::from_millis)
}

/// Parses a whole number and a unit.
pub fn duration(text: &str) -> Result<Duration, String> {
    match span(text) {
        Some(duration) => Ok(duration),
        None => {
            Err("a duration is a whole number and ms, s, m or h, as in 500ms, 90s, 30m or 12h"
                .into())
        }
    }
}
