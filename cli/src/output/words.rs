//! Addresses as text.

// tidy: one form of text

use milepost::Offset;

/// Returns the address of a point of a lineage, to copy.
pub fn address(task: &str, lineage: impl std::fmt::Display, offset: Offset) -> String {
    format!("{}/{lineage}@{offset}", encode(task))
}

/// Returns a task's id as in an address.
pub fn encode(task: &str) -> String {
    let mut out = String::with_capacity(task.len());
    for c in task.chars() {
        match c {
            '@' => out.push_str("%40"),
            '~' => out.push_str("%7E"),
            '/' => out.push_str("%2F"),
            '%' => out.push_str("%25"),
            c => out.push(c),
        }
    }
    out
}
