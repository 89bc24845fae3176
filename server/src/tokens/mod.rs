//! Tokens of a store's callers.
//!
//! `server/tokens.json` in the store has mode 0600 and is replaced atomically. It has a digest of
//! each secret and never the secret. Every request checks the file, so a revoked token is refused
//! from the next request on.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use milepost::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// The folder of the service in the store.
pub(crate) const FOLDER: &str = "server";

/// The prefix of tokens, which secret scanners recognize.
const PREFIX: &str = "mp_";

/// Bytes of a token's id and of its secret.
const ID_LEN: usize = 4;
const SECRET_LEN: usize = 32;

/// The maximum length of a user's name in bytes.
const USER_MAX: usize = 256;

/// Restrictions of a token, in addition to those of its user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenLimits {
    /// True if the token may not change anything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// The only task that the token may see and change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The maximum number of changing requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appends_per_second: Option<u32>,
    /// The maximum sum of the user's stored bytes and the bytes received with the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// The public data of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenInfo {
    /// The id: 8 hexadecimal digits, which the token and the log contain.
    pub id: String,
    /// The user of the token.
    pub user: String,
    /// True if the token may see and do everything.
    pub admin: bool,
    /// The time of creation, in microseconds since the Unix epoch.
    pub created_us: u64,
    /// The time of expiry; `None` if the token does not expire.
    pub expires_us: Option<u64>,
    /// The time of revocation.
    pub revoked_us: Option<u64>,
    /// Further restrictions.
    #[serde(flatten)]
    pub limits: TokenLimits,
}

/// A token to create.
#[derive(Debug, Clone, Default)]
pub struct NewToken {
    /// The user of the token.
    pub user: String,
    /// True if the token may see and do everything.
    pub admin: bool,
    /// The time of expiry, in microseconds since the Unix epoch.
    pub expires_us: Option<u64>,
    /// Further restrictions.
    pub limits: TokenLimits,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    info: TokenInfo,
    /// BLAKE3 of the secret, in hex. The secret has 256 random bits, so a fast hash is enough.
    digest: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    version: u32,
    tokens: Vec<Stored>,
}

/// The reason for refusing a token. The caller of a request does not learn it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The token is malformed or was never created.
    Unknown,
    /// The token was revoked.
    Revoked,
    /// The token has expired.
    Expired,
}

/// The tokens of a store. Cheap to clone.
///
/// ```
/// use milepost_server::{NewToken, Tokens};
///
/// # let dir = tempfile::tempdir()?;
/// # let store = dir.path();
/// let tokens = Tokens::of_store(store);
/// let new = NewToken { user: "ana".into(), ..NewToken::default() };
/// let (info, token) = tokens.create(&new, 1_000_000)?;
/// assert_eq!(tokens.check(&token, 2_000_000)?.unwrap().user, "ana");
/// tokens.revoke(&info.id, 3_000_000)?;
/// assert!(tokens.check(&token, 3_000_000)?.is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tokens {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// `None` for a store in memory.
    folder: Option<PathBuf>,
    read: Mutex<Read>,
    /// True once a token was seen. After that an empty set counts as damage, and all callers are
    /// refused.
    seen: AtomicBool,
}

/// The tokens as last read, and the stamp of the file.
#[derive(Debug, Default)]
struct Read {
    stamp: Option<Stamp>,
    tokens: Arc<Vec<Stored>>,
}

/// Identifies a version of the file by inode, size and mtime. Each change writes a new file.
type Stamp = (u64, u64, i64, i64);

impl Tokens {
    /// Opens the tokens of the store in a folder.
    pub fn of_store(store: impl AsRef<Path>) -> Self {
        Self::at(Some(store.as_ref().join(FOLDER)))
    }

    /// Returns the empty tokens of a store in memory, which cannot be changed.
    pub fn none() -> Self {
        Self::at(None)
    }

    fn at(folder: Option<PathBuf>) -> Self {
        let inner = Inner { folder, read: Mutex::default(), seen: AtomicBool::new(false) };
        Self { inner: Arc::new(inner) }
    }

