//! The applier: a background thread that moves commits from the tail into sled.
//!
//! A round takes a prefix of the tail, packs the extents of its logs into blocks, writes these, and
//! then their locations, heads, index entries and the applied position in one sled batch. Then the
//! prefix leaves the tail, and goes to the archive. A journal segment is archived and recycled only
//! when sled holds all of it and was synced.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use milepost_codec::{Error, ErrorKind, Result, Seq};
use parking_lot::Mutex;

use crate::clock::Stopwatch;
use crate::files::FolderHandle;
use crate::local::archive;
use crate::local::archive::begun::BegunArchive;
use crate::local::inner::Inner;
use crate::local::rounds::{self, ROUND_BYTES};
use crate::threads;

/// The maximum index changes of a round, unless one commit has more: sled blocks readers while it
/// takes in a batch, 0.01 ms for each entry.
const ROUND_ENTRIES: usize = 512;

/// Bytes in the tail that start a round by themselves: more bytes fill blocks better.
pub(crate) const ROUND_DUE: usize = 2 << 20;

/// The idle time before free segments are removed.
const REST: Duration = Duration::from_secs(2);

/// The time after which a waiting thread wakes the applier again.
const WAKE_EVERY: Duration = Duration::from_millis(100);

/// A message to the applier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wake {
    /// Look for work.
    Look,
    /// Apply everything up to this commit.
    Drain(Seq),
    /// Stop.
    Stop,
}

/// The thread of the applier: ways to wake it, and to wait for it.
pub(crate) struct Applier {
    wakes: Sender<Wake>,
    /// `None` once it was stopped, and in a store that is opened for reading only.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Applier {
    /// Starts the thread, which looks for work.
    pub(crate) fn start(shared: &Arc<Inner>) -> Result<Self> {
        let (wakes, woken) = crossbeam_channel::unbounded();
        let thread = {
            let shared = Arc::clone(shared);
            threads::start("applier", move || run(&shared, &woken))?
        };
        let applier = Self { wakes, thread: Mutex::new(Some(thread)) };
        applier.look();
        Ok(applier)
    }

    /// Returns the applier of a store that is opened for reading only.
    pub(crate) fn none() -> Self {
        let (wakes, _) = crossbeam_channel::unbounded();
        Self { wakes, thread: Mutex::default() }
    }

    /// Lets the thread look for work.
    pub(crate) fn look(&self) {
        let _ = self.wakes.send(Wake::Look);
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        let _ = self.wakes.send(Wake::Stop);
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }

    /// Waits while the tail exceeds the backlog limit.
    pub(crate) fn wait_for_room(&self, shared: &Inner) -> Result<()> {
        let index = &shared.index;
        if index.tail.read().bytes() <= index.backlog_bytes {
            return Ok(());
        }
        self.look();
        let mut guard = shared.waiting.lock();
        while index.tail.read().bytes() > index.backlog_bytes {
            shared.check_poison()?;
            shared.progress.wait(&mut guard);
        }
        Ok(())
    }

    /// Waits until all commits made so far are applied.
    pub(crate) fn drain(&self, shared: &Inner) -> Result<()> {
        shared.owner.check()?;
        let until = shared.seq();
        let _ = self.wakes.send(Wake::Drain(until));
        let mut guard = shared.waiting.lock();
        while shared.index.applied() < until {
            shared.check_poison()?;
            if shared.progress.wait_for(&mut guard, WAKE_EVERY).timed_out() {
                let _ = self.wakes.send(Wake::Drain(until));
            }
        }
        Ok(())
    }

    /// Waits until all segments finished so far are applied and archived, but not for segments that
    /// a busy writer finishes later.
    pub(crate) fn archive_finished(&self, shared: &Inner) -> Result<()> {
        let until = shared.segments.sealed.lock().back().map(|sealed| sealed.last);
        self.drain(shared)?;
        drop(shared.segments.retry_archiving());
        self.look();
        let waits = || {
            let sealed = shared.segments.sealed.lock();
            sealed.front().is_some_and(|first| Some(first.last) <= until)
        };
        let mut guard = shared.waiting.lock();
        while waits() {
            if let Some(error) = shared.poisoned().or_else(|| shared.segments.retry_archiving()) {
                return Err(error);
            }
            if shared.progress.wait_for(&mut guard, WAKE_EVERY).timed_out() {
                self.look();
            }
        }
        Ok(())
    }
}

