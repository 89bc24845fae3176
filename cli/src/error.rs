//! Failures of commands: the message, the hint and the exit code.
//!
//! ```text
//! 0  done
//! 1  the request could not be met
//! 2  usage (clap prints those)
//! 3  corrupt or diverged
//! 4  conflict
//! 70 a bug
//! ```
//!
//! `run` exits with the code of the command that it ran, and has codes of its own.

use std::borrow::Cow;
use std::io;

use milepost::{Detail, ErrorKind};
use milepost_formats::{ErrorKind as FormatsKind, Remedy};
use serde_json::{Value, json};

use crate::output::words::encode;
use crate::output::{ErrorStyle, printable, with_store};

/// Exit code of a request that could not be met.
pub const UNMET: u8 = 1;
/// Exit code of arguments that do not go together.
pub const USAGE: u8 = 2;
/// Exit code of damage: stored bytes changed, or two things that must agree do not.
pub const CORRUPT: u8 = 3;
/// Exit code of a conflict: another writer was first, or the name is taken.
pub const CONFLICT: u8 = 4;
/// Exit code of a command that was interrupted: 128 and SIGINT.
pub const INTERRUPTED: u8 = 130;
/// Exit code of a bug.
pub const BUG: u8 = 70;

/// Hint for a file or folder that the user may not read or write.
pub const PERMISSION: &str =
    "see that you may read the file, and that you may write to the folder: `ls -ld` shows both";

/// Hint for an input that is not recorded line by line.
pub const LINES_OR_FILE: &str = "name a file, without --ack: while another program has the store \
                                 open, standard input, a pipe and --ack are for JSON Lines";

/// Hint for a value that is refused. [`Failure::of_command`] replaces it by a command.
const HELP: &str = "the help of the command says what it takes";

/// Hint for a change whose answer was lost.
pub const MAY_BE_DONE: &str = "what was asked may have been done: look before you ask again";

/// Hint for what a hook refused.
pub const LOOK_AT_HOOKS: &str =
    "what it runs is in your hooks.json, or `milepost trust --show` says it";

pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Reason why a command failed.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    /// `None` if it was printed already, or if the output has no reader.
    message: Option<String>,
    hint: Option<String>,
    /// The kind of the engine's error, if known.
    kind: Option<ErrorKind>,
    /// `true` if another process has the store open.
    is_in_use: bool,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        let message = Some(message.into());
        Self { code: UNMET, message, hint: None, kind: None, is_in_use: false }
    }

    /// Returns a conflict that the user has to resolve.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self { code: CONFLICT, ..Self::new(message) }
    }

    /// Returns a failure that has been printed already.
    pub fn reported(code: u8) -> Self {
        Self { code, message: None, ..Self::new("") }
    }

    /// Returns the failure of arguments that cannot be parsed, of this command.
    pub fn usage(error: &clap::Error, command: &str) -> Self {
        let text = error.render().to_string();
        let mut paragraphs = text.trim().split("\n\n");
        let first = paragraphs.next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
        // A value that looks like an option is seldom meant to be a value.
        let tip = |text: &str| text.trim().strip_prefix("tip: ").map(str::to_owned);
        let tip = paragraphs.find_map(tip).filter(|tip| !tip.contains("as a value"));
        let hint = tip.unwrap_or_else(|| format!("`{command} --help` lists the arguments"));
        Self::new(message).code_of(USAGE).hint(hint)
    }

    /// Returns the failure of a file or folder, with a hint that fits the error.
    pub fn of_file(message: impl std::fmt::Display, error: &io::Error) -> Self {
        let failure = Self::new(format!("{message}: {error}"));
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "check the name, and that its folder is there",
            io::ErrorKind::PermissionDenied => PERMISSION,
            io::ErrorKind::AlreadyExists => {
                return failure.code_of(CONFLICT).hint("give another name, or move it away");
            }
            io::ErrorKind::IsADirectory => "it is a folder: give a file",
            io::ErrorKind::NotADirectory => "give a name below a folder: this one is below a file",
            _ => return failure,
        };
        failure.hint(hint)
    }

    pub fn bug(message: String) -> Self {
        let hint = "this is a bug in milepost; please report it, with the command, at \
                    https://github.com/milepost-log/milepost/issues";
        Self { code: BUG, ..Self::new(message).hint(hint) }
    }

    /// Replaces the hint of the kind.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns `true` if this is the hint.
    pub fn has_hint(&self, hint: &str) -> bool {
        self.hint.as_deref() == Some(hint)
    }

    /// Adds a hint, unless there is one.
    #[must_use]
    pub fn or_hint(self, hint: &str) -> Self {
        match self.hint {
            Some(_) => self,
            None => self.hint(hint),
        }
    }

    /// Names the command in the hint at its help, which is that of a value without another hint.
    #[must_use]
    pub fn of_command(mut self, command: &str) -> Self {
        let words = command.split_once(' ').map_or("", |(_, words)| words);
        let named = |hint: String| match hint == HELP {
            true => format!("`milepost help {words}` says what it takes"),
            false => hint,
        };
        self.hint = self.hint.map(named);
        self
    }

    /// Puts `place` in front of the message.
    #[must_use]
    pub fn at(mut self, place: impl std::fmt::Display) -> Self {
        self.message = self.message.map(|message| format!("{place}: {message}"));
        self
    }

    /// Sets the exit code.
    #[must_use]
    pub fn code_of(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Sets the kind.
    #[must_use]
    pub fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Returns the kind of the engine's error, if known.
    pub fn kind(&self) -> Option<ErrorKind> {
        self.kind
    }

    /// Returns `true` if another process has the store open.
    pub fn is_in_use(&self) -> bool {
        self.is_in_use
    }

    pub fn code(&self) -> u8 {
        self.code
    }

    /// Prints the failure and its hint on standard error, as text or as an object of JSON.
    pub fn print(&self, style: ErrorStyle) {
        use std::io::Write;
        let Some(message) = &self.message else {
            return;
        };
        let mut stderr = io::stderr().lock();
        // Without standard error there is no place for the message.
        if style.is_json {
            let _ = writeln!(stderr, "{}", self.form(message));
            return;
        }
        let (red, cyan, plain) = match style.has_color {
            true => ("\x1b[1;31m", "\x1b[36m", "\x1b[0m"),
            false => ("", "", ""),
        };
        let _ = writeln!(stderr, "{red}error:{plain} {}", printable(message));
        if let Some(hint) = &self.hint {
            let _ = writeln!(stderr, "{cyan}hint:{plain} {}", printable(&with_store(hint)));
        }
    }

    fn form(&self, message: &str) -> Value {
        json!({
            "error": {
                "kind": self.kind_name(),
                "message": message,
                "hint": self.hint.as_deref().map(with_store),
                "code": self.code,
            }
        })
    }

    /// Returns the kind in JSON: that of the exit code, or else that of the engine.
    fn kind_name(&self) -> &'static str {
        match (self.kind, self.code) {
            (_, USAGE) => "usage",
            (_, CONFLICT) => "conflict",
            (_, BUG) => "bug",
            (Some(ErrorKind::Diverged), _) => "diverged",
            (_, CORRUPT) => "corrupt",
            (Some(ErrorKind::Invalid), _) => "invalid",
            (Some(ErrorKind::NotFound), _) => "not_found",
            (Some(ErrorKind::Unavailable), _) => "unavailable",
            (Some(ErrorKind::Unsupported), _) => "unsupported",
            (Some(ErrorKind::Poisoned), _) => "poisoned",
            _ => "unmet",
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.message.as_deref().unwrap_or("stopped"))
    }
}

impl From<milepost::Error> for Failure {
    fn from(error: milepost::Error) -> Self {
        Self::from(&error)
    }
}

impl From<milepost_service::Error> for Failure {
    fn from(error: milepost_service::Error) -> Self {
        match error {
            milepost_service::Error::Engine(error) => error.into(),
            other => Self::new(other.to_string()),
        }
    }
}

