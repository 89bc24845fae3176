//! `/api/v1`: checkpoints of a task, in the form of an existing API.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use axum::Json;
use axum::extract::State;
use milepost::events::{LineageType, MarkCause};
use milepost::query::{CheckpointOrder, CheckpointQuery, LineageInfo};
use milepost::{Checkpoint, CheckpointId, ErrorKind, Lineage, LineageId, Result, RunState};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{PathName, Query};
use crate::forms::utc_millis;
use milepost_service::View;
use milepost_service::operations::{PAGE, PAGE_MAX, page_size};

/// The number of characters of a prompt preview.
const PREVIEW: usize = 200;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(one)).routes(routes!(metrics))
}

/// The envelope of a successful answer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CompatAnswer)]
pub(crate) struct CompatAnswer<T> {
    data: T,
}

/// The envelope of an error.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CompatError)]
struct WrongForm {
    #[schema(value_type = Object)]
    error: (),
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// The page size: 1 to 100, default 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CompatCheckpoints)]
pub(crate) struct CheckpointList {
    checkpoints: Vec<CheckpointForm>,
    total: u64,
}

/// A checkpoint in the form of the existing API.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CompatCheckpoint)]
pub(crate) struct CheckpointForm {
    #[schema(value_type = String)]
    id: CheckpointId,
    task_id: String,
    iteration: u64,
    state: String,
    run_control_state: &'static str,
    prompt_preview: String,
    has_artifacts: bool,
    has_user_guidance: bool,
    branch_id: String,
    #[schema(value_type = Option<String>)]
    parent_id: Option<CheckpointId>,
    lineage_type: &'static str,
    branch_description: Option<String>,
    #[schema(value_type = String)]
    checksum: CheckpointId,
    integrity_ok: bool,
    created_at: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CompatCache)]
pub(crate) struct CacheForm {
    cached: u64,
    cache_bytes: u64,
    hits: u64,
    misses: u64,
    evictions: u64,
    saved: u64,
    /// The most states that are cached.
    max_cached: u64,
    /// The most bytes of cached states.
    max_cache_bytes: u64,
    /// The bytes over which an alert is raised; 0 for none.
    alert_cache_bytes: u64,
}

/// Lists the checkpoints of a task by creation time, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/tasks/{task}/checkpoints",
    operation_id = "compat_checkpoints",
    tag = "compat",
    params(("task" = String, Path, description = "The task's id"), ListQuery),
    responses(
        (status = 200, body = CompatAnswer<CheckpointList>),
        (status = 400, description = "Something asked is not as it should be", body = WrongForm),
        (status = 401, description = "No token, or one that is not known", body = WrongForm),
        (status = 404, description = "There is no such task", body = WrongForm),
    ),
)]
async fn list(
    State(app): State<App>,
    caller: Caller,
    PathName(task): PathName,
    Query(query): Query<ListQuery>,
) -> std::result::Result<Json<CompatAnswer<CheckpointList>>, ApiError> {
    let limit = page_size(query.limit, PAGE, PAGE_MAX)?;
    let data = app.view(&caller, move |view| {
        let total = view.task(&task)?.checkpoints()?;
        let page = view.query().checkpoints(&CheckpointQuery {
            task: Some(task),
            limit: Some(limit),
            order: CheckpointOrder::Created,
            ..CheckpointQuery::default()
        })?;
        let mut forms = Forms::new(view);
        let mut checkpoints = Vec::with_capacity(page.items.len());
        // Oldest first: each state is folded from the one before it.
        for (of, whole) in page.items.iter().zip(view.are_whole(&page.items)?).rev() {
            match forms.form(of, whole) {
                Ok(form) => checkpoints.push(form),
                // The checkpoint was removed since the list was read.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(e.into()),
            }
        }
        checkpoints.reverse();
        Ok(CheckpointList { checkpoints, total })
    });
    Ok(Json(CompatAnswer { data: data.await? }))
}

/// Returns a checkpoint.
#[utoipa::path(
    get,
    path = "/api/v1/checkpoints/{id}",
    operation_id = "compat_checkpoint",
    tag = "compat",
    params(("id" = String, Path, description = "The checkpoint's id, or a unique prefix of 8 or \
        more digits")),
    responses(
        (status = 200, body = CompatAnswer<CheckpointForm>),
        (status = 400, description = "Something asked is not as it should be", body = WrongForm),
        (status = 401, description = "No token, or one that is not known", body = WrongForm),
        (status = 404, description = "There is no such checkpoint", body = WrongForm),
    ),
)]
async fn one(
    State(app): State<App>,
    caller: Caller,
    PathName(id): PathName,
) -> std::result::Result<Json<CompatAnswer<CheckpointForm>>, ApiError> {
    let data = app.view(&caller, move |view| {
        let checkpoint = view.query().checkpoint(&id)?;
        let whole = view.are_whole(std::slice::from_ref(&checkpoint))?;
        Ok(Forms::new(view).form(&checkpoint, whole == [true])?)
    });
    Ok(Json(CompatAnswer { data: data.await? }))
}

