//! The applied position: the last commit that sled holds.

use milepost_codec::{Error, Result, Seq, StoreId};

use crate::digest::Digests;
use crate::index::IndexPut;
use crate::index::keys;
use crate::index::keys::KeyKind;
use crate::local::index::kv::Kv;
use crate::local::location::Location;

/// The check of an unknown frame, or of the one before the first: the next frame is matched by
/// number.
pub(crate) const UNKNOWN: [u8; 16] = [0; 16];

/// The version of the entries in sled: with another version sled is rebuilt. Raise it with every
/// change of an entry's content, or of the entries that follow from an event.
const LAYOUT: u32 = 10;

/// The error's words for entries of another version.
pub(crate) const OTHER_LAYOUT: &str = "those of another version";

/// The distance of the version from the end of the stored position.
const LAYOUT_FROM_END: usize = 4 + Digests::LEN;

/// The position that sled has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AppliedPosition {
    /// The last commit that sled holds, with everything before it.
    pub(crate) seq: Seq,
    /// The end of the packs at that time: later chunks are not in the index.
    pub(crate) packs: Location,
    /// The end of the synced packs at that time: a power cut may lose later chunks.
    pub(crate) synced: Location,
    /// The end of the packs that were copied durably at that time.
    pub(crate) copied: Location,
    /// The end of the blocks at that time: later ones are of an interrupted round.
    pub(crate) blocks: Location,
    /// The check of that commit's frame, which the next frame names; [`UNKNOWN`] if the frame was
    /// rebuilt from blocks.
    pub(crate) check: [u8; 16],
    /// The store that it belongs to.
    pub(crate) store: StoreId,
    /// The digests of all entries that records account for.
    pub(crate) digests: Digests,
}

impl AppliedPosition {
    /// Returns the position of an empty sled.
    pub(crate) fn none(store: StoreId) -> Self {
        Self {
            seq: 0,
            packs: Location::default(),
            synced: Location::default(),
            copied: Location::default(),
            blocks: Location::default(),
            check: UNKNOWN,
            store,
            digests: Digests::default(),
        }
    }

    /// Returns the index change that stores the position.
    pub(crate) fn put(&self) -> IndexPut {
        let mut value = self.seq.to_le_bytes().to_vec();
        value.extend(self.packs.encode());
        value.extend(self.synced.encode());
        value.extend(self.copied.encode());
        value.extend(self.blocks.encode());
        value.extend(self.check);
        value.extend(self.store.0);
        value.extend(LAYOUT.to_le_bytes());
        value.extend(self.digests.encode());
        (keys::all(KeyKind::Applied), Some(value))
    }

    fn decode(value: &[u8]) -> Option<Self> {
        let (seq, rest) = value.split_first_chunk::<8>()?;
        let (packs, rest) = rest.split_first_chunk::<16>()?;
        let (synced, rest) = rest.split_first_chunk::<16>()?;
        let (copied, rest) = rest.split_first_chunk::<16>()?;
        let (blocks, rest) = rest.split_first_chunk::<16>()?;
        let (check, rest) = rest.split_first_chunk::<16>()?;
        let (store, rest) = rest.split_first_chunk::<16>()?;
        let (_layout, digests) = rest.split_first_chunk::<4>()?;
        Some(Self {
            seq: u64::from_le_bytes(*seq),
            packs: Location::decode(packs).ok()?,
            synced: Location::decode(synced).ok()?,
            copied: Location::decode(copied).ok()?,
            blocks: Location::decode(blocks).ok()?,
            check: *check,
            store: StoreId(*store),
            digests: Digests::decode(digests).ok()?,
        })
    }

    /// Reads the position; the position of an empty sled if none is stored. `Corrupt`: it belongs
    /// to another store, or to another version.
    pub(crate) fn read(kv: &Kv, store: StoreId) -> Result<Self> {
        let Some(value) = kv.get(&keys::all(KeyKind::Applied))? else {
            return Ok(Self::none(store));
        };
        let at = value.len().checked_sub(LAYOUT_FROM_END);
        let layout = at.and_then(|at| value.get(at..)?.first_chunk::<4>());
        if layout != Some(&LAYOUT.to_le_bytes()) {
            let expected = "entries as this version writes them";
            return Err(Error::corrupt("sled", expected, OTHER_LAYOUT));
        }
        let applied = Self::decode(&value).ok_or_else(|| {
            Error::corrupt("applied position in sled", "a position", "other bytes")
        })?;
        if applied.store != store {
            let found = format!("those of store {}", applied.store);
            return Err(Error::corrupt("sled", format!("entries of store {store}"), found));
        }
        Ok(applied)
    }
}
