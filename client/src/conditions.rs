//! Changes that may be retried and take effect once.
//!
//! A missing answer leaves the outcome of a change unknown. So each such change has an idempotency
//! key, which the client generates unless the caller gives one. A retry uses the same key: the
//! service returns the first result, or makes the change now.

use reqwest::header::{HeaderName, IF_MATCH};

use crate::error::Result;
use crate::random;
use crate::request::ApiRequest;
use crate::retry::RetryRule;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The conditions of a change.
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    pub(crate) key: Option<String>,
    pub(crate) head: Option<u64>,
}

impl Conditions {
    /// Creates conditions without a key and an expected head.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an idempotency key, 1 to 256 visible ASCII characters. Requests with the same key take
    /// effect once, also from another process. By default the client generates a key, which covers
    /// its own retries.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Requires the lineage's head to be `head`; otherwise the request fails with `Conflict`, which
    /// has the actual head.
    #[must_use]
    pub fn expect_head(mut self, head: u64) -> Self {
        self.head = Some(head);
        self
    }

    /// Adds the conditions, with a generated key if none is set, and allows retries.
    pub(crate) fn on(&self, mut request: ApiRequest) -> Result<ApiRequest> {
        request = self.add_explicit(request)?;
        if self.key.is_none() {
            request = request.header(IDEMPOTENCY_KEY, &random::key()?)?;
        }
        Ok(request.retry(RetryRule::Always))
    }

    /// Adds the conditions that are set, and does not allow retries.
    pub(crate) fn add_explicit(&self, mut request: ApiRequest) -> Result<ApiRequest> {
        if let Some(head) = self.head {
            request = request.header(IF_MATCH, &format!("\"{head}\""))?;
        }
        match &self.key {
            Some(key) => request.header(IDEMPOTENCY_KEY, key),
            None => Ok(request),
        }
    }
}
