//! Exports: a task as a file that another store imports.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, Write as _};

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use milepost::Engine;
use milepost_api::ReadProblems;
use milepost_formats::export_file::{self, ExportOptions};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::share::failed;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{PathName, Query};
use crate::request_scope::RequestId;
use crate::stream_body::{self, BUFFER, Source};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(export))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct ExportQuery {
    /// Include the captured files, default `false`. Not with `redact`.
    files: Option<bool>,
    /// Replace text that resembles a secret, default `false`. Such a file is imported as a copy.
    redact: Option<bool>,
}

/// Returns a task as lines of JSON, from which `milepost import` makes the same task in another
/// store. See docs/EXPORT.md. The file is complete before its first byte is sent.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/export",
    operation_id = "export",
    tag = "tasks",
    params(
        ("task" = String, Path, description = "The id of the task"),
        ExportQuery,
    ),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/octet-stream"),
        ReadProblems,
    ),
)]
async fn export(
    State(app): State<App>,
    caller: Caller,
    id: RequestId,
    PathName(task): PathName<String>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, ApiError> {
    let options = ExportOptions {
        files: query.files.unwrap_or_default(),
        redact: query.redact.unwrap_or_default(),
    };
    if options.files && options.redact {
        return Err(ApiError::Invalid("a redacted export has no files".to_owned()));
    }
    let asks = caller.clone();
    let written = app.long_work(caller.of_token(), move |engine| {
        let task = asks.view(engine).task(&task)?.id().to_owned();
        written(engine, task, options)
    });
    let (file, length) = written.await?;
    let text = HeaderValue::from_static;
    let headers = [
        (header::CONTENT_TYPE, text("application/octet-stream")),
        (header::CONTENT_LENGTH, length.into()),
        (header::CONTENT_DISPOSITION, text("attachment")),
        (header::X_CONTENT_TYPE_OPTIONS, text("nosniff")),
    ];
    let body = stream_body::body(&app, &caller, id, FileBytes(file)).await?;
    Ok((headers, body).into_response())
}

/// Writes an export into a temporary file without a name, and returns it with its length.
fn written(engine: &Engine, task: String, options: ExportOptions) -> Result<(File, u64), ApiError> {
    let tasks = [task];
    export_file::check(engine, &tasks, options).map_err(|error| failed(&error))?;
    let mut file = BufWriter::with_capacity(BUFFER, tempfile::tempfile().map_err(|e| no_file(&e))?);
    let mut sink = |bytes: &[u8]| file.write_all(bytes);
    export_file::export(engine, &tasks, options, &mut sink, &mut ())
        .map_err(|error| failed(&error))?;
    let ended = file.into_inner().map_err(io::IntoInnerError::into_error);
    let whole = ended.and_then(|mut file| Ok((file.stream_position()?, file.rewind()?, file)));
    let (length, (), file) = whole.map_err(|error| no_file(&error))?;
    Ok((file, length))
}

fn no_file(error: &io::Error) -> ApiError {
    ApiError::unavailable(format!("the export has no temporary file: {error}"))
}

/// The bytes of a file, buffer by buffer.
struct FileBytes(File);

impl Source for FileBytes {
    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let mut buffer = Vec::with_capacity(BUFFER);
        let read = (&self.0).take(BUFFER as u64).read_to_end(&mut buffer);
        read.map_err(|error| no_file(&error))?;
        Ok(Some(buffer).filter(|buffer| !buffer.is_empty()))
    }
}
