//! Secrets of the environment. They must not get into a log.

use std::env;

/// Variable of the token for a service.
pub const TOKEN: &str = "MILEPOST_TOKEN";

/// Variable of the key of a store.
pub const KEY: &str = "MILEPOST_KEY";

/// Shortest secret, in bytes. A shorter one would match ordinary text.
const LEN_MIN: usize = 8;

/// Replacement for a secret.
const BLOT: &[u8] = b"[secret]";

/// Secrets to blot out.
#[derive(Debug, Clone, Default)]
pub struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// Returns the secrets of the environment.
    pub fn of_environment() -> Self {
        let values = [TOKEN, KEY].into_iter().filter_map(|name| env::var(name).ok());
        Self::of(values)
    }

    fn of(values: impl IntoIterator<Item = String>) -> Self {
        let values = values.into_iter();
        let trimmed = values.map(|value| value.trim().as_bytes().to_vec());
        Self(trimmed.filter(|value| value.len() >= LEN_MIN).collect())
    }

    /// Returns a whole text without the secrets.
    pub fn blotted(&self, bytes: &[u8]) -> Vec<u8> {
        let mut blotter = Blotter::new(self.clone());
        let mut out = blotter.push(bytes);
        out.extend(blotter.end());
        out
    }
}

/// Blots secrets out of a stream that comes in pieces.
#[derive(Debug)]
pub struct Blotter {
    secrets: Secrets,
    /// Bytes that may be the beginning of a secret.
    held: Vec<u8>,
}

impl Blotter {
    pub fn new(secrets: Secrets) -> Self {
        let held = Vec::new();
        Self { secrets, held }
    }

    /// Takes a piece, and returns the bytes that are surely no part of a secret.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(piece);
        let mut out = Vec::with_capacity(bytes.len());
        let mut rest: &[u8] = &bytes;
        while let Some((first, behind)) = rest.split_first() {
            let secrets = &self.secrets.0;
            if let Some(secret) = secrets.iter().find(|secret| rest.starts_with(secret)) {
                out.extend_from_slice(BLOT);
                rest = rest.get(secret.len()..).unwrap_or_default();
            } else if secrets.iter().any(|secret| secret.starts_with(rest)) {
                self.held = rest.to_vec();
                break;
            } else {
                out.push(*first);
                rest = behind;
            }
        }
        out
    }

    /// Returns the bytes that were held back.
    pub fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_blotted_out_wherever_it_is_cut() {
        let secrets =
            Secrets::of(["mp_0123_secret".into(), " k-long-enough\n".into(), "short".into()]);
        let text = b"a mp_0123_secret, mp_0123_secre k-long-enough short mp_0";
        let expected = b"a [secret], mp_0123_secre [secret] short mp_0";
        assert_eq!(secrets.blotted(text), expected);
        for at in 0..=text.len() {
            let mut blotter = Blotter::new(secrets.clone());
            let (front, rest) = text.split_at(at);
            let mut out = blotter.push(front);
            out.extend(blotter.push(rest));
            out.extend(blotter.end());
            assert_eq!(out, expected, "cut at {at}");
        }
        assert_eq!(Secrets::default().blotted(text), text);
    }
}
