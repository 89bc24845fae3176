//! Settings of the service.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use milepost_runtime::run::{Checkpointer, NamedPolicy};
use milepost_server::Origin;

use super::sources::Text;
use crate::args::{self, LogFormat};

/// A setting of the service.
#[derive(Debug)]
pub struct Setting {
    /// Name in a file. The part before the dot names a table.
    pub name: &'static str,
    /// Value if no source sets it.
    pub default: Option<&'static str>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Listen,
    Folder,
    File,
    /// Origins of pages, separated by commas.
    Origins,
    /// A number, or a number of bytes with an optional unit. Minimum and maximum.
    Number(usize, usize),
    Span,
    SpanOrNever,
    /// `true` or `false`.
    Switch,
    /// A policy of checkpoints.
    Policy,
    LogFormat,
    LogLevel,
}

/// All settings, as `docs/HTTP.md` lists them.
pub const ALL: &[Setting] = &[
    key("listen", Some("127.0.0.1:7733"), Kind::Listen),
    key("store", None, Kind::Folder),
    key("keep_count", Some("10"), Kind::Number(0, 1_000_000)),
    key("read_only", Some("false"), Kind::Switch),
    key("page", Some("true"), Kind::Switch),
    key("checkpoints.policy", Some("steps"), Kind::Policy),
    key("checkpoints.autosave_after", Some("5m"), Kind::SpanOrNever),
    key("states.count", Some("10"), Kind::Number(0, 1_000_000)),
    key("states.bytes", Some("64 MiB"), Kind::Number(0, 1 << 40)),
    key("states.alert_bytes", None, Kind::Number(0, 1 << 40)),
    key("tls.certificate", None, Kind::File),
    key("tls.key", None, Kind::File),
    key("cors.origins", None, Kind::Origins),
    key("limits.body", Some("16 MiB"), Kind::Number(1 << 10, 1 << 30)),
    key("limits.header", Some("32 KiB"), Kind::Number(8 << 10, 1 << 20)),
    key("limits.read_timeout", Some("30s"), Kind::Span),
    key("limits.request_timeout", Some("60s"), Kind::Span),
    key("limits.per_token", Some("64"), Kind::Number(1, 1_000_000)),
    key("limits.connections", Some("4096"), Kind::Number(1, 1_000_000)),
    key("limits.memory", Some("192 MiB"), Kind::Number(1 << 20, 1 << 40)),
    key("limits.disk_reserve", Some("16 MiB"), Kind::Number(0, 1 << 40)),
    key("limits.streams", Some("2048"), Kind::Number(0, 1_000_000)),
    key("limits.tasks", Some("50000"), Kind::Number(1, 1 << 40)),
    key("limits.drain", Some("30s"), Kind::Span),
    key("log.format", Some("human"), Kind::LogFormat),
    key("log.level", Some("info"), Kind::LogLevel),
];

const fn key(name: &'static str, default: Option<&'static str>, kind: Kind) -> Setting {
    Setting { name, default, kind }
}

impl Setting {
    /// Returns the setting with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|key| key.name == name)
    }

    /// Returns the name of its environment variable.
    pub fn variable(&self) -> String {
        format!("MILEPOST_{}", self.name.to_uppercase().replace('.', "_"))
    }

    /// Checks a value. The error describes valid values.
    pub fn check(&self, text: &Text) -> Result<(), &'static str> {
        match self.kind {
            Kind::Listen => listen(text).map(drop),
            Kind::File if text.display().is_empty() => Err("the path of a file"),
            Kind::File => Ok(()),
            Kind::Origins => origins(text).map(drop),
            Kind::Folder if text.display().is_empty() => Err("the path of a folder"),
            Kind::Folder => Ok(()),
            Kind::Number(least, most) => match number(text)? {
                number if (least..=most).contains(&number) => Ok(()),
                _ if self.name == "limits.body" => Err("1 KiB to 1 GiB"),
                _ if self.name == "limits.header" => Err("8 KiB to 1 MiB"),
                _ if self.name == "limits.memory" => {
                    Err("1 MiB to 1 TiB, in bytes, KiB, MiB or GiB")
                }
                _ if self.name == "limits.tasks" => Err("1 to 1,099,511,627,776"),
                _ if most == 1 << 40 => Err("0 to 1 TiB, in bytes, KiB, MiB or GiB"),
                _ if least == 0 => Err("0 to 1,000,000"),
                _ => Err("1 to 1,000,000"),
            },
            Kind::Span => span(text).map(drop),
            Kind::SpanOrNever => span_or_never(text).map(drop),
            Kind::Switch => switch(text).map(drop),
            Kind::Policy => policy(text).map(drop),
            Kind::LogFormat => log_format(text).map(drop),
            Kind::LogLevel => log_level(text).map(drop),
        }
    }

    /// Returns `true` if a file gives `true` or `false`, without quotes.
    pub fn is_switch(&self) -> bool {
        matches!(self.kind, Kind::Switch)
    }

    /// Returns `true` if a file may give a list of values.
    pub fn is_list(&self) -> bool {
        matches!(self.kind, Kind::Origins)
    }
}

pub(super) fn switch(text: &Text) -> Result<bool, &'static str> {
    text.text().and_then(|text| text.parse().ok()).ok_or("`true` or `false`")
}

/// Address or socket to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    Address(SocketAddr),
    Socket(PathBuf),
}

pub(super) fn listen(text: &Text) -> Result<Listen, &'static str> {
    let path = text.path();
    if let Some(path) = path.as_os_str().as_bytes().strip_prefix(b"unix:") {
        return match path {
            [] => Err("`unix:` and the path of a socket"),
            path => Ok(Listen::Socket(OsStr::from_bytes(path).into())),
        };
    }
    let address = text.text().and_then(|text| text.parse().ok());
    let address = address.map(Listen::Address);
    address.ok_or("an address and a port, like `127.0.0.1:7733`, or `unix:PATH`")
}

