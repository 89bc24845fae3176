//! Addresses as text.

// tidy: one form of text

use std::fmt::Write as _;

use milepost::Offset;

/// Returns the address of a point of a lineage, to copy.
pub fn address(task: &str, lineage: impl std::fmt::Display, offset: Offset) -> String {
    format!("{}/{lineage}@{offset}", encode(task))
}

/// Returns a task's id as in an address. All that a shell would interpret is percent-encoded too,
/// so that a command that contains it can be copied.
pub fn encode(task: &str) -> String {
    let mut out = String::with_capacity(task.len());
    let mut buffer = [0; 4];
    for c in task.chars() {
        let plain = c.is_alphanumeric() || "._:+=,".contains(c) || (c == '-' && !out.is_empty());
        if plain || !(c.is_ascii() || c.is_whitespace() || c.is_control()) {
            out.push(c);
            continue;
        }
        for byte in c.encode_utf8(&mut buffer).bytes() {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
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
}
