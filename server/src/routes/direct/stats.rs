//! Statistics: how many checkpoints each thread has.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use milepost::TaskStats;
use serde::{Deserialize, Serialize};

use super::{Answer, check_user, no_user};
use crate::input::Given;
use crate::server::App;
use crate::time;
use crate::who::Who;
use crate::wrong::Wrong;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    user_id: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
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

#[derive(Debug, Serialize)]
pub(crate) struct User {
    user_id: String,
    thread_count: u64,
    total_checkpoints: u64,
    threads: Vec<Thread>,
}

#[derive(Debug, Serialize)]
struct Thread {
    thread_id: String,
    checkpoint_count: u64,
}

pub(crate) async fn stats(
    State(app): State<App>,
    who: Who,
    Given(query): Given<Query>,
) -> Result<Json<Answer<Stats>>, Wrong> {
    let timestamp = time::seconds(app.now_us());
    let Some(user) = query.user_id else {
        who.is_admin("statistics of all users are for admins: name a user")?;
        let users = of(app.work(|engine| Ok(engine.task_stats(None)?)).await?);
        let stats = Stats::System {
            operation_type: "system_stats",
            total_users: users.len() as u64,
            total_threads: users.iter().map(|user| user.thread_count).sum(),
            total_checkpoints: users.iter().map(|user| user.total_checkpoints).sum(),
            users,
            timestamp,
        };
        return Ok(Json(Answer::well("获取系统checkpoint统计成功", stats)));
    };
    check_user(&who, &user)?;
    let asked = user.clone();
    let tasks = app
        .work(move |engine| Ok(engine.task_stats(Some(&asked))?))
        .await?;
    let message = format!("获取用户{user}统计成功");
    let mut user = of(tasks).pop().ok_or_else(|| no_user(&user))?;
    // Those with most of them first.
    let most = |thread: &Thread| std::cmp::Reverse(thread.checkpoint_count);
    user.threads.sort_by_key(most);
    let stats = Stats::User {
        operation_type: "user_stats",
        user,
        timestamp,
    };
    Ok(Json(Answer::well(message, stats)))
}

/// By user, and of each by thread, in the order of their names.
fn of(tasks: Vec<TaskStats>) -> Vec<User> {
    let mut users: BTreeMap<String, Vec<Thread>> = BTreeMap::new();
    for task in tasks {
        users.entry(task.user).or_default().push(Thread {
            thread_id: task.task,
            checkpoint_count: task.checkpoints,
        });
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
