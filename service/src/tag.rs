//! Tags of answers: a client that has the tag of an answer has the answer.

// tidy: one type

use milepost::Hash;

/// A tag: a hash, and the other inputs of an answer, separated by dots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag(String);

impl Tag {
    /// Creates a tag of an answer that a hash determines.
    pub fn new(hash: impl std::fmt::Display) -> Self {
        Self(hash.to_string())
    }

    /// Adds another input of the answer.
    #[must_use]
    pub fn and(mut self, more: impl std::fmt::Display) -> Self {
        self.0.push('.');
        self.0.push_str(&more.to_string());
        self
    }

    /// Adds the erasures of a task, if there are any: an erasure changes the answer, not the hash.
    #[must_use]
    pub fn erased(self, erasures: Option<Hash>) -> Self {
        match erasures {
            None => self,
            Some(hash) => self.and(format_args!("e{hash}")),
        }
    }

    /// Returns the text of the tag.
    pub fn text(&self) -> &str {
        &self.0
    }
}
