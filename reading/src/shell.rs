//! Words of a command that is printed to be pasted into a shell.

use std::fmt::Write as _;

/// Returns bytes, such as an address or a path, as one word of a shell, without control characters.
/// Bytes that are not printable are escaped as Bash, Zsh and POSIX 2024 read it.
///
/// ```
/// use milepost_reading::shell;
///
/// assert_eq!(shell::word(b"essay@3"), "essay@3");
/// assert_eq!(shell::word(b"my essay"), "'my essay'");
/// assert_eq!(shell::word(b"a\nb"), r"$'a\x0ab'");
/// ```
pub fn word(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).ok();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    match text.filter(|text| !text.contains(char::is_control)) {
        Some(text) if is_bare(text) && text.chars().all(is_plain) => text.to_owned(),
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
        None => {
            let byte = |byte: &u8| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
                b' '..=b'~' => char::from(*byte).to_string(),
                byte => format!("\\x{byte:02x}"),
            };
            format!("$'{}'", bytes.iter().map(byte).collect::<String>())
        }
    }
}

/// Returns `false` for the empty text, and for one that looks like an option.
fn is_bare(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-')
}

/// Returns a task's id as in an address. All that a shell would interpret is percent-encoded too,
/// so that a command that contains it can be copied.
pub fn task(task: &str) -> String {
    let mut out = String::with_capacity(task.len());
    let mut buffer = [0; 4];
    for c in task.chars() {
        let plain = c.is_alphanumeric() || "._:+=,".contains(c) || (c == '-' && !out.is_empty());
        if plain || !(c.is_ascii() || c.is_whitespace() || c.is_control()) {
            out.push(c);
            continue;
        }
        for byte in c.encode_utf8(&mut buffer).bytes() {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{task, word};

    #[test]
    fn a_word_is_quoted_if_a_shell_would_read_it_in_another_way() {
        for (bytes, quoted) in [
            (&b"/a/b-c_d.e"[..], "/a/b-c_d.e"),
            (b"", "''"),
            (b"-x", "'-x'"),
            (b"it's", r"'it'\''s'"),
            ("\u{e9}".as_bytes(), "'\u{e9}'"),
            (b"\x1b[2J", r"$'\x1b[2J'"),
            (b"\xff'\\", r"$'\xff\'\\'"),
        ] {
            assert_eq!(word(bytes), quoted);
        }
        assert_eq!(task("-x y/'\u{e9}"), "%2Dx%20y%2F%27\u{e9}");
    }
}
