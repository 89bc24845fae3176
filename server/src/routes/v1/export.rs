//! Exports: a task as a file that another store imports.

use std::sync::mpsc::{Receiver, sync_channel};
use std::{io, mem};

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use milepost_api::ReadProblems;
use milepost_formats::export_file::{self, ExportOptions};
use serde::Deserialize;
use tokio::task::spawn_blocking;
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

/// The most exports at a time of callers without a token.
const TOGETHER: usize = 4;

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
/// store. See docs/EXPORT.md. The last line has a digest of the others. A token has one export at
/// a time.
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
    let token = caller.of_token();
    let most = if token.is_empty() { TOGETHER } else { 1 };
    let Some(permit) = app.exports.one_more(token, most) else {
        return Err(ApiError::unavailable("another export is under way: ask again after it"));
    };
    let asks = caller.clone();
    let checked = app.long_work(token, move |engine| {
        let tasks = [asks.view(engine).task(&task)?.id().to_owned()];
        export_file::check(engine, &tasks, options).map_err(|error| failed(&error))?;
        Ok((engine.clone(), tasks))
    });
    let (engine, tasks) = checked.await?;
    let (sender, pieces) = sync_channel(1);
    spawn_blocking(move || {
        // It ends with the export: when the reader has all, or is gone.
        let _permit = permit;
        let mut buffer = Vec::new();
        let mut sink = |bytes: &[u8]| {
            buffer.extend_from_slice(bytes);
            match buffer.len() < BUFFER {
                true => Ok(()),
                false => sender.send(Ok(mem::take(&mut buffer))).map_err(io::Error::other),
            }
        };
        let done = export_file::export(&engine, &tasks, options, &mut sink, &mut ());
        // A reader that is gone needs neither the rest nor the end.
        let _ = match done {
            Ok(_) => sender.send(Ok(buffer)).and_then(|()| sender.send(Ok(Vec::new()))),
            Err(error) => sender.send(Err(failed(&error))),
        };
    });
    let text = HeaderValue::from_static;
    let headers = [
        (header::CONTENT_TYPE, text("application/octet-stream")),
        (header::CONTENT_DISPOSITION, text("attachment")),
        (header::X_CONTENT_TYPE_OPTIONS, text("nosniff")),
    ];
    let body = stream_body::body(&app, &caller, id, Pieces(pieces)).await?;
    Ok((headers, body).into_response())
}

/// The pieces of an export, of which an empty one is the end.
struct Pieces(Receiver<Result<Vec<u8>, ApiError>>);

impl Source for Pieces {
    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let piece = self.0.recv().map_err(|_| ApiError::Bug)??;
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }
}
