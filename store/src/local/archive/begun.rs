//! The archive file of the segment that is written to: each round adds its commits, so that little
//! is left to do when the segment is finished.

use milepost_codec::{Result, Seq, StoreId, StoreKey};

use super::writer::Writer;
use super::{LEVEL, path, write};
use crate::files::{self, FolderHandle};
use crate::local::applier::Applied;
use crate::local::inner::Inner;
use crate::local::journal::pool::SealedSegment;

/// The name that the temporary file is created for.
const NAME: &str = "next.mpa";

/// An archive file that has the commits of a segment up to the applied position. Without one, a
/// finished segment is read and archived as a whole.
#[derive(Debug)]
pub(crate) struct BegunArchive {
    file: Option<Writer>,
    /// The first commit of the next segment, if known.
    next_segment: Option<Seq>,
}

impl BegunArchive {
    /// Returns none yet: the first segment of a process may have commits of an earlier one. Removes
    /// the file of a process that was killed.
    pub(crate) fn of(shared: &Inner) -> Self {
        let left = files::remove_temp_files(&shared.layout.archive().join(NAME));
        if let Err(error) = left {
            // The next file that is begun removes it, or cannot be created.
            tracing::warn!("{error}");
        }
        Self { file: None, next_segment: (shared.applied() == 0).then_some(1) }
    }

    /// Adds a round. `in_haste` copies the blocks that sled's folder has; otherwise they are packed
    /// again, in larger blocks. An error does not stop it: the journal has the commits.
    pub(crate) fn add(&mut self, shared: &Inner, round: &Applied, in_haste: bool) {
        if let Err(error) = self.try_add(shared, round, in_haste) {
            tracing::warn!("the archive is written later: {error}");
            self.file = None;
        }
    }

    fn try_add(&mut self, shared: &Inner, round: &Applied, in_haste: bool) -> Result<()> {
        let Some((first, counts)) = &round.counts else {
            self.file = None;
            return Ok(());
        };
        if self.next_segment == Some(*first) {
            let path = shared.layout.archive().join(NAME);
            let file = Writer::create(&path, *first, (LEVEL, false), shared.key.as_ref())?;
            (self.file, self.next_segment) = (Some(file), None);
        }
        let Some(file) = self.file.take_if(|file| file.next() == *first) else {
            self.file = None;
            return Ok(());
        };
        let file = self.file.insert(file);
        match in_haste {
            true => file.copy(&round.blocks, counts.clone(), round.check),
            false => {
                let batches = round
                    .logs
                    .iter()
                    .flat_map(|log| log.extents.iter().map(|extent| (log.log, extent.clone())));
                file.add(batches, counts.clone(), round.check)
            }
        }
    }

    /// Archives a finished segment whose commits are applied; when this returns, the file survives
    /// power loss. Returns its bytes, or `None` if it existed.
    pub(crate) fn finish(
        &mut self,
        folder: &FolderHandle,
        sealed: &SealedSegment,
        store: StoreId,
        key: Option<&StoreKey>,
    ) -> Result<Option<u64>> {
        self.next_segment = Some(sealed.last + 1);
        let (first, next) = (sealed.header.first, sealed.last + 1);
        let path = path(folder.path(), &sealed.header);
        let file = self.file.take_if(|file| file.first <= sealed.last);
        match file.filter(|file| (file.first, file.next()) == (first, next) && !path.exists()) {
            Some(file) => file.finish(&path, sealed.header, folder).map(Some),
            None => write(folder, sealed, store, key),
        }
    }
}
