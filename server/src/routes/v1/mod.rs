//! `/v1`: the routes of Milepost's own API, and their description.
//!
//! ```text
//! operations.rs    operations whose routes need nothing of their own
//! summaries.rs     summaries of tasks
//! start.rs         start and deletion of tasks
//! events.rs        events of a lineage
//! event_filter.rs  filter of events by kind and iteration
//! stream.rs        events as they are committed
//! append.rs        appends
//! points.rs        points and their events
//! states.rs        states and their differences
//! passes.rs        the states of all checkpoints of a lineage
//! values.rs        values of an event's body
//! blame.rs         the event that set a part of a state, and bisection
//! branch.rs        events in a new lineage at a point
//! files.rs         captured files
//! workspace.rs     the state of the folder of a task
//! control.rs       run control, guidance and artifacts
//! restores.rs      plans of restores and undos
//! maintenance.rs   cleanups, for admins
//! jobs.rs          jobs, for admins
//! agent.rs         documents of hooks of coding agents
//! share.rs         a task as one HTML file
//! export.rs        a task as a file that another store imports
//! me.rs            the caller and the service
//! sessions.rs      sessions of browsers
//! ```

mod agent;
mod append;
mod blame;
mod branch;
mod control;
mod event_filter;
mod events;
mod export;
mod files;
mod jobs;
mod maintenance;
mod me;
mod operations;
mod passes;
mod points;
mod restores;
pub(super) mod sessions;
mod share;
mod start;
mod states;
mod stream;
mod summaries;
mod values;
mod workspace;

use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::forms::Problem;

/// The head of the OpenAPI description.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Milepost",
        description = "The log of a program that works in iterations, over HTTP. `docs/HTTP.md` \
            fixes what is promised.",
    ),
    components(schemas(Problem)),
    modifiers(&Bearer),
    security(("bearer" = [])),
)]
struct Description;

/// Adds the bearer token to the description.
struct Bearer;

impl utoipa::Modify for Bearer {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let components = api.components.get_or_insert_default();
        let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("bearer", bearer);
    }
}

/// Returns all routes. One line serves and describes a route.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Description::openapi())
        .merge(operations::routes())
        .merge(summaries::routes())
        .merge(start::routes())
        .merge(append::routes())
        .merge(control::routes())
        .merge(restores::routes())
        .merge(maintenance::routes())
        .merge(jobs::routes())
        .merge(agent::routes())
        .merge(events::routes())
        .merge(points::routes())
        .merge(states::routes())
        .merge(passes::routes())
        .merge(values::routes())
        .merge(blame::routes())
        .merge(branch::routes())
        .merge(files::routes())
        .merge(me::routes())
        .merge(sessions::routes())
        .merge(share::routes())
        .merge(export::routes())
        .merge(workspace::routes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use utoipa_axum::routes;

    #[utoipa::path(post, path = "/v1/stats")]
    async fn posted() {}

    #[test]
    fn a_path_with_methods_in_two_files_is_answered_and_described_for_both() {
        let other = OpenApiRouter::new().routes(routes!(posted));
        let (_, api) = operations::routes().merge(other).split_for_parts();
        let of = &api.paths.paths["/v1/stats"];
        assert!(of.get.is_some() && of.post.is_some());
    }
}
