//! The check of the local store's files: archive, journal segments, packs.

use std::path::Path;

use milepost_codec::{ChunkId, Error, ErrorKind, Result, Seq};

use crate::files;
use crate::index::keys::{self, KeyKind};
use crate::local::archive::{ArchiveScan, Reader};
use crate::local::chunks::packs;
use crate::local::inner::Inner;
use crate::local::journal::scan::{Segment, payload};
use crate::local::location::Location;
use crate::storage_check::StorageCheck;

/// Reads and checks every file except sled's, whose blocks are checked with the chains.
pub(crate) fn check(shared: &Inner, storage: &mut StorageCheck) -> Result<()> {
    let mut next: Seq = 1;
    // A segment may be archived between the scan of the archive and that of the journal; then the
    // next scan of the archive finds it. So the end is reached after two rounds without a new
    // commit.
    let (mut first_look, mut without) = (true, 0);
    while next <= storage.until && without < 2 {
        let before = next;
        next = check_archive(shared, storage, next, first_look)?;
        next = check_journal(shared, storage, next, first_look)?;
        first_look = false;
        without = if next == before { without + 1 } else { 0 };
    }
    if next <= storage.until {
        let expected = format!("commits up to {}", storage.until);
        let found = format!("commits up to {}", next - 1);
        storage.fault(&Error::corrupt("archive and journal", expected, found));
    }
    check_packs(shared, storage)
}

/// Reads every chunk that the index names.
fn check_packs(shared: &Inner, storage: &mut StorageCheck) -> Result<()> {
    let index = &shared.index;
    index.kv.walk(&keys::all(KeyKind::Chunk), &mut |key, value| {
        if let Err(error) = Location::decode(value) {
            storage.lost_chunk(key, &error);
        }
    })?;
    for pack in index.packs.numbers() {
        let path = index.packs.path_of(pack);
        let intact_at = |path: &Path| match path.exists() {
            true => packs::intact_in(path, pack),
            false => Ok(Vec::new()),
        };
        let copy = packs::copies::path_of(&shared.layout.packs(), pack);
        let copied = index.packs.copied().written;
        let (intact_at, copies_at) = (intact_at(&path)?, intact_at(&copy)?);
        index.kv.walk(&keys::all(KeyKind::Chunk), &mut |key, value| {
            let Some(place) = Location::decode(value).ok().filter(|it| it.file == pack) else {
                return;
            };
            let id = keys::chunk_id(key).unwrap_or(ChunkId([0; 32]));
            // A chunk stored since the pack was read is checked separately.
            let placed = packs::placed(&id, place);
            let is_intact =
                intact_at.binary_search(&placed).is_ok() || index.packs.is_intact(&id, place);
            let needs_copy = place.member.is_none() && place < copied;
            let is_copied =
                copies_at.binary_search(&placed).is_ok() || index.packs.is_copy_intact(&id, place);
            // A chunk that a compaction moved since is counted, and checked at its new location.
            let is_moved = || index.kv.get(key).is_ok_and(|now| now.as_deref() != Some(value));
            if is_intact && (is_copied || !needs_copy) || is_moved() {
                storage.chunks += 1;
                return;
            }
            let damaged = if is_intact { &copy } else { &path };
            let at = format!("{} at byte {}", damaged.display(), place.at);
            let error = Error::corrupt(at, format!("chunk {id}"), "bytes that are none");
            match is_intact || is_copied {
                true => storage.fault(&error),
                false => storage.lost_chunk(key, &error),
            }
        })?;
    }
    Ok(())
}

/// Reads archive files from the commit `next` on. Returns the commit after the last.
fn check_archive(
    shared: &Inner,
    storage: &mut StorageCheck,
    mut next: Seq,
    first_look: bool,
) -> Result<Seq> {
    let dir = shared.layout.archive();
    let survey = ArchiveScan::take(&dir, shared.index.store, shared.index.key.as_ref())?;
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

fn check_file(shared: &Inner, storage: &mut StorageCheck, path: &Path, next: Seq) -> Result<()> {
    let mut reader = Reader::open(path, shared.index.store, shared.index.key.as_ref())?;
    while let Some(round) = reader.next_round()? {
        for (seq, payload) in round.commits().filter(|(seq, _)| *seq >= next) {
            storage.frame(seq, &payload)?;
        }
    }
    Ok(())
}

/// Reads journal segments from the commit `next` on. Returns the commit after the last.
fn check_journal(
    shared: &Inner,
    storage: &mut StorageCheck,
    mut next: Seq,
    first_look: bool,
) -> Result<Seq> {
    let (store, key) = (shared.index.store, shared.index.key.as_ref());
    for (_, path) in files::numbered(&shared.layout.journal(), "seg")? {
        let (segment, bytes) = match Segment::survey_in_use(&path, store, key) {
            Ok(found) => found,
            // The applier has archived and recycled it since.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if let Some(error) = segment.fault()
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use super::*;
    use crate::commit_log::ChunkStore as _;
    use crate::entropy::Entropy;
    use crate::local::LocalStore;
    use crate::local::compaction;
    use crate::options::OpenOptions;

    #[test]
    fn a_chunk_whose_place_cannot_be_read_is_reported_and_stays_in_its_pack() {
        let dir = tempfile::tempdir().unwrap();
        let entropy = Arc::new(Entropy::from_system().unwrap());
        let path = dir.path().join("store");
        let store = LocalStore::open(&path, &OpenOptions::default(), entropy).unwrap();
        let id = store.put_chunk(b"a chunk", false).unwrap();
        let (shared, key) = (&store.shared, keys::chunk(&id));
        let place = Location::decode(&shared.index.kv.get(&key).unwrap().unwrap()).unwrap();
        shared.index.kv.apply(vec![(key, Some(vec![7]))]).unwrap();

        let mut storage = StorageCheck::new(0, Arc::default());
        check(shared, &mut storage).unwrap();
        assert_eq!(storage.lost_chunks(), HashSet::from([id]));

        let (after, forget) = (place.file + 1, |_: &ChunkId| {});
        let done = compaction::packs::compact(
            &shared.index,
            &shared.fresh,
            HashSet::new(),
            after,
            &forget,
            &mut |_| Ok(()),
        );
        assert_eq!(done.unwrap_err().kind(), ErrorKind::Corrupt);
        let path = shared.index.packs.path_of(place.file);
        assert_eq!(packs::intact_in(&path, place.file).unwrap(), [packs::placed(&id, place)]);
    }
}
