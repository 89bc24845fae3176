//! Operations that are values: their routes need nothing of their own.

// tidy: a list of operations

use milepost_api::calls::{
    Align, AllCheckpoints, Anchor, Attach, Attachments, Branch, Checkpoint, Checkpoints, Erase,
    FileChanges, Folders, Lineages, Mark, Overview, Pin, Pins, PlanRetention, Point, Redo, Restore,
    Rows, Search, Series, Stats, Summary, Switch, Task, TaskMetrics, Tasks, Turns, Undo, Unmark,
    UnmarkAll, Unpin, Verify,
};
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::call::{route, tagged_route};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(route::<Tasks>())
        .routes(route::<Summary>())
        .routes(route::<Task>())
        .routes(route::<Lineages>())
        .routes(tagged_route::<Point>())
        .routes(tagged_route::<FileChanges>())
        .routes(tagged_route::<Rows>())
        .routes(tagged_route::<Turns>())
        .routes(tagged_route::<Overview>())
        .routes(tagged_route::<TaskMetrics>())
        .routes(tagged_route::<Align>())
        .routes(route::<Search>())
        .routes(route::<Stats>())
        .routes(tagged_route::<Checkpoint>())
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
        .routes(tagged_route::<Series>())
        .routes(route::<Mark>())
        .routes(route::<Attach>())
        .routes(route::<Branch>())
        .routes(route::<Restore>())
        .routes(route::<Undo>())
        .routes(route::<Switch>())
        .routes(route::<Redo>())
        .routes(route::<Anchor>())
        .routes(route::<Verify>())
        .routes(route::<PlanRetention>())
}
