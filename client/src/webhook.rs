//! Documents of hooks, posted to another service.

use std::time::Duration;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Url, redirect};
use sha2::Sha256;

use crate::error::{Error, ErrorKind, Result};
use crate::tls;

/// Name of the header with the signature.
const SIGNATURE: &str = "Milepost-Signature";

/// Longest part of a refusal that an error quotes, in bytes.
const QUOTED: usize = 200;

/// An address to which documents are posted, each signed with a secret.
///
/// The header `Milepost-Signature` is `sha256=` and the HMAC-SHA256 (RFC 2104) of the body with the
/// secret, in hexadecimal. A receiver computes it again, compares both in constant time, and
/// refuses a body with another one. The time in the document (`time_us`) reveals a repeated body.
///
/// ```no_run
/// use std::time::Duration;
///
/// use milepost_client::Webhook;
///
/// # async fn example() -> milepost_client::Result<()> {
/// let webhook = Webhook::new("https://example.com/checkpoints", b"secret")?;
/// webhook.post(br#"{"hook":"after_checkpoint"}"#.to_vec(), Duration::from_secs(10)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Webhook {
    http: Client,
    url: Url,
    /// The address for messages, without a path and credentials: either may be a secret.
    shown: String,
    mac: Hmac<Sha256>,
}

impl Webhook {
    /// Creates a webhook for an `http` or `https` address. It ignores proxies of the environment
    /// and follows no redirect.
    ///
    /// # Errors
    ///
    /// `Invalid`: not such an address; for `https`, no trusted certificates are found.
    pub fn new(url: &str, secret: &[u8]) -> Result<Self> {
        let address = Url::parse(url);
        let address = address.map_err(|error| Error::invalid("webhook", error.to_string()))?;
        let shown = address.origin().ascii_serialization();
        let invalid = |reason: String| Error::invalid(&shown, reason);
        let config = match address.scheme() {
            "https" => tls::config(Vec::new())?,
            "http" => tls::none()?,
            other => return Err(invalid(format!("{other} is neither http nor https"))),
        };
        let http = Client::builder()
            .tls_backend_preconfigured(config)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .build();
        let http = http.map_err(|error| invalid(format!("no client can be made: {error}")))?;
        let mac = Hmac::new_from_slice(secret).map_err(|error| invalid(error.to_string()))?;
        Ok(Self { http, url: address, shown: shown.clone(), mac })
    }

    /// Posts a JSON document once.
    ///
    /// # Errors
    ///
    /// `Transport`: no connection. `Timeout`: no answer in time. `Answer`: a status other than 2xx.
    pub async fn post(&self, document: Vec<u8>, at_most: Duration) -> Result<()> {
        let mac = self.mac.clone().chain_update(&document).finalize().into_bytes();
        let request = self.http.post(self.url.clone()).timeout(at_most);
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = request.header(SIGNATURE, format!("sha256={}", HEXLOWER.encode(&mac)));
        let failed = |error: reqwest::Error| match error.is_timeout() {
            true => Error::timed_out(&self.shown, at_most),
            false => Error::connection_lost(&self.shown, &error),
        };
        let mut answer = request.body(document).send().await.map_err(failed)?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let mut said = Vec::new();
        while said.len() < QUOTED
            && let Some(part) = answer.chunk().await.map_err(failed)?
        {
            said.extend_from_slice(&part);
        }
        said.truncate(QUOTED);
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        let said = if said.is_empty() { said } else { format!(": {said}") };
        Err(Error::new(ErrorKind::Answer, &self.shown, format!("it is answered {status}{said}")))
    }
}
