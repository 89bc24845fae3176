//! Sources of values.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use super::keys::{ALL, Setting};
use crate::args::ServeFlags;
use crate::error::{Failure, Result};

/// Variables that other parts of the program read.
const OTHERS: [&str; 6] = [
    "MILEPOST_HOOK",
    "MILEPOST_KEY",
    "MILEPOST_KEY_FILE",
    "MILEPOST_PAGER",
    "MILEPOST_STORE",
    crate::defaults::VARIABLE,
];

/// Variable that names the configuration file.
const FILE: &str = "MILEPOST_CONFIG";

/// Likeness to a known name above which an unknown name is a typo.
const LIKE: f64 = 0.7;

/// A value as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(OsString);

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl Text {
    pub fn text(&self) -> Option<&str> {
        self.0.to_str()
    }

    pub fn path(&self) -> PathBuf {
        PathBuf::from(&self.0)
    }

    pub fn display(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }
}

/// Origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    File(PathBuf),
    Variable(String),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the default"),
            Self::File(path) => write!(f, "the file {}", path.display()),
            Self::Variable(name) => write!(f, "the variable {name}"),
            Self::Flag(name) => write!(f, "the flag {name}"),
        }
    }
}

/// A key, its value and the origin of the value.
pub type Said = (&'static Setting, Text, Origin);

/// Reads the values of a file.
pub fn file(path: &Path) -> Result<Vec<Said>> {
    let place = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::new(format!("cannot read the configuration {place}: {e}")))?;
    let table: toml::Table = text
        .parse()
        .map_err(|e| Failure::new(format!("the configuration {place} is no TOML: {e}")))?;
    let mut said = Vec::new();
    take(path, "", table, &mut said)?;
    Ok(said)
}

fn take(path: &Path, above: &str, table: toml::Table, said: &mut Vec<Said>) -> Result<()> {
    for (name, value) in table {
        let name = match above {
            "" => name,
            above => format!("{above}.{name}"),
        };
        let is_list = Setting::named(&name).is_some_and(Setting::is_list);
        let is_switch = Setting::named(&name).is_some_and(Setting::is_switch);
        let text = match value {
            toml::Value::Table(table) if is_table(&name) => {
                take(path, &name, table, said)?;
                continue;
            }
            toml::Value::Array(all) if is_list => list(all),
            // A list is a string in the environment, and an array in a file.
            toml::Value::String(_) if is_list || is_switch => "of the type string".into(),
            toml::Value::Boolean(is) if is_switch => is.to_string(),
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            other => of_type(&other),
        };
        let Some(key) = Setting::named(&name) else {
            let known = ALL.iter().map(|key| key.name.to_owned());
            let place = path.display();
            return Err(unknown(&format!("`{name}` in {place}"), &name, known));
        };
        said.push((key, text.as_str().into(), Origin::File(path.to_owned())));
    }
    Ok(())
}

/// Joins a list with commas, as in the environment.
fn list(all: Vec<toml::Value>) -> String {
    let one = |value| match value {
        toml::Value::String(text) => text,
        other => of_type(&other),
    };
    all.into_iter().map(one).collect::<Vec<_>>().join(",")
}

/// Describes a value of a wrong type.
fn of_type(value: &toml::Value) -> String {
    format!("of the type {}", value.type_str())
}

/// Returns `true` if keys begin with the name of this table.
fn is_table(name: &str) -> bool {
    let begins =
        |key: &Setting| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    ALL.iter().any(begins)
}

/// Values of the environment.
#[derive(Debug, Default)]
pub struct Environment {
    pub file: Option<PathBuf>,
    pub values: Vec<Said>,
}

/// Reads the values of the environment. Other unknown variables are ignored, but one that looks
/// like a typo of a known name is refused.
pub fn environment(all: impl Iterator<Item = (OsString, OsString)>) -> Result<Environment> {
    let known: Vec<String> = (ALL.iter().map(Setting::variable))
        .chain(OTHERS.iter().map(|name| (*name).to_owned()))
        .chain([FILE.to_owned()])
        .collect();
    let mut found = Environment::default();
    for (name, value) in all {
        let Some(name) = name.to_str().filter(|name| name.starts_with("MILEPOST_")) else {
            continue;
        };
        // An empty variable counts as unset.
        if value.is_empty() {
            continue;
        }
        if name == FILE {
            found.file = Some(value.into());
            continue;
        }
        match ALL.iter().find(|key| key.variable() == name) {
            Some(key) => {
                let origin = Origin::Variable(name.to_owned());
                found.values.push((key, Text(value), origin));
            }
            None if known.iter().any(|known| known == name) => {}
            None if known.iter().any(|known| likeness(known, name) > LIKE) => {
                return Err(unknown(&format!("the variable `{name}`"), name, known.into_iter()));
            }
            None => {}
        }
    }
    Ok(found)
}

/// Returns the values of flags.
pub fn flags(flags: &ServeFlags) -> Vec<Said> {
    let of = |key: &str, flag, value: Option<&OsStr>| -> Option<Said> {
        Some((Setting::named(key)?, Text(value?.to_owned()), Origin::Flag(flag)))
    };
    let said = [
        of("listen", "--listen", flags.listen.as_deref().map(OsStr::new)),
        of("keep_count", "--keep-count", flags.keep_count.as_deref().map(OsStr::new)),
        of("read_only", "--read-only", flags.read_only.then_some(OsStr::new("true"))),
        of("page", "--no-page", flags.no_page.then_some(OsStr::new("false"))),
        of("log.format", "--log", flags.log.as_deref().map(OsStr::new)),
    ];
    said.into_iter().flatten().collect()
}

/// Returns the likeness of two names, from 0 to 1.
fn likeness(known: &str, name: &str) -> f64 {
    let bare = |name| str::trim_start_matches(name, "MILEPOST_");
    strsim::normalized_damerau_levenshtein(bare(known), bare(name))
}

fn unknown(what: &str, name: &str, known: impl Iterator<Item = String>) -> Failure {
    let near = known.max_by(|a, b| likeness(a, name).total_cmp(&likeness(b, name)));
    let failure = Failure::new(format!("{what} is not known"));
    match near {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Result<Environment> {
        environment(names.iter().map(|name| ((*name).into(), "1".into())))
    }

    #[test]
    fn a_slip_in_the_environment_is_told_and_variables_of_others_are_left_alone() {
        let found = of(&["MILEPOST_LIMITS_BODY", "MILEPOST_SEED", "MILEPOST_KEY", "HOME"]).unwrap();
        assert_eq!(found.values.len(), 1);
        for slip in ["MILEPOST_LISTENS", "MILEPOST_LIMIT_BODY", "MILEPOST_KEEPCOUNT"] {
            assert!(of(&[slip]).is_err(), "{slip}");
        }
        let named = of(&["MILEPOST_CONFIG"]).unwrap();
        assert_eq!(named.file, Some(PathBuf::from("1")));
    }
}
