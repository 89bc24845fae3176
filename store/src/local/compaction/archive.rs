//! Archive files without withdrawn content. Each new file is renamed over the old one. So at any
//! moment a file either has the content or not, and both are read alike.

use std::path::Path;

use milepost_codec::{Error, LogBatches, Result, begin_log_batch};

use crate::liveness::{LiveSection, Liveness};
use crate::local::archive::from_index::Files;
use crate::local::archive::{ArchiveScan, Archived, Reader};
use crate::local::inner::Inner;
use crate::local::recovery::replay::frames;
use crate::projection::CompactionStep;

/// Filters all archive files.
pub(crate) fn filter(
    shared: &Inner,
    live: &Liveness,
    report: &mut dyn FnMut(CompactionStep) -> Result<()>,
) -> Result<()> {
    let dir = shared.layout.archive();
    let survey = ArchiveScan::take(&dir, shared.config.store)?;
    let all = survey.files.len() as u64;
    for (n, file) in (1..).zip(&survey.files) {
        if !live.is_everything() && holds_more(shared, live, file)? {
            rewrite(shared, live, file, &dir)?;
        }
        report(CompactionStep::Archive(n, all))?;
    }
    Ok(())
}

/// Returns `true` if a file holds content that is not live.
fn holds_more(shared: &Inner, live: &Liveness, file: &Archived) -> Result<bool> {
    let mut reader = Reader::open(&file.path, shared.config.store, shared.key.as_ref())?;
    while let Some(block) = reader.next_block()? {
        for (_, payload) in frames(&block) {
            for group in LogBatches::new(payload) {
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
    let mut block: Vec<u8> = Vec::new();
    let mut at = 0;
    let files = Files { dir, store, key };
    let last = file.next - 1;
    let number = std::iter::once(file.number);
    let missing = |seq| {
        let place = file.path.display().to_string();
        Error::corrupt(place, format!("commit {seq}"), "the end of the file")
    };
    files.write(file.first, last, number, |seq, out| {
        if at >= block.len() {
            block = reader.next_block()?.ok_or_else(|| missing(seq))?;
            at = 0;
        }
        let found = block.get(at..).and_then(|rest| frames(rest).next());
        let (frame, payload) = found.ok_or_else(|| missing(seq))?;
        at += frame.stride() as usize;
        for group in LogBatches::new(payload) {
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
