//! The OpenAPI description of the routes, and a page to browse it.

use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Redirect, Response};

use crate::error::ApiError;
use crate::extract::PathName;

/// The policy of the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The path of the description.
pub(super) const PATH: &str = "/openapi.json";

/// Serializes the description; `None` on failure, which a test would detect.
pub(super) fn written(api: &utoipa::openapi::OpenApi) -> Option<Bytes> {
    api.to_json().ok().map(Bytes::from)
}

/// Answers with the description.
pub(super) fn document(written: Option<Bytes>) -> Response {
    let json = HeaderValue::from_static("application/json");
    match written {
        Some(text) => ([(header::CONTENT_TYPE, json)], text).into_response(),
        None => ApiError::Bug.into_response(),
    }
}

/// Redirects to the address with a slash at its end: the page loads its files relative to it.
pub(super) async fn page() -> Redirect {
    Redirect::permanent("/docs/")
}

pub(super) async fn index() -> Response {
    guarded(Html(include_str!("page/index.html")))
}

/// A file that the page loads.
pub(super) async fn file(PathName(path): PathName) -> Response {
    match path.as_str() {
        "page.js" => of_kind("text/javascript; charset=utf-8", include_str!("page/page.js")),
        "page.css" => of_kind("text/css; charset=utf-8", include_str!("page/page.css")),
        _ => ApiError::no_path().into_response(),
    }
}

fn of_kind(kind: &'static str, text: &'static str) -> Response {
    guarded(([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text))
}

/// Adds the headers that limit what the page loads, and who embeds it.
fn guarded(answer: impl IntoResponse) -> Response {
    let policy = HeaderValue::from_static(POLICY);
    let exact = HeaderValue::from_static("nosniff");
    let headers =
        [(header::CONTENT_SECURITY_POLICY, policy), (header::X_CONTENT_TYPE_OPTIONS, exact)];
    (headers, answer).into_response()
}
