//! The OpenAPI description of the routes, and a page to browse it.

use std::io::Read as _;

use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use flate2::read::GzDecoder;

use crate::error::ApiError;
use crate::extract::PathName;

/// The policy of the page. Swagger UI makes styles inline, and icons from data.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

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

/// A file that the page loads. All of them are part of the program, which keeps the large ones as
/// gzip; the compression layer packs the answer as the client asks.
pub(super) async fn file(PathName(path): PathName) -> Response {
    let script = "text/javascript; charset=utf-8";
    let bundle = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui-bundle.js.gz"));
    let style = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui.css.gz"));
    match path.as_str() {
        "page.js" => of_kind(script, include_bytes!("page/page.js").as_slice()),
        "swagger-ui-bundle.js" => unpacked(script, bundle),
        "swagger-ui.css" => unpacked("text/css; charset=utf-8", style),
        _ => ApiError::no_path().into_response(),
    }
}

fn of_kind(kind: &'static str, bytes: impl IntoResponse) -> Response {
    guarded(([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], bytes))
}

/// Adds the headers that limit what the page loads, and who embeds it.
fn guarded(answer: impl IntoResponse) -> Response {
    let policy = HeaderValue::from_static(POLICY);
    let exact = HeaderValue::from_static("nosniff");
    let headers =
        [(header::CONTENT_SECURITY_POLICY, policy), (header::X_CONTENT_TYPE_OPTIONS, exact)];
    (headers, answer).into_response()
}

fn unpacked(kind: &'static str, gzip: &[u8]) -> Response {
    let mut bytes = Vec::new();
    match GzDecoder::new(gzip).read_to_end(&mut bytes) {
        Ok(_) => of_kind(kind, bytes),
        Err(_) => ApiError::Bug.into_response(),
    }
}
