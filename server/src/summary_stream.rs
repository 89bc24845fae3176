//! Streams of summaries: a row for each task that changes, as server-sent events.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use milepost::Engine;
use milepost::ids::TaskNo;
use milepost::query::TaskVersion;
use milepost_api::SummaryForm;
use serde_json::json;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::app::{App, StreamPermit};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::sse;
use crate::streams::{KEEP_OPEN, Pieces};
use crate::summaries::Shown;

/// The time between two looks for changes: a task has at most four rows a second.
const LOOK: Duration = Duration::from_millis(250);

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
        sent: HashMap::new(),
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
    /// The version and the id of each task that the client knows.
    sent: HashMap<TaskNo, (u64, String)>,
    /// The versions that were compared last.
    seen: Option<Arc<Vec<TaskVersion>>>,
    _permit: StreamPermit,
}

/// Tasks that changed, and ids of those that are gone.
type Changed = (Vec<TaskVersion>, Vec<String>);

impl SummaryStream {
    /// Sends changes until the service stops, the client is gone or its token is refused.
    async fn run(mut self, pieces: &Sender<Bytes>) {
        let mut stop = self.app.stopped();
        let id = Arc::clone(&self.changes.id);
        let sent = async {
            if let Some(wrong) = self.send(pieces).await {
                let problem = serde_json::to_value(wrong.problem(&id)).unwrap_or_default();
                let _ = pieces.send(sse::problem(&problem)).await;
            }
        };
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => {}
            () = pieces.closed() => {}
            () = sent => {}
        }
    }

    /// Sends changes. Returns the error that ends the stream; `None` if the caller has lost its
    /// rights or the client is gone.
    async fn send(&mut self, pieces: &Sender<Bytes>) -> Option<ApiError> {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut keep_open = Instant::now() + KEEP_OPEN;
        loop {
            look.tick().await;
            if Instant::now() >= keep_open {
                keep_open = Instant::now() + KEEP_OPEN;
                let app = &self.app;
                if !self.caller.is_still(&app.tokens, &app.sessions, app.now_us()) {
                    return None;
                }
                pieces.send(Bytes::from_static(sse::COMMENT)).await.ok()?;
            }
            let (changed, gone) = match self.changed().await {
                Ok(changed) => changed,
                Err(wrong) => return Some(wrong),
            };
            for id in gone {
                pieces.send(sse::named("deleted", &json!({ "id": id }))).await.ok()?;
            }
            for part in changed.chunks(ROWS) {
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

    /// Returns what changed since the last call.
    async fn changed(&mut self) -> Result<Changed, ApiError> {
        let app = self.app.clone();
        let read = self.app.work(move |engine| Ok(app.summaries.versions(engine)?));
        let versions = read.await?;
        // Without a commit they are the same ones.
        if self.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &versions)) {
            return Ok(Changed::default());
        }
        self.seen = Some(Arc::clone(&versions));
        let changes = Arc::clone(&self.changes);
        let mut sent = std::mem::take(&mut self.sent);
        let work = move |_: &Engine| {
            let shown = || versions.iter().filter(|task| changes.shown.shows(task));
            let is_new = |task: &&TaskVersion| {
                sent.get(&task.no).is_none_or(|(version, _)| *version != task.version)
            };
            let changed: Vec<_> = shown().filter(is_new).cloned().collect();
            let mut now = HashMap::with_capacity(sent.len());
            for task in shown() {
                let id = sent.remove(&task.no).map_or_else(|| task.id.clone(), |(_, id)| id);
                now.insert(task.no, (task.version, id));
            }
            let gone = sent.into_values().map(|(_, id)| id).collect();
            Ok((now, (changed, gone)))
        };
        let (now, changed) = self.app.work(work).await?;
        self.sent = now;
        Ok(changed)
    }

    /// Returns the rows of tasks, but for those that were deleted.
    async fn rows(&self, tasks: Vec<TaskVersion>) -> Result<Vec<SummaryForm>, ApiError> {
        let (app, changes) = (self.app.clone(), Arc::clone(&self.changes));
        let work = move |engine: &Engine| {
            let mut rows = Vec::with_capacity(tasks.len());
            for task in &tasks {
                if let Some(form) = app.summaries.form(engine, task)? {
                    let columns = app.summaries.columns(engine, task, &changes.columns)?;
                    rows.push(SummaryForm { columns, ..Arc::unwrap_or_clone(form) });
                }
            }
            Ok(rows)
        };
        self.app.long_work(self.caller.of_token(), work).await
    }
}
