//! The routes.
//!
//! ```text
//! v1/         the API of Milepost
//! compat/     routes with the paths and forms of an existing API
//! health      liveness of the service, readiness of the store
//! metrics     `/metrics`, for Prometheus
//! openapi     the description of all routes, and a page to browse it
//! store_page  the page of the store, for browsers
//! ```

mod compat;
mod health;
mod metrics;
mod openapi;
mod store_page;
mod v1;

use axum::Router;
use axum::routing::{MethodRouter, get};
use milepost::{Error, ErrorKind};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr};

use crate::app::App;
use crate::error::PROBLEM;

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
    let (_, api) = described();
    api.to_pretty_json()
        .map_err(|e| Error::new(ErrorKind::Unavailable, format!("no description: {e}")))
}

pub(crate) fn all() -> Router<App> {
    let (ours, api) = described();
    // Serialized once: the routes and their captured values are cloned for each connection.
    let document = openapi::written(&api);
    ours.route(openapi::PATH, get(move || async move { openapi::document(document) }))
        .route("/docs", get(openapi::page))
        .route("/docs/", get(openapi::index))
        .route("/docs/{*file}", get(openapi::file))
        .merge(store_page::routes())
}

/// Returns the routes of the page and of its sessions. `others` answers the other paths of `/v1`.
pub(crate) fn of_page(others: MethodRouter<App>) -> Router<App> {
    let (sessions, _) = v1::sessions::routes().split_for_parts();
    sessions.route("/v1/{*path}", others).merge(store_page::routes())
}

/// Returns all routes except those of the description, and their description.
fn described() -> (Router<App>, OpenApi) {
    let routes =
        v1::routes().merge(compat::routes()).merge(health::routes()).merge(metrics::routes());
    let (routes, mut api) = routes.split_for_parts();
    errors(&mut api);
    (routes, api)
}

/// Completes the errors of each route: those that no route describes otherwise are problem details.
/// A route with a token also has the errors of the token's rights and limits, with the schema of
/// its 401.
fn errors(api: &mut OpenApi) {
    let problem = Content::new(Some(Ref::from_schema_name("Problem")));
    let operations = api.paths.paths.values_mut().flat_map(|path| {
        let all = [&mut path.get, &mut path.post, &mut path.put, &mut path.patch, &mut path.delete];
        all.into_iter().flatten()
    });
    for operation in operations {
        let responses = &mut operation.responses.responses;
        for (status, response) in &mut *responses {
            if let RefOr::T(response) = response
                && response.content.is_empty()
                && status.as_str() >= "400"
            {
                response.content.insert(PROBLEM.into(), problem.clone());
            }
        }
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
