//! Events of a lineage: a page of them, or all.

use std::collections::VecDeque;

use milepost_forms::{Big, EventForm, RangeForm};

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::unfold::{Step, Unfolded, stream};

/// Which events are read.
#[derive(Debug, Clone, Default)]
pub struct EventQuery {
    /// From this offset on; else from the first that is there.
    pub from: Option<u64>,
    /// Up to this offset, which is no part of it; else to the head.
    pub to: Option<u64>,
    /// At most so many on a page: 1 to 1,000, 100 unless given.
    pub limit: Option<u32>,
    /// Of this lineage; else of the one that the task goes on with.
    pub lineage: Option<u32>,
}

/// All events of a lineage that were asked for, read page by page.
#[derive(Debug)]
pub struct Events {
    stream: Unfolded<Pages, Result<EventForm>>,
}

stream!(Events, EventForm);

/// Where the reading of pages has come to.
struct Pages {
    client: Client,
    task: String,
    query: EventQuery,
    read: VecDeque<EventForm>,
    is_last: bool,
}

impl Client {
    /// A page of events, those before the lineage's fork included.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task or lineage, or retention took away what is asked for.
    /// `Invalid`: it is past the head.
    pub async fn events(&self, task: &str, query: EventQuery) -> Result<RangeForm> {
        let ask = self.get(["v1", "tasks", task, "events"])?;
        let ask = ask.query("from", query.from).query("to", query.to);
        let ask = ask.query("limit", query.limit);
        ask.query("lineage", query.lineage).read().await
    }

    /// All events, page by page as they are asked for, to the head there is at the end. They are of
    /// one lineage: where none is given, of the one that the task goes on with at the beginning,
    /// also where it goes back meanwhile. [`Client::follow`] goes on behind the head, and with the
    /// task.
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
            let task = self.client.task(&self.task).await?;
            self.query.lineage = Some(task.active.0);
        }
        let page = self.client.events(&self.task, self.query.clone()).await?;
        self.read = page.items.into();
        match page.next {
            None => self.is_last = true,
            // A page that leads nowhere would be asked for all the time.
            Some(Big(next)) if Some(next) <= self.query.from => {
                let text = format!("the page that begins at {next} goes on with itself");
                return Err(Error::new(ErrorKind::Answer, "events", text));
            }
            Some(Big(next)) => self.query.from = Some(next),
        }
        Ok(())
    }
}
