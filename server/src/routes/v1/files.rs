//! Files of the folder captured at a point.

use std::io::Read as _;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use milepost::Error;
use milepost_api::ReadProblems;
use milepost_service::Tag;
use milepost_service::forms;
use milepost_workspace::{Content, Entries, TreePath};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::etag::{Known, Tagged};
use crate::extract::{Nothing, PathName, Query};
use crate::forms::{FileForm, Listed};
use crate::negotiate::JSON;
use crate::request_scope::RequestId;
use crate::stream_body::{self, BUFFER, Source};

pub(super) fn routes() -> OpenApiRouter<App> {
    let mut routes = OpenApiRouter::new().routes(routes!(list)).routes(routes!(one));
    // OpenAPI has no wildcard for the rest of a path.
    let described = &mut routes.get_openapi_mut().paths.paths;
    if let Some(file) = described.remove("/v1/points/{address}/files/{*path}") {
        described.insert("/v1/points/{address}/files/{path}".into(), file);
    }
    routes
}

/// Lists the entries of the folder captured at a point, each folder before its contents.
#[utoipa::path(
    get,
    path = "/v1/points/{address}/files",
    operation_id = "files",
    tag = "files",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (status = 200, body = Listed<FileForm>, headers(("ETag" = String, description = "The \
            capture's id"))),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn list(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    id: RequestId,
    PathName(address): PathName,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, ApiError> {
    let found = app.view(&caller, move |view| {
        let captured = view.captured(&view.point(&address)?)?;
        let list = || Ok(FileList::new(captured.entries()));
        Tagged::unless(&known, Tag::new(captured.info().root), list)
    });
    stream_body::tagged(&app, &caller, id, JSON, found.await?).await
}

/// Returns the bytes of a captured file.
#[utoipa::path(
    get,
    path = "/v1/points/{address}/files/{*path}",
    operation_id = "file",
    tag = "files",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        ("path" = String, Path, description = "Where the file is, below the folder"),
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (
            status = 200,
            body = Vec<u8>,
            content_type = "application/octet-stream",
            headers(("ETag" = String, description = "BLAKE3 of its bytes")),
        ),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn one(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    id: RequestId,
    FileAt { address, path }: FileAt,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Response, ApiError> {
    let found = app.view(&caller, move |view| {
        let captured = view.captured(&view.point(&address)?)?;
        let none = || ApiError::NotFound(format!("there is no file {path} in what was captured"));
        let kind = captured.entry(&path)?.ok_or_else(none)?.item.kind;
        let (Some(hash), Some(len)) = (kind.file_hash(), kind.file_len()) else {
            return Err(none());
        };
        let read = || -> Result<_, ApiError> { Ok((len, FileBytes(captured.read(&path)?))) };
        Tagged::unless(&known, Tag::new(hash), read)
    });
    let answer = match found.await? {
        Tagged::Same(tag) => Tagged::Same(tag),
        Tagged::New(tag, (len, bytes)) => {
            let text = HeaderValue::from_static;
            let headers = [
                (header::CONTENT_TYPE, text("application/octet-stream")),
                (header::CONTENT_LENGTH, len.into()),
                // Browsers must not render files that programs wrote.
                (header::CONTENT_DISPOSITION, text("attachment")),
                (header::X_CONTENT_TYPE_OPTIONS, text("nosniff")),
            ];
            Tagged::New(tag, (headers, stream_body::body(&app, &caller, id, bytes).await?))
        }
    };
    Ok(answer.into_response())
}

/// The bytes of a file, read on demand.
struct FileBytes(Content);

impl Source for FileBytes {
    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let mut buffer = Vec::with_capacity(BUFFER);
        let read = (&mut self.0).take(BUFFER as u64).read_to_end(&mut buffer);
        match read {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(buffer)),
            Err(error) => Err(match error.downcast::<Error>() {
                Ok(error) => error.into(),
                Err(error) => ApiError::unavailable(error.to_string()),
            }),
        }
    }
}

/// A list of files that is written while it is read.
struct FileList {
    /// `None` at the end.
    entries: Option<Entries>,
    any: bool,
}

impl FileList {
    fn new(entries: Entries) -> Self {
        Self { entries: Some(entries), any: false }
    }
}

impl Source for FileList {
    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let mut buffer = Vec::new();
        let Some(entries) = &mut self.entries else {
            return Ok(None);
        };
        if !self.any {
            buffer.extend_from_slice(b"{\"items\":[");
        }
        while buffer.len() < BUFFER {
            let Some(entry) = entries.next() else {
                self.entries = None;
                buffer.extend_from_slice(b"],\"next\":null}");
                break;
            };
            if self.any {
                buffer.push(b',');
            }
            self.any = true;
            let form = forms::file(entry?);
            serde_json::to_writer(&mut buffer, &form).map_err(|_| ApiError::Bug)?;
        }
        Ok(Some(buffer))
    }
}

/// The address and the path of a file. A path may have non-UTF-8 bytes, so it is taken from the raw
/// path of the request.
struct FileAt {
    address: String,
    path: TreePath,
}

impl<S: Sync> FromRequestParts<S> for FileAt {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let segments = parts.uri.path().strip_prefix("/v1/points/");
        let (address, rest) =
            segments.and_then(|path| path.split_once('/')).ok_or(ApiError::Bug)?;
        let path = rest.strip_prefix("files/").ok_or(ApiError::Bug)?;
        let address = String::from_utf8(decoded(address));
        Ok(Self {
            address: address.map_err(|_| ApiError::Invalid("the address is no UTF-8".into()))?,
            path: TreePath::new(&decoded(path))?,
        })
    }
}

/// Decodes percent-encoded bytes; invalid sequences are kept.
fn decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        let digit = |at: usize| char::from(*behind.get(at)?).to_digit(16);
        rest = behind;
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                rest = behind.get(2..).unwrap_or_default();
            }
            _ => out.push(*byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_decoded_and_what_is_no_encoding_stays() {
        for (text, bytes) in [
            ("a/b", &b"a/b"[..]),
            ("a%2Fb%20c", b"a/b c"),
            ("%ff%FE", b"\xff\xfe"),
            ("%", b"%"),
            ("%4", b"%4"),
            ("%zz%41", b"%zzA"),
            ("%+1", b"%+1"),
        ] {
            assert_eq!(decoded(text), bytes, "{text}");
        }
    }
}
