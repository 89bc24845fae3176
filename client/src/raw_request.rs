//! Requests whose path and body the caller composes.

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::HeaderName;

use crate::answer_lines::AnswerLines;
use crate::client::Client;
use crate::error::{Error, Result};
use crate::request::{ApiRequest, JSON};
use crate::retry::RetryRule;

/// A request to any route of `docs/HTTP.md`, for bindings of other languages, which have their own
/// structures of requests and answers. Programs in Rust use [`Client::call`] and the
/// other methods of [`Client`].
///
/// ```no_run
/// use milepost_client::{Client, RawRequest};
///
/// # async fn work(client: Client) -> milepost_client::Result<()> {
/// let request = RawRequest::new("GET", ["v1", "tasks"]).query("prefix", "essay");
/// let answer = client.send(request).await?;
/// println!("{}", String::from_utf8_lossy(&answer));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RawRequest {
    method: String,
    path: Vec<String>,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl RawRequest {
    /// Creates a request. Each part of the path is one segment, with any characters.
    pub fn new<P: Into<String>>(
        method: impl Into<String>,
        path: impl IntoIterator<Item = P>,
    ) -> Self {
        Self {
            method: method.into(),
            path: path.into_iter().map(Into::into).collect(),
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// Adds a parameter of the query.
    #[must_use]
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.push((name.into(), value.into()));
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body. Its type is `application/json`, unless a header names another one.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    fn request(self, client: &Client) -> Result<ApiRequest> {
        let invalid = |text: String| Error::invalid("a request", text);
        let method = Method::from_bytes(self.method.as_bytes());
        let method = method.map_err(|_| invalid(format!("`{}` is no method", self.method)))?;
        let has_key = |(name, _): &(String, String)| name.eq_ignore_ascii_case("idempotency-key");
        let is_repeatable = method == Method::GET || self.headers.iter().any(has_key);
        let mut request = client.request(method, &self.path)?;
        if is_repeatable {
            request = request.retry(RetryRule::Always);
        }
        for (name, value) in &self.query {
            request = request.query(name, Some(value));
        }
        if let Some(body) = self.body {
            request = request.body(JSON, body);
        }
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let name = name.map_err(|_| invalid("a header has no such name".into()))?;
            request = request.header(name, value)?;
        }
        Ok(request)
    }
}

impl Client {
    /// Sends a request, and returns the body of its answer. Reads, and requests with the header
    /// `Idempotency-Key`, are retried after every transient error, others only if the service was
    /// not reached.
    ///
    /// # Errors
    ///
    /// `Invalid`: not a method, a header or a path. Otherwise errors of the route.
    pub async fn send(&self, request: RawRequest) -> Result<Bytes> {
        request.request(self)?.bytes().await.map(Bytes::from)
    }

    /// Sends a request, and returns the lines of its answer as they arrive. Without the header
    /// `Accept` it asks for `application/x-ndjson`.
    ///
    /// # Errors
    ///
    /// As [`Client::send`].
    pub async fn send_for_lines(&self, raw: RawRequest) -> Result<AnswerLines> {
        let given = raw.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept"));
        let mut request = raw.request(self)?;
        if !given {
            request = request.accept("application/x-ndjson");
        }
        AnswerLines::open(&request).await
    }
}
