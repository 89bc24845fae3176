//! Events of a lineage: one page, or all.

use std::collections::VecDeque;

use milepost_api::calls::Task;
use milepost_api::{Big, EventForm, RangeForm};

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::unfold::{Step, Unfolded, stream};

/// The range of a read.
#[derive(Debug, Clone, Default)]
pub struct EventQuery {
    /// The first offset. Default: the first readable one.
    pub from: Option<u64>,
    /// The end offset, exclusive. Default: the head.
    pub to: Option<u64>,
    /// The page size: 1 to 1,000, default 100.
    pub limit: Option<u32>,
    /// The lineage. Default: the active one.
    pub lineage: Option<u32>,
    /// The kinds of the events, as `message`. Default: all.
    pub kinds: Vec<String>,
    /// The iteration of the events: the one of the state after an event. Default: all.
    pub iteration: Option<u64>,
    /// Cuts texts of the bodies that are longer than this many bytes, 256 at least: see
    /// [`cut_texts`](milepost_api::cut_texts). Default: texts are whole.
    pub cut: Option<usize>,
}

/// All events of a range, read page by page.
#[derive(Debug)]
pub struct Events {
    stream: Unfolded<Pages, Result<EventForm>>,
}

stream!(Events, EventForm);

/// The position of a read over pages.
struct Pages {
    client: Client,
    task: String,
    query: EventQuery,
    read: VecDeque<EventForm>,
    is_last: bool,
}

impl Client {
    /// Returns a page of events, including those before the lineage's fork. With kinds or an
    /// iteration a page may have few events, or none, and still a next one.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task or lineage, or retention removed the events. `Invalid`: `from` is
    /// past the head, or no such kind.
    pub async fn events(&self, task: &str, query: EventQuery) -> Result<RangeForm> {
        let request = self.get(["v1", "tasks", task, "events"])?;
        let request = request.query("from", query.from).query("to", query.to);
        let request = request.query("limit", query.limit);
        let request = request.query("lineage", query.lineage);
        let kinds = Some(query.kinds.join(",")).filter(|kinds| !kinds.is_empty());
        let request = request.query("kind", kinds).query("iteration", query.iteration);
        request.query("cut", query.cut).read().await
    }

    /// Returns a stream of all events up to the head, which loads pages as needed. All events are
    /// of one lineage: the given one, or the one that is active at the first read, even after a
    /// restore. [`Client::follow`] continues past the head and follows restores.
    pub fn all_events(&self, task: &str, query: EventQuery) -> Events {
        let pages = Pages {
            client: self.clone(),
            task: task.to_owned(),
            query,
            read: VecDeque::new(),
            is_last: false,
        };
        Events { stream: Unfolded::new(pages, next) }
    }
}

fn next(pages: Pages) -> Step<Pages, Result<EventForm>> {
    Box::pin(pages.next())
}

impl Pages {
    async fn next(mut self) -> (Option<Result<EventForm>>, Option<Self>) {
        while self.read.is_empty() {
            if self.is_last {
                return (None, None);
            }
            if let Err(error) = self.page().await {
                return (Some(Err(error)), None);
            }
        }
        (self.read.pop_front().map(Ok), Some(self))
    }

    async fn page(&mut self) -> Result<()> {
        if self.query.lineage.is_none() {
            let task = self.client.call(&Task::new(&self.task)).await?;
            self.query.lineage = Some(task.active.0);
        }
        let page = self.client.events(&self.task, self.query.clone()).await?;
        self.read = page.items.into();
        match page.next {
            None => self.is_last = true,
            // A page that does not advance would be requested forever.
            Some(Big(next)) if Some(next) <= self.query.from => {
                let text = format!("the page that begins at {next} continues with itself");
                return Err(Error::new(ErrorKind::Answer, "events", text));
            }
            Some(Big(next)) => self.query.from = Some(next),
        }
        Ok(())
    }
}
