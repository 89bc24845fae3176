//! Checking what only this log knows: archive files, journal segments, packs.

use std::path::Path;

use milepost_codec::{ChunkId, Error, ErrorKind, Result, Seq};

use super::Shared;
use super::archive::{ArchiveSurvey, Reader};
use super::packs::{self, Place};
use super::replay::frames;
use super::survey::{Segment, payload};
use crate::files;
use crate::index::keys::{self, Kind};
use crate::verify::StorageCheck;

/// Reads and checks every file but sled's, whose blocks are checked with the chains.
pub(crate) fn check(shared: &Shared, storage: &mut StorageCheck) -> Result<()> {
    let mut next: Seq = 1;
    let mut first_look = true;
    // A segment may be archived while it is looked for: then it is in the archive.
    loop {
        let before = next;
        next = check_archive(shared, storage, next, first_look)?;
        next = check_journal(shared, storage, next, first_look)?;
        first_look = false;
        if next == before || next > storage.until {
            break;
        }
    }
    if next <= storage.until {
        let expected = format!("commits up to {}", storage.until);
        let found = format!("commits up to {}", next - 1);
        storage.fault(&Error::corrupt("archive and journal", expected, found));
    }
    check_packs(shared, storage)
}

/// Reads every chunk that the index names.
fn check_packs(shared: &Shared, storage: &mut StorageCheck) -> Result<()> {
    let dir = shared.layout.packs();
    let last = shared.packs.end().pack;
    for pack in 1..=last {
        let path = files::numbered_path(&dir, u64::from(pack), "pack");
        let whole = if path.exists() {
            packs::whole_in(&path, pack)?
        } else {
            Vec::new()
        };
        shared.kv.walk(&keys::all(Kind::Chunk), &mut |key, value| {
            let place = Place::decode(value).unwrap_or_default();
            if place.pack != pack {
                return;
            }
            let id = keys::chunk_id(key).unwrap_or(ChunkId([0; 32]));
            // One that was stored since the pack was read is looked at by itself.
            let is_whole =
                whole.binary_search(&place.at).is_ok() || shared.packs.read(&id, place).is_ok();
            if is_whole {
                storage.chunks += 1;
                return;
            }
            let place = format!("{} at byte {}", path.display(), place.at);
            let expected = format!("chunk {id}");
            storage.lost_chunk(key, &Error::corrupt(place, expected, "bytes that are none"));
        })?;
    }
    Ok(())
}

/// Reads archive files from the commit `next` on; gives the commit after the last.
fn check_archive(
    shared: &Shared,
    storage: &mut StorageCheck,
    mut next: Seq,
    first_look: bool,
) -> Result<Seq> {
    let dir = shared.layout.archive();
    let survey = ArchiveSurvey::take(&dir, shared.config.store)?;
    if first_look {
        for (_, error) in &survey.damaged {
            storage.fault(error);
        }
        for hole in &survey.holes {
            storage.fault(&Error::corrupt(
                dir.display().to_string(),
                format!("commits {} to {}", hole.first, hole.last),
                "no file that has them",
            ));
        }
    }
    for file in &survey.files {
        if file.next <= next {
            continue;
        }
        match check_file(shared, storage, &file.path, next) {
            Err(error) if error.kind() == ErrorKind::Corrupt => storage.fault(&error),
            done => done?,
        }
        next = file.next;
    }
    Ok(next)
}

fn check_file(shared: &Shared, storage: &mut StorageCheck, path: &Path, next: Seq) -> Result<()> {
    let mut reader = Reader::open(path, shared.config.store, shared.key.as_ref())?;
    while let Some(block) = reader.next_block()? {
        for (frame, payload) in frames(&block) {
            if frame.seq >= next {
                storage.frame(frame.seq, payload)?;
            }
        }
    }
    Ok(())
}

/// Reads journal segments from the commit `next` on; gives the commit after the last.
fn check_journal(
    shared: &Shared,
    storage: &mut StorageCheck,
    mut next: Seq,
    first_look: bool,
) -> Result<Seq> {
    let (store, key) = (shared.config.store, shared.key.as_ref());
    for (_, path) in files::numbered(&shared.layout.journal(), "seg")? {
        let (segment, bytes) = match Segment::survey(&path, store, key) {
            Ok(found) => found,
            // The archiver has taken it away meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if let Err(error) = segment.sound()
            && first_look
        {
            storage.fault(&error);
        }
        for frame in &segment.frames {
            if frame.seq == next && frame.seq <= storage.until {
                storage.frame(frame.seq, payload(&bytes, frame)?)?;
                next += 1;
            }
        }
    }
    Ok(next)
}
