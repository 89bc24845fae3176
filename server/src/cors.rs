//! Access of other origins' pages (CORS), by `cors.origins`; none by default.

use std::fmt;
use std::str::FromStr;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::Response;

/// Methods and headers that pages may send, and headers that they may read.
const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE";
const SENT: &str = "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, \
    Last-Event-ID, X-Request-Id";
const SEEN: &str = "ETag, Location, X-Request-Id, Retry-After";

/// Seconds that a browser may cache the answer to a preflight request.
const MAX_AGE: &str = "600";

/// An origin of pages, as browsers send it: a scheme, a host, and a port unless it is the scheme's
/// default.
///
/// ```
/// use milepost_server::Origin;
///
/// assert!("https://dash.example".parse::<Origin>().is_ok());
/// assert!("https://dash.example/".parse::<Origin>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// The error for a text that is not an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoOrigin;

impl fmt::Display for NoOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an origin as browsers send it, like `https://dash.example`")
    }
}

impl std::error::Error for NoOrigin {}

impl FromStr for Origin {
    type Err = NoOrigin;

    fn from_str(text: &str) -> Result<Self, NoOrigin> {
        let uri: Uri = text.parse().map_err(|_| NoOrigin)?;
        let scheme = uri.scheme_str().ok_or(NoOrigin)?;
        let authority = uri.authority().ok_or(NoOrigin)?;
        // Origins are compared as text, so the text must be exactly what browsers send: no path, no
        // default port.
        let own_port = match scheme {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        let port = authority.port();
        let is_sent = match port {
            Some(port) => own_port != Some(port.as_u16()),
            None => !authority.as_str().ends_with(':'),
        };
        let whole = format!("{scheme}://{authority}") == text;
        let plain =
            !text.contains(['@', '*', ',']) && !text.contains(|c: char| c.is_ascii_uppercase());
        match is_sent && whole && plain && !authority.host().is_empty() {
            true => Ok(Self(text.to_owned())),
            false => Err(NoOrigin),
        }
    }
}

/// Returns the request's origin if it is one of the allowed ones.
pub(crate) fn allowed(origins: &[Origin], headers: &HeaderMap) -> Option<HeaderValue> {
    let mut said = headers.get_all(header::ORIGIN).iter();
    let (one, more) = (said.next()?, said.next());
    let is_named = |origin: &Origin| origin.0.as_bytes() == one.as_bytes();
    (more.is_none() && origins.iter().any(is_named)).then(|| one.clone())
}

/// Answers a preflight request, which carries no token.
pub(crate) fn preflight(request: &Request) -> Option<Response> {
    let asked = header::ACCESS_CONTROL_REQUEST_METHOD;
    if request.method() != Method::OPTIONS || !request.headers().contains_key(asked) {
        return None;
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, SENT),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Some(response)
}

/// Adds the headers that let a page read the answer. If any origin is allowed, caches must know
/// that the answer depends on `Origin`.
pub(crate) fn put(origins: &[Origin], page: Option<HeaderValue>, headers: &mut HeaderMap) {
    if origins.is_empty() {
        return;
    }
    vary(headers, &header::ORIGIN);
    if let Some(page) = page {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page);
        let seen = HeaderValue::from_static(SEEN);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, seen);
    }
}

/// Adds a header of the request to `Vary`, merged into one line.
pub(crate) fn vary(headers: &mut HeaderMap, on: &HeaderName) {
    let said: Vec<&str> = headers
        .get_all(header::VARY)
        .iter()
        .filter_map(|said| said.to_str().ok())
        .flat_map(|said| said.split(','))
        .map(str::trim)
        .filter(|said| !said.eq_ignore_ascii_case(on.as_str()))
        .collect();
    let mut all = said.join(", ");
    if !all.is_empty() {
        all.push_str(", ");
    }
    all.push_str(on.as_str());
    if let Ok(all) = HeaderValue::from_str(&all) {
        headers.insert(header::VARY, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_a_browser_sends_and_nothing_else_is_one() {
        for text in [
            "https://dash.example",
            "http://localhost:3000",
            "https://127.0.0.1:8443",
            "http://[::1]:3000",
            "tauri://localhost",
        ] {
            assert!(text.parse::<Origin>().is_ok(), "{text}");
        }
        for text in [
            "",
            "*",
            "null",
            "dash.example",
            "//dash.example",
            "https://",
            "https://dash.example/",
            "https://dash.example/path",
            "https://dash.example?x",
            "https://user@dash.example",
            "https://*.example",
            "https://Dash.example",
            "HTTPS://dash.example",
            "https://dash.example:443",
            "http://dash.example:80",
            "https://dash.example:",
            "https://a.example,https://b.example",
            "https://dash example",
        ] {
            assert!(text.parse::<Origin>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_an_answer_hangs_on_is_said_once() {
        let mut headers = HeaderMap::new();
        for on in [header::ACCEPT, header::ORIGIN, header::ACCEPT] {
            vary(&mut headers, &on);
        }
        assert_eq!(headers[header::VARY], "origin, accept");
        assert_eq!(headers.get_all(header::VARY).iter().count(), 1);
    }

    #[test]
    fn pages_may_use_every_method_that_is_described() {
        let described = crate::openapi().unwrap();
        let described: serde_json::Value = serde_json::from_str(&described).unwrap();
        for (path, methods) in described["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                let method = method.to_uppercase();
                let allowed = METHODS.split(", ").any(|known| known == method);
                assert!(allowed || method == "PARAMETERS", "{method} {path}");
            }
        }
    }
}
