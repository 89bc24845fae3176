//! `/v1`: our own routes, and their description.
//!
//! ```text
//! tasks.rs         tasks and lineages
//! start.rs         tasks are started and deleted
//! events.rs        events of a lineage
//! stream.rs        events as they are committed
//! append.rs        events are appended
//! points.rs        where an address leads
//! states.rs        the state there, and what is different elsewhere
//! blame.rs         which event set a part of a state
//! erase.rs         what one event says is erased
//! files.rs         captured files
//! checkpoints.rs   checkpoints
//! marks.rs         they are marked and taken away
//! pins.rs          they are kept whatever a cleanup is asked for
//! control.rs       runs are controlled, guidance is given, artifacts are edited
//! restores.rs      tasks go back
//! maintenance.rs   verification and retention, for admins
//! stats.rs         what is held, in numbers
//! ```

mod append;
mod blame;
mod checkpoints;
mod control;
mod erase;
mod events;
mod files;
mod maintenance;
mod marks;
mod pins;
mod points;
mod restores;
mod start;
mod states;
mod stats;
mod stream;
mod tasks;

use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;

use crate::error::ApiError;
use crate::server::App;

/// What stands above the routes in their description.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Milepost",
        description = "The log of a program that works in iterations, over HTTP. `docs/HTTP.md` fixes what is promised.",
    ),
    modifiers(&Bearer),
    security(("bearer" = [])),
)]
struct Description;

/// That a token is needed.
struct Bearer;

impl utoipa::Modify for Bearer {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let components = api.components.get_or_insert_default();
        let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("bearer", bearer);
    }
}

/// All of them: a route is answered and described by one line.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Description::openapi())
        .merge(tasks::routes())
        .merge(start::routes())
        .merge(append::routes())
        .merge(marks::routes())
        .merge(control::routes())
        .merge(restores::routes())
        .merge(maintenance::routes())
        .merge(events::routes())
        .merge(points::routes())
        .merge(states::routes())
        .merge(blame::routes())
        .merge(erase::routes())
        .merge(pins::routes())
        .merge(files::routes())
        .merge(checkpoints::routes())
        .merge(stats::routes())
}

/// How many items a list has: what was given, within its limit.
fn limit(given: Option<usize>, default: usize, most: usize) -> Result<usize, ApiError> {
    match given.unwrap_or(default) {
        limit if (1..=most).contains(&limit) => Ok(limit),
        limit => Err(ApiError::Invalid(format!("limit is 1 to {most}, not {limit}"))),
    }
}

/// How many items a list of tasks or checkpoints has where it does not say, and at most.
const LIMIT: usize = 20;
const LIMIT_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use utoipa_axum::routes;

    #[utoipa::path(post, path = "/v1/stats")]
    async fn posted() {}

    #[test]
    fn a_path_with_methods_in_two_files_is_answered_and_described_for_both() {
        let other = OpenApiRouter::new().routes(routes!(posted));
        let (_, api) = stats::routes().merge(other).split_for_parts();
        let of = &api.paths.paths["/v1/stats"];
        assert!(of.get.is_some() && of.post.is_some());
    }
}
