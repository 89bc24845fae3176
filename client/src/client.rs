//! The client and its builder.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use milepost_sockets::Near;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Url, redirect};
use rustls::pki_types::CertificateDer;

use crate::error::{Error, Result};
use crate::tls;
use crate::unix_socket;

/// Idle time after which a connection is not reused. A service closes connections after 30 s of
/// inactivity; the margin keeps changes off a connection that is being closed.
const IDLE: Duration = Duration::from_secs(20);

/// A client of a Milepost service. Cheap to clone: clones share connections.
///
/// ```no_run
/// use milepost_client::Client;
/// use milepost_client::calls::Tasks;
///
/// # async fn look() -> milepost_client::Result<()> {
/// let client = Client::new("http://127.0.0.1:7733")?;
/// for task in client.call(&Tasks::new(Default::default())).await?.items {
///     println!("{} of {}", task.id, task.user);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Inner>);

/// State shared by all clones.
pub(crate) struct Inner {
    pub(crate) http: reqwest::Client,
    pub(crate) base: Url,
    pub(crate) options: Options,
    /// Keeps the socket's name valid.
    _socket: Option<Near>,
}

/// Limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) timeout: Duration,
    pub(crate) silence: Duration,
    pub(crate) tries: u32,
    pub(crate) reconnects: u32,
    pub(crate) answer: usize,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.0.base.as_str()).finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client of a service at an address, without a token: `http://127.0.0.1:7733`.
    ///
    /// # Errors
    ///
    /// `Invalid`: not the address of a service.
    pub fn new(url: &str) -> Result<Self> {
        ClientBuilder::new(url).build()
    }

    /// Creates a client of a service at a Unix socket. An open store's socket is `server/socket` in
    /// its folder.
    ///
    /// # Errors
    ///
    /// `Invalid`: the path is too long, and its folder cannot be opened to shorten it.
    pub fn unix(socket: impl AsRef<Path>) -> Result<Self> {
        ClientBuilder::unix(socket).build()
    }
}

/// Builds a client.
///
/// ```
/// use std::time::Duration;
/// use milepost_client::ClientBuilder;
///
/// let client = ClientBuilder::new("http://127.0.0.1:7733")
///     .token("mp_0a1b2c3d_...")
///     .timeout(Duration::from_secs(10))
///     .tries(6)
///     .build()?;
/// # let _ = client;
/// # Ok::<(), milepost_client::Error>(())
/// ```
#[derive(Clone)]
pub struct ClientBuilder {
    url: String,
    socket: Option<PathBuf>,
    token: Option<String>,
    roots: Vec<Vec<u8>>,
    options: Options,
}

