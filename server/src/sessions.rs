//! Sessions of browsers, and the codes that begin them. They are kept in memory, as digests, and
//! end with the service.

use blake3::Hash;
use data_encoding::HEXLOWER;
use milepost::Result;
use parking_lot::Mutex;

/// The prefix of sessions, which secret scanners recognize.
const PREFIX: &str = "ms_";

/// Bytes of a code.
const CODE_LEN: usize = 16;

/// Lifetimes, in microseconds: 12 hours and 60 seconds.
const SESSION_US: u64 = 12 * 3600 * 1_000_000;
const CODE_US: u64 = 60 * 1_000_000;

/// Maximum numbers of sessions, of sessions with one basis, and of codes. The oldest goes.
const SESSIONS: usize = 1000;
const OF_ONE: usize = 50;
const CODES: usize = 100;

/// The source of a session's rights. The session ends with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The token with this id.
    Token(String),
    /// A service without tokens, in which every caller has all rights.
    Open,
    /// A code of the program that serves.
    Code,
}

/// A session. Its digest identifies it.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) digest: Hash,
    pub(crate) basis: Basis,
    pub(crate) expires_us: u64,
}

/// The sessions of a service.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// True if callers of a service without tokens need a session.
    required: bool,
    inner: Mutex<Inner>,
}

/// Sessions and codes, oldest first.
#[derive(Debug, Default)]
struct Inner {
    sessions: Vec<Session>,
    codes: Vec<(Hash, u64)>,
}

impl Sessions {
    pub(crate) fn new(required: bool) -> Self {
        Self { required, inner: Mutex::default() }
    }

    /// Returns true if callers of a service without tokens need a session.
    pub(crate) fn are_required(&self) -> bool {
        self.required
    }

    /// Creates a code, which begins one session within 60 seconds.
    pub(crate) fn code(&self, now_us: u64) -> Result<String> {
        let random = milepost::internals::new_secret()?;
        let code = HEXLOWER.encode(random.split_at(CODE_LEN).0);
        let codes = &mut self.inner.lock().codes;
        codes.retain(|(_, end)| *end > now_us);
        codes.drain(..codes.len().saturating_sub(CODES - 1));
        codes.push((blake3::hash(code.as_bytes()), now_us.saturating_add(CODE_US)));
        Ok(code)
    }

    /// Takes a code. Returns false if it is wrong, was taken before or has expired.
    pub(crate) fn take_code(&self, code: &str, now_us: u64) -> bool {
        let digest = blake3::hash(code.as_bytes());
        let codes = &mut self.inner.lock().codes;
        // `blake3::Hash` compares in constant time.
        let found = codes.iter().position(|(known, _)| *known == digest);
        found.is_some_and(|at| codes.remove(at).1 > now_us)
    }

    /// Starts a session, which ends at `end_us` at the latest. Returns its text and its end.
    pub(crate) fn start(
        &self,
        basis: Basis,
        end_us: Option<u64>,
        now_us: u64,
    ) -> Result<(String, u64)> {
        let secret = milepost::internals::new_secret()?;
        let text = format!("{PREFIX}{}", HEXLOWER.encode(&secret));
        let expires_us = now_us.saturating_add(SESSION_US).min(end_us.unwrap_or(u64::MAX));
        let sessions = &mut self.inner.lock().sessions;
        sessions.retain(|session| session.expires_us > now_us);
        let of_one = sessions.iter().filter(|session| session.basis == basis).count();
        if of_one >= OF_ONE
            && let Some(oldest) = sessions.iter().position(|session| session.basis == basis)
        {
            sessions.remove(oldest);
        }
        sessions.drain(..sessions.len().saturating_sub(SESSIONS - 1));
        sessions.push(Session { digest: blake3::hash(text.as_bytes()), basis, expires_us });
        Ok((text, expires_us))
    }

    /// Returns the session with this text.
    pub(crate) fn find(&self, text: &str, now_us: u64) -> Option<Session> {
        text.starts_with(PREFIX).then(|| self.get(&blake3::hash(text.as_bytes()), now_us))?
    }

    /// Returns the session with this digest.
    pub(crate) fn get(&self, digest: &Hash, now_us: u64) -> Option<Session> {
        let sessions = &self.inner.lock().sessions;
        let found = sessions.iter().find(|session| session.digest == *digest);
        found.filter(|session| session.expires_us > now_us).cloned()
    }

    /// Ends a session.
    pub(crate) fn end(&self, digest: &Hash) {
        self.inner.lock().sessions.retain(|session| session.digest != *digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_works_once_and_for_a_minute() {
        let sessions = Sessions::new(true);
        let code = sessions.code(0).unwrap();
        assert_eq!(code.len(), 2 * CODE_LEN);
        assert!(!sessions.take_code("", 0) && !sessions.take_code(&code[1..], 0));
        assert!(sessions.take_code(&code, CODE_US - 1));
        assert!(!sessions.take_code(&code, CODE_US - 1));
        let late = sessions.code(0).unwrap();
        assert!(!sessions.take_code(&late, CODE_US));
        let codes: Vec<_> = (0..=CODES).map(|_| sessions.code(0).unwrap()).collect();
        assert!(!sessions.take_code(&codes[0], 0) && sessions.take_code(&codes[1], 0));
    }

    #[test]
    fn a_session_lasts_half_a_day_or_as_long_as_its_token() {
        let sessions = Sessions::new(false);
        let (text, end) = sessions.start(Basis::Open, None, 5).unwrap();
        assert_eq!(end, SESSION_US + 5);
        assert!(sessions.find(&text, end - 1).is_some() && sessions.find(&text, end).is_none());
        assert!(sessions.find(&text[PREFIX.len()..], 5).is_none());
        let (short, end) = sessions.start(Basis::Open, Some(10), 5).unwrap();
        assert_eq!(end, 10);
        assert!(sessions.find(&short, 10).is_none());
        let found = sessions.find(&text, 5).unwrap();
        sessions.end(&found.digest);
        assert!(sessions.find(&text, 5).is_none());
    }

    #[test]
    fn the_oldest_session_of_a_token_and_of_all_goes() {
        let sessions = Sessions::new(false);
        let start = |id: usize| {
            let basis = Basis::Token(id.to_string());
            sessions.start(basis, None, 0).unwrap().0
        };
        let other = start(1000);
        let own: Vec<_> = (0..=OF_ONE).map(|_| start(0)).collect();
        let is_there = |text: &String| sessions.find(text, 0).is_some();
        assert!(is_there(&other) && !is_there(&own[0]) && own[1..].iter().all(is_there));
        let all: Vec<_> = (1..=SESSIONS).map(start).collect();
        assert!(!is_there(&other) && !own.iter().any(is_there) && all.iter().all(is_there));
    }
}
