//! Tasks and their lineages.

// tidy: a list of operations

use milepost_api::calls::{Lineages, Summary, Task, Tasks};
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::call::route;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(route::<Tasks>())
        .routes(route::<Summary>())
        .routes(route::<Task>())
        .routes(route::<Lineages>())
}
