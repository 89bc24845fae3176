//! Health: liveness of the service, and readiness of the store for appends.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use milepost::ErrorKind;
use milepost::query::TaskQuery;
use milepost::store::Repair;
use tracing::error;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::error::ApiError;

/// Free bytes of the disk below which the store is not ready: appends will soon be refused.
const FREE_LEAST: u64 = 64 << 20;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(alive)).routes(routes!(ready))
}

/// Answers if the process runs.
#[utoipa::path(
    get,
    path = "/healthz",
    operation_id = "healthz",
    tag = "service",
    security(()),
    responses((status = 200, body = String, content_type = "text/plain")),
)]
async fn alive() -> &'static str {
    "ok\n"
}

/// Answers whether the store accepts appends.
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "readyz",
    tag = "service",
    security(()),
    responses(
        (status = 200, body = String, content_type = "text/plain"),
        (status = 503, description = "It takes none, and \
            why", body = String, content_type = "text/plain"),
    ),
)]
async fn ready(State(app): State<App>) -> Response {
    if app.engine().store().is_poisoned() {
        return not_ready("a write to the store failed: it has to be opened again");
    }
    if let Some(why) = app.free().and_then(too_little) {
        return not_ready(&why);
    }
    // A read fails if the store is closed; such a store accepts no appends either.
    let one = TaskQuery { limit: Some(1), ..TaskQuery::default() };
    match app.work(move |engine| Ok(engine.query().tasks(&one)?)).await {
        Ok(_) => ready_with(app.engine().integrity().repairs().unwrap_or_default()).into_response(),
        // The route is public: details are only in the log.
        Err(ApiError::Engine(ErrorKind::Unavailable, ..)) => {
            not_ready("the store is closed, or the disk fails")
        }
        Err(wrong) => {
            error!(target: "milepost::http", ?wrong, "not ready");
            not_ready("the store cannot be read")
        }
    }
}

/// Returns the answer of a store that is ready, with the number of repairs that were not
/// acknowledged.
fn ready_with(repairs: Vec<Repair>) -> String {
    match repairs.iter().filter(|repair| repair.acknowledged_us.is_none()).count() {
        0 => "ready\n".to_owned(),
        repairs => format!("ready, after repairs: {repairs} on record, see POST /v1/verify\n"),
    }
}

/// Returns the reason if a disk with `free` bytes is almost full.
fn too_little(free: u64) -> Option<String> {
    (free < FREE_LEAST).then(|| format!("the store's disk has {} MiB left", free >> 20))
}

fn not_ready(why: &str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_nearly_full_is_told_with_what_is_left() {
        assert_eq!(too_little(FREE_LEAST), None);
        let said = too_little(FREE_LEAST - 1).unwrap();
        assert_eq!(said, "the store's disk has 63 MiB left");
    }
}
