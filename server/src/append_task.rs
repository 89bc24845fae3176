//! Appends over HTTP: small plain ones in an async task, the others on a blocking thread.

use milepost::{Append, Appended, Engine, LineageId, Task};
use milepost_runtime::run::{Checkpointer, Reported};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::SMALL;
use crate::write_context::{WriteContext, refused};
use milepost_service::View;

/// Base weight and weight per byte of a request against [`App::room`]: an event's header in the
/// log is longer than the shortest line.
const EACH: usize = 1 << 10;
const GROWTH: usize = 8;

/// The task and the lineage of an append.
pub(crate) struct Target {
    pub(crate) task: String,
    /// `None` for the active lineage.
    pub(crate) lineage: Option<LineageId>,
    /// For the policy of checkpoints.
    pub(crate) reported: Reported,
}

impl Target {
    /// Targets the active lineage of a task.
    pub(crate) fn of(task: String) -> Self {
        Self { task, lineage: None, reported: Reported::default() }
    }

    /// Returns what marks checkpoints of the active lineage. Those of others are the caller's.
    fn checkpoints<'a>(&self, app: &'a App) -> Option<&'a Checkpointer> {
        app.options.checkpoints.as_deref().filter(|_| self.lineage.is_none())
    }

    /// Returns the task on the lineage.
    pub(crate) fn look_up(&self, view: &View<'_>) -> Result<Task, ApiError> {
        let task = view.task(&self.task)?;
        Ok(match self.lineage {
            Some(lineage) => task.lineage_named(lineage)?.as_task()?,
            None => task,
        })
    }
}

/// Appends the result of `read`, which parses a body of `size` bytes. It is durable on return.
pub(crate) async fn append(
    app: &App,
    context: WriteContext,
    target: Target,
    size: usize,
    read: impl FnOnce() -> Result<Append, ApiError> + Send + 'static,
) -> Result<Appended, ApiError> {
    if target.reported.policy.is_some() && target.checkpoints(app).is_none() {
        let text = "no policy marks checkpoints here: leave `policy` out, and mark them";
        return Err(ApiError::Invalid(text.to_owned()));
    }
    let waiting = app.clone();
    if size > SMALL {
        let token = context.caller.of_token().to_owned();
        let work = move |engine: &Engine| wait(&waiting, engine, &context, &target, read()?);
        return app.long_work(&token, work).await;
    }
    let append = read()?;
    let is_asked = target.checkpoints(app).is_some_and(|it| it.concerns(&append, target.reported));
    if !append.is_plain() || is_asked {
        let work = move |engine: &Engine| wait(&waiting, engine, &context, &target, append);
        return app.work(work).await;
    }
    let _room = app.room(EACH + size * GROWTH).await;
    let append = context.conditioned(append);
    let task = target.look_up(&context.caller.view(&app.engine()))?;
    if let Some(checkpoints) = target.checkpoints(app) {
        checkpoints.watch(&task);
    }
    match task.try_submit(&append).map_err(refused)? {
        Some(ticket) => ticket.await.map_err(refused),
        // The engine's queue is full: wait on a thread.
        None => app.work(move |_| task.append(append).map_err(refused)).await,
    }
}

fn wait(
    app: &App,
    engine: &Engine,
    context: &WriteContext,
    target: &Target,
    append: Append,
) -> Result<Appended, ApiError> {
    let task = target.look_up(&context.caller.view(engine))?;
    let append = context.conditioned(append);
    // Only the commit knows which of the events are new: a policy cannot count them.
    match target.checkpoints(app).filter(|_| !append.is_each_keyed()) {
        Some(checkpoints) => checkpoints.append(&task, append, target.reported),
        None => task.append(append),
    }
    .map_err(refused)
}
