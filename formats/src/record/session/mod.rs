//! Sessions of coding agents: JSON Lines, one file per session.
//!
//! ```text
//! line     one line, converted for the log
//! records  the records of a file: one a line, and the whole ones of a damaged line
//! tree     the branch of each line
//! writer   events, marks and lineages written to the store
//! import   a file from its beginning to its end
//! tail     a file that an agent is still writing
//! ```
//!
//! A [`SessionFormat`] has the functions of one format.

pub(crate) mod import;
pub(crate) mod line;
mod records;
pub(crate) mod tail;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod tree;
pub(crate) mod writer;

use milepost::{Body, Json};

use crate::format::Format;
use line::SessionLine;

/// Parts of one format of sessions.
pub struct SessionFormat {
    pub format: Format,
    /// Prefix of the keys of its lines.
    pub key: &'static str,
    /// Name of the application events, and of the extra field of messages.
    pub name: &'static str,
    /// True if recorded lines are recognized by their keys alone: the agent writes its file anew,
    /// without rewound lines.
    pub is_rewritten: bool,
    /// Returns the id of a session from the beginning of its file, and the file's name without its
    /// extension.
    pub session_id: fn(&[u8], Option<&str>) -> Option<String>,
    /// Returns a parser of the lines of one file.
    pub parser: fn() -> Box<dyn LineParser>,
    /// Returns the line for its events, as JSON; `None` if they do not have all of it.
    pub written: fn(&[Body]) -> Option<Json>,
}

/// A parser of the lines of one file, in their order.
pub trait LineParser: Send {
    /// Reads a line, or returns the reason why it is invalid.
    fn read(&mut self, text: &str) -> Result<SessionLine, String>;
}

/// A parser of lines that do not depend on each other.
pub struct EachAlone(pub fn(&str) -> Result<SessionLine, String>);

impl LineParser for EachAlone {
    fn read(&mut self, text: &str) -> Result<SessionLine, String> {
        (self.0)(text)
    }
}
