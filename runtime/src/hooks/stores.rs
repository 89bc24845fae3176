//! Trusted stores: those that the command made for this user on this machine, and those that
//! `milepost trust` was confirmed for. `docs/TRUST.md` describes the effects of trust.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use milepost::Result;
use milepost::ids::StoreId;
use milepost::internals::{check_store, io_error, store_id};

use super::config::Places;
use super::trust::{Remembered, change, name_of};

/// The file of trusted stores.
const STORES: &str = "stores.json";

/// A user's trust in one store.
///
/// The trust is recorded outside of all stores, with the store's path, its id, and the device and
/// inode of its folder. A copy, a moved folder and another store at the same path are not trusted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoreTrust {
    /// The store's id.
    pub id: StoreId,
    /// `true` if it is trusted.
    pub trusted: bool,
    name: String,
    mark: String,
    places: Places,
}

impl StoreTrust {
    /// Reads the trust in the store of a folder. The store may be open. Nothing is changed.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no store. `Corrupt`: its settings cannot be read. `Invalid`: other
    /// users can write the record of trust, or the store has links, pipes or files of other users.
    pub fn of(dir: impl AsRef<Path>) -> Result<Self> {
        Self::at(Places::from_environment(), dir.as_ref())
    }

    fn at(places: Places, dir: &Path) -> Result<Self> {
        check_store(dir)?;
        let id = store_id(dir)?;
        let about = fs::metadata(dir).map_err(|e| io_error("look at", dir, &e))?;
        let name = name_of(dir)?;
        let mark = format!("{id} {} {}", about.dev(), about.ino());
        let remembered = match &places.data {
            Some(data) => Remembered::read(data, STORES)?.stores.get(&name).cloned(),
            None => None,
        };
        Ok(Self { id, trusted: remembered.as_ref() == Some(&mark), name, mark, places })
    }

    /// Grants trust in the store. A program that made a store calls this if the user's commands are
    /// to treat the store as the user's own.
    ///
    /// # Errors
    ///
    /// `Invalid`: neither XDG_DATA_HOME nor HOME is set, or other users can write the record of
    /// trust. `Unavailable`: the record cannot be written.
    pub fn grant(&mut self) -> Result<()> {
        let (name, mark) = (self.name.clone(), self.mark.clone());
        change(&self.places, STORES, |stores| stores.insert(name, mark))?;
        self.trusted = true;
        Ok(())
    }

    /// Revokes the trust. Returns `false` if there was none.
    ///
    /// # Errors
    ///
    /// As [`StoreTrust::grant`].
    pub fn revoke(&mut self) -> Result<bool> {
        let name = &self.name;
        let was = change(&self.places, STORES, |stores| stores.remove(name))?;
        self.trusted = false;
        Ok(was.is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use milepost::{Engine, Options};

    use super::*;

    #[test]
    fn a_store_is_trusted_by_path_id_and_folder_and_a_copy_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (store, other) = (dir.path().join("store"), dir.path().join("other"));
        drop(Engine::open(&store, Options::default()).unwrap());
        drop(Engine::open(&other, Options::default()).unwrap());
        let places = Places { config: None, data: Some(dir.path().join("data")), state: None };
        let of = |dir: &Path| StoreTrust::at(places.clone(), dir).unwrap();
        assert!(!of(&store).trusted);
        of(&store).grant().unwrap();
        assert!(of(&store).trusted && !of(&other).trusted);
        // Another store in the same place, and the same store in another place.
        fs::rename(&store, dir.path().join("moved")).unwrap();
        fs::rename(&other, &store).unwrap();
        assert!(!of(&store).trusted && !of(&dir.path().join("moved")).trusted);
        fs::rename(&store, &other).unwrap();
        fs::rename(dir.path().join("moved"), &store).unwrap();
        assert!(of(&store).trusted);
        // A path need not be text.
        let odd = dir.path().join(std::ffi::OsStr::from_bytes(b"store-\xff"));
        fs::rename(&store, &odd).unwrap();
        assert!(!of(&odd).trusted);
        of(&odd).grant().unwrap();
        assert!(of(&odd).trusted);
        fs::rename(&odd, &store).unwrap();
        // A copy in the same place has another inode.
        fs::rename(&store, dir.path().join("kept")).unwrap();
        fs::create_dir(&store).unwrap();
        for name in ["store", "store.copy"] {
            fs::copy(dir.path().join("kept").join(name), store.join(name)).unwrap();
        }
        assert!(!of(&store).trusted);
        let none = Places { config: None, data: None, state: None };
        assert!(!StoreTrust::at(none.clone(), &other).unwrap().trusted);
        assert!(StoreTrust::at(none, &other).unwrap().grant().is_err());
    }

    #[test]
    fn trust_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        drop(Engine::open(&store, Options::default()).unwrap());
        let places = Places { config: None, data: Some(dir.path().join("data")), state: None };
        let mut trust = StoreTrust::at(places.clone(), &store).unwrap();
        assert!(!trust.revoke().unwrap());
        trust.grant().unwrap();
        assert!(trust.revoke().unwrap() && !trust.trusted);
        assert!(!StoreTrust::at(places, &store).unwrap().trusted);
    }
}
