//! Options of a store: its key, its anchor, and the reducers of the command.

use std::path::{Path, PathBuf};

use milepost::{Options, StoreKey};
use milepost_langgraph::ThreadReducer;
use milepost_runtime::Keyring;

use super::{SETTINGS, StoreArgs};
use crate::error::{Failure, Result};

/// Hint for a key that cannot be read.
const KEY: &str = "give the file that `milepost key FILE` made for the store";

impl StoreArgs {
    /// Adds the requested key and anchor to the options, or the key of the store in a folder from
    /// the user's keyring.
    pub(super) fn options_for(&self, dir: &Path, options: Options) -> Result<Options> {
        let options = self.options(options)?;
        if options.has_key() || !dir.join(SETTINGS).exists() {
            return Ok(options);
        }
        // A store that cannot be read is reported when it is opened.
        let key = Keyring::of_user().and_then(|keyring| keyring.key_of(dir)).ok().flatten();
        Ok(match key {
            Some(key) => options.key(key),
            None => options,
        })
    }

    /// Returns the options of a store in memory that has the key of this one.
    pub fn options_in_memory(&self) -> Result<Options> {
        let options = Options::default();
        match self.folder_if_any()? {
            Some(dir) => self.without_anchor().options_for(&dir, options),
            None => self.without_anchor().options(options),
        }
    }

    /// Returns the arguments without the anchor, for an engine that writes none.
    pub fn without_anchor(&self) -> Self {
        Self { anchor_to: None, ..self.clone() }
    }

    /// Adds the requested key and anchor to the options.
    pub fn options(&self, options: Options) -> Result<Options> {
        let mut options = options.reducer(ThreadReducer);
        let file = self.key_file.clone();
        let file = file.or_else(|| std::env::var_os("MILEPOST_KEY_FILE").map(PathBuf::from));
        let text = match file.filter(|file| !file.as_os_str().is_empty()) {
            Some(file) => {
                let read = std::fs::read_to_string(&file);
                let place = file.display().to_string();
                let failed = |error| {
                    Failure::of_file(format_args!("cannot read the key in {place}"), &error)
                };
                let text = read.map_err(|error| match error.kind() {
                    std::io::ErrorKind::PermissionDenied => failed(error),
                    _ => failed(error).hint(KEY),
                })?;
                Some((place, text))
            }
            None => std::env::var("MILEPOST_KEY").ok().map(|text| ("MILEPOST_KEY".into(), text)),
        };
        if let Some((place, text)) = text.filter(|(_, text)| !text.trim().is_empty()) {
            let key = text.parse::<StoreKey>();
            options = options.key(key.map_err(|error| Failure::from(error).at(place).hint(KEY))?);
        }
        Ok(match &self.anchor_to {
            Some(path) => options.anchor_to(path),
            None => options,
        })
    }
}
