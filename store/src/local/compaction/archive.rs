//! Archive files without withdrawn content, and those whose small blocks are packed again. Each
//! new file is renamed over the old one. So at any moment a file either has the content or not, and
//! both are read alike.

use std::collections::VecDeque;

use milepost_codec::{LogBatches, Result, Seq, begin_log_batch};

use crate::liveness::{LiveSection, Liveness};
use crate::local::archive::from_index::Files;
use crate::local::archive::{ArchiveScan, Archived, Reader, rebuild};
use crate::projection::CompactionStep;

/// Filters all files of an archive. Those that stay as they are, but were written in haste, are
/// packed again.
pub(crate) fn filter(
    archive: &Files<'_>,
    live: &Liveness,
    report: &mut dyn FnMut(CompactionStep) -> Result<()>,
) -> Result<()> {
    let Files { dir, store, key } = *archive;
    let survey = ArchiveScan::take(dir, store, key)?;
    let all = survey.files.len() as u64;
    for (n, file) in (1..).zip(&survey.files) {
        if !live.is_everything() && holds_more(archive, live, file)? {
            rewrite(archive, live, file)?;
        } else {
            rebuild::repack(file, dir, store, key)?;
        }
        report(CompactionStep::Archive(n, all))?;
    }
    Ok(())
}

/// Returns `true` if a file holds content that is not live.
fn holds_more(archive: &Files<'_>, live: &Liveness, file: &Archived) -> Result<bool> {
    let mut reader = Reader::open(&file.path, archive.store, archive.key)?;
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

fn rewrite(archive: &Files<'_>, live: &Liveness, file: &Archived) -> Result<()> {
    let mut reader = Reader::open(&file.path, archive.store, archive.key)?;
    let mut rest: VecDeque<(Seq, Vec<u8>)> = VecDeque::new();
    let last = file.next - 1;
    let number = std::iter::once(file.number);
    archive.write(file.first, last, number, |seq, out| {
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
