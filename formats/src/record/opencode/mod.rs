//! Sessions of opencode, as `opencode export ID` prints them: one JSON document with `info` and
//! `messages`.
//!
//! ```text
//! parts     the document as lines: one for each part of a message
//! import    the lines of a document, written to the store
//! ```
//!
//! The document is read as lines whose keys are the ids in it, so that a later, longer export of
//! the session adds only the new ones.

mod import;
pub(crate) mod parts;

use milepost::{Body, Json};

use super::session::line::kept;
use super::session::{EachAlone, SessionFormat};
use crate::format::Format;
pub(super) use import::record;

/// Name of the application events.
pub const NAME: &str = "opencode";
/// Length of an id of opencode: a kind of three letters, a time of twelve digits, a random tail.
const ID: usize = 30;
/// Length of an id that the plugin makes: one of opencode, and a letter.
const PLUGIN_ID: usize = ID + 1;
/// Length of an id without its tail.
const ID_STEM: usize = 16;

/// The format.
pub static SESSIONS: SessionFormat = SessionFormat {
    format: Format::Opencode,
    key: "opencode:",
    name: NAME,
    is_rewritten: true,
    session_id: |_, _| None,
    parser: || Box::new(EachAlone(|_| Err("an export of opencode has no lines".to_owned()))),
    written,
};

fn written(events: &[Body]) -> Option<Json> {
    Json::from_value(&kept(NAME, events)?.0).ok()
}

/// Returns the name of a message or part in keys: what stays of its id where the session continues
/// under other ids.
pub fn name_of(id: &str) -> String {
    let IdParts { stem, letter, .. } = IdParts::of(id);
    format!("{stem}{letter}")
}

/// The parts of an id.
pub struct IdParts<'a> {
    /// Its kind and its time, by which opencode orders messages and parts; the whole id if it has
    /// another form.
    pub stem: &'a str,
    /// The random letters after it.
    pub tail: &'a str,
    /// The letter of the plugin, whose own part has the id of another part and the letter.
    pub letter: &'a str,
}

impl<'a> IdParts<'a> {
    pub fn of(id: &'a str) -> Self {
        let is_usual = matches!(id.len(), ID | PLUGIN_ID)
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let at = if is_usual { (ID_STEM, ID) } else { (id.len(), id.len()) };
        let (id, letter) = id.split_at_checked(at.1).unwrap_or((id, ""));
        let (stem, tail) = id.split_at_checked(at.0).unwrap_or((id, ""));
        Self { stem, tail, letter }
    }
}
