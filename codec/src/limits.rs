//! Size limits of the texts in events, in bytes. They apply to appends and to imported events: an
//! index keeps these texts and has to stay small.

// tidy: numbers that several modules share
use crate::error::{Error, Result};

/// The most bytes of a key, an actor, a user, a correlation id, a reason or a description.
pub const TEXT_MAX: usize = 1024;

/// The most bytes of a label of a checkpoint, or of a user.
pub const NAME_MAX: usize = 200;

/// The most bytes of a task's id, or of an alias of a checkpoint: ids of other systems, some of
/// which consist of several parts.
pub const ID_MAX: usize = 1024;

/// The most bytes of all aliases of a checkpoint. An index entry holds them all.
pub const ALIASES_BYTES_MAX: usize = 2048;

/// The most bytes of a checkpoint's metadata.
pub const METADATA_MAX: usize = 64 << 10;

/// Checks `size` against `max`. `what` names the checked value, with its article.
///
/// # Errors
///
/// `Invalid`: the size is over the limit; the message has both numbers.
///
/// ```
/// use milepost_codec::{TEXT_MAX, check_size};
///
/// assert!(check_size("a reason", 3, TEXT_MAX).is_ok());
/// let error = check_size("a reason", 2000, TEXT_MAX).unwrap_err();
/// assert_eq!(error.to_string(), "a reason of 2000 bytes is over the limit of 1024");
/// ```
pub fn check_size(what: &str, size: usize, max: usize) -> Result<()> {
    match size <= max {
        true => Ok(()),
        false => Err(Error::invalid(format!("{what} of {size} bytes is over the limit of {max}"))),
    }
}

/// Returns the beginning of a text, of at most some bytes.
pub fn bounded(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// Checks a text against [`TEXT_MAX`].
pub(crate) fn check_text(what: &str, text: Option<&String>) -> Result<()> {
    check_size(what, text.map_or(0, String::len), TEXT_MAX)
}
