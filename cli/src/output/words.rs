//! Addresses as text.

use std::fmt::Write as _;

use milepost::{CheckpointId, Offset};

/// Digits of an abbreviated id. Addresses take 8 or more.
const DIGITS: usize = 12;

/// Returns the address of a point of a lineage, to copy.
pub fn address(task: &str, lineage: impl std::fmt::Display, offset: Offset) -> String {
    format!("{}/{lineage}@{offset}", encode(task))
}

/// Returns the abbreviated id of a checkpoint.
pub fn short_id(id: &CheckpointId) -> String {
    id.to_string().chars().take(DIGITS).collect()
}

pub use milepost_reading::shell::task as encode;

/// Percent-encodes a text for a part of the fragment of an address of the page.
pub fn fragment(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => encoded.push(char::from(byte)),
            b'-' | b'.' | b'_' | b'~' | b'/' | b'@' | b':' => encoded.push(char::from(byte)),
            // Writing to a string cannot fail.
            byte => _ = write!(encoded, "%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_plain_word_of_a_command_and_an_address_of_the_same_name() {
        let names =
            ["essay", "a b", "$(rm -r x)", "a'b\"c`d", "-x", "a@b/c~d%e", "#é🦀", "~", "x\n;y"];
        for name in names {
            let word = encode(name);
            let is_plain = |c: char| !c.is_ascii() || c.is_alphanumeric() || "._-:+=,%".contains(c);
            assert!(word.chars().all(is_plain) && !word.starts_with('-'), "{word}");
            let address: milepost::Address = word.parse().unwrap();
            assert!(matches!(address, milepost::Address::Task { task, .. } if task == name));
        }
        assert_eq!((encode("essay-1").as_str(), encode("a b").as_str()), ("essay-1", "a%20b"));
    }

    #[test]
    fn an_address_is_one_part_of_a_fragment() {
        for (address, part) in [
            ("essay/2@41", "essay/2@41"),
            ("a b", "a%20b"),
            ("a%2Fb~3", "a%252Fb~3"),
            ("x?tab=raw&to=\"#", "x%3Ftab%3Draw%26to%3D%22%23"),
            ("任务", "%E4%BB%BB%E5%8A%A1"),
        ] {
            assert_eq!(fragment(address), part);
        }
    }
}
