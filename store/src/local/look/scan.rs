//! The files of a store as of one moment, while another process writes them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use milepost_codec::{Error, ErrorKind, Result, StoreKey};

use crate::files;
use crate::local::archive::ArchiveScan;
use crate::local::journal::scan::Segment;
use crate::local::layout::Layout;
use crate::local::look::opened::Stamp;
use crate::local::markers::acked::AckMarker;
use crate::local::recovery::survey::{Survey, in_order};
use crate::local::settings::StoreConfig;

/// Journal and archive as of one moment.
pub(crate) struct StoreScan {
    pub(crate) survey: Survey,
    /// The bytes of the segments, since their files are reused once the archive has them.
    bytes: HashMap<PathBuf, Vec<u8>>,
}

impl StoreScan {
    /// Reads, in this order: the last acknowledged commit, the segments, the archive. A commit is
    /// in the journal before it is acknowledged, and in the archive before its segment is reused.
    /// So no commit that was acknowledged at the start is missed.
    pub(crate) fn take(
        layout: &Layout,
        config: &StoreConfig,
        key: Option<&StoreKey>,
    ) -> Result<Self> {
        let acked = AckMarker::read(&layout.acked(), config.store)?;
        let (mut segments, mut bytes) = (Vec::new(), HashMap::new());
        for (_, path) in files::numbered(&layout.journal(), "seg")? {
            match Segment::survey_in_use(&path, config.store, key) {
                Ok((segment, read)) => {
                    segments.push(segment);
                    bytes.insert(path, read);
                }
                // The archive has it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        in_order(&mut segments);
        let mut survey = Survey {
            archive: ArchiveScan::take(&layout.archive(), config.store, key)?,
            segments: Vec::new(),
            acked,
            noted_closed: false,
        };
        // The archive has the commits between such a segment and the next, which may be missing.
        segments.retain(|segment| !survey.outlived(segment));
        survey.segments = segments;
        Ok(Self { survey, bytes })
    }

    /// Returns the bytes of a surveyed segment.
    pub(crate) fn bytes_of(&self, segment: &Segment) -> Result<Cow<'_, [u8]>> {
        let bytes = self.bytes.get(&segment.path).ok_or_else(|| {
            Error::corrupt(segment.path.display().to_string(), "the bytes of its scan", "none")
        })?;
        Ok(Cow::Borrowed(bytes))
    }

    /// Notes the identity of the files that are read later.
    pub(crate) fn stamps(&self, layout: &Layout) -> Result<Vec<Stamp>> {
        let mut stamps = Vec::new();
        let archive = &self.survey.archive;
        let damaged = archive.damaged.iter().map(|(path, _)| path.clone());
        let files = archive.files.iter().map(|file| file.path.clone());
        let packs = files::numbered(&layout.packs(), "pack")?;
        for path in files.chain(damaged).chain(packs.into_iter().map(|(_, path)| path)) {
            let meta = fs::metadata(&path).map_err(|e| files::io("look at", &path, &e))?;
            stamps.push(Stamp::of(path, &meta));
        }
        Ok(stamps)
    }
}
