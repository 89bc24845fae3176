//! Read-ahead of extents.
//!
//! Half of the time of a read is spent on finding and unpacking blocks, the other half on decoding
//! events. A sequential reader gets a thread that does the first half.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, bounded};
use milepost_codec::{LogId, Offset, Result};
use milepost_store::threads;
use milepost_store::{Extent, Log};

/// Consecutive extents after which a reader counts as sequential and gets a thread. The thread
/// costs more than a few extents.
const LONG: u32 = 16;

/// Maximum number of extents that wait for the reader.
const WAITING: usize = 4;

/// Threads that read ahead in this process. More than the maximum would find no free processor.
static THREADS: AtomicUsize = AtomicUsize::new(0);
const THREADS_MAX: usize = 4;

/// Read-ahead state of one reader.
#[derive(Default)]
pub(super) struct Ahead {
    /// The end of the last extent.
    end: Offset,
    /// The number of consecutive extents up to `end`.
    run: u32,
    reader: Option<Reader>,
}

impl Ahead {
    /// Returns the extent that holds an offset; `None` after the end of the log. The caller reads
    /// no offset from `until` on.
    pub(super) fn extent(
        &mut self,
        log: &Arc<dyn Log>,
        id: LogId,
        at: Offset,
        until: Offset,
    ) -> Result<Option<Extent>> {
        if at != self.end {
            (self.run, self.reader) = (0, None);
        }
        let waiting = self.reader.as_ref().and_then(Reader::next);
        let read = match waiting {
            Some(read) => read,
            // The thread has ended, or was not started.
            None => {
                self.reader = None;
                log.extent(id, at)
            }
        };
        if let Ok(Some(extent)) = &read {
            self.end = extent.end();
            self.run = self.run.saturating_add(1);
            if self.run >= LONG && self.reader.is_none() && self.end < until {
                self.reader = Reader::begin(log, id, self.end, until);
                // If no thread is available, the next attempt is `LONG` extents later.
                self.run = 0;
            }
        }
        read
    }
}

/// A thread that reads ahead.
struct Reader {
    log: Arc<dyn Log>,
    extents: Option<Receiver<Result<Option<Extent>>>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts a thread at an offset, if one is available.
    fn begin(log: &Arc<dyn Log>, id: LogId, from: Offset, until: Offset) -> Option<Self> {
        let place = Slot::take()?;
        let (owned, log) = (Arc::clone(log), Arc::clone(log));
        let (sender, extents) = bounded(WAITING);
        let work = move || {
            let (mut at, _place) = (from, place);
            while at < until {
                let read = log.extent(id, at);
                let end = match &read {
                    Ok(Some(extent)) => Some(extent.end()),
                    _ => None,
                };
                // Ends after the reader, at the end of the log, and after an error.
                let heard = sender.send(read).is_ok();
                match end.filter(|_| heard) {
                    Some(end) => at = end,
                    None => return,
                }
            }
        };
        let thread = threads::start("readahead", work).ok()?;
        Some(Self { log: owned, extents: Some(extents), thread: Some(thread) })
    }

    /// Returns the next extent; `None` after the thread has ended.
    fn next(&self) -> Option<Result<Option<Extent>>> {
        self.extents.as_ref()?.recv().ok()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // The thread may be blocked on the channel. It holds the log, so it is joined.
        self.extents = None;
        // A forked child process has no such thread.
        let thread = self.thread.take();
        if let Some(thread) = thread.filter(|_| !self.log.owner().is_elsewhere()) {
            // The panic hook has reported a panic of the thread, which ended without an extent.
            let _ = thread.join();
        }
    }
}

/// Permit for one read-ahead thread.
struct Slot;

impl Slot {
    fn take() -> Option<Self> {
        let more = |taken: usize| (taken < THREADS_MAX).then_some(taken + 1);
        let taken = THREADS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.ok().map(|_| Self)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        THREADS.fetch_sub(1, Ordering::Relaxed);
    }
}
