//! Trust in the hooks of a store. The maker of a store chooses the commands in its `hooks.json`, so
//! they run only after the user has trusted this exact content in this folder.
//!
//! Trust is recorded outside of all stores:
//!
//! ```text
//! $XDG_DATA_HOME/milepost/    else ~/.local/share/milepost/, mode 0700
//!   trusted.json              mode 0600:
//!                             {"version":1,"stores":{"/path/of/store":"BLAKE3 of hooks.json"}}
//!   stores.json               the same with "ID DEVICE INODE" of each trusted store
//!   trusted.lock              held while one of them is changed
//! ```

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use milepost::internals::{io_error, open_rw, write_file};
use milepost::{Error, ErrorKind, Hash, Result};
use serde::{Deserialize, Serialize};

use super::command::CommandHook;
use super::config::{self, FILE, Places};

/// Version of the files of trust.
const VERSION: u32 = 1;

/// Maximum size of a file of trust in bytes.
const REMEMBERED_MAX: u64 = 16 << 20;

/// A user's trust in the hooks of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrustState {
    Trusted,
    Changed,
    Unknown,
}

impl TrustState {
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Trusted => "they are trusted",
            Self::Changed => "they were changed since they were trusted",
            Self::Unknown => "they are not trusted",
        }
    }
}

/// Returns the user's trust in these bytes as the hooks of the store in a folder.
pub(super) fn trust_state(places: &Places, dir: &Path, bytes: &[u8]) -> Result<TrustState> {
    let Some(data) = &places.data else {
        return Ok(TrustState::Unknown);
    };
    let trusted = Remembered::read(data, HOOKS)?;
    Ok(match trusted.stores.get(&name_of(dir)?) {
        Some(hash) if *hash == hash_of(bytes).to_string() => TrustState::Trusted,
        Some(_) => TrustState::Changed,
        None => TrustState::Unknown,
    })
}

/// The hooks in a store, used or not.
///
/// They are in the file `hooks.json` of the store's folder. The maker of a store chooses its
/// content, so the hooks are used only if the user has trusted this exact content in this folder. A
/// change revokes the trust. Trust covers the text of the file, not the programs that it names.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoreHooks {
    /// The file.
    pub file: PathBuf,
    /// BLAKE3 hash of the file.
    pub hash: Hash,
    /// `true` if they are trusted.
    pub trusted: bool,
    /// The commands.
    pub hooks: Vec<CommandHook>,
    dir: PathBuf,
    places: Places,
}

impl StoreHooks {
    /// Reads the hooks of the store in a folder; `None` if it has none. The store may be open.
    ///
    /// # Errors
    ///
    /// As [`crate::hooks::CommandHooks::for_store`]. `Invalid`: other users can write the record of
    /// trust.
    pub fn read(dir: impl AsRef<Path>) -> Result<Option<Self>> {
        Self::read_at(Places::from_environment(), dir.as_ref())
    }

    fn read_at(places: Places, dir: &Path) -> Result<Option<Self>> {
        let file = dir.join(FILE);
        let Some(found) = config::read(&file, config::FILE_MAX)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            hash: hash_of(&found.bytes),
            trusted: trust_state(&places, dir, &found.bytes)? == TrustState::Trusted,
            hooks: config::parse(&file, &found.bytes)?,
            file,
            dir: dir.to_owned(),
            places,
        }))
    }

    /// Trusts the hooks as they were read, even if the file has changed since.
    ///
    /// # Errors
    ///
    /// `Invalid`: other users can write the record of trust. `Unavailable`: the record cannot be
    /// written.
    pub fn trust(&mut self) -> Result<()> {
        let (name, hash) = (name_of(&self.dir)?, self.hash.to_string());
        change(&self.places, HOOKS, |stores| stores.insert(name, hash))?;
        self.trusted = true;
        Ok(())
    }

    /// Revokes the trust in the hooks of the store in a folder. Returns `false` if there was none.
    ///
    /// # Errors
    ///
    /// As [`StoreHooks::trust`].
    pub fn revoke(dir: impl AsRef<Path>) -> Result<bool> {
        let name = name_of(dir.as_ref())?;
        let places = Places::from_environment();
        Ok(change(&places, HOOKS, |stores| stores.remove(&name))?.is_some())
    }
}

fn hash_of(bytes: &[u8]) -> Hash {
    Hash(*blake3::hash(bytes).as_bytes())
}

/// Returns the key of a store in the files of trust: its canonical path, or if that is not UTF-8,
/// its bytes in hexadecimal, after a word that no path begins with.
pub(super) fn name_of(dir: &Path) -> Result<String> {
    let dir = dir.canonicalize().map_err(|e| io_error("find", dir, &e))?;
    let hex = || {
        let bytes = dir.as_os_str().as_encoded_bytes().iter();
        bytes.fold("hex:".to_owned(), |hex, byte| format!("{hex}{byte:02x}"))
    };
    Ok(dir.to_str().map_or_else(hex, str::to_owned))
}

/// Name of the file of trusted hooks.
const HOOKS: &str = "trusted.json";

/// A file of trust, by the paths of stores.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Remembered {
    version: u32,
    pub(super) stores: BTreeMap<String, String>,
}

impl Remembered {
    pub(super) fn read(data: &Path, name: &str) -> Result<Self> {
        let file = data.join(name);
        let Some(found) = config::read(&file, REMEMBERED_MAX)? else {
            return Ok(Self { version: VERSION, stores: BTreeMap::new() });
        };
        found.check_is_ours(&file)?;
        let place = file.display();
        let read: Self = serde_json::from_slice(&found.bytes)
            .map_err(|e| Error::invalid(format!("{place}: {e}")))?;
        if read.version != VERSION {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("{place} has version {}, not {VERSION}", read.version),
            ));
        }
        Ok(read)
    }
}

