//! The page: a document and its files, which have nothing of the store.

use std::io::Read as _;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::read::GzDecoder;
use milepost_page::{CONTENT_SECURITY_POLICY, HTML};
use milepost_service::Tag;

use crate::app::App;
use crate::error::ApiError;
use crate::etag::{Known, Tagged};
use crate::extract::PathName;

/// The number of a hash's digits in the name of a file.
const DIGITS: usize = 16;

/// Headers of the document and its files. Another origin can neither embed nor open them with a
/// reference to their window.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The names, media types and contents of the files. The program has them as gzip; the compression
/// layer packs the answer as the client asks.
const FILES: [(&str, &str, &[u8]); 2] = [
    (
        "page.js",
        "text/javascript; charset=utf-8",
        include_bytes!(concat!(env!("OUT_DIR"), "/page.js.gz")),
    ),
    (
        "page.css",
        "text/css; charset=utf-8",
        include_bytes!(concat!(env!("OUT_DIR"), "/page.css.gz")),
    ),
];

/// The page with the names of its files by hash, unpacked at the first request. A file that cannot
/// be unpacked is left out.
static PAGE: LazyLock<Page> = LazyLock::new(Page::new);

struct Page {
    html: String,
    tag: Tag,
    files: Vec<HashedFile>,
}

/// A file of the page.
struct HashedFile {
    /// The name with the hash: `page.HASH.js`.
    name: String,
    kind: &'static str,
    bytes: Vec<u8>,
}

impl Page {
    fn new() -> Self {
        let address = |name: &str| format!("\"/page/{name}\"");
        let (mut html, mut files) = (HTML.to_owned(), Vec::new());
        for (name, kind, gzip) in FILES {
            let mut bytes = Vec::new();
            if GzDecoder::new(gzip).read_to_end(&mut bytes).is_ok() {
                let file = HashedFile { name: hashed(name, &bytes), kind, bytes };
                html = html.replace(&address(name), &address(&file.name));
                files.push(file);
            }
        }
        Self { tag: Tag::new(blake3::hash(html.as_bytes())), html, files }
    }
}

/// Returns the name of a file with its hash: `page.js` becomes `page.HASH.js`.
fn hashed(name: &str, bytes: &[u8]) -> String {
    let hash = blake3::hash(bytes).to_hex();
    let (hash, _) = hash.split_at(DIGITS);
    match name.rsplit_once('.') {
        Some((name, kind)) => format!("{name}.{hash}.{kind}"),
        None => format!("{name}.{hash}"),
    }
}

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(document))
        .route("/page/{file}", get(file))
        .route("/favicon.ico", get(icon))
}

async fn document(State(app): State<App>, known: Known) -> Result<Response, ApiError> {
    is_on(&app)?;
    let page = &*PAGE;
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    let answer = || Ok::<_, ApiError>(([(header::CONTENT_TYPE, html)], page.html.as_str()));
    let response = Tagged::unless(&known, page.tag.clone(), answer)?.into_response();
    Ok(with_headers(response, "no-cache"))
}

async fn file(State(app): State<App>, PathName(asked): PathName) -> Result<Response, ApiError> {
    is_on(&app)?;
    let found = PAGE.files.iter().find(|file| file.name == asked);
    let file = found.ok_or_else(ApiError::no_path)?;
    let kind = HeaderValue::from_static(file.kind);
    let response = ([(header::CONTENT_TYPE, kind)], file.bytes.as_slice()).into_response();
    Ok(with_headers(response, "public, max-age=31536000, immutable"))
}

/// Answers that there is no icon: browsers ask for one, whatever the document names.
async fn icon(State(app): State<App>) -> Result<Response, ApiError> {
    is_on(&app)?;
    Ok(with_headers(StatusCode::NO_CONTENT.into_response(), "public, max-age=86400"))
}

/// Checks that the service has a page.
fn is_on(app: &App) -> Result<(), ApiError> {
    app.options.page.then_some(()).ok_or_else(ApiError::no_path)
}

fn with_headers(mut response: Response, cached: &'static str) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cached));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