    /// Creates a token. The secret is returned only here: the store keeps a digest of it.
    ///
    /// # Errors
    ///
    /// `Invalid`: the user's name is empty, longer than 256 bytes or has control characters, the
    /// rate is zero, or the expiry has passed. `Unavailable`: the file cannot be written.
    /// `Corrupt`: the existing tokens cannot be read.
    pub fn create(&self, new: &NewToken, now_us: u64) -> Result<(TokenInfo, String)> {
        if new.user.is_empty()
            || new.user.len() > USER_MAX
            || new.user.chars().any(char::is_control)
        {
            return Err(Error::invalid(format!(
                "a user's name has 1 to {USER_MAX} bytes and no control characters"
            )));
        }
        if new.limits.appends_per_second == Some(0) {
            return Err(Error::invalid(
                "a token of no appends a second is one that is read-only: ask for that",
            ));
        }
        if new.expires_us.is_some_and(|end| end <= now_us) {
            return Err(Error::invalid("the token would have ended already"));
        }
        let secret = milepost::internals::new_secret()?;
        let random = milepost::internals::new_secret()?;
        let (id, _) = random.split_at(ID_LEN);
        let info = TokenInfo {
            id: HEXLOWER.encode(id),
            user: new.user.clone(),
            admin: new.admin,
            created_us: now_us,
            expires_us: new.expires_us,
            revoked_us: None,
            limits: new.limits.clone(),
        };
        self.change(|tokens| {
            if tokens.iter().any(|stored| stored.info.id == info.id) {
                let message = "the new token's id is taken: ask again";
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
            let digest = blake3::hash(&secret).to_hex().to_string();
            tokens.push(Stored { info: info.clone(), digest });
            Ok(())
        })?;
        let token = format!("{PREFIX}{}_{}", info.id, BASE64URL_NOPAD.encode(&secret));
        Ok((info, token))
    }

    /// Returns all tokens ever created, in that order.
    ///
    /// # Errors
    ///
    /// `Unavailable`, `Corrupt`: the tokens cannot be read.
    pub fn list(&self) -> Result<Vec<TokenInfo>> {
        let tokens = self.read()?;
        Ok(tokens.iter().map(|stored| stored.info.clone()).collect())
    }

    /// Revokes a token. A revoked token keeps its first time of revocation.
    ///
    /// # Errors
    ///
    /// `NotFound`: no token has this id. Otherwise as [`Tokens::create`].
    pub fn revoke(&self, id: &str, now_us: u64) -> Result<()> {
        self.change(|tokens| {
            let mut tokens = tokens.iter_mut();
            let found = tokens.find(|stored| stored.info.id == id);
            let found = found.ok_or_else(|| Error::not_found(format!("there is no token {id}")))?;
            found.info.revoked_us.get_or_insert(now_us);
            Ok(())
        })
    }

    /// Checks a token and returns its data.
    ///
    /// # Errors
    ///
    /// `Unavailable`, `Corrupt`: the tokens cannot be read; all callers are refused.
    pub fn check(
        &self,
        token: &str,
        now_us: u64,
    ) -> Result<std::result::Result<TokenInfo, Refused>> {
        Ok(self.current()?.check(token, now_us))
    }

    /// Returns the current tokens, after one check of the file.
    pub(crate) fn current(&self) -> Result<Current> {
        Ok(Current(self.read()?))
    }

    /// Returns true if any token was ever created.
    ///
    /// # Errors
    ///
    /// As [`Tokens::check`].
    pub fn any(&self) -> Result<bool> {
        Ok(!self.current()?.is_empty())
    }

    fn path(&self) -> Option<PathBuf> {
        let folder = self.inner.folder.as_ref();
        folder.map(|folder| folder.join("tokens.json"))
    }

    fn read(&self) -> Result<Arc<Vec<Stored>>> {
        let Some(path) = self.path() else {
            return Ok(Arc::default());
        };
        let mut read = self.inner.read.lock();
        let stamp = match fs::symlink_metadata(&path) {
            Ok(found) => Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
            Err(e) => return Err(unavailable("look at", &path, &e)),
        };
        if stamp != read.stamp {
            let tokens = match stamp {
                Some(_) => decode(&path)?,
                None => Vec::new(),
            };
            *read = Read { stamp, tokens: Arc::new(tokens) };
        }
        let seen = &self.inner.seen;
        match read.tokens.is_empty() {
            true if seen.load(Ordering::Relaxed) => {
                let place = path.display();
                return Err(Error::corrupt(place.to_string(), "the tokens that were made", "none"));
            }
            empty => drop(seen.fetch_or(!empty, Ordering::Relaxed)),
        }
        Ok(Arc::clone(&read.tokens))
    }

    /// Changes the tokens under a lock between processes.
    fn change(&self, change: impl FnOnce(&mut Vec<Stored>) -> Result<()>) -> Result<()> {
        let (Some(folder), Some(path)) = (&self.inner.folder, self.path()) else {
            return Err(Error::invalid("a store in memory has no tokens"));
        };
        let failed = |what: &'static str| {
            let path = path.clone();
            move |e: std::io::Error| unavailable(what, &path, &e)
        };
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(folder).map_err(failed("make the folder of"))?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(unfollowed())
            .open(folder.join("tokens.lock"))
            .map_err(failed("lock"))?;
        lock.lock().map_err(failed("lock"))?;
        let mut tokens = self.read()?.to_vec();
        change(&mut tokens)?;
        // Version 2 keeps older services, which ignore limits, from accepting limited tokens.
        let limited = |stored: &Stored| stored.info.limits != TokenLimits::default();
        let version = if tokens.iter().any(limited) { 2 } else { 1 };
        let form = Form { version, tokens };
        let bytes = serde_json::to_vec_pretty(&form)
            .map_err(|e| Error::new(ErrorKind::Unavailable, e.to_string()))?;
        milepost::internals::replace_file(&path, &bytes, true)?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("write"))?;
        self.inner.seen.fetch_or(!form.tokens.is_empty(), Ordering::Relaxed);
        Ok(())
    }
}

