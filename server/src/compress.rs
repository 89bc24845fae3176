//! Compression of answers by `Accept-Encoding`.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, NotForContentType, Predicate as _, SizeAbove};

use crate::cors::vary;
use crate::negotiate::EVENT_STREAM;

/// Answers shorter than this are not compressed.
const SHORT: u16 = 1 << 10;

/// The type of file content, which has a `Content-Length` and is mostly compressed already.
const FILE: &str = "application/octet-stream";

type Worth = And<And<And<SizeAbove, NotForContentType>, NotForContentType>, NotForContentType>;

/// Compresses answers where it is worthwhile.
pub(crate) fn layer() -> CompressionLayer<Worth> {
    let worth = SizeAbove::new(SHORT)
        .and(NotForContentType::const_new(EVENT_STREAM))
        .and(NotForContentType::const_new(FILE))
        .and(NotForContentType::IMAGES);
    CompressionLayer::new().compress_when(worth)
}

/// Adjusts the headers of compressed answers: the ETag becomes weak, because the bytes under one
/// tag differ by encoding.
pub(crate) async fn tagged(request: Request, next: Next) -> Response {
    let known = request.headers().get_all(header::IF_NONE_MATCH);
    let known: Vec<HeaderValue> = known.iter().cloned().collect();
    let mut response = next.run(request).await;
    let status = response.status();
    let headers = response.headers_mut();
    if hangs_on_encoding(headers) {
        vary(headers, &header::ACCEPT_ENCODING);
    }
    let Some(weak) = headers.get(header::ETAG).and_then(weak) else {
        return response;
    };
    // A client that has the compressed answer gets the 304 with the weak tag it knows.
    let is_theirs = |known: &HeaderValue| {
        let known = known.to_str().unwrap_or_default();
        weak.to_str().is_ok_and(|weak| known.contains(weak))
    };
    let same = status == StatusCode::NOT_MODIFIED && known.iter().any(is_theirs);
    if same || headers.contains_key(header::CONTENT_ENCODING) {
        headers.insert(header::ETAG, weak);
    }
    response
}

fn hangs_on_encoding(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_none_or(|kind| kind != EVENT_STREAM.as_bytes() && kind != FILE.as_bytes())
}

/// Returns the weak form of a strong tag.
fn weak(tag: &HeaderValue) -> Option<HeaderValue> {
    let tag = tag.to_str().ok().filter(|tag| tag.starts_with('"'))?;
    HeaderValue::from_str(&format!("W/{tag}")).ok()
}
