//! Appends, and who waits for them: a task for what is small and only written, a thread for the
//! rest.

use milepost::{Append, Appended, Engine, LineageId, Task};

use crate::error::ApiError;
use crate::extract::SMALL;
use crate::server::App;
use crate::view::View;
use crate::write_context::{WriteContext, refused};

/// What such requests may have under way at once, in bytes: the engine takes more without a wait.
pub(crate) const UNDER_WAY: usize = 8 << 20;

/// What a request counts for, and each of its bytes: an event has a header of its own in the log,
/// which is longer than the shortest line.
const EACH: usize = 1 << 10;
const GROWTH: usize = 8;

/// Where something is appended.
pub(crate) struct Target {
    pub(crate) task: String,
    /// The active one where none is given.
    pub(crate) lineage: Option<u32>,
}

impl Target {
    /// The active lineage of a task.
    pub(crate) fn of(task: String) -> Self {
        Self { task, lineage: None }
    }

    fn look_up(&self, view: &View<'_>) -> Result<Task, ApiError> {
        let task = view.task(&self.task)?;
        Ok(match self.lineage {
            Some(lineage) => task.lineage_named(LineageId(lineage))?.with_hooks()?,
            None => task,
        })
    }
}

/// Appends what `read` makes of a request's `size` bytes. It is durable when this answers.
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
        // Others have filled the engine's queue: it is a thread that waits.
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
