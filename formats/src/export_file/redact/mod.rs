//! Redaction of secrets in texts, by the patterns of `docs/EXPORT.md`.
//!
//! ```text
//! search    finds of secrets in a text, and in readings of it
//! patterns  patterns of secrets, and names of fields with one
//! tokens    tokens that are known by their form
//! views     readings of a text
//! walk      the strings of a JSON text
//! ```

mod patterns;
mod search;
mod tokens;
mod views;
mod walk;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use data_encoding::BASE64;
use milepost::events::Control;
use milepost::{Body, CheckpointId, Hash};
use regex::RegexBuilder;
use serde::de::IgnoredAny;

use super::write::Redact;
use patterns::{is_secret, is_token};
use search::Search;
use walk::text_of;
pub(super) use walk::{Strings, Walk};

/// Maximum depth of JSON texts nested in strings of JSON.
const NESTED_MAX: u32 = 8;

/// Digits of a checkpoint's id, and the fewest digits that name one.
const ID_DIGITS: usize = 64;
const ID_DIGITS_MIN: usize = 8;

/// Most bytes of a compiled expression of the caller: the time of a search grows with them.
const PATTERN_BYTES: usize = 256 << 10;

/// Most arrays and objects around a value of a text that is searched as JSON.
const DEPTH_MAX: usize = 100;

/// The compiled patterns.
pub struct Patterns {
    search: Search,
    /// Set if the names of fields are searched, too.
    fields: bool,
    stand_ins: StandIns,
    /// New ids of the checkpoints that have one.
    renamed: RefCell<BTreeMap<String, CheckpointId>>,
}

/// Source of the hashes that replace ids, hashes and idempotency keys. None of them reveals the
/// original.
enum StandIns {
    /// Keyed hashes of the originals.
    Keyed([u8; 32]),
    /// Hashes of numbers, in the order in which the originals came: always the same.
    Counted(RefCell<HashMap<Vec<u8>, u64>>),
}

impl StandIns {
    fn of(&self, original: &[u8]) -> blake3::Hash {
        match self {
            Self::Keyed(secret) => blake3::keyed_hash(secret, original),
            Self::Counted(numbers) => {
                let mut numbers = numbers.borrow_mut();
                let next = numbers.len() as u64;
                let number = *numbers.entry(original.to_vec()).or_insert(next);
                blake3::derive_key("milepost 1 stand-in", &number.to_le_bytes()).into()
            }
        }
    }
}

impl Patterns {
    /// Compiles the patterns. Ids and keys get replacements that depend on the secret.
    pub fn new(secret: [u8; 32]) -> Result<Self, regex::Error> {
        Ok(Self {
            search: Search::built_in()?,
            fields: true,
            stand_ins: StandIns::Keyed(secret),
            renamed: RefCell::default(),
        })
    }

    /// Compiles the patterns, unless they are not wanted, and further ones. The same texts in the
    /// same order get the same replacements.
    pub fn counted(secrets: bool, withhold: &[String]) -> Result<Self, regex::Error> {
        let mut search = if secrets { Search::built_in()? } else { Search::default() };
        for pattern in withhold {
            let compiled = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build()?;
            search.withhold.push(compiled);
        }
        Ok(Self {
            search,
            fields: secrets,
            stand_ins: StandIns::Counted(RefCell::default()),
            renamed: RefCell::default(),
        })
    }

    /// Returns `true` if bytes have a secret, read as text.
    pub fn is_found_in(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        matches!(self.redacted(&text, false), Cow::Owned(_))
    }

    fn redacted<'a>(&self, text: &'a str, brief: bool) -> Cow<'a, str> {
        let text = self.search.redacted(text, brief);
        match self.renamed_in(&text) {
            Some(renamed) => Cow::Owned(renamed),
            None => text,
        }
    }

    /// Returns a text with the new ids of checkpoints in place of the old ones, or of beginnings of
    /// them, if it has any.
    fn renamed_in(&self, text: &str) -> Option<String> {
        let renamed = self.renamed.borrow();
        if renamed.is_empty() || text.len() < ID_DIGITS_MIN {
            return None;
        }
        let (mut out, mut copied) = (String::new(), 0);
        for (from, run) in hex_runs(text) {
            let id = run.to_ascii_lowercase();
            let found = renamed.range(id.clone()..).next().filter(|(old, _)| old.starts_with(&id));
            if let Some((_, new)) = found {
                out.push_str(text.get(copied..from).unwrap_or_default());
                out.push_str(new.to_string().get(..run.len()).unwrap_or_default());
                copied = from + run.len();
            }
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        Some(out).filter(|_| copied > 0)
    }

    fn is_secret_in(&self, base64: &str) -> bool {
        self.is_found_in(&BASE64.decode(base64.as_bytes()).unwrap_or_default())
    }

    fn is_secret_field(&self, name: Option<&str>) -> bool {
        self.fields && name.is_some_and(is_secret)
    }
}

/// Returns the runs of hexadecimal digits of a text that may name a checkpoint, with their places.
fn hex_runs(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_digit = |c: char| c.is_ascii_hexdigit();
    let mut rest = 0;
    std::iter::from_fn(move || {
        loop {
            let from = rest + text.get(rest..)?.find(is_digit)?;
            let run = text.get(from..)?;
            let run = run.get(..run.find(|c| !is_digit(c)).unwrap_or(run.len()))?;
            rest = from + run.len();
            if (ID_DIGITS_MIN..=ID_DIGITS).contains(&run.len()) {
                return Some((from, run));
            }
        }
    })
}

