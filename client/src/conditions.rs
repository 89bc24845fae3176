//! Changes that can be asked twice, and are done once.
//!
//! An answer that did not come means that nobody knows whether it was done. So each such change has
//! an idempotency key, which the client draws where none is given, and is asked again with the same
//! key: the service finds what it did, or does it now.

use reqwest::header::{HeaderName, IF_MATCH};

use crate::error::Result;
use crate::random;
use crate::request::Ask;
use crate::retry::RetryRule;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// On which conditions something is appended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions {
    pub(crate) key: Option<String>,
    pub(crate) head: Option<u64>,
}

impl Conditions {
    /// The request with them. It may be asked again.
    pub(crate) fn on(&self, mut ask: Ask) -> Result<Ask> {
        ask = self.given_on(ask)?;
        if self.key.is_none() {
            ask = ask.header(IDEMPOTENCY_KEY, &random::key()?)?;
        }
        Ok(ask.again(RetryRule::Always))
    }

    /// The request with those that are given. It may not be asked again.
    pub(crate) fn given_on(&self, mut ask: Ask) -> Result<Ask> {
        if let Some(head) = self.head {
            ask = ask.header(IF_MATCH, &format!("\"{head}\""))?;
        }
        match &self.key {
            Some(key) => ask.header(IDEMPOTENCY_KEY, key),
            None => Ok(ask),
        }
    }
}

/// The conditions of a builder.
macro_rules! conditions {
    ($name:ident) => {
        impl $name {
            /// Under an idempotency key of one's own, 1 to 256 visible characters of ASCII: with
            /// the same key it is done once, also by another process. Without, the client draws
            /// one, so that what it asks again itself is done once.
            #[must_use]
            pub fn key(mut self, key: impl Into<String>) -> Self {
                self.conditions.key = Some(key.into());
                self
            }

            /// Only if the lineage's head is at `head` still; else `Conflict`, with the actual
            /// head.
            #[must_use]
            pub fn expect_head(mut self, head: u64) -> Self {
                self.conditions.head = Some(head);
                self
            }
        }
    };
}

pub(crate) use conditions;
