//! Streams of summaries: a row for each task that changes, as server-sent events.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use milepost::Engine;
use milepost::query::TaskVersion;
use milepost_api::SummaryForm;
use serde_json::json;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::app::{App, StreamPermit};
use crate::auth::Caller;
use crate::columns;
use crate::error::ApiError;
use crate::sse;
use crate::streams::{KEEP_OPEN, Pieces, until_stopped};
use milepost_service::Shown;

/// The time between two looks for changes: a task has at most four rows a second.
const LOOK: Duration = Duration::from_millis(250);

/// The time between two looks of a stream with columns, which folds the state of each changed task.
const LOOK_AT_STATES: Duration = Duration::from_secs(1);

/// Rows of one piece.
const ROWS: usize = 32;

/// The request of a stream.
pub(crate) struct Changes {
    pub(crate) shown: Shown,
    /// Pointers into the last state.
    pub(crate) columns: Vec<String>,
    /// The id of the request.
    pub(crate) id: Arc<str>,
}

/// Opens a stream: changes after its answer begins are in it.
pub(crate) async fn open(app: &App, caller: &Caller, changes: Changes) -> Result<Body, ApiError> {
    let permit = app.one_more_stream(caller)?;
    let mut stream = SummaryStream {
        app: app.clone(),
        caller: caller.clone(),
        changes: Arc::new(changes),
        seen: None,
        _permit: permit,
    };
    stream.changed().await?;
    let (pieces, waiting) = mpsc::channel(1);
    tokio::spawn(async move { stream.run(&pieces).await });
    Ok(Body::from_stream(Pieces::new(waiting)))
}

struct SummaryStream {
    app: App,
    caller: Caller,
    changes: Arc<Changes>,
    /// The versions that were compared last.
    seen: Option<Arc<Vec<TaskVersion>>>,
    _permit: StreamPermit,
}

/// Tasks that changed, and ids of those that are gone.
type Changed = (Vec<TaskVersion>, Vec<String>);

impl SummaryStream {
    /// Sends changes until the service stops, the client is gone or its token is refused.
    async fn run(mut self, pieces: &Sender<Bytes>) {
        let (app, id) = (self.app.clone(), Arc::clone(&self.changes.id));
        until_stopped(&app, &id, pieces, self.send(pieces)).await;
    }

    /// Sends changes. Returns the error that ends the stream; `None` if the caller has lost its
    /// rights or the client is gone.
    async fn send(&mut self, pieces: &Sender<Bytes>) -> Option<ApiError> {
        let every = if self.changes.columns.is_empty() { LOOK } else { LOOK_AT_STATES };
        let mut look = interval(every);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut keep_open = Instant::now() + KEEP_OPEN;
        loop {
            look.tick().await;
            if Instant::now() >= keep_open {
                keep_open = Instant::now() + KEEP_OPEN;
                self.is_still().then_some(())?;
                pieces.send(Bytes::from_static(sse::COMMENT)).await.ok()?;
            }
            let (changed, gone) = match self.changed().await {
                Ok(changed) => changed,
                Err(wrong) => return Some(wrong),
            };
            for part in gone.chunks(ROWS) {
                self.is_still().then_some(())?;
                let deleted = |id| sse::named("deleted", &json!({ "id": id }));
                let piece: Vec<u8> = part.iter().flat_map(deleted).collect();
                pieces.send(piece.into()).await.ok()?;
            }
            for part in changed.chunks(ROWS) {
                self.is_still().then_some(())?;
                let rows = match self.rows(part.to_vec()).await {
                    Ok(rows) => rows,
                    Err(wrong) => return Some(wrong),
                };
                let piece: Vec<u8> =
                    rows.iter().flat_map(|row| sse::named("summary", row)).collect();
                pieces.send(piece.into()).await.ok()?;
            }
        }
    }

    /// Returns true if the caller still has its rights.
    fn is_still(&self) -> bool {
        let app = &self.app;
        self.caller.is_still(&app.tokens, &app.sessions, app.now_us())
    }

    /// Returns what changed since the last call.
    async fn changed(&mut self) -> Result<Changed, ApiError> {
        let (app, changes) = (self.app.clone(), Arc::clone(&self.changes));
        let seen = self.seen.clone();
        let work = move |engine: &Engine| {
            let versions = app.summaries.versions(engine)?;
            let changed = match &seen {
                // Without a commit they are the same ones.
                Some(seen) if Arc::ptr_eq(seen, &versions) => Changed::default(),
                Some(seen) => compared(seen, &versions, &changes.shown),
                None => Changed::default(),
            };
            Ok((versions, changed))
        };
        let (versions, changed) = self.app.work(work).await?;
        self.seen = Some(versions);
        Ok(changed)
    }

    /// Returns the rows of tasks, but for those that were deleted.
    async fn rows(&self, tasks: Vec<TaskVersion>) -> Result<Vec<SummaryForm>, ApiError> {
        let app = self.app.clone();
        let work = move |engine: &Engine| {
            let mut rows = Vec::with_capacity(tasks.len());
            for task in tasks {
                if let Some(form) = app.summaries.form(engine, &task)? {
                    rows.push((task, form));
                }
            }
            Ok(rows)
        };
        let forms = self.app.long_work(self.caller.of_token(), work).await?;
        let mut rows = Vec::with_capacity(forms.len());
        for (task, form) in forms {
            let columns = columns::of(&self.app, &self.caller, &task, &self.changes.columns);
            rows.push(SummaryForm { columns: columns.await?, ..Arc::unwrap_or_clone(form) });
        }
        Ok(rows)
    }
}

/// Compares two lists of versions, both in the order of the tasks' numbers.
fn compared(before: &[TaskVersion], now: &[TaskVersion], shown: &Shown) -> Changed {
    let (mut changed, mut gone) = Changed::default();
    let (mut before, mut now) = (before.iter().peekable(), now.iter().peekable());
    loop {
        let order = match (before.peek(), now.peek()) {
            (Some(old), Some(new)) => old.no.cmp(&new.no),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return (changed, gone),
        };
        let old = before.next_if(|_| order.is_le()).filter(|task| shown.shows(task));
        let new = now.next_if(|_| order.is_ge()).filter(|task| shown.shows(task));
        match (old, new) {
            (Some(old), None) => gone.push(old.id.clone()),
            (Some(old), Some(new)) if old.version == new.version => {}
            (_, Some(new)) => changed.push(new.clone()),
            (None, None) => {}
        }
    }
}
