//! The applied position: how far sled holds what the journal holds.

use milepost_codec::{Error, Result, Seq};

use super::kv::Kv;
use super::packs::Place;
use crate::index::keys::{self, Kind};
use crate::log::IndexPut;

/// How far sled is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Applied {
    /// The last commit that sled holds, with everything before it.
    pub(crate) seq: Seq,
    /// The packs' end when it was applied: later chunks are not in the index.
    pub(crate) packs: Place,
}

/// The change that moves it on.
pub(crate) fn put(seq: Seq, packs: Place) -> IndexPut {
    let mut value = seq.to_le_bytes().to_vec();
    value.extend(packs.encode());
    (keys::all(Kind::Applied), Some(value))
}

/// Reads it; the beginning where sled is empty.
pub(crate) fn read(kv: &Kv) -> Result<Applied> {
    let Some(value) = kv.get(&keys::all(Kind::Applied))? else {
        return Ok(Applied::default());
    };
    let Some((seq, packs)) = value.split_first_chunk::<8>() else {
        return Err(Error::corrupt("applied position", "24 bytes", value.len()));
    };
    Ok(Applied {
        seq: u64::from_le_bytes(*seq),
        packs: Place::decode(packs)?,
    })
}
