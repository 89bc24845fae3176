//! Commands in messages: each works when it is pasted where it was printed.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use milepost_reading::shell;

/// Beginning of a command in a text.
const BEGIN: &str = "`milepost ";

/// Commands that work on no store, or find theirs without an option.
const WITHOUT_STORE: [&str; 11] = [
    "agent",
    "completions",
    "config",
    "demo",
    "help",
    "init",
    "key",
    "man",
    "openapi",
    "webhook",
    "--version",
];

/// Commands that work on the store itself, and not through a service.
const LOCAL: [&str; 6] = ["doctor", "export", "repair", "serve", "token", "trust"];

/// The option that names the store of this process's command.
static OPTION: Mutex<Option<StoreOption>> = Mutex::new(None);

/// An option that names a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreOption {
    /// The user gave it: each printed command of this store needs it.
    Given(String),
    /// `rewind` finds the store of a project by itself, and other commands find another one.
    OfProject(String),
    /// The user gave it, and commands find it by themselves, but for `rewind`.
    Nearest(String),
}

impl StoreOption {
    /// Returns `--store DIR`.
    pub fn store(dir: &std::path::Path) -> String {
        format!("--store {}", shell_word(&dir.display().to_string()))
    }

    fn add_to(&self, text: &str) -> Option<String> {
        let (Self::Given(option) | Self::OfProject(option) | Self::Nearest(option)) = self;
        let finds = |command: &str| match self {
            Self::Given(_) => false,
            Self::OfProject(_) => command == "rewind",
            Self::Nearest(_) => command != "rewind",
        };
        let mut parts = text.split(BEGIN);
        let mut result = parts.next()?.to_owned();
        for part in parts {
            let command = part.split('`').next().unwrap_or_default();
            let mut words = command.split_whitespace();
            let first = words.next().unwrap_or_default();
            let is_named = words.any(|word| ["--store", "--server"].contains(&word));
            let is_free =
                WITHOUT_STORE.contains(&first) || ["--store", "--server"].contains(&first);
            let is_elsewhere = option.starts_with("--server") && LOCAL.contains(&first);
            let finds_it = finds(first) || is_elsewhere;
            result.push_str(BEGIN);
            if !(is_named || is_free || finds_it) {
                result.push_str(option);
                result.push(' ');
            }
            result.push_str(part);
        }
        Some(result)
    }
}

/// Sets the option that printed commands need for the store of this process's command.
pub fn name_store(option: StoreOption) {
    *OPTION.lock().unwrap_or_else(PoisonError::into_inner) = Some(option);
}

/// Returns a text in which each command between backticks names the store of this process's
/// command, where it would find another one by itself.
pub fn with_store(text: &str) -> Cow<'_, str> {
    let option = OPTION.lock().unwrap_or_else(PoisonError::into_inner);
    let named = option.as_ref().filter(|_| text.contains(BEGIN));
    named.and_then(|option| option.add_to(text)).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns a text as one word of a shell, without control characters.
pub fn shell_word(text: &str) -> String {
    shell::word(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_commands_name_the_store_where_they_would_find_another_one() {
        let added = |option: &StoreOption, text: &str| option.add_to(text).unwrap();
        let given = StoreOption::Given("--store s".to_owned());
        let text = "`milepost undo a` takes it back, `milepost rewind ~1` goes on; `milepost agent \
                    status`, `milepost --store x tasks` and `--store` do not change";
        assert_eq!(
            added(&given, text),
            "`milepost --store s undo a` takes it back, `milepost --store s rewind ~1` goes on; \
             `milepost agent status`, `milepost --store x tasks` and `--store` do not change"
        );
        let found = StoreOption::OfProject("--store s".to_owned());
        assert!(added(&found, text).contains("`milepost --store s undo a`"));
        assert!(added(&found, text).contains("`milepost rewind ~1`"));
        let nearest = StoreOption::Nearest("--store s".to_owned());
        assert!(added(&nearest, text).starts_with("`milepost undo a`"));
        assert!(added(&nearest, text).contains("`milepost --store s rewind ~1`"));
        assert_eq!(shell_word("/a b/it's"), r"'/a b/it'\''s'");
        assert_eq!(StoreOption::store(std::path::Path::new("/a/.b")), "--store /a/.b");
    }
}