pub(super) fn origins(text: &Text) -> Result<Vec<Origin>, &'static str> {
    let wrong = "a list of origins as browsers send them, like `https://dash.example`";
    let all = text.text().ok_or(wrong)?;
    let one = |one: &str| one.trim().parse().map_err(|_| wrong);
    match all.is_empty() {
        true => Ok(Vec::new()),
        false => all.split(',').map(one).collect(),
    }
}

/// Parses a number, or a number of bytes with an optional unit.
pub(super) fn number(text: &Text) -> Result<usize, &'static str> {
    let wrong = "a number, with `KiB`, `MiB` or `GiB` behind it where it is of bytes";
    let text = text.text().ok_or(wrong)?;
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text.strip_prefix(digits).map(str::trim) {
        Some("") => 1,
        Some("KiB") => 1 << 10,
        Some("MiB") => 1 << 20,
        Some("GiB") => 1 << 30,
        _ => return Err(wrong),
    };
    let number = digits.bytes().all(|c| c.is_ascii_digit());
    let number: Option<usize> = number.then(|| digits.parse().ok()).flatten();
    number.and_then(|number| number.checked_mul(unit)).ok_or(wrong)
}

pub(super) fn span(text: &Text) -> Result<Duration, &'static str> {
    let span = text.text().and_then(args::span);
    let span = span.filter(|span| !span.is_zero());
    span.ok_or("a number and `ms`, `s`, `m`, `h` or `d`, more than 0")
}

pub(super) fn span_or_never(text: &Text) -> Result<Option<Duration>, &'static str> {
    match text.text() {
        Some("never") => Ok(None),
        _ => span(text)
            .map(Some)
            .map_err(|_| "a number and `ms`, `s`, `m`, `h` or `d`, more than 0, or `never`"),
    }
}

/// Parses a policy of checkpoints. Returns the checkpointer with it.
pub(super) fn policy(text: &Text) -> Result<Checkpointer, &'static str> {
    let policy: NamedPolicy = text.text().ok_or(NamedPolicy::NAMES)?.parse()?;
    Ok(Checkpointer::default().policy(policy))
}

pub(super) fn log_format(text: &Text) -> Result<LogFormat, &'static str> {
    let format = text.text().map(|text| LogFormat::from_str(text, false));
    format.and_then(Result::ok).ok_or("`human`, `json` or `none`")
}

pub(super) fn log_level(text: &Text) -> Result<tracing::Level, &'static str> {
    match text.text() {
        Some("error") => Ok(tracing::Level::ERROR),
        Some("warn") => Ok(tracing::Level::WARN),
        Some("info") => Ok(tracing::Level::INFO),
        Some("debug") => Ok(tracing::Level::DEBUG),
        _ => Err("`error`, `warn`, `info` or `debug`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_where_nothing_is_said_is_valid() {
        for key in ALL {
            if let Some(default) = key.default {
                assert_eq!(key.check(&default.into()), Ok(()), "{}", key.name);
            }
        }
    }

    #[test]
    fn numbers_have_units_of_bytes_and_limits() {
        for (text, found) in [
            ("0", Some(0)),
            ("16 MiB", Some(16 << 20)),
            ("16MiB", Some(16 << 20)),
            ("1GiB", Some(1 << 30)),
            ("", None),
            ("MiB", None),
            ("-1", None),
            ("1 MB", None),
            ("1.5 MiB", None),
            ("99999999999999999999", None),
            ("99999999999999999 GiB", None),
        ] {
            assert_eq!(number(&text.into()).ok(), found, "{text}");
        }
        let header = Setting::named("limits.header").unwrap();
        assert!(header.check(&"8191".into()).is_err() && header.check(&"2 MiB".into()).is_err());
        let body = Setting::named("limits.body").unwrap();
        assert!(body.check(&"1".into()).is_err() && body.check(&"2 GiB".into()).is_err());
    }

    #[test]
    fn a_policy_is_named_and_an_autosave_may_be_switched_off() {
        for (text, is_one) in [
            ("steps", true),
            ("steps:10", true),
            ("phases", true),
            ("risk", true),
            ("never", true),
            ("steps:0", false),
            ("steps:", false),
            ("always", false),
            ("", false),
        ] {
            assert_eq!(policy(&text.into()).is_ok(), is_one, "{text}");
        }
        assert_eq!(span_or_never(&"never".into()), Ok(None));
        assert_eq!(span_or_never(&"5m".into()), Ok(Some(Duration::from_secs(300))));
        assert!(span_or_never(&"0s".into()).is_err());
    }

    #[test]
    fn it_listens_on_an_address_or_on_a_socket() {
        let socket = |path: &str| Ok(Listen::Socket(path.into()));
        assert_eq!(listen(&"unix:/run/x y".into()), socket("/run/x y"));
        assert_eq!(listen(&"unix:beside".into()), socket("beside"));
        assert!(matches!(listen(&"[::1]:0".into()), Ok(Listen::Address(_))));
        for text in ["", "unix:", "unix", "/run/x", "127.0.0.1", "localhost:80"] {
            assert!(listen(&text.into()).is_err(), "{text}");
        }
    }

    #[test]
    fn each_of_a_list_is_an_origin() {
        let count = |text: &str| origins(&text.into()).map(|all| all.len());
        assert_eq!(count(""), Ok(0));
        assert_eq!(count("https://a.example, http://localhost:3000"), Ok(2));
        for text in ["*", "https://a.example/", "https://a.example,", "a.example"] {
            assert!(count(text).is_err(), "{text}");
        }
    }
}
