//! Cleanup: keeps the newest checkpoints of each thread. Events stay unless the request asks.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use milepost::Engine;
use milepost::retention::{Policy, RetentionReport, TaskRetained};
use milepost_service::operations::back_up;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DirectAnswer, WrongForm, check_thread, check_user, has_thread, no_thread};
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{Nothing, OptionalJson, Query};
use crate::forms::utc_seconds;

/// The maximum of `keep_count`.
const KEEP_MAX: usize = 1_000_000;

/// The scope of a cleanup, and the number of checkpoints to keep.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DirectCleanup)]
pub(crate) struct DirectCleanup {
    keep_count: Option<usize>,
    user_id: Option<String>,
    thread_id: Option<String>,
    /// Also removes the events that no checkpoint needs. Default: false.
    #[serde(default)]
    trim: bool,
    /// First exports the threads that change to the store's `backups/`. Default: false.
    #[serde(default)]
    backup: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DirectCleaned)]
pub(crate) struct Cleaned {
    operation_type: &'static str,
    target: String,
    keep_count: usize,
    total_processed: u64,
    total_deleted: u64,
    /// The number of removed events, for a request with `trim`.
    #[serde(skip_serializing_if = "Option::is_none")]
    events_deleted: Option<u64>,
    /// The file of the backup in the store's folder, for a request with `backup`.
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    details: BTreeMap<String, Detail>,
    timestamp: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DirectCleanedThread)]
struct Detail {
    original_count: u64,
    deleted_count: u64,
    remaining_count: u64,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The scope of a cleanup.
enum Target {
    All,
    User(String),
    Thread(String),
}

/// Keeps the newest checkpoints of each thread, and removes the others. Threads without checkpoints
/// are not counted.
#[utoipa::path(
    post,
    path = "/api/v0/checkpoint/direct/cleanup",
    operation_id = "direct_cleanup",
    tag = "compat",
    request_body = Option<DirectCleanup>,
    responses(
        (status = 200, body = DirectAnswer<Cleaned>),
        (status = 400, description = "Something asked is not as it should be", body = WrongForm),
        (status = 401, description = "No token, or one that is not known", body = WrongForm),
        (status = 403, description = "All users are for admins", body = WrongForm),
        (status = 404, description = "There is no such user, or thread", body = WrongForm),
        (status = 413, description = "The body is too long", body = WrongForm),
        (status = 415, description = "The body is no JSON", body = WrongForm),
        (status = 500, description = "All threads failed", body = WrongForm),
    ),
)]
pub(super) async fn cleanup(
    State(app): State<App>,
    caller: Caller,
    Query(Nothing {}): Query<Nothing>,
    OptionalJson(asked): OptionalJson<DirectCleanup>,
) -> Result<Json<DirectAnswer<Cleaned>>, ApiError> {
    let keep = asked.keep_count.unwrap_or(app.options.keep_count);
    if keep > KEEP_MAX {
        let text = format!("keep_count is 0 to {KEEP_MAX}, not {keep}");
        return Err(ApiError::Invalid(text));
    }
    // `thread_id` takes precedence over `user_id`.
    let target = match (asked.thread_id, asked.user_id) {
        (Some(thread), _) => Target::Thread(thread),
        (None, Some(user)) => Target::User(user),
        (None, None) => Target::All,
    };
    let backup = asked.backup.then(|| app.options.check_backups());
    let (now, trim) = (app.now_us(), asked.trim);
    let cleaned = app.work(move |engine| clean(engine, &caller, target, (keep, trim, backup), now));
    Ok(Json(DirectAnswer::well("Checkpoint清理完成", cleaned.await?)))
}

fn clean(
    engine: &Engine,
    caller: &Caller,
    target: Target,
    (keep, trim, backup): (usize, bool, Option<Result<(), ApiError>>),
    now_us: u64,
) -> Result<Cleaned, ApiError> {
    let policy = Policy::new().keep(keep).marks_only(!trim).keep_lineages(true);
    let (operation_type, target, policy) = match target {
        Target::All => {
            caller.is_admin("a cleanup of all users is for admins: name a user or a thread")?;
            ("cleanup_all", "all".to_owned(), policy)
        }
        Target::User(user) => {
            check_user(caller, &user)?;
            has_thread(engine, &user)?;
            let policy = policy.user(&user);
            ("cleanup_user", user, policy)
        }
        Target::Thread(thread) => {
            check_thread(&thread)?;
            let task = caller.view(engine).task(&thread).map_err(no_thread)?;
            let policy = policy.task(task.id());
            ("cleanup_thread", thread, policy)
        }
    };
    // The plan names tasks by number: a name could be reused by another owner later.
    let mut plan = engine.retention().plan(&policy)?;
    plan.tasks.retain(|task| task.checkpoints > 0 || task.error.is_some());
    let others =
        |task: &milepost::retention::TaskPlan| caller.sees().is_some_and(|own| own != task.user);
    if plan.tasks.iter().any(others) {
        return Err(no_thread(milepost::Error::not_found(format!("there is no task `{target}`"))));
    }
    let backup = match backup {
        Some(possible) => possible.map(|()| back_up(engine, &plan))??,
        None => None,
    };
    let RetentionReport { tasks, .. } = engine.retention().apply(&plan, &mut |_, _| {})?;
    let first = tasks.first().and_then(|task| task.error.as_ref());
    if let Some(first) = first
        && tasks.iter().all(|task| task.error.is_some() && task.removed == 0)
    {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        return Err(ApiError::Named("DELETE_FAILED", status, first.to_string()));
    }
    let whole = plan.tasks.iter().zip(&tasks).filter(|(_, task)| task.error.is_none());
    let events = whole.map(|(plan, _)| plan.events).sum();
    Ok(Cleaned {
        operation_type,
        target,
        keep_count: keep,
        total_processed: tasks.len() as u64,
        total_deleted: tasks.iter().map(|task| task.removed).sum(),
        events_deleted: trim.then_some(events),
        backup,
        details: tasks.into_iter().map(detail).collect(),
        timestamp: utc_seconds(now_us),
    })
}

fn detail(task: TaskRetained) -> (String, Detail) {
    let detail = Detail {
        original_count: task.checkpoints,
        deleted_count: task.removed,
        remaining_count: task.checkpoints.saturating_sub(task.removed),
        status: match task.error {
            None => "success",
            Some(_) => "failed",
        },
        error: task.error.map(|error| error.to_string()),
    };
    (task.task, detail)
}
