//! The OpenAPI description of the routes, and a page to browse it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use utoipa_swagger_ui::{Config, serve};

use crate::error::ApiError;
use crate::extract::PathName;

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

/// Redirects to the page's address with a slash, which its relative links need.
pub(super) async fn page() -> Redirect {
    Redirect::permanent("/docs/")
}

pub(super) async fn index() -> Response {
    of_page("")
}

/// Returns a file of the page, embedded in the program.
pub(super) async fn file(PathName(path): PathName) -> Response {
    of_page(&path)
}

fn of_page(path: &str) -> Response {
    let config = Arc::new(Config::from(PATH));
    match serve(path, config) {
        Ok(Some(file)) => {
            let kind = HeaderValue::from_str(&file.content_type);
            let kind = kind.unwrap_or(HeaderValue::from_static("application/octet-stream"));
            (StatusCode::OK, [(header::CONTENT_TYPE, kind)], file.bytes.into_owned())
                .into_response()
        }
        Ok(None) => ApiError::no_path().into_response(),
        Err(_) => ApiError::Bug.into_response(),
    }
}
