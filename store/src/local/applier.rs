//! The applier: a background thread that moves commits from the tail into sled.
//!
//! A round takes a prefix of the tail, packs each log's extents into blocks, and writes blocks,
//! heads, index entries and the applied position in one sled batch. Then the prefix leaves the
//! tail. A journal segment is archived and recycled only when sled holds all of it and was synced.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use milepost_codec::{Error, ErrorKind, Result, Seq};

use crate::clock::Stopwatch;
use crate::files::FolderHandle;
use crate::index::keys;
use crate::local::index::blocks;
use crate::local::{Inner, archive};

/// The maximum bytes that a round takes from the tail.
pub(crate) const ROUND_BYTES: usize = 4 << 20;

/// The maximum index changes of a round, unless one commit has more: sled blocks readers while it
/// takes in a batch, 0.01 ms for each entry.
pub(crate) const ROUND_ENTRIES: usize = 512;

/// Bytes in the tail that start a round by themselves: more bytes fill blocks better.
pub(crate) const ROUND_DUE: usize = 2 << 20;

/// The idle time before free segments are removed.
const REST: Duration = Duration::from_secs(2);

/// A message to the applier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Look for work.
    Look,
    /// Apply everything up to this commit.
    Drain(Seq),
    /// Stop.
    Stop,
}

/// Runs until `Stop`. An error poisons the log: committed events are safe in the journal.
pub(crate) fn run(shared: &Arc<Inner>, wakes: &Receiver<Wake>) {
    let mut drain_to = 0;
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
        let done = catch_unwind(AssertUnwindSafe(|| work(shared, drain_to, rests)));
        let done =
            done.unwrap_or_else(|_| Err(Error::new(ErrorKind::Poisoned, "applying panicked")));
        // Damage found here is sled's: the only other files read are segments, which the next
        // opening checks anyway.
        if let Err(error) = shared.sled(done) {
            shared.poison(&error.at("applier"));
        }
        let _guard = shared.waiting.lock();
        shared.progress.notify_all();
    }
}

fn work(shared: &Arc<Inner>, drain_to: Seq, rests: bool) -> Result<()> {
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
            let tail = shared.tail.read();
            (tail.bytes(), tail.prefix(ROUND_BYTES, ROUND_ENTRIES))
        };
        let Some(until) = until else { break };
        // Writers wait when the backlog is full: half of it is due at once.
        let due = ROUND_DUE.min(shared.backlog_bytes / 2);
        if waiting < due && shared.applied() >= drain_to {
            break;
        }
        let started = Stopwatch::start();
        // Appending threads use the other processors.
        round(shared, until, 1)?;
        shared.meters.apply_us.record(started.us());
        release_segments(shared)?;
        // Writers and drains wait for the tail to shrink.
        let _guard = shared.waiting.lock();
        shared.progress.notify_all();
    }
    release_segments(shared)?;
    // A caller that drains expects the files of an idle store.
    if (rests || (drain_to > 0 && drain_to == shared.applied()))
        && let Err(error) = shared.segments.rest(&shared.layout.journal())
    {
        // The next opening removes a segment that stays.
        tracing::warn!("a free segment is not removed: {error}");
    }
    Ok(())
}

/// Applies the tail up to a commit, with blocks packed on `processors` threads.
pub(crate) fn round(shared: &Inner, until: Seq, processors: usize) -> Result<()> {
    let (logs, mut puts, check) = {
        let tail = shared.tail.read();
        let (logs, puts) = tail.up_to(until);
        (logs, puts, tail.check_of(until))
    };
    for brought in &logs {
        let end = shared.stored_head(brought.log)?.map(|head| head.head.next);
        let extents = &brought.extents;
        blocks::append(shared, brought.log, end, extents, processors, &mut puts)?;
        // The tail still has the heads of later commits; sled gets the head as of `until`.
        puts.push((keys::head(brought.log), Some(brought.head.encode())));
    }
    shared.apply(puts, until, check)?;
    {
        let mut tail = shared.tail.write();
        tail.release(until);
        shared.meters.lag(tail.commits(), tail.bytes());
    }
    shared.set_applied(until);
    Ok(())
}

/// Applies the whole tail.
pub(crate) fn all(shared: &Inner) -> Result<()> {
    loop {
        let until = shared.tail.read().prefix(ROUND_BYTES, usize::MAX);
        match until {
            Some(until) => round(shared, until, 1)?,
            None => return Ok(()),
        }
    }
}

/// Archives and recycles sealed segments that sled holds completely.
///
/// A segment that cannot be archived, for want of space or of file descriptors, stays in the
/// journal: nothing is lost, and a later call tries again.
fn release_segments(shared: &Inner) -> Result<()> {
    let mut folders = None;
    while !shared.segments.is_held() {
        let next = shared.segments.sealed.lock().front().cloned();
        let Some(sealed) = next.filter(|s| s.last <= shared.applied()) else { break };
        let (archive, journal) = match &folders {
            Some(opened) => opened,
            None => {
                shared.packs.sync()?;
                shared.kv.sync()?;
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
        match archive::write(archive, &sealed, shared.config.store, shared.key.as_ref()) {
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
