//! Start and deletion of tasks.

use axum::extract::State;
use axum::response::Response;
use milepost::{Engine, ErrorKind};
use milepost_api::calls::{DeleteTask, StartTask};
use milepost_service::Serve as _;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::auth::Caller;
use crate::call::{OperationRequest, answered_by, own_route};
use crate::error::ApiError;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(own_route::<StartTask, _, _>(start)).routes(own_route::<
        DeleteTask,
        _,
        _,
    >(delete))
}

/// Starts a task for the caller, or for the user that an admin names, within the limit of tasks.
async fn start(
    State(app): State<App>,
    mut requested: OperationRequest<StartTask>,
) -> Result<Response, ApiError> {
    let (caller, asked) = (requested.caller.caller().clone(), &mut requested.call.body);
    let user = asked.user.get_or_insert_with(|| caller.user.to_string()).clone();
    if user != *caller.user {
        caller.is_admin("tasks of others are started by admins: leave `user` out")?;
    }
    asked.check()?;
    let counted = CountedStart::count(&app, &caller, &user).await?;
    let is_long = asked.copy_of.is_some();
    answered_by(&app, requested, is_long, move |call, view| {
        let id = call.body.id.clone();
        // An existing task was started under the same key, or is a conflict.
        let is_new = view.task(&id).is_err();
        if is_new && counted.is_none() {
            return Err(ApiError::Forbidden(
                "the user has as many tasks as a user may have (`limits.tasks`): delete some",
            ));
        }
        let started = call.serve(view).map_err(ApiError::from);
        let is_started = match &started {
            Ok(_) => true,
            Err(ApiError::Engine(ErrorKind::Conflict, ..)) => false,
            // It exists even if it cannot be read after its start.
            Err(_) => view.task(&id).is_ok(),
        };
        if let Some(counted) = counted.filter(|_| is_new && is_started) {
            counted.keep();
        }
        started
    })
    .await
}

/// A counted start of a task. Dropping it uncounts the task unless `keep` was called.
struct CountedStart {
    app: App,
    user: Option<String>,
}

impl CountedStart {
    /// Counts a task that a user starts. Returns `None` if the user has reached the limit. Admins
    /// have no limit, for themselves and for others.
    async fn count(app: &App, caller: &Caller, user: &str) -> Result<Option<Self>, ApiError> {
        let limited = caller.sees().is_some();
        let most = if limited { app.options.tasks } else { u64::MAX };
        let mut fits = app.quotas.starts(user, most);
        if fits.is_none() && limited {
            let of_user = user.to_owned();
            let count = move |engine: &Engine| Ok(engine.query().task_stats(Some(&of_user))?.len());
            let tasks = app.long_work(caller.of_token(), count).await?;
            app.quotas.has(user, tasks as u64);
            fits = app.quotas.starts(user, most);
        }
        if fits == Some(false) {
            return Ok(None);
        }
        let (app, user) = (app.clone(), fits.map(|_| user.to_owned()));
        Ok(Some(Self { app, user }))
    }

    fn keep(mut self) {
        self.user = None;
    }
}

impl Drop for CountedStart {
    fn drop(&mut self) {
        if let Some(user) = &self.user {
            self.app.quotas.ends(user);
        }
    }
}

/// Deletes a task, which then no longer counts.
async fn delete(
    State(app): State<App>,
    requested: OperationRequest<DeleteTask>,
) -> Result<Response, ApiError> {
    let counts = app.clone();
    answered_by(&app, requested, false, move |call, view| {
        let owner = view.task(&call.task).map(|task| task.user().to_owned());
        call.serve(view)?;
        owner.iter().for_each(|user| counts.quotas.ends(user));
        Ok(())
    })
    .await
}
