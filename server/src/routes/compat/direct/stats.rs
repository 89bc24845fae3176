//! Statistics: the number of checkpoints of each thread.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use milepost::Engine;
use milepost::query::TaskStats;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{DirectAnswer, WrongForm, check_user, no_user};
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::Query;
use crate::forms::utc_seconds;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatsQuery {
    /// The user. Without it all users, for admins.
    user_id: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = DirectStats)]
pub(crate) enum Stats {
    System {
        operation_type: &'static str,
        total_users: u64,
        total_threads: u64,
        total_checkpoints: u64,
        users: Vec<User>,
        timestamp: String,
    },
    User {
        operation_type: &'static str,
        #[serde(flatten)]
        user: User,
        timestamp: String,
    },
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DirectUser)]
pub(crate) struct User {
    user_id: String,
    thread_count: u64,
    total_checkpoints: u64,
    threads: Vec<Thread>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DirectThread)]
struct Thread {
    thread_id: String,
    checkpoint_count: u64,
}

/// Returns the number of checkpoints of each thread.
#[utoipa::path(
    get,
    path = "/api/v0/checkpoint/direct/stats",
    operation_id = "direct_stats",
    tag = "compat",
    params(StatsQuery),
    responses(
        (status = 200, body = DirectAnswer<Stats>),
        (status = 400, description = "Something asked is not as it should be", body = WrongForm),
        (status = 401, description = "No token, or one that is not known", body = WrongForm),
        (status = 403, description = "All users are for admins", body = WrongForm),
        (status = 404, description = "There is no such user", body = WrongForm),
    ),
)]
pub(super) async fn stats(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<StatsQuery>,
) -> Result<Json<DirectAnswer<Stats>>, ApiError> {
    let timestamp = utc_seconds(app.now_us());
    let Some(user) = query.user_id else {
        caller.is_admin("statistics of all users are for admins: name a user")?;
        let all = |engine: &Engine| Ok(engine.query().task_stats(None)?);
        let users = of(app.long_work(caller.of_token(), all).await?);
        let stats = Stats::System {
            operation_type: "system_stats",
            total_users: users.len() as u64,
            total_threads: users.iter().map(|user| user.thread_count).sum(),
            total_checkpoints: users.iter().map(|user| user.total_checkpoints).sum(),
            users,
            timestamp,
        };
        return Ok(Json(DirectAnswer::well("获取系统checkpoint统计成功", stats)));
    };
    check_user(&caller, &user)?;
    let asked = user.clone();
    let of_user = move |engine: &Engine| Ok(engine.query().task_stats(Some(&asked))?);
    let tasks = app.long_work(caller.of_token(), of_user).await?;
    let message = format!("获取用户{user}统计成功");
    let mut user = of(tasks).pop().ok_or_else(|| no_user(&user))?;
    // Threads with the most checkpoints first.
    let most = |thread: &Thread| std::cmp::Reverse(thread.checkpoint_count);
    user.threads.sort_by_key(most);
    let stats = Stats::User { operation_type: "user_stats", user, timestamp };
    Ok(Json(DirectAnswer::well(message, stats)))
}

/// Groups tasks with checkpoints by user, sorted by user and thread.
fn of(tasks: Vec<TaskStats>) -> Vec<User> {
    let mut users: BTreeMap<String, Vec<Thread>> = BTreeMap::new();
    for task in tasks.into_iter().filter(|task| task.checkpoints > 0) {
        users
            .entry(task.user)
            .or_default()
            .push(Thread { thread_id: task.task, checkpoint_count: task.checkpoints });
    }
    let users = users.into_iter().map(|(user_id, mut threads)| {
        threads.sort_by(|a, b| a.thread_id.cmp(&b.thread_id));
        User {
            user_id,
            thread_count: threads.len() as u64,
            total_checkpoints: threads.iter().map(|thread| thread.checkpoint_count).sum(),
            threads,
        }
    });
    users.collect()
}