/// The tokens at one moment.
pub(crate) struct Current(Arc<Vec<Stored>>);

impl Current {
    /// Returns true if no token was ever created.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks a token and returns its data.
    pub(crate) fn check(
        &self,
        token: &str,
        now_us: u64,
    ) -> std::result::Result<TokenInfo, Refused> {
        let parts = token.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_'));
        let (id, secret) = parts.ok_or(Refused::Unknown)?;
        let secret = BASE64URL_NOPAD.decode(secret.as_bytes());
        let secret = secret.ok().filter(|secret| secret.len() == SECRET_LEN);
        // Unknown tokens take the same work as known ones.
        let shown = blake3::hash(&secret.unwrap_or_default());
        let found = self.0.iter().find(|stored| stored.info.id == id);
        let digest = found.map_or("", |stored| &stored.digest);
        let digest = blake3::Hash::from_hex(digest).unwrap_or(blake3::Hash::from_bytes([0; 32]));
        // `blake3::Hash` compares in constant time.
        let same = digest == shown;
        let found = found.filter(|_| same).ok_or(Refused::Unknown)?;
        found.info.is_good(now_us).map(|()| found.info.clone())
    }

    /// Returns the data of the token with this id if it is still valid.
    pub(crate) fn info(&self, id: &str, now_us: u64) -> Option<TokenInfo> {
        let found = self.0.iter().find(|stored| stored.info.id == id);
        let info = &found?.info;
        info.is_good(now_us).is_ok().then(|| info.clone())
    }
}

impl TokenInfo {
    fn is_good(&self, now_us: u64) -> std::result::Result<(), Refused> {
        if self.revoked_us.is_some() {
            return Err(Refused::Revoked);
        }
        match self.expires_us {
            Some(end) if end <= now_us => Err(Refused::Expired),
            _ => Ok(()),
        }
    }
}

/// Reads the tokens of a file that only this user can access.
fn decode(path: &Path) -> Result<Vec<Stored>> {
    let mut options = File::options();
    let opened = options.read(true).custom_flags(unfollowed()).open(path);
    let mut file = opened.map_err(|e| unavailable("open", path, &e))?;
    let about = file.metadata().map_err(|e| unavailable("look at", path, &e))?;
    let me = rustix::process::geteuid().as_raw();
    let (place, owner, mode) = (path.display(), about.uid(), about.mode() & 0o7777);
    if !about.is_file() || about.nlink() > 1 {
        let text = format!("{place} is no file with one name: no token in it counts; remove it");
        return Err(Error::invalid(text));
    }
    if owner != me || mode & 0o077 != 0 {
        return Err(Error::invalid(format!(
            "{place} belongs to user {owner} and has mode {mode:04o}: no token in it counts unless \
             it belongs to user {me} with mode 0600; `chmod 600` it if every token in it is yours, \
             else remove it"
        )));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|e| unavailable("read", path, &e))?;
    let place = path.display();
    let form: Form = serde_json::from_slice(&bytes)
        .map_err(|e| Error::corrupt(place.to_string(), "tokens as JSON", e))?;
    match form.version {
        1 | 2 => Ok(form.tokens),
        other => Err(Error::corrupt(place.to_string(), "version 1 or 2", other)),
    }
}

/// Returns the flags of each opening: symbolic links are not followed, and pipes do not block.
fn unfollowed() -> i32 {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    flags.bits().cast_signed()
}

fn unavailable(what: &str, path: &Path, error: &std::io::Error) -> Error {
    let message = format!("cannot {what} {}: {error}", path.display());
    Error::new(ErrorKind::Unavailable, message)
}

#[cfg(test)]
mod tests;
