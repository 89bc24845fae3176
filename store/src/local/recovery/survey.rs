//! The contents of the files of journal and archive, and what is wrong with them.

use milepost_codec::{Error, Result, Seq, StoreKey};

use crate::files;
use crate::local::archive::{ArchiveScan, Gap};
use crate::local::journal::scan::Segment;
use crate::local::layout::Layout;
use crate::local::markers::acked::AckMarker;
use crate::local::settings::StoreConfig;

/// The contents of the journal's and the archive's files.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) archive: ArchiveScan,
    /// The segments, in order of their commits.
    pub(crate) segments: Vec<Segment>,
    /// The last acknowledged commit, if known.
    pub(crate) acked: Option<Seq>,
    /// Set if sled's files were noted at a close and no opening has begun since. Then nothing was
    /// interrupted: any fault is damage.
    pub(crate) noted_closed: bool,
}

impl Survey {
    pub(crate) fn take(
        layout: &Layout,
        config: &StoreConfig,
        key: Option<&StoreKey>,
    ) -> Result<Self> {
        let archive = ArchiveScan::take(&layout.archive(), config.store, key)?;
        let mut segments = Vec::new();
        for (_, path) in files::numbered(&layout.journal(), "seg")? {
            segments.push(Segment::survey(&path, config.store, key)?.0);
        }
        in_order(&mut segments);
        Ok(Self {
            archive,
            segments,
            acked: AckMarker::read(&layout.acked(), config.store)?,
            noted_closed: layout.sled_closed().exists(),
        })
    }

    /// Returns `true` if there is no sign of any commit.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.archive.last_number == 0 && self.acked.unwrap_or(0) == 0
    }

    /// Returns the last commit that is seen anywhere.
    pub(crate) fn last_seen(&self) -> Seq {
        let journal = self.segments.iter().filter_map(Segment::last).max();
        let witness = self.acked.unwrap_or(0);
        journal.unwrap_or(0).max(self.archive.end()).max(witness)
    }

    /// Returns `true` if the journal records the close of the store.
    pub(crate) fn closed(&self) -> bool {
        let mut mine = self.segments.iter().filter(|s| !s.foreign && !self.outlived(s));
        mine.next_back().is_some_and(Segment::closed)
    }

    /// Returns `true` if the archive has all of a segment: its removal was interrupted, or an older
    /// copy was put back. Such a segment does not show the journal's end.
    pub(crate) fn outlived(&self, segment: &Segment) -> bool {
        let first = segment.header.map(|header| header.first);
        let last = segment.last();
        let archived = |seq: Option<Seq>| seq.is_some_and(|seq| seq <= self.archive.end());
        archived(first) && archived(last)
    }

    /// Returns the last segment if the store was closed, and the segment does not end as at a
    /// close.
    pub(crate) fn lost_close(&self) -> Option<&Segment> {
        let last = self.segments.last().filter(|segment| !segment.frames.is_empty());
        last.filter(|last| self.noted_closed && (!self.closed() || last.torn > 0))
    }

    /// Returns the faults of the journal's files, from the archive's end to the commit `end`.
    pub(crate) fn journal_faults(&self, end: Seq) -> Vec<Error> {
        let mut faults = Vec::new();
        let mut before: Option<(Seq, [u8; 16])> = None;
        for segment in &self.segments {
            faults.extend(segment.fault());
            let Ok(header) = segment.sound() else {
                before = None;
                continue;
            };
            if files::number_of(&segment.path) != Some(header.number) {
                let place = segment.path.display().to_string();
                let expected = "the segment of that number";
                faults.push(Error::corrupt(place, expected, format!("segment {}", header.number)));
            }
            if let Some((last, check)) = before
                && (header.first, header.prev) != (last + 1, check)
            {
                let expected = format!("commits from {}", last + 1);
                let found = format!("commits from {}", header.first);
                let place = segment.path.display().to_string();
                faults.push(Error::corrupt(place, expected, found));
            }
            // A segment after an archived one continues from the archive.
            before = match self.outlived(segment) {
                true => None,
                false => segment.last().zip(segment.check()),
            };
        }
        let newest = self.segments.iter().max_by_key(|segment| segment.last());
        let last = newest.and_then(Segment::last).unwrap_or(0).max(self.archive.end());
        if last < end {
            faults.push(Error::corrupt(
                match newest {
                    Some(newest) => format!("{} at byte {}", newest.path.display(), newest.end()),
                    None => "journal".to_owned(),
                },
                format!("commits up to {end}"),
                format!("commits up to {last}"),
            ));
        }
        faults
    }

    /// Returns the commits missing between the archive and the journal's first segment.
    pub(crate) fn hole_before_journal(&self) -> Option<Gap> {
        let header = self.segments.iter().find(|s| !self.outlived(s))?.header?;
        let after = self.archive.end() + 1;
        let free = self.archive.files.last().map_or(1, |file| file.number + 1);
        (header.first > after).then(|| Gap {
            first: after,
            last: header.first - 1,
            numbers: (free..header.number).collect(),
        })
    }
}

/// Sorts segments by their content: a file name can be wrong, a checked header cannot.
pub(crate) fn in_order(segments: &mut [Segment]) {
    segments.sort_by_key(|segment| match (segment.header, segment.frames.first()) {
        (Some(header), _) => (header.first, header.number),
        (None, Some(frame)) => (frame.seq, 0),
        (None, None) => (Seq::MAX, 0),
    });
}
