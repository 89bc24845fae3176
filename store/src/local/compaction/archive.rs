//! Archive files without withdrawn content, and those whose small blocks are packed again. Each
//! new file is renamed over the old one. So at any moment a file either has the content or not, and
//! both are read alike.

use std::collections::VecDeque;
use std::path::Path;

use milepost_codec::{LogBatches, Result, Seq, begin_log_batch};

use crate::liveness::{LiveSection, Liveness};
use crate::local::archive::from_index::Files;
use crate::local::archive::{ArchiveScan, Archived, Reader, rebuild};
use crate::local::inner::Inner;
use crate::projection::CompactionStep;

/// Filters all archive files. Those that stay as they are, but were written in haste, are packed
/// again.
pub(crate) fn filter(
    shared: &Inner,
    live: &Liveness,
    report: &mut dyn FnMut(CompactionStep) -> Result<()>,
) -> Result<()> {
    let dir = shared.layout.archive();
    let survey = ArchiveScan::take(&dir, shared.config.store, shared.key.as_ref())?;
    let all = survey.files.len() as u64;
    for (n, file) in (1..).zip(&survey.files) {
        if !live.is_everything() && holds_more(shared, live, file)? {
            rewrite(shared, live, file, &dir)?;
        } else {
            rebuild::repack(file, &dir, shared.config.store, shared.key.as_ref())?;
        }
        report(CompactionStep::Archive(n, all))?;
    }
    Ok(())
}

/// Returns `true` if a file holds content that is not live.
fn holds_more(shared: &Inner, live: &Liveness, file: &Archived) -> Result<bool> {
    let mut reader = Reader::open(&file.path, shared.config.store, shared.key.as_ref())?;
    while let Some(round) = reader.next_round()? {
        for (_, payload) in round.commits() {
            for group in LogBatches::new(&payload) {
                let group = group?;
                match live.part(group.log, group.first, &group.section)? {
                    LiveSection::Whole => {}
                    // A section whose events were erased earlier encodes to the same bytes.
                    LiveSection::Other(first, bytes)
                        if first == group.first && bytes == group.bytes => {}
                    _ => return Ok(true),
                }
            }
        }
    }
    Ok(false)
}

fn rewrite(shared: &Inner, live: &Liveness, file: &Archived, dir: &Path) -> Result<()> {
    let (store, key) = (shared.config.store, shared.key.as_ref());
    let mut reader = Reader::open(&file.path, store, key)?;
    let mut rest: VecDeque<(Seq, Vec<u8>)> = VecDeque::new();
    let files = Files { dir, store, key };
    let last = file.next - 1;
    let number = std::iter::once(file.number);
    files.write(file.first, last, number, |seq, out| {
        while rest.is_empty()
            && let Some(round) = reader.next_round()?
        {
            rest.extend(round.commits());
        }
        // A commit may have no log batches.
        if rest.front().is_none_or(|(next, _)| *next != seq) {
            return Ok(());
        }
        let Some((_, payload)) = rest.pop_front() else { return Ok(()) };
        for group in LogBatches::new(&payload) {
            let group = group?;
            match live.part(group.log, group.first, &group.section)? {
                LiveSection::Nothing => {}
                LiveSection::Whole => {
                    begin_log_batch(out, group.log, group.first);
                    out.extend_from_slice(group.bytes);
                }
                LiveSection::Other(first, bytes) => {
                    begin_log_batch(out, group.log, first);
                    out.extend_from_slice(&bytes);
                }
            }
        }
        Ok(())
    })?;
    Ok(())
}
