//! The routes.
//!
//! ```text
//! v1/       the API of Milepost
//! compat/   routes with the paths and shapes of an existing API
//! health    whether the service answers, and takes appends
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

use crate::server::App;

/// The description of all routes, as `/openapi.json` answers it.
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
    let (_, mut api) = described().split_for_parts();
    limits(&mut api);
    api.to_pretty_json()
        .map_err(|e| Error::new(ErrorKind::Unavailable, format!("no description: {e}")))
}

pub(crate) fn all() -> Router<App> {
    let (ours, mut api) = described().split_for_parts();
    limits(&mut api);
    // Written once: with each connection the routes are copied, and what they hold.
    let document = openapi::written(&api);
    ours.route(openapi::PATH, get(move || async move { openapi::document(document) }))
        .route("/docs", get(openapi::page))
        .route("/docs/", get(openapi::index))
        .route("/docs/{*file}", get(openapi::file))
}

/// All routes but the description's own.
fn described() -> OpenApiRouter<App> {
    v1::routes().merge(compat::routes()).merge(health::routes()).merge(metrics::routes())
}

/// Describes what any route that needs a token may be refused for: what the token may not do, and
/// how often it may ask. The schema of the errors is that of its 401.
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
