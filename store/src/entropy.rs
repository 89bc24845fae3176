//! Randomness: the only file that asks the system for it.

use std::sync::atomic::{AtomicU64, Ordering};

use milepost_codec::{Error, ErrorKind, Result, Seed};

/// Returns 32 random bytes from the system, for a [`StoreKey`](milepost_codec::StoreKey).
///
/// # Errors
///
/// `Unavailable`: the system provides none.
#[expect(clippy::disallowed_methods, reason = "this is the injected entropy")]
pub fn new_secret() -> Result<[u8; 32]> {
    let mut secret = [0; 32];
    match getrandom::fill(&mut secret) {
        Ok(()) => Ok(secret),
        Err(e) => Err(Error::new(
            ErrorKind::Unavailable,
            format!("the system gives no random bytes: {e}"),
        )),
    }
}

/// A stream of unguessable bytes: BLAKE3 keyed by a secret from the system, over a counter. So the
/// seed of an append costs one hash and no system call.
#[derive(Debug)]
pub struct Entropy {
    key: [u8; 32],
    counter: AtomicU64,
}

impl Entropy {
    /// Takes the secret from the system.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the system provides none.
    pub fn from_system() -> Result<Self> {
        Ok(Self { key: new_secret()?, counter: AtomicU64::new(0) })
    }

    /// Returns 16 random bytes.
    pub fn bytes16(&self) -> [u8; 16] {
        let count = self.counter.fetch_add(1, Ordering::Relaxed);
        let hash = blake3::keyed_hash(&self.key, &count.to_le_bytes());
        let mut out = [0; 16];
        out.copy_from_slice(hash.as_bytes().split_at(16).0);
        out
    }

    /// Returns a random seed.
    pub fn seed(&self) -> Seed {
        Seed(self.bytes16())
    }

    /// Returns a random number.
    pub fn u64(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.bytes16();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}
