//! Documents of hooks of coding agents, for programs at the store's own socket.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use milepost_api::{HookRequest, HookTakenForm, WriteProblems};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::error::{ApiError, bug};
use crate::extract::Required;
use crate::request_scope::OF_PAGE;
use crate::write_context::WriteContext;

/// Error for documents that come from elsewhere.
const ELSEWHERE: &str = "hooks of agents are for programs at the store's own socket";

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(take_hook))
}

/// Records the document of a hook of a coding agent. Answers once the agent may continue; a
/// document that was recorded before, by its id, is not recorded again.
#[utoipa::path(
    post,
    path = "/v1/agent/hooks",
    operation_id = "take_hook",
    tag = "agents",
    request_body = HookRequest,
    responses(
        (status = 200, body = HookTakenForm),
        WriteProblems,
        (status = 403, description = "Hooks are for programs at the store's socket"),
        (status = 404, description = "The program records no coding agents"),
    ),
)]
async fn take_hook(
    State(app): State<App>,
    context: WriteContext,
    headers: HeaderMap,
    Required(asked): Required<HookRequest>,
) -> Result<Json<HookTakenForm>, ApiError> {
    let context = context.unconditional()?;
    context.caller.is_admin(ELSEWHERE)?;
    if !app.options.is_at_store || headers.contains_key(OF_PAGE) {
        return Err(ApiError::Forbidden(ELSEWHERE));
    }
    let take = app.options.agent_hooks.clone();
    let taken = tokio::task::spawn_blocking(move || take.take(asked)).await;
    let taken = taken.map_err(|panic| {
        bug(context.correlation(), panic);
        ApiError::Bug
    })?;
    taken.map(Json)
}
