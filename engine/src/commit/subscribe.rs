//! Subscriptions: events as they are committed.
//!
//! A subscription is a position in the log and a signal that the log has grown; it queues nothing.
//! So a slow subscriber costs no memory and loses no events: it reads them from the log later. A
//! limit of lag is optional.

use std::time::Duration;

use milepost_codec::{Detail, Error, ErrorKind, Head, LogId, Offset, Result};
use milepost_replay::Event;
use milepost_store::sync::channel::RecvTimeoutError;

use crate::commit::committer::Watch;
use crate::history::catalog::Catalog;
use crate::history::events::Events;

/// Options of a subscription.
#[derive(Debug, Clone, Copy, Default)]
pub struct SubscribeOptions {
    max_lag: Option<u64>,
}

impl SubscribeOptions {
    /// Sets the maximum number of events that the subscription may be behind the head. Beyond it
    /// each call is an error until [`Subscription::skip_to`] or [`Subscription::catch_up`] is
    /// called. Default: no limit.
    #[must_use]
    pub fn max_lag(mut self, events: u64) -> Self {
        self.max_lag = Some(events);
        self
    }
}

/// Events of a lineage as they are committed, each once, in order.
#[derive(Debug)]
pub struct Subscription {
    catalog: Catalog,
    log: LogId,
    events: Events,
    watch: Watch,
    max_lag: Option<u64>,
    /// The offset up to which the subscription may read regardless of its lag.
    excused: Offset,
}

impl Subscription {
    pub(crate) fn new(
        catalog: Catalog,
        log: LogId,
        events: Events,
        watch: Watch,
        options: SubscribeOptions,
    ) -> Self {
        Self { catalog, log, events, watch, max_lag: options.max_lag, excused: 0 }
    }

    /// Returns the offset of the next event.
    pub fn position(&self) -> Offset {
        self.events.next_offset()
    }

    /// Returns the next event, if it is available.
    ///
    /// # Errors
    ///
    /// - `Unavailable`, with the head as [`Detail::Head`]: the subscription is too far behind.
    /// - `NotFound`: the task was deleted or the lineage dropped.
    /// - Errors of reading.
    pub fn try_next(&mut self) -> Result<Option<Event>> {
        self.events.renew()?;
        let head = self.catalog.head(self.log)?;
        self.check_lag(head)?;
        self.events.extend(head.next);
        self.events.next().transpose()
    }

    /// Waits for the next event.
    ///
    /// # Errors
    ///
    /// As [`Subscription::try_next`], and `Unavailable`: the store is closed.
    #[expect(clippy::should_implement_trait, reason = "it waits, and its errors do not end it")]
    pub fn next(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.try_next()? {
                return Ok(event);
            }
            if self.watch.recv().is_err() {
                return Err(Error::new(ErrorKind::Unavailable, "the store is closed"));
            }
        }
    }

    /// Waits for the next event, at most `timeout`.
    ///
    /// # Errors
    ///
    /// As [`Subscription::next`].
    pub fn next_timeout(&mut self, timeout: Duration) -> Result<Option<Event>> {
        if let Some(event) = self.try_next()? {
            return Ok(Some(event));
        }
        match self.watch.recv_timeout(timeout) {
            Ok(()) => self.try_next(),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(Error::new(ErrorKind::Unavailable, "the store is closed"))
            }
        }
    }

    /// Skips the events before `offset`.
    pub fn skip_to(&mut self, offset: Offset) {
        self.events.seek(offset);
    }

    /// Allows reading up to the current head regardless of the lag.
    pub fn catch_up(&mut self) -> Result<()> {
        self.excused = self.catalog.head(self.log)?.next;
        Ok(())
    }

    fn check_lag(&self, head: Head) -> Result<()> {
        let next = self.events.next_offset();
        let behind = head.next.saturating_sub(next);
        match self.max_lag {
            Some(max) if behind > max && next >= self.excused => Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "the subscriber at offset {next} is {behind} events behind the head at {}, \
                     more than {max}: catch up or skip",
                    head.next
                ),
            )
            .with_detail(Detail::Head(head))),
            _ => Ok(()),
        }
    }
}
