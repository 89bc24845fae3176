//! The settings of a store: two files, each with a check. Either of them restores the other.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use milepost_codec::{Detail, Error, ErrorKind, Result, StoreId};
use serde::{Deserialize, Serialize};

use crate::files;
use crate::local::layout::Layout;

/// The version of the store's layout. A reader refuses a higher one.
const LAYOUT_VERSION: u32 = 1;

/// Hexadecimal digits of the id of a key.
const KEY_DIGITS: usize = 32;

/// The segment sizes that sled accepts.
const SLED_SEGMENTS: std::ops::RangeInclusive<u32> = 256..=16 << 20;

/// The maximum bytes of a file of settings.
const TEXT_MAX: u64 = 64 << 10;

/// The settings that a store was created with. They never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoreConfig {
    milepost: u32,
    pub(crate) store: StoreId,
    /// The id of the key of a keyed store. The key itself is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// sled's segment size in bytes: with another one its folder is unreadable.
    pub(crate) sled_segment: u32,
}

/// The content of a file: the settings, and the BLAKE3 hash of their JSON form.
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
            sled_segment: crate::local::index::kv::SEGMENT,
        }
    }

    /// Writes both files, the copy first.
    pub(crate) fn write(&self, layout: &Layout) -> Result<()> {
        let text = self.encode()?;
        files::write_whole(&layout.config_copy(), &text)?;
        files::write_whole(&layout.config(), &text)
    }

    /// Writes one of the two files.
    pub(crate) fn write_one(&self, path: &Path) -> Result<()> {
        files::write_whole(path, &self.encode()?)
    }

    /// Reads the settings and changes nothing. Returns the damaged or missing file, with its error.
    pub(crate) fn look(layout: &Layout) -> Result<(Self, Option<(PathBuf, Error)>)> {
        let (first, second) = (layout.config(), layout.config_copy());
        let mendable = |e: &Error| matches!(e.kind(), ErrorKind::Corrupt | ErrorKind::NotFound);
        match (read_one(&first), read_one(&second)) {
            (Ok(config), Ok(copy)) if config == copy => Ok((config, None)),
            (Ok(_), Ok(_)) => Err(Error::corrupt(
                first.display().to_string(),
                format!("the settings in {}", second.display()),
                "others",
            )),
            (Err(e), _) | (_, Err(e)) if e.kind() == ErrorKind::Unsupported => Err(e),
            (Ok(_), Err(e)) | (Err(e), Ok(_)) if !mendable(&e) => Err(e),
            (Ok(config), Err(error)) => Ok((config, Some((second, error)))),
            (Err(error), Ok(config)) => Ok((config, Some((first, error)))),
            (Err(error), Err(_)) => Err(as_damage(&first, error)),
        }
    }

    pub(crate) fn check_key(&self, layout: &Layout, supplied: Option<&str>) -> Result<()> {
        let root = layout.root.display();
        let message = match (self.key.as_deref(), supplied) {
            (Some(_), None) => format!("the store {root} has a key: it opens with that key only"),
            (None, Some(_)) => format!(
                "the store {root} was made without a key, and a key cannot be given to it now"
            ),
            (Some(stored), Some(supplied)) if stored != supplied => {
                format!("the store {root} has another key: {stored}, not {supplied}")
            }
            _ => return Ok(()),
        };
        let detail = Detail::WrongKey { has_key: self.key.is_some() };
        Err(Error::invalid(message).with_detail(detail))
    }

    /// Describes a value that no version of this layout writes. The check does not prove that
    /// Milepost wrote the file: another program may have created it.
    fn invalid_value(&self) -> Option<String> {
        let hex = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if (self.key.as_ref()).is_some_and(|key| key.len() != KEY_DIGITS || !key.bytes().all(hex)) {
            return Some(format!("a key id that is not {KEY_DIGITS} hexadecimal digits"));
        }
        if self.milepost != LAYOUT_VERSION {
            return Some(format!("version {}", self.milepost));
        }
        let segment = self.sled_segment;
        let fits = segment.is_power_of_two() && SLED_SEGMENTS.contains(&segment);
        (!fits).then(|| format!("a sled segment of {segment} bytes"))
    }

    fn check(&self) -> Result<String> {
        let bytes = serde_json::to_vec(self).map_err(|e| Error::invalid(e.to_string()))?;
        Ok(blake3::hash(&bytes).to_hex().to_string())
    }

    fn encode(&self) -> Result<Vec<u8>> {
        let stored = Stored { config: self.clone(), check: self.check()? };
        let mut text =
            serde_json::to_vec_pretty(&stored).map_err(|e| Error::invalid(e.to_string()))?;
        text.push(b'\n');
        Ok(text)
    }
}

/// Converts the error of a file of settings into damage of it.
pub(crate) fn as_damage(path: &Path, error: Error) -> Error {
    if error.kind() == ErrorKind::Corrupt {
        return error;
    }
    Error::corrupt(path.display().to_string(), "the settings of a store", error)
}

fn read_one(path: &Path) -> Result<StoreConfig> {
    let mut text = Vec::new();
    files::open_read(path)?
        .take(TEXT_MAX + 1)
        .read_to_end(&mut text)
        .map_err(|e| files::io("read", path, &e))?;
    #[derive(Deserialize)]
    struct Version {
        milepost: u32,
    }
    let damaged = |found: String| {
        Error::corrupt(path.display().to_string(), "the settings of a store", found)
    };
    if text.len() as u64 > TEXT_MAX {
        return Err(damaged(format!("more than {TEXT_MAX} bytes")));
    }
    let version: Version = serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))?;
    let stored = serde_json::from_slice::<Stored>(&text);
    // A newer version may write other fields. A version number changed by damage fails the check.
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
    match stored.config.invalid_value() {
        Some(mismatch) => Err(damaged(mismatch)),
        None => Ok(stored.config),
    }
}

/// Returns `true` if only the version number is wrong: with the current one the check passes.
fn is_flipped(stored: &serde_json::Result<Stored>) -> bool {
    let Ok(stored) = stored else { return false };
    let config = StoreConfig { milepost: LAYOUT_VERSION, ..stored.config.clone() };
    config.check().is_ok_and(|check| check == stored.check)
}