/// Hides the token.
impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("socket", &self.socket)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl ClientBuilder {
    /// Starts a builder for a service at an `http` or `https` address, with a path prefix if
    /// needed.
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            socket: None,
            token: None,
            roots: Vec::new(),
            options: Options {
                timeout: Duration::from_secs(90),
                silence: Duration::from_secs(45),
                tries: 4,
                reconnects: 20,
                answer: 64 << 20,
            },
        }
    }

    /// Starts a builder for a service at a Unix socket.
    pub fn unix(socket: impl AsRef<Path>) -> Self {
        Self { socket: Some(socket.as_ref().to_owned()), ..Self::new("http://localhost") }
    }

    /// Sets the token, as printed by `milepost token create`.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets the time limit of a request, up to the end of its answer. For a stream or a file: up to
    /// the first byte, and between two pieces of a file. Default: 90 s; a service reports its own
    /// timeout after 60 s.
    #[must_use]
    pub fn timeout(mut self, at_most: Duration) -> Self {
        self.options.timeout = at_most;
        self
    }

    /// Sets how long an event stream may be silent before its connection counts as broken. Default:
    /// 45 s; a service sends something every 15 s.
    #[must_use]
    pub fn silence(mut self, at_most: Duration) -> Self {
        self.options.silence = at_most;
        self
    }

    /// Trusts one or more certificates in PEM, in addition to those of the system.
    #[must_use]
    pub fn root_certificate(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.roots.push(pem.as_ref().to_vec());
        self
    }

    /// Sets the maximum number of tries of a request; 1 disables retries. Default: 4.
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        self.options.tries = tries;
        self
    }

    /// Sets the maximum number of consecutive reconnects of an event stream that receives nothing.
    /// Default: 20, about one minute.
    #[must_use]
    pub fn reconnects(mut self, reconnects: u32) -> Self {
        self.options.reconnects = reconnects;
        self
    }

    /// Sets the maximum size in bytes of a buffered answer and of a stream event. Default: 64 MiB.
    /// Files are not buffered.
    #[must_use]
    pub fn answer_limit(mut self, bytes: usize) -> Self {
        self.options.answer = bytes;
        self
    }

    /// Builds the client without connecting. It ignores proxies of the environment and does not
    /// follow redirects: a token is sent to the service only.
    ///
    /// # Errors
    ///
    /// `Invalid`: the address, the token or a certificate is invalid; for `https`, no
    /// trusted certificates are found.
    pub fn build(self) -> Result<Client> {
        let base = base(&self.url)?;
        let roots = self.roots.iter().map(|pem| tls::certificates(pem));
        let roots: Vec<Vec<CertificateDer<'static>>> = roots.collect::<Result<_>>()?;
        let config = match base.scheme() {
            "https" => tls::config(roots.concat())?,
            _ => tls::none()?,
        };
        let mut http = reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .default_headers(self.headers()?)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(self.options.timeout.min(Duration::from_secs(10)))
            .pool_idle_timeout(IDLE);
        let socket = self.socket.as_deref().map(unix_socket::near).transpose()?;
        if let Some(socket) = &socket {
            http = http.unix_socket(socket.path());
        }
        let http = http.build();
        let http = http.map_err(|error| invalid(format!("no client can be made: {error}")))?;
        Ok(Client(Arc::new(Inner { http, base, options: self.options, _socket: socket })))
    }

    /// Returns the headers of every request.
    fn headers(&self) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.token {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.trim()));
            let mut value = value.map_err(|_| invalid("a token has no such characters"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(headers)
    }
}

/// Parses the base address of a service.
fn base(url: &str) -> Result<Url> {
    // The error must not show the address: it may contain a password.
    let base = Url::parse(url).map_err(|error| invalid(format!("the address is none: {error}")))?;
    let why = if !matches!(base.scheme(), "http" | "https") {
        "the address has to begin with `http://` or `https://`: for a socket there is \
         `Client::unix`"
    } else if !base.username().is_empty() || base.password().is_some() {
        "the address has a user in it: who asks is said by `ClientBuilder::token`"
    } else if base.query().is_some() || base.fragment().is_some() {
        "the address has a `?` or `#` in it: it is where a service answers, as \
         `http://127.0.0.1:7733`"
    } else {
        return Ok(base);
    };
    Err(invalid(why))
}

fn invalid(text: impl Into<String>) -> Error {
    Error::invalid("a client", text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn an_address_that_is_none_is_refused_in_words() {
        for (url, why) in [
            ("127.0.0.1:7733", "the address is none"),
            ("localhost:7733", "begin with `http://`"),
            ("unix:/run/socket", "Client::unix"),
            ("http://ana:secret@localhost", "ClientBuilder::token"),
            ("http://localhost/?a=b", "has a `?`"),
        ] {
            let error = Client::new(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{url}");
            assert!(error.to_string().contains(why), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let builder = ClientBuilder::new("http://localhost");
        assert!(builder.clone().token("a\nb").build().is_err());
        assert!(builder.root_certificate("none").build().is_err());
    }

    #[test]
    fn a_token_is_shown_nowhere() {
        let builder = ClientBuilder::new("http://localhost").token("mp_0a1b2c3d_secret");
        let shown = format!("{builder:?} {:?}", builder.clone().build().unwrap());
        assert!(!shown.contains("secret"), "{shown}");
    }
}
