//! Operations that are values: their routes need nothing of their own.

// tidy: a list of operations

use milepost_api::calls::{
    AllCheckpoints, Attachments, Checkpoints, Erase, Folders, Lineages, Pin, Pins, Redo, Summary,
    Switch, Task, Tasks, Unmark, UnmarkAll, Unpin,
};
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::call::route;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(route::<Tasks>())
        .routes(route::<Summary>())
        .routes(route::<Task>())
        .routes(route::<Lineages>())
        .routes(route::<Attachments>())
        .routes(route::<Erase>())
        .routes(route::<Folders>())
        .routes(route::<Checkpoints>())
        .routes(route::<AllCheckpoints>())
        .routes(route::<Unmark>())
        .routes(route::<UnmarkAll>())
        .routes(route::<Pins>())
        .routes(route::<Pin>())
        .routes(route::<Unpin>())
        .routes(route::<Switch>())
        .routes(route::<Redo>())
}
