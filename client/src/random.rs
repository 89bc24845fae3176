//! Randomness for idempotency keys and retry waits.

// tidy: the only source of randomness

use crate::error::{Error, ErrorKind, Result};

/// Returns sixteen random bytes as a number.
#[expect(
    clippy::disallowed_methods,
    reason = "a client has no engine, and no Entropy: nothing it draws is part of a log's meaning"
)]
pub(crate) fn random() -> Result<u128> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let text = format!("the system gives no random bytes: {error}");
        Error::new(ErrorKind::Unavailable, "random", text)
    })?;
    Ok(u128::from_le_bytes(bytes))
}

/// Returns a unique idempotency key.
pub(crate) fn key() -> Result<String> {
    Ok(format!("{:032x}", random()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_drawn_once() {
        let (one, other) = (key().unwrap(), key().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
    }
}
