//! Checking what only this log knows: archive files, journal segments, packs.

use milepost_codec::{Error, Result, Seq};

use super::archive::Reader;
use super::survey::Segment;
use super::{Shared, layout, packs};
use crate::verify::StorageCheck;

/// Reads and checks every file but sled's, whose blocks are checked with the chains.
pub(crate) fn check(shared: &Shared, storage: &mut StorageCheck) -> Result<()> {
    let sealed = shared.shelf.sealed.lock().clone();
    let (store, key) = (shared.config.store, shared.key.as_ref());
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
        let found = Segment::survey(&segment.path, store, key);
        let checked = found.and_then(|(found, _)| {
            found.sound()?;
            match found.last() {
                Some(last) if last == segment.last => Ok(()),
                last => Err(Error::corrupt(
                    segment.path.display().to_string(),
                    format!("commits up to {}", segment.last),
                    format!("commits up to {last:?}"),
                )),
            }
        });
        match checked {
            Ok(()) => storage.frames += (segment.last + 1).saturating_sub(segment.header.first),
            // The archiver may have taken it away meanwhile.
            Err(error) if segment.path.exists() => storage.fault(&error),
            Err(_) => {}
        }
    }
    packs::check_all(&shared.layout.packs(), &mut |chunk| match chunk {
        Ok(_) => storage.chunks += 1,
        Err(error) => storage.fault(&error),
    })
}

fn check_archive(shared: &Shared, path: &std::path::Path, next: Seq) -> Result<Seq> {
    let mut reader = Reader::open(path, shared.config.store, shared.key.as_ref())?;
    if reader.header.first != next {
        let expected = format!("commits from {next}");
        let found = format!("commits from {}", reader.header.first);
        return Err(Error::corrupt(path.display().to_string(), expected, found));
    }
    while reader.next_block()?.is_some() {}
    Ok(reader.position().0)
}
