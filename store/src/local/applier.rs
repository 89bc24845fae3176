//! The applier: a background thread that moves commits from the tail into sled.
//!
//! A round takes a prefix of the tail, packs the extents of its logs into blocks, writes these, and
//! then their locations, heads, index entries and the applied position in one sled batch. Then the
//! prefix leaves the tail, and goes to the archive. A journal segment is archived and recycled only
//! when sled holds all of it and was synced.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use milepost_codec::{Error, ErrorKind, Result, Seq};

use crate::clock::Stopwatch;
use crate::files::FolderHandle;
use crate::index::keys;
use crate::local::archive::begun::BegunArchive;
use crate::local::index::blocks;
use crate::local::{Inner, archive};
use crate::tail::LogRuns;
use crate::threads;

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
    let (mut drain_to, processors) = (0, threads::processors());
    let mut begun = BegunArchive::of(shared);
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
            let tail = shared.tail.read();
            (tail.bytes(), tail.prefix(ROUND_BYTES, ROUND_ENTRIES))
        };
        let Some(until) = until else { break };
        // Writers wait when the backlog is full: half of it is due at once.
        let due = ROUND_DUE.min(shared.backlog_bytes / 2);
        if waiting < due && shared.applied() >= drain_to {
            break;
        }
        // Archive files end where segments end, and consist of whole rounds.
        let until = until.min(shared.segments.sealed_after(shared.applied()).unwrap_or(until));
        let started = Stopwatch::start();
        let in_haste = waiting > ROUND_BYTES;
        // Appending threads use the other processors, unless they wait for this one.
        let round = apply(shared, until, if in_haste { processors } else { 1 })?;
        shared.meters.apply_us.record(started.us());
        if let Err(error) = shared.packs.copy() {
            // The segment is not released before.
            tracing::warn!("packs are copied later: {error}");
        }
        release(shared, until);
        notify(shared);
        begun.add(shared, &round, in_haste);
        drop(round);
        release_segments(shared, begun)?;
        notify(shared);
    }
    release_segments(shared, begun)?;
    // A caller that drains expects the files of an idle store.
    if (rests || (drain_to > 0 && drain_to == shared.applied()))
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

/// The commits of a round, which sled holds now.
pub(crate) struct Applied {
    /// The first commit, and the number of log batches of each; `None` if some are not known.
    pub(crate) counts: Option<(Seq, Vec<u64>)>,
    /// The content of the commits by log.
    pub(crate) logs: Vec<LogRuns>,
    /// The same, packed.
    pub(crate) blocks: Vec<Vec<u8>>,
    /// The check of the last commit's frame.
    pub(crate) check: [u8; 16],
}

/// Applies the tail up to a commit, with blocks packed on `processors` threads.
pub(crate) fn round(shared: &Inner, until: Seq, processors: usize) -> Result<()> {
    apply(shared, until, processors)?;
    release(shared, until);
    Ok(())
}

/// Puts the tail up to a commit into sled. The tail keeps it.
fn apply(shared: &Inner, until: Seq, processors: usize) -> Result<Applied> {
    let (logs, mut puts, check, counts) = {
        let tail = shared.tail.read();
        let (logs, puts) = tail.up_to(until);
        (logs, puts, tail.check_of(until), tail.counts(until))
    };
    let blocks = blocks::append(shared, &logs, processors, &mut puts)?;
    for brought in &logs {
        // The tail still has the heads of later commits; sled gets the head as of `until`.
        puts.push((keys::head(brought.log), Some(brought.head.encode())));
    }
    shared.apply(puts, until, check)?;
    Ok(Applied { counts, logs, blocks, check })
}

/// Releases the commits that sled holds from the tail.
fn release(shared: &Inner, until: Seq) {
    {
        let mut tail = shared.tail.write();
        tail.release(until);
        shared.meters.lag(tail.commits(), tail.bytes());
    }
    shared.set_applied(until);
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
fn release_segments(shared: &Inner, begun: &mut BegunArchive) -> Result<()> {
    let mut folders = None;
    while !shared.segments.is_held() {
        let next = shared.segments.sealed.lock().front().cloned();
        let Some(sealed) = next.filter(|s| s.last <= shared.applied()) else { break };
        let (archive, journal) = match &folders {
            Some(opened) => opened,
            None => {
                shared.packs.sync()?;
                shared.kv.sync()?;
                if let Err(error) = shared.packs.sync_copies() {
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
        match begun.finish(archive, &sealed, shared.config.store, shared.key.as_ref()) {
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
