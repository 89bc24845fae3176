//! The description of the routes, and a page to browse it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use utoipa_swagger_ui::{Config, serve};

use crate::error::ApiError;
use crate::extract::PathName;

/// Where the description is.
pub(super) const PATH: &str = "/openapi.json";

/// The description as text; nothing where it has no JSON form, which a test would see.
pub(super) fn written(api: &utoipa::openapi::OpenApi) -> Option<Bytes> {
    api.to_json().ok().map(Bytes::from)
}

/// The description, as it is answered.
pub(super) fn document(written: Option<Bytes>) -> Response {
    let json = HeaderValue::from_static("application/json");
    match written {
        Some(text) => ([(header::CONTENT_TYPE, json)], text).into_response(),
        None => ApiError::Bug.into_response(),
    }
}

/// The page's address ends in a slash: what it loads stands beside it.
pub(super) async fn page() -> Redirect {
    Redirect::permanent("/docs/")
}

pub(super) async fn index() -> Response {
    of_page("")
}

/// What the page needs: all of it comes with the program.
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