/// Returns numbers of cached states and of saved checkpoints.
#[utoipa::path(
    get,
    path = "/api/v1/meta/checkpoint-metrics",
    operation_id = "compat_metrics",
    tag = "compat",
    responses(
        (status = 200, body = CompatAnswer<CacheForm>),
        (status = 401, description = "No token, or one that is not known", body = WrongForm),
        (status = 403, description = "It is for admins", body = WrongForm),
    ),
)]
async fn metrics(
    State(app): State<App>,
    caller: Caller,
) -> std::result::Result<Json<CompatAnswer<CacheForm>>, ApiError> {
    caller.is_admin("metrics of the store are for admins")?;
    let metrics = app.engine().store().metrics();
    Ok(Json(CompatAnswer {
        data: CacheForm {
            cached: metrics.kept_states,
            cache_bytes: metrics.kept_bytes,
            hits: metrics.kept_hits,
            misses: metrics.kept_misses,
            evictions: metrics.kept_evictions,
            saved: metrics.checkpoints,
            max_cached: metrics.kept_states_limit,
            max_cache_bytes: metrics.kept_bytes_limit,
            alert_cache_bytes: metrics.kept_bytes_alert,
        },
    }))
}

/// Converts checkpoints, and caches the lineages of their tasks.
struct Forms<'a> {
    view: &'a View<'a>,
    lineages: HashMap<(String, LineageId), (LineageInfo, Lineage)>,
}

impl<'a> Forms<'a> {
    fn new(view: &'a View<'a>) -> Self {
        Self { view, lineages: HashMap::new() }
    }

    fn lineage(&mut self, task: &str, id: LineageId) -> Result<&(LineageInfo, Lineage)> {
        Ok(match self.lineages.entry((task.to_owned(), id)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let lineage = self.view.task(task)?.lineage_named(id)?;
                place.insert((lineage.info()?, lineage))
            }
        })
    }

    fn form(&mut self, checkpoint: &Checkpoint, whole: bool) -> Result<CheckpointForm> {
        let (lineage, handle) = self.lineage(&checkpoint.task, checkpoint.lineage)?;
        let lineage = lineage.clone();
        let mut point = handle.point(checkpoint.at)?;
        point.checkpoint = Some(checkpoint.id);
        // A damaged checkpoint is listed as such.
        let (state, whole) = match self.view.run_state(&point) {
            Ok(state) => (state, whole),
            Err(e) if e.kind() == ErrorKind::Corrupt => {
                tracing::warn!("the state of checkpoint {} cannot be read: {e}", checkpoint.id);
                (RunState::default(), false)
            }
            Err(e) => return Err(e),
        };
        Ok(CheckpointForm {
            id: checkpoint.id,
            task_id: checkpoint.task.clone(),
            iteration: state.iteration,
            state: state.phase.clone().unwrap_or_default(),
            run_control_state: state.control.name(),
            prompt_preview: preview(&state),
            has_artifacts: !state.artifacts.is_empty(),
            has_user_guidance: !state.guidance.is_empty(),
            branch_id: checkpoint.lineage.to_string(),
            parent_id: checkpoint.parent,
            lineage_type: lineage_type(lineage.lineage_type, checkpoint.cause),
            branch_description: lineage.description,
            checksum: checkpoint.id,
            integrity_ok: whole,
            created_at: utc_millis(checkpoint.time_us),
        })
    }
}

/// Returns the type that the existing API gives a checkpoint: of its lineage if a restore, rollback
/// or branch opened that, otherwise by its own cause.
fn lineage_type(lineage: LineageType, cause: MarkCause) -> &'static str {
    match (lineage, cause) {
        (LineageType::Restore, _) => "restore",
        (LineageType::Rollback, _) => "rollback",
        (LineageType::Branch, _) => "branch",
        (LineageType::Manual, _) | (_, MarkCause::Manual) => "manual",
        (LineageType::Root | LineageType::Automatic, _) => "automatic",
    }
}

/// Returns the beginning of a prompt.
fn preview(state: &RunState) -> String {
    let prompt = state.prompt.as_deref().unwrap_or_default();
    prompt.chars().take(PREVIEW).collect()
}
