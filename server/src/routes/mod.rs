//! The routes.
//!
//! ```text
//! v1/       the API of Milepost
//! compat/   routes with the paths and forms of an existing API
//! health    liveness of the service, readiness of the store
//! metrics   `/metrics`, for Prometheus
//! openapi   the description of all routes, and a page to browse it
//! ```

mod compat;
mod health;
mod metrics;
mod openapi;
mod v1;

use axum::Router;
use axum::routing::get;
use milepost::{Error, ErrorKind};
use utoipa::openapi::{OpenApi, RefOr};
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

/// Returns the OpenAPI description of all routes, the same as `/openapi.json`.
///
/// ```
/// let described = milepost_server::openapi().unwrap();
/// assert!(described.contains("/v1/tasks/{task}/events"));
/// ```
///
/// # Errors
///
/// `Unavailable`: the description cannot be written as JSON, which would be a bug.
pub fn openapi() -> milepost::Result<String> {
    let (_, mut api) = described().split_for_parts();
    limits(&mut api);
    api.to_pretty_json()
        .map_err(|e| Error::new(ErrorKind::Unavailable, format!("no description: {e}")))
}

pub(crate) fn all() -> Router<App> {
    let (ours, mut api) = described().split_for_parts();
    limits(&mut api);
    // Serialized once: the routes and their captured values are cloned for each connection.
    let document = openapi::written(&api);
    ours.route(openapi::PATH, get(move || async move { openapi::document(document) }))
        .route("/docs", get(openapi::page))
        .route("/docs/", get(openapi::index))
        .route("/docs/{*file}", get(openapi::file))
}

/// Returns all routes except those of the description.
fn described() -> OpenApiRouter<App> {
    v1::routes().merge(compat::routes()).merge(health::routes()).merge(metrics::routes())
}

/// Adds to each route with a token the errors of the token's rights and limits. The schema is that
/// of the route's 401.
fn limits(api: &mut OpenApi) {
    let operations = api.paths.paths.values_mut().flat_map(|path| {
        let all = [&mut path.get, &mut path.post, &mut path.put, &mut path.patch, &mut path.delete];
        all.into_iter().flatten()
    });
    for operation in operations {
        let responses = &mut operation.responses.responses;
        let Some(unauthorized) = responses.get("401").cloned() else {
            continue;
        };
        for (status, text) in [
            ("403", "The token may not do it"),
            (
                "429",
                "The token has too many requests under way, or asks too often: see `Retry-After`",
            ),
            (
                "503",
                "The store cannot answer, or there is no memory left for it: see `Retry-After`",
            ),
        ] {
            let mut refused = unauthorized.clone();
            if let RefOr::T(refused) = &mut refused {
                text.clone_into(&mut refused.description);
            }
            responses.entry(status.to_owned()).or_insert(refused);
        }
    }
}