impl From<&milepost::Error> for Failure {
    fn from(error: &milepost::Error) -> Self {
        let (code, mut hint) = remedy(error.kind());
        if let Some(Detail::Refused { .. }) = error.detail() {
            hint = Some(LOOK_AT_HOOKS);
        }
        if let Some(Detail::ReadOnly { .. }) = error.detail() {
            hint = Some("ask again once the store can be opened for writing");
        }
        if let Some(Detail::Foreign { .. }) = error.detail() {
            hint = Some("docs/TRUST.md says what is safe to do with a store from elsewhere");
        }
        if let Some(Detail::WrongKey { has_key }) = error.detail() {
            hint = Some(match has_key {
                true => "`--key-file FILE` names the file with the key of the store",
                false => "leave out --key-file, MILEPOST_KEY_FILE and MILEPOST_KEY",
            });
        }
        if is_denied(error) {
            hint = Some(PERMISSION);
        }
        let is_in_use = matches!(error.detail(), Some(Detail::InUse { .. }));
        if is_in_use {
            hint = Some("one process at a time opens a store: `--wait 1m` waits longer for it");
        }
        let mut hint = hint.map(String::from);
        if let Some(Detail::Pending { task, .. }) = error.detail() {
            let task = encode(task);
            hint = Some(format!(
                "`milepost recover {task}` undoes the interrupted restore; then run this again"
            ));
        }
        Self { code, message: Some(error.to_string()), hint, kind: Some(error.kind()), is_in_use }
    }
}

/// Returns `true` if a permission is missing.
pub fn is_denied(error: &milepost::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let io = cause.downcast_ref::<io::Error>();
        if io.is_some_and(|io| io.kind() == io::ErrorKind::PermissionDenied) {
            return true;
        }
        source = cause.source();
    }
    false
}

/// Returns the exit code of a kind, and a general remedy.
fn remedy(kind: ErrorKind) -> (u8, Option<&'static str>) {
    match kind {
        ErrorKind::Invalid => (UNMET, Some(HELP)),
        ErrorKind::NotFound => (UNMET, Some("check the name: it may have been taken away since")),
        ErrorKind::Conflict => (CONFLICT, Some("look at what is there now, and decide again")),
        ErrorKind::Unavailable => (UNMET, Some("when the cause is gone, run this again")),
        ErrorKind::Corrupt => {
            (CORRUPT, Some("`milepost repair --dry-run` says what can be mended and what is lost"))
        }
        ErrorKind::Diverged => (CORRUPT, None),
        ErrorKind::Unsupported => {
            (UNMET, Some("a newer milepost wrote this: update milepost and try again"))
        }
        ErrorKind::Poisoned => {
            (UNMET, Some("check the disk, then run the command again: it reopens the store"))
        }
        _ => (UNMET, None),
    }
}

impl From<milepost_client::Error> for Failure {
    fn from(error: milepost_client::Error) -> Self {
        use milepost_client::ErrorKind as Remote;
        let kind = match error.kind() {
            Remote::Invalid => Some(ErrorKind::Invalid),
            Remote::NotFound => Some(ErrorKind::NotFound),
            Remote::Conflict => Some(ErrorKind::Conflict),
            Remote::Corrupt => Some(ErrorKind::Corrupt),
            _ => None,
        };
        let (code, hint) = kind.map_or((UNMET, None), remedy);
        let hint = match error.kind() {
            Remote::Unauthorized => Some(
                "`milepost token create --user U` on the service's side makes a token; \
                 MILEPOST_TOKEN holds it here",
            ),
            Remote::Forbidden => {
                Some("`milepost token create --user U --admin` makes a token that may")
            }
            Remote::Transport if error.was_reached() => Some(MAY_BE_DONE),
            Remote::Transport => Some("see whether it runs, and whether the address is right"),
            Remote::Answer => {
                Some("see whether a Milepost service answers there, and which version")
            }
            Remote::Poisoned => Some("restart the service: it reopens the store"),
            _ => hint,
        };
        // The service words a refusal as the engine does. The hint is for users of the command, and
        // the advice in an error for programs.
        let message = match hint {
            Some(_) => error.detail().to_owned(),
            None => error.to_string(),
        };
        Self { code, message: Some(message), hint: hint.map(String::from), kind, is_in_use: false }
    }
}

impl From<milepost_formats::Error> for Failure {
    fn from(error: milepost_formats::Error) -> Self {
        Self::from(&error)
    }
}

