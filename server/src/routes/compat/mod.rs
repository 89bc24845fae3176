//! Routes with the paths and forms of an existing API, for its clients: `/api/v1` and `/api/v0`.

// tidy: names the parts
mod checkpoints;
mod direct;

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().merge(checkpoints::routes()).merge(direct::routes())
}
