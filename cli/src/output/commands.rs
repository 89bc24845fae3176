//! Commands in printed texts: each names the store that it is for, so that it works when it is
//! pasted.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Begin of a printed command.
const BEGIN: &str = "`milepost ";

/// Commands that work on no store, or name one by themselves.
const WITHOUT: [&str; 9] =
    ["COMMAND", "agent", "completions", "config", "help", "init", "key", "openapi", "rewind"];

/// Commands that work on the store itself: a service cannot do them.
const LOCAL: [&str; 6] = ["doctor", "export", "repair", "serve", "token", "trust"];

/// Options that name the store of this command, with a space at the end; empty where a command
/// without options finds the same store.
static OPTIONS: Mutex<String> = Mutex::new(String::new());

/// Sets the options that name the store of this command.
pub fn name_store(options: &[(&str, String)]) {
    let words = options.iter().map(|(name, value)| match value.as_str() {
        "" => format!("{name} "),
        value => format!("{name} {} ", quoted(value)),
    });
    *OPTIONS.lock().unwrap_or_else(PoisonError::into_inner) = words.collect();
}

/// Returns a text whose commands in backquotes name the store.
pub fn with_store(text: &str) -> Cow<'_, str> {
    with(text, &OPTIONS.lock().unwrap_or_else(PoisonError::into_inner))
}

fn with<'a>(text: &'a str, options: &str) -> Cow<'a, str> {
    if options.is_empty() || !text.contains(BEGIN) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(BEGIN);
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word = part.split(['`', ' ']).next().unwrap_or_default();
        let is_remote = options.starts_with("--server");
        let is_named =
            word.starts_with("--") || WITHOUT.contains(&word) || is_remote && LOCAL.contains(&word);
        named.push_str(BEGIN);
        named.push_str(if is_named { "" } else { options });
        named.push_str(part);
    }
    Cow::Owned(named)
}

/// Returns a path as a word of a command.
pub fn path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// Returns a text as one word of a shell.
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._/:+=,@%-".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_commands_name_the_store_and_others_stay() {
        let text =
            "`milepost undo a` or `milepost --store x log a`; `milepost help undo`, `--theirs`";
        assert_eq!(with(text, ""), text);
        assert_eq!(
            with(text, "--store y "),
            "`milepost --store y undo a` or `milepost --store x log a`; `milepost help undo`, \
             `--theirs`"
        );
    }

    #[test]
    fn a_word_of_a_shell_is_quoted_where_it_must_be() {
        assert_eq!(quoted("/tmp/a-b_c.d"), "/tmp/a-b_c.d");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
