//! What is answered.
//!
//! ```text
//! health.rs        whether it answers, and takes appends
//! metrics.rs       /metrics, for Prometheus
//! openapi.rs       the description of /v1, and a page to browse it
//! v1/              our own routes
//! checkpoints.rs   /api/v1: checkpoints of a task, as the seed has them
//! direct/          /api/v0: cleanup and statistics, as the seed has them
//! ```

mod checkpoints;
mod direct;
mod health;
mod metrics;
mod openapi;
mod v1;

use axum::Router;
use axum::routing::{get, post};
use milepost::{Error, ErrorKind};

use crate::server::App;

/// The description of `/v1`, as `/openapi.json` answers it.
///
/// ```
/// let described = milepost_server::openapi().unwrap();
/// assert!(described.contains("/v1/tasks/{task}/events"));
/// ```
///
/// # Errors
///
/// `Unavailable`: it cannot be written as JSON, which would be a bug.
pub fn openapi() -> milepost::Result<String> {
    let (_, api) = v1::routes().split_for_parts();
    api.to_pretty_json()
        .map_err(|e| Error::new(ErrorKind::Unavailable, format!("no description: {e}")))
}

pub(crate) fn all() -> Router<App> {
    let (ours, api) = v1::routes().split_for_parts();
    // Written once: with each connection the routes are copied, and what they hold.
    let document = openapi::written(&api);
    ours.route(
        openapi::PATH,
        get(move || async move { openapi::document(document) }),
    )
    .route("/docs", get(openapi::page))
    .route("/docs/", get(openapi::index))
    .route("/docs/{*file}", get(openapi::file))
    .route("/healthz", get(health::alive))
    .route("/readyz", get(health::ready))
    .route("/metrics", get(metrics::metrics))
    .route("/api/v1/tasks/{task}/checkpoints", get(checkpoints::list))
    .route("/api/v1/checkpoints/{id}", get(checkpoints::one))
    .route("/api/v1/meta/checkpoint-metrics", get(checkpoints::metrics))
    .route("/api/v0/checkpoint/direct/cleanup", post(direct::cleanup))
    .route("/api/v0/checkpoint/direct/stats", get(direct::stats))
}