/// Runs until `Stop`. An error poisons the log: committed events are safe in the journal.
fn run(shared: &Arc<Inner>, wakes: &Receiver<Wake>) {
    let (mut drain_to, processors) = (0, threads::processors());
    let index = &shared.index;
    let mut begun = BegunArchive::of(&shared.layout.archive(), index.key, index.applied());
    loop {
        let patience = match shared.segments.has_too_many() || shared.segments.is_held() {
            true => REST,
            false => Duration::from_secs(3600),
        };
        let mut rests = false;
        let wake = match wakes.recv_timeout(patience) {
            Ok(wake) => wake,
            Err(RecvTimeoutError::Timeout) => {
                rests = true;
                Wake::Look
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        match wake {
            Wake::Drain(to) => {
                drain_to = drain_to.max(to);
                drop(shared.segments.retry_archiving());
            }
            Wake::Look if rests => drop(shared.segments.retry_archiving()),
            Wake::Look => {}
            Wake::Stop => {
                // The next opening removes a segment that stays.
                let _ = shared.segments.rest(&shared.layout.journal());
                return;
            }
        }
        // A panic poisons too, which notifies threads that wait for the tail to shrink.
        let done = catch_unwind(AssertUnwindSafe(|| {
            work(shared, &mut begun, processors, drain_to, rests)
        }));
        let done =
            done.unwrap_or_else(|_| Err(Error::new(ErrorKind::Poisoned, "applying panicked")));
        // Damage found here is sled's: the only other files read are segments, which the next
        // opening checks anyway.
        if let Err(error) = shared.sled(done) {
            shared.poison(&error.at("applier"));
        }
        notify(shared);
    }
}

fn work(
    shared: &Arc<Inner>,
    begun: &mut BegunArchive,
    processors: usize,
    drain_to: Seq,
    rests: bool,
) -> Result<()> {
    if shared.poisoned().is_some() {
        return Ok(());
    }
    loop {
        if let Some(size) = shared.journal_wants_spare()
            && let Err(error) = shared.segments.ensure_spare(&shared.layout.journal(), size)
        {
            // The appending thread creates one, or its append is refused.
            tracing::warn!("no free segment is made ahead: {error}");
        }
        let (waiting, until) = {
            let tail = shared.index.tail.read();
            (tail.bytes(), tail.prefix(ROUND_BYTES, ROUND_ENTRIES))
        };
        let Some(until) = until else { break };
        // Writers wait when the backlog is full: half of it is due at once.
        let due = ROUND_DUE.min(shared.index.backlog_bytes / 2);
        if waiting < due && shared.index.applied() >= drain_to {
            break;
        }
        // Archive files end where segments end, and consist of whole rounds.
        let until =
            until.min(shared.segments.sealed_after(shared.index.applied()).unwrap_or(until));
        let started = Stopwatch::start();
        let in_haste = waiting > ROUND_BYTES;
        // Appending threads use the other processors, unless they wait for this one.
        let round = rounds::apply(&shared.index, until, if in_haste { processors } else { 1 })?;
        shared.meters.apply_us.record(started.us());
        if let Err(error) = shared.index.packs.copy() {
            // The segment is not released before.
            tracing::warn!("packs are copied later: {error}");
        }
        rounds::release(&shared.index, until);
        notify(shared);
        begun.add(&round, in_haste);
        drop(round);
        release_segments(shared, begun)?;
        notify(shared);
    }
    release_segments(shared, begun)?;
    // A caller that drains expects the files of an idle store.
    if (rests || (drain_to > 0 && drain_to == shared.index.applied()))
        && let Err(error) = shared.segments.rest(&shared.layout.journal())
    {
        // The next opening removes a segment that stays.
        tracing::warn!("a free segment is not removed: {error}");
    }
    Ok(())
}

/// Wakes writers and drains, which wait for the tail to shrink.
fn notify(shared: &Inner) {
    let _guard = shared.waiting.lock();
    shared.progress.notify_all();
}

/// Archives and recycles sealed segments that sled holds completely.
///
/// A segment that cannot be archived, for want of space or of file descriptors, stays in the
/// journal: nothing is lost, and a later call tries again.
fn release_segments(shared: &Inner, begun: &mut BegunArchive) -> Result<()> {
    let mut folders = None;
    while !shared.segments.is_held() {
        let next = shared.segments.sealed.lock().front().cloned();
        let Some(sealed) = next.filter(|s| s.last <= shared.index.applied()) else { break };
        let (archive, journal) = match &folders {
            Some(opened) => opened,
            None => {
                shared.index.packs.sync()?;
                shared.index.kv.sync()?;
                if let Err(error) = shared.index.packs.sync_copies() {
                    shared.segments.record_failure(error);
                    break;
                }
                let archive = FolderHandle::open(&shared.layout.archive());
                let opened =
                    archive.and_then(|a| Ok((a, FolderHandle::open(&shared.layout.journal())?)));
                match opened {
                    Ok(opened) => folders.insert(opened),
                    Err(error) if error.kind() == ErrorKind::Unavailable => {
                        shared.segments.record_failure(error);
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        let started = Stopwatch::start();
        match begun.finish(archive, &sealed, shared.config.store) {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                shared.meters.archive_us.record(started.us());
                shared.meters.archive_files.add(1);
                shared.meters.archive_bytes.add(bytes);
            }
            // The sync of the folder failed if the file has its name.
            Err(error)
                if error.kind() == ErrorKind::Unavailable
                    && !archive::path(archive.path(), &sealed.header).exists() =>
            {
                shared.segments.record_failure(error);
                break;
            }
            Err(error) => return Err(error),
        }
        shared.segments.sealed.lock().pop_front();
        match shared.segments.recycle(journal, &sealed) {
            // The file was removed by another process; it is archived anyway.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}
