//! Appends, and who waits for them: a task for what is small and only written, a thread for the rest.

use milepost::{Append, Appended, Engine, LineageId, Task};

use crate::by::{By, refused};
use crate::input::SMALL;
use crate::server::App;
use crate::view::View;
use crate::wrong::Wrong;

/// What such requests may have under way at once, in bytes: the engine takes more without a wait.
pub(crate) const UNDER_WAY: usize = 8 << 20;

/// What a request counts for, and each of its bytes: an event has a header of its own in the log, which is
/// longer than the shortest line.
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

    fn look_up(&self, view: &View<'_>) -> Result<Task, Wrong> {
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
    by: By,
    target: Target,
    size: usize,
    read: impl FnOnce() -> Result<Append, Wrong> + Send + 'static,
) -> Result<Appended, Wrong> {
    if size > SMALL {
        let token = by.who.of_token().to_owned();
        return app.long_work(&token, move |engine| wait(engine, &by, &target, read()?)).await;
    }
    let append = read()?;
    if !append.is_plain() {
        return app.work(move |engine| wait(engine, &by, &target, append)).await;
    }
    let _room = app.room(EACH + size * GROWTH).await;
    let append = by.conditioned(append);
    let task = target.look_up(&View::of(&app.engine(), &by.who))?;
    match task.try_submit(&append).map_err(refused)? {
        Some(ticket) => ticket.await.map_err(refused),
        // Others have filled the engine's queue: it is a thread that waits.
        None => app.work(move |_| task.append(append).map_err(refused)).await,
    }
}

fn wait(engine: &Engine, by: &By, target: &Target, append: Append) -> Result<Appended, Wrong> {
    let task = target.look_up(&View::of(engine, &by.who))?;
    by.append(&task, append).map_err(refused)
}
