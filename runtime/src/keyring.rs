//! Keys and anchors of a user's stores, outside of the stores.
//!
//! ```text
//! $XDG_DATA_HOME/milepost/keys/ID       a key: 64 hexadecimal digits, mode 0600
//! $XDG_STATE_HOME/milepost/anchors/ID   the anchor of a store
//! ```
//!
//! A key is named by its own id, which the settings of each keyed store name, too: a store that is
//! moved keeps its key. An anchor is named by the id of its store.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use milepost::internals::{io_error, new_secret, store_id, store_key_id, write_file};
use milepost::{Error, Result, StoreKey};

use crate::hooks::{user_data_folder, user_state_folder};

/// The longest file that can be a key, in bytes.
const KEY_MAX: u64 = 1024;

/// The keys and anchors of a user's stores.
///
/// Key and anchor together detect every edit of a store by a program that can write its folder, but
/// cannot read the keyring: see the table in `docs/RECOVERY.md`.
///
/// ```
/// use milepost::{Engine, Options};
/// use milepost_runtime::Keyring;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path();
/// let keyring = Keyring::at(&dir.join("data"), &dir.join("state"));
/// let options = Options::default().key(keyring.create_key()?);
/// Engine::open(dir.join(".milepost"), options)?.close()?;
///
/// let key = keyring.key_of(&dir.join(".milepost"))?.expect("the key was created here");
/// let options = Options::default().key(key).anchor_to(keyring.anchor_of(&dir.join(".milepost"))?);
/// Engine::open(dir.join(".milepost"), options)?.close()?;
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Keyring {
    keys: PathBuf,
    anchors: PathBuf,
}

impl Keyring {
    /// Returns the keyring of the user of this process.
    ///
    /// # Errors
    ///
    /// `Invalid`: the environment names no home.
    pub fn of_user() -> Result<Self> {
        match user_data_folder().zip(user_state_folder()) {
            Some((data, state)) => Ok(Self::at(&data, &state)),
            None => Err(Error::invalid(
                "there is no place for keys and anchors: set HOME, or XDG_DATA_HOME and \
                 XDG_STATE_HOME, to absolute paths",
            )),
        }
    }

    /// Returns the keyring in two folders, which need not exist.
    pub fn at(data: &Path, state: &Path) -> Self {
        Self { keys: data.join("keys"), anchors: state.join("anchors") }
    }

    /// Returns the key of the store in a folder, which may be open; `None` if the store has no key,
    /// or if its key is not in the keyring.
    ///
    /// # Errors
    ///
    /// `NotFound`: there are keys, and no store. `Invalid`: the file of the key is not that key.
    pub fn key_of(&self, store: &Path) -> Result<Option<StoreKey>> {
        // Every command asks: without keys the store is not examined.
        if !self.keys.is_dir() {
            return Ok(None);
        }
        let Some(id) = store_key_id(store)? else {
            return Ok(None);
        };
        let path = self.keys.join(&id);
        let read = std::fs::metadata(&path).and_then(|meta| match meta.len() > KEY_MAX {
            true => Ok(String::new()),
            false => std::fs::read_to_string(&path),
        });
        let text = match read {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("read the key", &path, &error)),
        };
        let key = text.parse::<StoreKey>().ok();
        match key.filter(|key| HEXLOWER.encode(&key.id()) == id) {
            Some(key) => Ok(Some(key)),
            None => Err(Error::invalid(format!(
                "{} is not the key that its name says: restore it from a backup",
                path.display()
            ))),
        }
    }

    /// Creates a key. It is durable before it is returned.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the file cannot be written.
    pub fn create_key(&self) -> Result<StoreKey> {
        let secret = new_secret()?;
        let key = StoreKey::new(&secret);
        make_folder(&self.keys)?;
        let path = self.keys.join(HEXLOWER.encode(&key.id()));
        write_file(&path, format!("{}\n", HEXLOWER.encode(&secret)).as_bytes())?;
        Ok(key)
    }

    /// Returns the file for the anchor of the store in a folder, which may be open. Its folder is
    /// created.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no store. `Unavailable`: the folder cannot be created.
    pub fn anchor_of(&self, store: &Path) -> Result<PathBuf> {
        let id = store_id(store)?;
        make_folder(&self.anchors)?;
        Ok(self.anchors.join(id.to_string()))
    }
}

fn make_folder(dir: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| io_error("create", dir, &error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use milepost::{Engine, ErrorKind, Options};

    use super::*;

    #[test]
    fn a_key_is_found_by_the_store_that_has_it_and_read_by_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let keyring = Keyring::at(&dir.path().join("data"), &dir.path().join("state"));
        let other = Keyring::at(&dir.path().join("other"), &dir.path().join("other"));
        let (plain, keyed) = (dir.path().join("plain"), dir.path().join("keyed"));
        assert!(keyring.key_of(&plain).unwrap().is_none());
        let key = keyring.create_key().unwrap();
        assert_eq!(keyring.key_of(&plain).unwrap_err().kind(), ErrorKind::NotFound);
        Engine::open(&plain, Options::default()).unwrap().close().unwrap();
        assert!(keyring.key_of(&plain).unwrap().is_none());

        Engine::open(&keyed, Options::default().key(key)).unwrap().close().unwrap();
        let moved = dir.path().join("moved");
        std::fs::rename(keyed, &moved).unwrap();
        assert_eq!(keyring.key_of(&moved).unwrap().unwrap().id(), key.id());
        assert!(other.key_of(&moved).unwrap().is_none());

        let path = dir.path().join("data/keys").join(HEXLOWER.encode(&key.id()));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let another = HEXLOWER.encode(&[7; 32]);
        for text in ["", "none", another.as_str(), &"a".repeat(5000)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(keyring.key_of(&moved).unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
