//! How the service is configured: by a file, the environment and flags, the later over the earlier.
//!
//! ```text
//! keys.rs     what can be set, and how a value is read
//! sources.rs  where values come from
//! ```

mod keys;
mod sources;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use keys::Key;
pub use sources::{Origin, Text};

use crate::args::{LogFormat, ServeFlags};
use crate::error::{Failure, Result};

/// What holds, and where each value comes from.
#[derive(Debug)]
pub struct Config {
    values: BTreeMap<&'static str, (Text, Origin)>,
}

impl Config {
    /// Gathers all that is said. `file`: of `--config`; else the environment may name one.
    pub fn gather(flags: &ServeFlags, file: Option<&Path>) -> Result<Self> {
        let mut values = BTreeMap::new();
        for key in keys::ALL {
            if let Some(default) = key.default {
                values.insert(key.name, (Text::from(default), Origin::Default));
            }
        }
        let environment = sources::environment(std::env::vars_os())?;
        let file = match file {
            Some(file) => Some(file.to_owned()),
            None => environment.file,
        };
        let of_file = file.as_deref().map(sources::file).transpose()?;
        let said = of_file.into_iter().flatten();
        let said = said.chain(environment.values);
        for (key, text, origin) in said.chain(sources::flags(flags)) {
            key.check(&text)
                .map_err(|wrong| wrong_value(key, &text, &origin, wrong))?;
            values.insert(key.name, (text, origin));
        }
        Ok(Self { values })
    }

    /// Every key with its value, as it was written, and where it comes from.
    pub fn all(&self) -> impl Iterator<Item = (&'static Key, Option<&(Text, Origin)>)> {
        keys::ALL.iter().map(|key| (key, self.values.get(key.name)))
    }

    /// A value, which was checked when it was taken.
    fn get<T>(&self, name: &str, read: impl Fn(&Text) -> Result<T, &'static str>) -> Result<T> {
        let value = self.values.get(name).and_then(|(text, _)| read(text).ok());
        value.ok_or_else(|| Failure::bug(format!("the setting `{name}` has no value")))
    }

    pub fn listen(&self) -> Result<SocketAddr> {
        self.get("listen", keys::address)
    }

    /// The store, where a file or the environment names it.
    pub fn store(&self) -> Option<PathBuf> {
        self.values.get("store").map(|(text, _)| text.path())
    }

    pub fn number(&self, name: &str) -> Result<usize> {
        self.get(name, keys::number)
    }

    pub fn span(&self, name: &str) -> Result<Duration> {
        self.get(name, keys::span)
    }

    pub fn log_format(&self) -> Result<LogFormat> {
        self.get("log.format", keys::log_format)
    }

    pub fn log_level(&self) -> Result<tracing::Level> {
        self.get("log.level", keys::log_level)
    }
}

fn wrong_value(key: &Key, text: &Text, origin: &Origin, wrong: &str) -> Failure {
    let (name, said) = (key.name, text.shown());
    Failure::new(format!("`{name}` is {wrong}, not `{said}`: {origin}"))
        .hint("`milepost config check` shows what holds, and where it comes from")
}
