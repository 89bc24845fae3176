//! Pinned checkpoints.

// tidy: a list of operations

use milepost_api::calls::{Pin, Pins, Unpin};
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::call::route;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(route::<Pins>()).routes(route::<Pin>()).routes(route::<Unpin>())
}
