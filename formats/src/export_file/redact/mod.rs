//! Redaction of secrets in texts, by the patterns of `docs/EXPORT.md`.
//!
//! ```text
//! patterns  patterns of secrets, and names of fields with one
//! walk      the strings of a JSON text
//! ```

mod patterns;
mod walk;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use data_encoding::BASE64;
use milepost::{CheckpointId, Hash};
use regex::Regex;
use serde::de::IgnoredAny;

use super::write::Redact;
use patterns::{PATTERNS, is_secret};
use walk::{Strings, Walk, text_of};

/// Maximum depth of JSON texts nested in strings of JSON.
const NESTED_MAX: u32 = 8;

/// The compiled patterns.
pub struct Patterns {
    patterns: Vec<Ready>,
    /// Key of the hashes that replace ids, hashes and idempotency keys.
    secret: [u8; 32],
    /// New ids of the checkpoints that have one.
    renamed: RefCell<HashMap<String, CheckpointId>>,
}

struct Ready {
    pattern: Regex,
    /// The replacement.
    instead: &'static str,
    /// The replacement under a size limit. It is never longer than the secret.
    brief: &'static str,
}

impl Patterns {
    pub fn new(secret: [u8; 32]) -> Result<Self, regex::Error> {
        let ready = |(pattern, instead): patterns::Pattern| {
            Ok(Ready {
                pattern: Regex::new(pattern)?,
                instead,
                brief: match instead {
                    _ if instead.ends_with('@') => "${1}*@",
                    _ if instead.starts_with('$') => "${1}*",
                    _ => "*",
                },
            })
        };
        let patterns = PATTERNS.into_iter().map(ready);
        Ok(Self {
            patterns: patterns.collect::<Result<_, regex::Error>>()?,
            secret,
            renamed: RefCell::default(),
        })
    }

    fn redacted<'a>(&self, text: &'a str, brief: bool) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for ready in &self.patterns {
            let instead = match brief {
                true => ready.brief,
                false => ready.instead,
            };
            if let Cow::Owned(replaced) = ready.pattern.replace_all(&text, instead) {
                text = Cow::Owned(replaced);
            }
        }
        text
    }

    fn is_secret_in(&self, base64: &str) -> bool {
        let bytes = BASE64.decode(base64.as_bytes()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        matches!(self.redacted(&text, false), Cow::Owned(_))
    }

    fn other(&self, hash: &[u8; 32]) -> [u8; 32] {
        *blake3::keyed_hash(&self.secret, hash).as_bytes()
    }
}

/// Redacts the strings of one JSON text.
struct Look<'a> {
    patterns: &'a Patterns,
    brief: bool,
    /// Number of JSON texts around this one.
    nested: u32,
    /// Addresses of the replaced strings: the walk may look at a string twice.
    replaced: RefCell<HashSet<usize>>,
}

impl Look<'_> {
    fn says(&self, instead: &str, brief: &str) -> Option<String> {
        let replacement = if self.brief { brief } else { instead };
        Some(format!("\"{replacement}\""))
    }

    /// Redacts a text that is JSON itself. Returns `None` for any other text.
    fn inner(&self, text: &str) -> Option<String> {
        let begins = text.trim_start().starts_with(['{', '[']);
        if !begins || self.nested >= NESTED_MAX || serde_json::from_str::<IgnoredAny>(text).is_err()
        {
            return None;
        }
        let nested = self.nested + 1;
        let look = Look {
            patterns: self.patterns,
            brief: self.brief,
            nested,
            replaced: RefCell::default(),
        };
        Some(Walk::json(&look, text))
    }

    /// Returns the replacement of a string with a secret.
    fn without_secret(&self, text: &str, name: Option<&str>) -> Option<String> {
        if name.is_some_and(is_secret) {
            return self.says("[redacted:field]", "*");
        }
        if name == Some("base64") && self.patterns.is_secret_in(text) {
            return self.says(&BASE64.encode(b"[redacted:bytes]"), "");
        }
        if let Some(inner) = self.inner(text) {
            return (inner != text).then(|| serde_json::Value::from(inner).to_string());
        }
        match self.patterns.redacted(text, self.brief) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(serde_json::Value::from(text).to_string()),
        }
    }
}

impl Strings for Look<'_> {
    fn string(&self, literal: &str, name: Option<&str>) -> Option<String> {
        let text = text_of(literal);
        if text.is_empty() {
            return None;
        }
        if !name.is_some_and(is_secret)
            && let Some(id) = self.patterns.renamed.borrow().get(&text)
        {
            return Some(format!("\"{id}\""));
        }
        let replacement = self.without_secret(&text, name);
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
        let hash = blake3::keyed_hash(&self.secret, key.as_bytes()).to_hex();
        let tag = hash.get(..16).unwrap_or_default();
        match other.len() + 1 + tag.len() <= max {
            true => format!("{other}-{tag}"),
            false => hash.to_string(),
        }
    }

    fn json(&self, json: &str, brief: bool) -> (String, u64) {
        let look = Look { patterns: self, brief, nested: 0, replaced: RefCell::default() };
        let text = Walk::json(&look, json);
        (text, look.replaced.into_inner().len() as u64)
    }

    fn checkpoint(&self, id: CheckpointId) -> CheckpointId {
        let other = CheckpointId(self.other(&id.0));
        self.renamed.borrow_mut().insert(id.to_string(), other);
        other
    }

    fn hash(&self, hash: Hash) -> Hash {
        Hash(self.other(&hash.0))
    }
}

#[cfg(test)]
mod tests;
