//! A request and its answer.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::path::url;
use crate::retry::{RetryRule, Tries};

pub(crate) const JSON: &str = "application/json";

/// The maximum length of an error answer's body.
const REFUSAL_MAX: usize = 64 << 10;

/// A request that has not been sent.
#[derive(Debug, Clone)]
pub(crate) struct ApiRequest {
    client: Client,
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Bytes>,
    retry: RetryRule,
}

impl Client {
    /// Starts a request that reads, with retries.
    pub(crate) fn get<P: AsRef<[u8]>>(
        &self,
        path: impl IntoIterator<Item = P>,
    ) -> Result<ApiRequest> {
        Ok(self.request(Method::GET, path)?.retry(RetryRule::Always))
    }

    /// Starts a request that changes something, with a JSON body.
    pub(crate) fn post<P: AsRef<[u8]>>(
        &self,
        path: impl IntoIterator<Item = P>,
        body: &impl Serialize,
    ) -> Result<ApiRequest> {
        self.request(Method::POST, path)?.json(body)
    }

    pub(crate) fn request<P: AsRef<[u8]>>(
        &self,
        method: Method,
        path: impl IntoIterator<Item = P>,
    ) -> Result<ApiRequest> {
        Ok(ApiRequest {
            client: self.clone(),
            method,
            url: url(&self.0.base, path)?,
            headers: HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(JSON))]),
            body: None,
            retry: RetryRule::Unreached,
        })
    }
}

impl ApiRequest {
    pub(crate) fn retry(mut self, retry: RetryRule) -> Self {
        self.retry = retry;
        self
    }

    pub(crate) fn query(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            let value = value.to_string();
            self.url.query_pairs_mut().append_pair(name, &value);
        }
        self
    }

    pub(crate) fn accept(mut self, form: &'static str) -> Self {
        self.headers.insert(ACCEPT, HeaderValue::from_static(form));
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Result<Self> {
        let text = |_| self.invalid(format!("`{name}` cannot have such characters"));
        let value = HeaderValue::from_str(value).map_err(text)?;
        self.headers.insert(name, value);
        Ok(self)
    }

    pub(crate) fn json(self, body: &impl Serialize) -> Result<Self> {
        let written = serde_json::to_vec(body);
        let written = written.map_err(|error| self.invalid(error.to_string()))?;
        Ok(self.body(JSON, written))
    }

    pub(crate) fn body(mut self, kind: &'static str, body: Vec<u8>) -> Self {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        self.body = Some(body.into());
        self
    }

    /// Returns the time limit of a piece of the answer, and the size limit of a buffered part.
    pub(crate) fn limits(&self) -> (Duration, usize) {
        (self.client.0.options.timeout, self.client.0.options.answer)
    }

    /// Returns method and path, for errors.
    pub(crate) fn method_and_path(&self) -> String {
        format!("{} {}", self.method, self.url.path())
    }

    pub(crate) fn invalid(&self, text: String) -> Error {
        Error::invalid(&self.method_and_path(), text)
    }

    /// Sends the request and parses the answer. One without a body is `null`.
    pub(crate) async fn read<T: DeserializeOwned>(self) -> Result<T> {
        let bytes = self.bytes().await?;
        let json = if bytes.is_empty() { b"null" } else { &*bytes };
        serde_json::from_slice(json).map_err(|error| {
            let text = format!("the answer is not understood: {error}");
            Error::new(ErrorKind::Answer, &self.method_and_path(), text)
        })
    }

    /// Sends the request and ignores the body of the answer.
    pub(crate) async fn finish(self) -> Result<()> {
        self.bytes().await.map(drop)
    }

    /// Sends the request, with retries, and reads the whole answer.
    pub(crate) async fn bytes(&self) -> Result<Vec<u8>> {
        let mut tries = Tries::new(self.client.0.options.tries);
        loop {
            let once = async {
                let response = self.answered().await?;
                self.read_all(response, self.client.0.options.answer).await
            };
            match self.in_time(once).await {
                Ok(bytes) => return Ok(bytes),
                Err(error) => tries.failed(self.retry, error).await?,
            }
        }
    }

    /// Sends the request, with retries, until an answer begins.
    pub(crate) async fn open(&self) -> Result<Response> {
        let mut tries = Tries::new(self.client.0.options.tries);
        loop {
            match self.open_once().await {
                Ok(response) => return Ok(response),
                Err(error) => tries.failed(self.retry, error).await?,
            }
        }
    }

    /// Sends the request once.
    pub(crate) async fn open_once(&self) -> Result<Response> {
        self.in_time(self.answered()).await
    }

    async fn in_time<T>(&self, once: impl Future<Output = Result<T>>) -> Result<T> {
        let at_most = self.client.0.options.timeout;
        let finish = timeout(at_most, once).await;
        finish.unwrap_or_else(|_| Err(Error::timed_out(&self.method_and_path(), at_most)))
    }

    /// Sends the request once and returns a successful answer.
    async fn answered(&self) -> Result<Response> {
        let http = &self.client.0.http;
        let mut request =
            http.request(self.method.clone(), self.url.clone()).headers(self.headers.clone());
        if let Some(body) = &self.body {
            request = request.body(body.clone());
        }
        let sent = request.send().await;
        let response = sent.map_err(|error| {
            Error::connection_lost(&self.method_and_path(), &error.without_url())
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = response.headers().get(RETRY_AFTER).and_then(seconds);
        // If the body is lost, the status is sufficient.
        let body = self.read_all(response, REFUSAL_MAX).await;
        let body = body.unwrap_or_default();
        Err(Error::of_answer(&self.method_and_path(), status.as_u16(), &body).after(retry_after))
    }

    /// Reads all bytes of an answer, at most `most`.
    async fn read_all(&self, mut response: Response, most: usize) -> Result<Vec<u8>> {
        let mut whole = Vec::new();
        loop {
            let piece = response.chunk().await;
            let piece = piece.map_err(|error| {
                Error::connection_lost(&self.method_and_path(), &error.without_url())
            })?;
            let Some(piece) = piece else {
                return Ok(whole);
            };
            if whole.len() + piece.len() > most {
                let text = format!(
                    "the answer has more than {most} bytes: ask for less, or raise \
                     `ClientBuilder::answer_limit`"
                );
                return Err(Error::new(ErrorKind::Answer, &self.method_and_path(), text));
            }
            whole.extend_from_slice(&piece);
        }
    }
}

/// Parses `Retry-After` in seconds. Dates are ignored: no Milepost service sends them.
fn seconds(value: &HeaderValue) -> Option<Duration> {
    let seconds = value.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}