impl From<&milepost_formats::Error> for Failure {
    fn from(error: &milepost_formats::Error) -> Self {
        if error.io().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return Self::reported(0);
        }
        let message = error.to_string();
        let failure = match (error.engine(), error.kind()) {
            (Some(error), _) => Self { message: Some(message), ..Self::from(error) },
            (None, FormatsKind::Bug) => Self::bug(message),
            (None, FormatsKind::Conflict) => Self::conflict(message),
            (None, FormatsKind::Corrupt) => Self::new(message).code_of(CORRUPT),
            (None, FormatsKind::Invalid | FormatsKind::Io | FormatsKind::Engine) => {
                Self::new(message)
            }
        };
        let denied = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        match error.remedy() {
            _ if error.io().is_some_and(denied) => failure.hint(PERMISSION),
            Some(remedy) => failure.hint(next_step(remedy)),
            None => failure,
        }
    }
}

/// Returns the hint of a remedy.
pub fn next_step(remedy: Remedy) -> Cow<'static, str> {
    Cow::Borrowed(match remedy {
        Remedy::CheckPath => "check the name; `-` is standard input",
        Remedy::NameFiles => {
            "name the files in it, or take all runs in it with `milepost import DIR`"
        }
        Remedy::NameFile => "name the file",
        Remedy::GiveLinesOrFile => LINES_OR_FILE,
        Remedy::GiveEvents => "give a file with one event an object a line, or a .traj file",
        Remedy::GiveEventLines => "give one event an object a line",
        Remedy::AllowUnknown => {
            "correct the kinds, or record these lines as `application` events with --allow-unknown"
        }
        Remedy::GiveSession => "give a session file, as in ~/.claude/projects/",
        Remedy::GiveSessionFolder => "give a folder of *.jsonl files, as in ~/.claude/projects/",
        Remedy::GiveRunFolder => {
            "give a folder with runs, exports or ckpt-*.json files, or name the files; \
             docs/IMPORT.md lists the formats"
        }
        Remedy::GiveUsedDatabase => "give the database of a graph that ran",
        Remedy::GiveDatabase => {
            "give a database that LangGraph's SqliteSaver made, or one with a checkpoint table"
        }
        Remedy::GiveOrdinaryDatabase => {
            "give a database that LangGraph's SqliteSaver or an iteration engine made: it has none"
        }
        Remedy::CheckDatabase => {
            "see that it is a whole database of LangGraph's SqliteSaver, or with a checkpoint \
             table; nothing of it was changed"
        }
        Remedy::GiveCheckpointFolder => {
            "give a project's folder, one with several projects, or the one with the ckpt-*.json \
             files"
        }
        Remedy::CheckFolder => "see that the folder can be read",
        Remedy::NameFormat => {
            "`--format NAME` says how a run is written down; of JSON checkpoints give a project's \
             folder, or the one with the ckpt-*.json files"
        }
        Remedy::NameOtherFormat(format) => {
            let name = format.name();
            return format!("it was read as {name}; --format names another format").into();
        }
        Remedy::ConvertToUtf8 => "convert the file to UTF-8",
        Remedy::SplitDocument => {
            "split it, or write it as JSON Lines, which are read a line at a time"
        }
        Remedy::RaiseEventMax(bytes) => {
            return format!("allow it with --event-max {bytes}").into();
        }
        Remedy::NameOtherTask => "record it under another name with --task, or import it with --as",
        Remedy::ImportUnderOtherName => "import it under another name with --as",
        Remedy::ImportAsOtherTask => {
            "the file was changed, not only added to: import it as another task"
        }
        Remedy::ImportAsCopy => "`--as NAME` imports a task as a copy, with hashes of its own",
        Remedy::ImportAsOtherCopy => {
            "nothing was imported; `--as NAME` imports a task as a copy under another name"
        }
        Remedy::ExportAgain => "nothing was imported: export it again",
        Remedy::ExportUnchanged => {
            "nothing was imported: the file was changed, or damaged; export it again"
        }
        Remedy::NothingImported => "nothing was imported",
        Remedy::IncludeFiles => "--files takes its files along",
        Remedy::ExportUnredacted => {
            "export it without --redact, or export the other tasks one by one"
        }
        Remedy::KeepRecorded => "events up to that one are recorded",
    })
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::reported(0);
        }
        Self::new(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}