/// Returns `true` if the brackets of a JSON text are not nested too deeply for a walk.
fn is_shallow(json: &str) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return false;
        }
    }
    true
}

/// Returns `true` for the name of a kind of events, which any event of that kind has.
fn is_kind(text: &str) -> bool {
    let is_of_body = |kind| Body::name_of(kind) == text;
    (0..64).any(is_of_body) || (256..320).any(|kind| Control::name_of(kind) == text)
}

/// Redacts the strings of one JSON text.
struct Look<'a> {
    patterns: &'a Patterns,
    brief: bool,
    /// Number of JSON texts around this one.
    nested: u32,
    /// Addresses of the replaced strings: the walk may see a string twice.
    replaced: RefCell<HashSet<usize>>,
    /// The replacements of the strings that were examined, by their addresses and names.
    known: RefCell<HashMap<(usize, NameRole), Option<String>>>,
}

/// Effect of a string's name on its replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum NameRole {
    Secret,
    Base64,
    Other,
}

impl Look<'_> {
    fn says(&self, instead: &str, brief: &str) -> Option<String> {
        let replacement = if self.brief { brief } else { instead };
        Some(format!("\"{replacement}\""))
    }

    /// Redacts a text that is JSON itself. Returns `None` for any other text.
    fn inner(&self, text: &str) -> Option<String> {
        let begins = text.trim_start().starts_with(['{', '[']);
        let may_be = begins && self.nested < NESTED_MAX && is_shallow(text);
        if !may_be || serde_json::from_str::<IgnoredAny>(text).is_err() {
            return None;
        }
        let nested = self.nested + 1;
        let look = Look {
            patterns: self.patterns,
            brief: self.brief,
            nested,
            replaced: RefCell::default(),
            known: RefCell::default(),
        };
        Some(Walk::json(&look, text))
    }

    /// Returns the replacement of a string with a secret.
    fn without_secret(&self, text: &str, name: Option<&str>) -> Option<String> {
        if self.patterns.is_secret_field(name) {
            return self.says("[redacted:field]", "*");
        }
        if name == Some("base64") && self.patterns.is_secret_in(text) {
            return self.says(&BASE64.encode(b"[redacted:bytes]"), "");
        }
        // A text of JSON without a find is searched as a whole, too.
        if let Some(inner) = self.inner(text).filter(|inner| inner != text) {
            return Some(serde_json::Value::from(inner).to_string());
        }
        match self.patterns.redacted(text, self.brief) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(serde_json::Value::from(text).to_string()),
        }
    }
}

impl Strings for Look<'_> {
    fn covers(&self, name: &str) -> bool {
        self.patterns.is_secret_field(Some(name))
    }

    fn number(&self, number: &str, name: Option<&str>) -> Option<String> {
        // A count or a measure of tokens is not a secret.
        if self.patterns.is_secret_field(name) && !name.is_some_and(is_token) {
            return self.says("[redacted:field]", "*");
        }
        match self.patterns.redacted(number, self.brief) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(serde_json::Value::from(text).to_string()),
        }
    }

    fn string(&self, literal: &str, name: Option<&str>) -> Option<String> {
        let text = text_of(literal);
        if text.is_empty() || (name == Some("kind") && self.nested == 0 && is_kind(&text)) {
            return None;
        }
        if !self.patterns.is_secret_field(name)
            && let Some(id) = self.patterns.renamed.borrow().get(&text)
        {
            return Some(format!("\"{id}\""));
        }
        let role = match name {
            _ if self.patterns.is_secret_field(name) => NameRole::Secret,
            Some("base64") => NameRole::Base64,
            _ => NameRole::Other,
        };
        // A walk may see a string several times, and all texts in it.
        let key = (literal.as_ptr().addr(), role);
        let known = self.known.borrow().get(&key).cloned();
        let replacement = known.unwrap_or_else(|| {
            let replacement = self.without_secret(&text, name);
            self.known.borrow_mut().insert(key, replacement.clone());
            replacement
        });
        if replacement.is_some() {
            self.replaced.borrow_mut().insert(literal.as_ptr().addr());
        }
        replacement
    }
}

impl Redact for Patterns {
    fn text(&self, text: &str, brief: bool) -> String {
        self.redacted(text, brief).into_owned()
    }

    fn key(&self, key: &str, max: usize) -> String {
        let Cow::Owned(other) = self.redacted(key, false) else {
            return key.to_owned();
        };
        let hash = self.stand_ins.of(key.as_bytes()).to_hex();
        let tag = hash.get(..16).unwrap_or_default();
        match other.len() + 1 + tag.len() <= max {
            true => format!("{other}-{tag}"),
            false => hash.to_string(),
        }
    }

    fn json(&self, json: &str, brief: bool) -> (String, u64) {
        let look = Look {
            patterns: self,
            brief,
            nested: 0,
            replaced: RefCell::default(),
            known: RefCell::default(),
        };
        let text = Walk::json(&look, json);
        (text, look.replaced.into_inner().len() as u64)
    }

    fn checkpoint(&self, id: CheckpointId) -> CheckpointId {
        let other = CheckpointId(*self.stand_ins.of(&id.0).as_bytes());
        self.renamed.borrow_mut().insert(id.to_string(), other);
        other
    }

    fn hash(&self, hash: Hash) -> Hash {
        Hash(*self.stand_ins.of(&hash.0).as_bytes())
    }
}

#[cfg(test)]
mod tests;
