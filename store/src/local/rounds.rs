//! Rounds: a prefix of the tail becomes blocks, entries of sled and a new applied position. The
//! applier runs them, and so do a replay, a repair and a compaction on an index of their own.

use milepost_codec::{Result, Seq};

use crate::index::keys;
use crate::local::index::blocks;
use crate::local::index::local_index::LocalIndex;
use crate::tail::LogRuns;

/// The maximum bytes that a round takes from the tail.
pub(crate) const ROUND_BYTES: usize = 4 << 20;

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
pub(crate) fn round(index: &LocalIndex, until: Seq, processors: usize) -> Result<()> {
    apply(index, until, processors)?;
    release(index, until);
    Ok(())
}

/// Puts the tail up to a commit into sled. The tail keeps it.
pub(crate) fn apply(index: &LocalIndex, until: Seq, processors: usize) -> Result<Applied> {
    let (logs, mut puts, check, counts) = {
        let tail = index.tail.read();
        let (logs, puts) = tail.up_to(until);
        (logs, puts, tail.check_of(until), tail.counts(until))
    };
    let (kv, key) = (&index.kv, index.key.as_ref());
    let blocks = blocks::append(kv, key, &logs, processors, &mut puts)?;
    for brought in &logs {
        // The tail still has the heads of later commits; sled gets the head as of `until`.
        puts.push((keys::head(brought.log), Some(brought.head.encode())));
    }
    index.apply(puts, until, check)?;
    Ok(Applied { counts, logs, blocks, check })
}

/// Releases the commits that sled holds from the tail.
pub(crate) fn release(index: &LocalIndex, until: Seq) {
    {
        let mut tail = index.tail.write();
        tail.release(until);
        index.meters.lag(tail.commits(), tail.bytes());
    }
    index.set_applied(until);
}

/// Applies the whole tail.
pub(crate) fn all(index: &LocalIndex) -> Result<()> {
    loop {
        let until = index.tail.read().prefix(ROUND_BYTES, usize::MAX);
        match until {
            Some(until) => round(index, until, 1)?,
            None => return Ok(()),
        }
    }
}
