//! The settings a store was made with: two files, each with a check, either of which rebuilds the
//! other.

use std::fs;
use std::path::Path;

use milepost_codec::{Error, ErrorKind, Result, StoreId};
use serde::{Deserialize, Serialize};

use super::layout::Layout;
use crate::files;

/// The version of the store's layout. A reader refuses a higher one.
const LAYOUT_VERSION: u32 = 1;

/// The settings a store was made with. They never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoreConfig {
    milepost: u32,
    pub(crate) store: StoreId,
    /// The id of the key that chains are keyed with; the key is kept elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// sled's segment size in bytes: another one would make its folder unreadable.
    pub(crate) sled_segment: u32,
}

/// As it stands in a file: the settings, and the BLAKE3 hash of their JSON form.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    config: StoreConfig,
    check: String,
}

impl StoreConfig {
    pub(crate) fn new(store: StoreId, key: Option<String>) -> Self {
        Self {
            milepost: LAYOUT_VERSION,
            store,
            key,
            sled_segment: super::kv::SEGMENT,
        }
    }

    /// Writes both files. The second makes the folder a store.
    pub(crate) fn write(&self, layout: &Layout) -> Result<()> {
        let text = self.encode()?;
        files::write_whole(&layout.config_copy(), &text)?;
        files::write_whole(&layout.config(), &text)
    }

    /// Reads the settings, and writes a file again that is damaged or gone; says which, and what
    /// was wrong with it.
    pub(crate) fn read(layout: &Layout) -> Result<(Self, Option<Error>)> {
        let (first, second) = (layout.config(), layout.config_copy());
        match (read_one(&first), read_one(&second)) {
            (Ok(config), Ok(copy)) if config == copy => Ok((config, None)),
            (Ok(_), Ok(_)) => Err(Error::corrupt(
                first.display().to_string(),
                format!("the settings in {}", second.display()),
                "others",
            )),
            (Err(e), _) | (_, Err(e)) if e.kind() == ErrorKind::Unsupported => Err(e),
            (Ok(config), Err(error)) => config.mend(&second, error),
            (Err(error), Ok(config)) => config.mend(&first, error),
            (Err(error), Err(_)) => Err(as_damage(&first, error)),
        }
    }

    fn mend(self, path: &Path, error: Error) -> Result<(Self, Option<Error>)> {
        if !matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) {
            return Err(error);
        }
        files::write_whole(path, &self.encode()?)?;
        Ok((self, Some(as_damage(path, error))))
    }

    fn check(&self) -> Result<String> {
        let bytes = serde_json::to_vec(self).map_err(|e| Error::invalid(e.to_string()))?;
        Ok(blake3::hash(&bytes).to_hex().to_string())
    }

    fn encode(&self) -> Result<Vec<u8>> {
        let stored = Stored {
            config: self.clone(),
            check: self.check()?,
        };
        let mut text =
            serde_json::to_vec_pretty(&stored).map_err(|e| Error::invalid(e.to_string()))?;
        text.push(b'\n');
        Ok(text)
    }
}

fn as_damage(path: &Path, error: Error) -> Error {
    if error.kind() == ErrorKind::Corrupt {
        return error;
    }
    Error::corrupt(path.display().to_string(), "the settings of a store", error)
}

fn read_one(path: &Path) -> Result<StoreConfig> {
    let text = fs::read(path).map_err(|e| files::io("read", path, &e))?;
    #[derive(Deserialize)]
    struct Version {
        milepost: u32,
    }
    let damaged = |found: String| {
        Error::corrupt(path.display().to_string(), "the settings of a store", found)
    };
    let version: Version = serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))?;
    let stored = serde_json::from_slice::<Stored>(&text);
    // What a newer version wrote need not have this one's fields; what a flipped bit made of the
    // version fails its check.
    if version.milepost > LAYOUT_VERSION && !is_flipped(&stored) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "{} has format {}, this version of Milepost reads up to {LAYOUT_VERSION}",
                path.display(),
                version.milepost
            ),
        ));
    }
    let stored = stored.map_err(|e| damaged(e.to_string()))?;
    if stored.config.check()? != stored.check {
        return Err(damaged("bytes that do not match their check".into()));
    }
    Ok(stored.config)
}

/// Whether these are settings of this version but for their number: with it, they pass their check.
fn is_flipped(stored: &serde_json::Result<Stored>) -> bool {
    let Ok(stored) = stored else { return false };
    let config = StoreConfig {
        milepost: LAYOUT_VERSION,
        ..stored.config.clone()
    };
    config.check().is_ok_and(|check| check == stored.check)
}
