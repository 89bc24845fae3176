//! Keys of stores with keyed chains. Without the key, an attacker can damage the store but cannot
//! write a history that verifies.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

const CONTEXT_CHAIN: &str = "milepost 1 chain";
const CONTEXT_CHECK: &str = "milepost 1 check";
const CONTEXT_ID: &str = "milepost 1 key id";

/// The secret of a keyed store: 32 bytes that are kept outside of the store.
///
/// ```
/// use milepost_codec::StoreKey;
///
/// let key: StoreKey = "07".repeat(32).parse()?;
/// assert_eq!(key, StoreKey::new(&[7; 32]));
/// assert!(!format!("{key:?}").contains("0707"), "it is never printed");
/// # Ok::<(), milepost_codec::Error>(())
/// ```
///
/// Three values are derived from the secret (BLAKE3, `derive_key`): a key for chain hashes, a key
/// for the checks of frames and blocks, and an id that identifies the key without revealing it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StoreKey {
    chain: [u8; 32],
    check: [u8; 32],
    id: [u8; 16],
}

impl StoreKey {
    /// Derives the keys from a secret.
    pub fn new(secret: &[u8; 32]) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(blake3::derive_key(CONTEXT_ID, secret).split_at(16).0);
        Self {
            chain: blake3::derive_key(CONTEXT_CHAIN, secret),
            check: blake3::derive_key(CONTEXT_CHECK, secret),
            id,
        }
    }

    /// Returns the id of the key. The id is public.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    pub(crate) fn chain(&self) -> &[u8; 32] {
        &self.chain
    }

    pub(crate) fn check(&self) -> &[u8; 32] {
        &self.check
    }
}

impl FromStr for StoreKey {
    type Err = Error;

    /// Parses a secret: 64 hexadecimal digits, with optional white space around them. Fails with
    /// `Invalid` for any other text; the error does not contain the text.
    fn from_str(text: &str) -> Result<Self> {
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(text.trim().as_bytes());
        match bytes.ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()) {
            Some(secret) => Ok(Self::new(&secret)),
            None => Err(Error::invalid("a key is 64 hexadecimal digits")),
        }
    }
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = data_encoding::HEXLOWER.encode(&self.id);
        f.debug_struct("StoreKey").field("id", &id).finish_non_exhaustive()
    }
}
