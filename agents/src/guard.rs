//! The command of a hook: a guard that does nothing if the program is missing.
//!
//! ```sh
//! [ -x '/abs/milepost' ] && '/abs/milepost' agent hook NAME || :
//! ```
//!
//! Cursor, which refuses calls of tools where a hook prints nothing, has `echo '{"continue":true}'`
//! in place of `:`. The text has no version and no option. Agents that ask for trust in a hook ask
//! by its text.

use std::path::{Path, PathBuf};

use crate::agent::Agent;
use crate::environment::is_program;
use crate::error::Error;

/// A command of a hook of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The program that it calls.
    pub program: PathBuf,
    /// The name of the agent that it passes on.
    pub agent: String,
}

impl Guard {
    /// Returns the command with which an agent calls a program.
    pub fn command(program: &Path, agent: Agent) -> Result<String, Error> {
        let next = "move the program to another folder, then install from there";
        let text = program.to_str().filter(|text| text.starts_with('/'));
        let Some(text) = text else {
            let reason = "the path of this program is not absolute, or not UTF-8";
            return Err(Error::new(format!("{reason}: {}", program.display()), next));
        };
        if text.contains(char::is_control) {
            return Err(Error::new("the path of this program has a control character", next));
        }
        if agent.replaces_variables() && text.contains('$') {
            let name = agent.name();
            let reason = format!("{name} replaces what follows `$` in a command: {text}");
            return Err(Error::new(reason, next));
        }
        let program = quoted(text);
        let (name, otherwise) = (agent.name(), agent.otherwise());
        Ok(format!("[ -x {program} ] && {program} agent hook {name} || {otherwise}"))
    }

    /// Reads a command. `None` if it is another one.
    pub fn read(command: &str) -> Option<Self> {
        let rest = command.strip_prefix("[ -x ")?;
        let (program, _) = rest.split_once(" ] && ")?;
        // A path may have the separator in it: the place is where both halves agree.
        let program = std::iter::successors(Some(program), |program| {
            let after = rest.get(program.len() + 1..)?;
            let end = program.len() + 1 + after.find(" ] && ")?;
            rest.get(..end)
        });
        program.into_iter().find_map(|program| {
            let call = rest.get(program.len()..)?.strip_prefix(" ] && ")?;
            let call = call.strip_prefix(program)?.strip_prefix(" agent hook ")?;
            let (agent, otherwise) = call.split_once(" || ")?;
            let known = Agent::of_name(agent).map_or_else(|| ":".to_owned(), Agent::otherwise);
            if otherwise != known {
                return None;
            }
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let is_name = !agent.is_empty() && agent.chars().all(plain);
            let program = unquoted(program).filter(|path| path.starts_with('/') && is_name)?;
            Some(Self { program: program.into(), agent: agent.to_owned() })
        })
    }

    /// Returns `true` if the program exists and can be run.
    pub fn is_alive(&self) -> bool {
        is_program(&self.program)
    }
}

/// Quotes a text for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns the text that was quoted. `None` for another quoting.
fn unquoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let plain = inner.replace(r"'\''", "'");
    (quoted(&plain) == text).then_some(plain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_text_is_the_one_of_the_page() {
        let command = Guard::command(Path::new("/abs/milepost"), Agent::Codex).unwrap();
        assert_eq!(command, "[ -x '/abs/milepost' ] && '/abs/milepost' agent hook codex || :");
    }

    #[test]
    fn other_commands_are_not_ours() {
        let ours = "[ -x '/a b/m' ] && '/a b/m' agent hook x-1 || :";
        assert_eq!(Guard::read(ours).unwrap().program, Path::new("/a b/m"));
        for other in [
            "",
            "milepost agent hook codex",
            "[ -x '/a/m' ] && '/b/m' agent hook codex || :",
            "[ -x '/a/m' ] && '/a/m' agent hook codex || exit 1",
            "[ -x '/a/m' ] && '/a/m' agent hook codex; rm x || :",
            "[ -x '/a/m' ] && '/a/m' agent hook  || :",
            "[ -x 'a/m' ] && 'a/m' agent hook codex || :",
            "[ -x /a/m ] && /a/m agent hook codex || :",
            "[ -x '/a'$(x)'/m' ] && '/a'$(x)'/m' agent hook codex || :",
            " [ -x '/a/m' ] && '/a/m' agent hook codex || :",
        ] {
            assert_eq!(Guard::read(other), None, "{other}");
        }
    }

    #[test]
    fn paths_that_an_agent_would_change_are_refused() {
        for (path, agent) in [
            ("m", Agent::Codex),
            ("/a/$HOME/m", Agent::GeminiCli),
            ("/a/$HOME/m", Agent::QwenCode),
            ("/a\n/m", Agent::ClaudeCode),
        ] {
            assert!(Guard::command(Path::new(path), agent).is_err(), "{path}");
        }
        assert!(Guard::command(Path::new("/a/$HOME/m"), Agent::Codex).is_ok());
    }

    proptest! {
        #[test]
        fn every_command_is_read_back(path in "/[ -~]{0,30}( \\] && )?['\\\\a-z ]{0,9}") {
            let command = Guard::command(Path::new(&path), Agent::ClaudeCode).unwrap();
            let guard = Guard { program: path.into(), agent: "claude-code".into() };
            prop_assert_eq!(Guard::read(&command), Some(guard));
        }

        #[test]
        fn no_text_makes_the_reader_panic(
            text in "(\\[ -x |' \\] && |'|/|é| agent hook | \\|\\| :){0,12}"
        ) {
            let _ = Guard::read(&text);
        }
    }
}
