//! Configuration of the service, from a file, the environment and flags. Later sources override
//! earlier ones.
//!
//! ```text
//! keys.rs     settings, and parsers of their values
//! sources.rs  values of the file, the environment and the flags
//! ```

mod keys;
mod sources;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use keys::{Listen, Setting};
pub use sources::{Origin, Text};

use milepost::state::StateCacheOptions;
use milepost_runtime::run::Checkpointer;

use crate::args::{LogFormat, ServeFlags};
use crate::error::{Failure, Result};

/// Values in effect, each with its origin.
#[derive(Debug)]
pub struct Config {
    values: BTreeMap<&'static str, (Text, Origin)>,
}

impl Config {
    /// Gathers the values of all sources. `file` is that of `--config`. Otherwise the environment
    /// may name a file.
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
            key.check(&text).map_err(|wrong| wrong_value(key, &text, &origin, wrong))?;
            values.insert(key.name, (text, origin));
        }
        let config = Self { values };
        config.fits()?;
        Ok(config)
    }

    /// Checks the values that depend on each other.
    fn fits(&self) -> Result<()> {
        let of = |name: &str| self.values.get(name).map(|(_, origin)| origin);
        let wrong = |text: String| {
            let failure = Failure::new(text);
            failure.hint("`milepost config check` shows what holds, and where it comes from")
        };
        match (of("tls.certificate"), of("tls.key")) {
            (Some(there), None) => {
                Err(wrong(format!("`tls.certificate` is set and `tls.key` is not: {there}")))
            }
            (None, Some(there)) => {
                Err(wrong(format!("`tls.key` is set and `tls.certificate` is not: {there}")))
            }
            (Some(there), Some(_)) if matches!(self.listen()?, Listen::Socket(_)) => {
                Err(wrong(format!(
                    "`listen` names a socket, which has no TLS, and `tls.certificate` is set: \
                     {there}"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Returns every key with its value as written, and the origin of the value.
    pub fn all(&self) -> impl Iterator<Item = (&'static Setting, Option<&(Text, Origin)>)> {
        keys::ALL.iter().map(|key| (key, self.values.get(key.name)))
    }

    /// Returns a value. It was checked when it was gathered.
    fn get<T>(&self, name: &str, read: impl Fn(&Text) -> Result<T, &'static str>) -> Result<T> {
        let value = self.values.get(name).and_then(|(text, _)| read(text).ok());
        value.ok_or_else(|| Failure::bug(format!("the setting `{name}` has no value")))
    }

    pub fn listen(&self) -> Result<Listen> {
        self.get("listen", keys::listen)
    }

    /// Returns the files of the certificate and of its key, if TLS is configured.
    pub fn tls(&self) -> Option<(PathBuf, PathBuf)> {
        let path = |name: &str| self.values.get(name).map(|(text, _)| text.path());
        path("tls.certificate").zip(path("tls.key"))
    }

    /// Returns the origins whose pages may send requests.
    pub fn origins(&self) -> Result<Vec<milepost_server::Origin>> {
        match self.values.contains_key("cors.origins") {
            true => self.get("cors.origins", keys::origins),
            false => Ok(Vec::new()),
        }
    }

    /// Returns the store, if the file or the environment names it.
    pub fn store(&self) -> Option<PathBuf> {
        self.values.get("store").map(|(text, _)| text.path())
    }

    pub fn number(&self, name: &str) -> Result<usize> {
        self.get(name, keys::number)
    }

    /// Returns what marks checkpoints of the tasks of clients.
    pub fn checkpoints(&self) -> Result<Checkpointer> {
        let after = self.get("checkpoints.autosave_after", keys::span_or_never)?;
        Ok(self.get("checkpoints.policy", keys::policy)?.autosave_after(after))
    }

    /// Returns the limits of the state cache.
    pub fn states(&self) -> Result<StateCacheOptions> {
        let alert_bytes = match self.values.contains_key("states.alert_bytes") {
            true => self.number("states.alert_bytes")?,
            false => usize::MAX,
        };
        let (count, bytes) = (self.number("states.count")?, self.number("states.bytes")?);
        Ok(StateCacheOptions { count, bytes, alert_bytes })
    }

    pub fn switch(&self, name: &str) -> Result<bool> {
        self.get(name, keys::switch)
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

fn wrong_value(key: &Setting, text: &Text, origin: &Origin, wrong: &str) -> Failure {
    let (name, said) = (key.name, text.display());
    Failure::new(format!("`{name}` is {wrong}, not `{said}`: {origin}"))
        .hint("`milepost config check` shows what holds, and where it comes from")
}