/// Changes a file of trust, one process at a time.
pub(super) fn change<T>(
    places: &Places,
    name: &str,
    change: impl FnOnce(&mut BTreeMap<String, String>) -> T,
) -> Result<T> {
    let data = places.data.as_ref().ok_or_else(|| {
        Error::invalid("neither XDG_DATA_HOME nor HOME says where trust is remembered")
    })?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data)
        .map_err(|e| io_error("create", data, &e))?;
    let lock: File = open_rw(&data.join("trusted.lock"))?;
    lock.lock().map_err(|e| io_error("lock", data, &e))?;
    let mut remembered = Remembered::read(data, name)?;
    let before = remembered.stores.clone();
    let changed = change(&mut remembered.stores);
    if remembered.stores != before {
        let mut text = serde_json::to_vec_pretty(&remembered)
            .map_err(|e| Error::invalid(format!("what is trusted: {e}")))?;
        text.push(b'\n');
        write_file(&data.join(name), &text)?;
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::hooks::CommandHooks;

    const HOOKS: &str = r#"{"hooks":[{"on":["event"],"run":["true"]}]}"#;

    struct World {
        dir: tempfile::TempDir,
    }

    impl World {
        /// Creates a store's folder with hooks in it, and folders of a user.
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join("store")).unwrap();
            fs::create_dir(dir.path().join("config")).unwrap();
            let world = Self { dir };
            fs::write(world.store().join(FILE), HOOKS).unwrap();
            world
        }

        fn store(&self) -> PathBuf {
            self.dir.path().join("store")
        }

        fn remembered(&self) -> PathBuf {
            self.dir.path().join("data/trusted.json")
        }

        fn places(&self) -> Places {
            Places {
                config: Some(self.dir.path().join("config")),
                data: Some(self.dir.path().join("data")),
                state: None,
            }
        }

        fn hooks(&self) -> CommandHooks {
            self.places().hooks_for(&self.store()).unwrap()
        }

        fn trust(&self) {
            let read = StoreHooks::read_at(self.places(), &self.store());
            read.unwrap().unwrap().trust().unwrap();
        }

        /// Asserts that no hook is used, and that the warning contains `why`.
        #[track_caller]
        fn is_unused(&self, why: &str) {
            let hooks = self.hooks();
            assert_eq!(hooks.iter().count(), 0);
            let warning = hooks.warning().unwrap_or_default();
            assert!(warning.contains(why) && warning.contains("milepost trust"), "{warning}");
        }
    }

    #[test]
    fn hooks_of_a_store_are_used_once_they_are_trusted_and_until_they_change() {
        let world = World::new();
        world.is_unused("not trusted");
        world.trust();
        assert_eq!(world.hooks().iter().count(), 1);
        assert_eq!(world.hooks().warning(), None);
        let mode = fs::metadata(world.remembered()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(world.store().join(FILE), format!("{HOOKS} ")).unwrap();
        world.is_unused("changed since");
        fs::write(world.store().join(FILE), "neither trusted nor JSON").unwrap();
        world.is_unused("changed since");
        fs::write(world.store().join(FILE), HOOKS).unwrap();
        assert_eq!(world.hooks().iter().count(), 1, "the same bytes again");
    }

    #[test]
    fn trust_is_in_a_place_and_does_not_go_with_a_copy() {
        let world = World::new();
        world.trust();
        fs::rename(world.store(), world.dir.path().join("other")).unwrap();
        let hooks = world.places().hooks_for(&world.dir.path().join("other"));
        assert_eq!(hooks.unwrap().iter().count(), 0);
        std::os::unix::fs::symlink(world.dir.path().join("other"), world.store()).unwrap();
        world.is_unused("not trusted");
    }

    #[test]
    fn what_others_can_write_is_not_believed() {
        let world = World::new();
        world.trust();
        for mode in [0o620, 0o602, 0o666] {
            fs::set_permissions(world.remembered(), Permissions::from_mode(mode)).unwrap();
            world.is_unused("can be written by others");
            let read = StoreHooks::read_at(world.places(), &world.store());
            assert_eq!(read.unwrap_err().kind(), ErrorKind::Invalid);
        }
        fs::set_permissions(world.remembered(), Permissions::from_mode(0o600)).unwrap();
        assert_eq!(world.hooks().iter().count(), 1);
        let own = world.dir.path().join("config").join(FILE);
        fs::write(&own, HOOKS).unwrap();
        fs::set_permissions(&own, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(world.hooks().iter().count(), 2, "the user's own and the store's");
        fs::set_permissions(&own, Permissions::from_mode(0o662)).unwrap();
        let error = world.places().hooks_for(&world.store()).unwrap_err();
        assert!(error.to_string().contains("written by others"), "{error}");
    }

    #[test]
    fn what_is_remembered_and_cannot_be_read_trusts_nothing() {
        let world = World::new();
        world.trust();
        fs::write(world.remembered(), "{\"version\":2,\"stores\":{}}").unwrap();
        world.is_unused("version 2");
        fs::write(world.remembered(), "{").unwrap();
        world.is_unused("line 1");
    }

    #[test]
    fn two_that_trust_at_once_both_remember() {
        let world = World::new();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let places = world.places();
                scope.spawn(move || {
                    let insert =
                        |stores: &mut BTreeMap<_, _>| stores.insert(format!("/{n}"), String::new());
                    change(&places, HOOKS, insert).unwrap();
                });
            }
        });
        let data = world.places().data.unwrap();
        assert_eq!(Remembered::read(&data, HOOKS).unwrap().stores.len(), 8);
    }
}
