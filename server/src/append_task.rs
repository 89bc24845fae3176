//! Appends over HTTP: small plain ones in an async task, the others on a blocking thread.

use milepost::{Append, Appended, Engine, LineageId, Task};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::SMALL;
use crate::view::View;
use crate::write_context::{WriteContext, refused};

/// Base weight and weight per byte of a request against [`App::room`]: an event's header in the
/// log is longer than the shortest line.
const EACH: usize = 1 << 10;
const GROWTH: usize = 8;

/// The task and the lineage of an append.
pub(crate) struct Target {
    pub(crate) task: String,
    /// `None` for the active lineage.
    pub(crate) lineage: Option<LineageId>,
}

impl Target {
    /// Targets the active lineage of a task.
    pub(crate) fn of(task: String) -> Self {
        Self { task, lineage: None }
    }

    /// Returns the task on the lineage.
    pub(crate) fn look_up(&self, view: &View<'_>) -> Result<Task, ApiError> {
        let task = view.task(&self.task)?;
        Ok(match self.lineage {
            Some(lineage) => task.lineage_named(lineage)?.with_hooks()?,
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
    if size > SMALL {
        let token = context.caller.of_token().to_owned();
        return app.long_work(&token, move |engine| wait(engine, &context, &target, read()?)).await;
    }
    let append = read()?;
    if !append.is_plain() {
        return app.work(move |engine| wait(engine, &context, &target, append)).await;
    }
    let _room = app.room(EACH + size * GROWTH).await;
    let append = context.conditioned(append);
    let task = target.look_up(&View::of(&app.engine(), &context.caller))?;
    match task.try_submit(&append).map_err(refused)? {
        Some(ticket) => ticket.await.map_err(refused),
        // The engine's queue is full: wait on a thread.
        None => app.work(move |_| task.append(append).map_err(refused)).await,
    }
}

fn wait(
    engine: &Engine,
    context: &WriteContext,
    target: &Target,
    append: Append,
) -> Result<Appended, ApiError> {
    let task = target.look_up(&View::of(engine, &context.caller))?;
    context.append(&task, append).map_err(refused)
}
