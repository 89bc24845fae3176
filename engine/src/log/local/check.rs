//! Checking what only this log knows: archive files, journal segments, packs.

use milepost_codec::{Error, Result, Seq};

use super::scan::Scanned;
use super::{Shared, archive, layout, packs};
use crate::verify::StorageCheck;

/// Reads and checks every file but sled's, whose blocks are checked with the chains.
pub(crate) fn check(shared: &Shared, storage: &mut StorageCheck) -> Result<()> {
    let sealed = shared.shelf.sealed.lock().clone();
    let mut next: Seq = 1;
    for (_, path) in layout::numbered(&shared.layout.archive(), "mpa")? {
        match check_archive(shared, &path, next) {
            Ok(end) => {
                storage.frames += end.saturating_sub(next);
                next = end;
            }
            Err(error) => storage.fault(&error),
        }
    }
    for segment in sealed.iter().filter(|s| s.header.first >= next) {
        // The active segment is checked at open; a finished one may have been hit since.
        match Scanned::read(&segment.path, shared.config.store) {
            Ok(scanned) if scanned.last == segment.last => {
                storage.frames += (segment.last + 1).saturating_sub(segment.header.first);
            }
            Ok(scanned) => storage.fault(&Error::corrupt(
                segment.path.display().to_string(),
                format!("commits up to {}", segment.last),
                format!("commits up to {}", scanned.last),
            )),
            Err(error) => {
                // The archiver may have taken it away meanwhile.
                if segment.path.exists() {
                    storage.fault(&error);
                }
            }
        }
    }
    packs::check_all(&shared.layout.packs(), &mut |chunk| match chunk {
        Ok(_) => storage.chunks += 1,
        Err(error) => storage.fault(&error),
    })
}

fn check_archive(shared: &Shared, path: &std::path::Path, next: Seq) -> Result<Seq> {
    let mut reader = archive::Reader::open(path, shared.config.store)?;
    if reader.header.0.first != next {
        let expected = format!("commits from {next}");
        let found = format!("commits from {}", reader.header.0.first);
        return Err(Error::corrupt(path.display().to_string(), expected, found));
    }
    while reader.next_block()?.is_some() {}
    Ok(reader.position().0)
}
