//! Decisions of opening, by the state of the files: `docs/RECOVERY.md` has the table.
//!
//! ```text
//! ../journal/scan.rs     the frames of each segment
//! replay.rs              frames back into the tail
//! ../archive/rebuild.rs  the archive rewritten from sled
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;

use milepost_codec::{Error, ErrorKind, Result, SEGMENT_HEADER_LEN, Seq, StoreKey};

use crate::files;
use crate::liveness::Liveness;
use crate::local::archive::rebuild;
use crate::local::archive::{ArchiveScan, Gap, Reader};
use crate::local::inner::Inner;
use crate::local::journal::pool::SealedSegment;
use crate::local::journal::scan::{FrameAt, Segment, payload};
use crate::local::journal::writer::{ActiveSegment, JournalEnd};
use crate::local::layout::Layout;
use crate::local::markers::acked::AckMarker;
use crate::local::markers::applied::AppliedPosition;
use crate::local::markers::applied::UNKNOWN;
use crate::local::recovery::parallel_apply::ParallelApplier;
use crate::local::recovery::replay::{Position, Replay};
use crate::local::repairs::copies;
use crate::local::settings::StoreConfig;
use crate::open_report::{Finding, Outcome, Progress};

/// The reason why opening fails.
pub(crate) enum Refusal {
    /// sled may be the cause, so it is rebuilt.
    Sled(Error),
    Other(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error.kind() {
            // A full disk or too many open files are no reason to rebuild sled.
            ErrorKind::Corrupt => Self::Sled(error),
            _ => Self::Other(error),
        }
    }
}

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
    fn lost_close(&self) -> Option<&Segment> {
        let last = self.segments.last().filter(|segment| !segment.frames.is_empty());
        last.filter(|last| self.noted_closed && (!self.closed() || last.torn > 0))
    }

    /// Returns the faults of the journal's files, from the archive's end to the commit `end`.
    fn journal_faults(&self, end: Seq) -> Vec<Error> {
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
    fn hole_before_journal(&self) -> Option<Gap> {
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

/// A function that returns the bytes of a surveyed segment.
pub(crate) type BytesOf<'a> = dyn Fn(&Segment) -> Result<Cow<'a, [u8]>> + 'a;

/// Reads a segment's file.
fn from_file(segment: &Segment) -> Result<Cow<'static, [u8]>> {
    let bytes = fs::read(&segment.path).map_err(|e| files::io("read", &segment.path, &e))?;
    Ok(Cow::Owned(bytes))
}

/// Replays the commits that sled does not hold, and returns the end of the journal.
pub(crate) fn recover(
    shared: &Inner,
    survey: &Survey,
    findings: &mut Vec<Finding>,
    progress: Option<&dyn Fn(Progress)>,
) -> std::result::Result<JournalEnd, Refusal> {
    let AppliedPosition { seq, check, .. } = shared.position();
    let all = survey.last_seen().saturating_sub(seq);
    let report = |at: Seq| {
        if let Some(progress) = progress {
            let done = at.saturating_sub(seq).min(all);
            progress(Progress { done, all });
        }
        Ok(())
    };
    let live = live(shared, survey, seq, &from_file)?;
    let (failed, (end, replayed)) = std::thread::scope(|scope| -> Result<_> {
        let applier = ParallelApplier::start(scope, shared);
        let mut replay = Replay::new(shared, applier, Position { seq, check }, &report, &live);
        let failed = replay_all(shared, survey, &mut replay, &from_file)?;
        Ok((failed, replay.finish()?))
    })?;
    if let Some(error) = failed {
        return Err(Refusal::Other(error));
    }
    shared.segments.adopt(&shared.layout.journal())?;
    let torn = (survey.segments.last())
        .filter(|s| s.torn > 0 && s.last().is_some_and(|last| last >= end.seq));
    shared.set_recovered(replayed, torn.is_some());
    let journal = survey.journal_faults(end.seq);
    let mut damage = Vec::new();
    if let Some(segment) = survey.lost_close().filter(|_| journal.is_empty()) {
        let place = format!("{} at byte {}", segment.path.display(), segment.end());
        let error = Error::corrupt(place, "the frame of the last close, then zeros", "other bytes");
        damage.push(Finding::repaired("journal", &error));
    } else if let Some(segment) = torn {
        findings.push(Finding {
            place: format!("{} at byte {}", segment.path.display(), segment.end()),
            message: format!(
                "{} bytes that are no commit: an interrupted write, which was not acknowledged",
                segment.torn
            ),
            outcome: Outcome::Dropped,
        });
    }
    if survey.acked.is_none() && !survey.is_empty() {
        let place = shared.layout.acked().display().to_string();
        let error = Error::corrupt(place, "the last acknowledged commit", "no such thing");
        damage.push(Finding::repaired("acked", &error));
    }
    shared.layout.record(&damage, copies::WITNESSES, shared.clock.now_us())?;
    findings.append(&mut damage);
    if shared.tail.read().is_empty() {
        // Only frames that mark the close of the store followed the commits in sled.
        shared.set_applied(end.seq);
    }
    let mut holes = survey.archive.holes.clone();
    if journal.is_empty() {
        holes.extend(survey.hole_before_journal());
    }
    let archive = &survey.archive.damaged;
    if journal.is_empty() && holes.is_empty() && archive.is_empty() {
        return Ok(end_at(shared, survey, end)?);
    }
    let found = archive.iter().map(|(_, error)| error).chain(&journal);
    let mut repaired: Vec<Finding> = found.map(|e| Finding::repaired("journal", e)).collect();
    if repaired.is_empty() {
        repaired.extend(holes.iter().map(|hole| missing(&shared.layout, hole)));
    }
    shared.layout.record(&repaired, copies::SLED, shared.clock.now_us())?;
    let healed = rebuild::heal(shared, survey, &holes, end, !journal.is_empty())?;
    findings.extend(repaired);
    match healed {
        Some(end) => Ok(end),
        None => Ok(end_at(shared, survey, end)?),
    }
}

/// Returns the finding for commits that the archive lacked.
fn missing(layout: &Layout, hole: &Gap) -> Finding {
    let path = match hole.numbers.as_slice() {
        [one] => files::numbered_path(&layout.archive(), *one, "mpa"),
        _ => layout.archive(),
    };
    Finding {
        place: path.display().to_string(),
        message: format!("commits {} to {} were not there", hole.first, hole.last),
        outcome: Outcome::Repaired,
    }
}

/// Reads which content is withdrawn, if commits after `seq` come from archive files that a
/// compaction rewrote, possibly without that content. Control records come after the events that
/// they withdraw, so all files are read first. Reads nothing if the index holds all commits of such
/// files.
pub(crate) fn live(
    shared: &Inner,
    survey: &Survey,
    seq: Seq,
    bytes_of: &BytesOf<'_>,
) -> Result<Liveness> {
    let mut live = Liveness::default();
    let mut files = survey.archive.files.iter();
    if !files.any(|file| file.is_rewritten() && file.next > seq + 1) {
        return Ok(live);
    }
    let (store, key) = (shared.config.store, shared.key.as_ref());
    for file in &survey.archive.files {
        let mut reader = Reader::open(&file.path, store, key)?;
        while let Some(round) = reader.next_round()? {
            for (_, payload) in round.commits() {
                live.take_frame(&payload)?;
            }
        }
    }
    for segment in &survey.segments {
        let bytes = bytes_of(segment)?;
        for frame in &segment.frames {
            live.take_frame(payload(&bytes, frame)?)?;
        }
    }
    Ok(live)
}

/// Replays every commit after those in sled, from archive and journal. Returns an error if a commit
/// is lost: it was seen after the end or acknowledged, but cannot be replayed.
pub(crate) fn replay_all(
    shared: &Inner,
    survey: &Survey,
    replay: &mut Replay<'_>,
    bytes_of: &BytesOf<'_>,
) -> Result<Option<Error>> {
    let mut later: BTreeMap<Seq, Vec<(&Segment, &FrameAt)>> = BTreeMap::new();
    for segment in &survey.segments {
        for frame in segment.frames.iter().filter(|f| f.seq > replay.at.seq) {
            later.entry(frame.seq).or_default().push((segment, frame));
        }
    }
    if next(&later, replay.at).is_none() {
        replay.archive(&survey.archive.files)?;
    }
    let mut open: Option<(&Segment, Cow<'_, [u8]>)> = None;
    let mut last = None;
    while let Some((segment, frame)) = next(&later, replay.at) {
        if open.as_ref().is_none_or(|(s, _)| s.path != segment.path) {
            open = Some((segment, bytes_of(segment)?));
        }
        let bytes = open.as_ref().map_or(&[][..], |(_, bytes)| &**bytes);
        replay
            .frame(frame.seq, payload(bytes, frame)?, frame.check)
            .map_err(|e| e.at(segment.path.display()))?;
        last = Some((segment, frame));
    }
    let newest = later.last_key_value().map(|(seq, _)| *seq);
    let end = replay.at.seq;
    let next_segment =
        (survey.segments.iter()).find(|s| s.header.is_some_and(|h| h.first == end + 1));
    let last = last.filter(|_| next_segment.is_none());
    let place = match last {
        Some((segment, frame)) => format!("{} at byte {}", segment.path.display(), frame.end),
        None => match next_segment.or(survey.segments.first()) {
            Some(segment) => format!("{} at byte {SEGMENT_HEADER_LEN}", segment.path.display()),
            None => shared.layout.journal().display().to_string(),
        },
    };
    Ok(match (newest, survey.acked) {
        (Some(newest), _) if newest > end => Some(Error::corrupt(
            place,
            format!("commit {}", end + 1),
            format!("bytes that are none, with commit {newest} after them"),
        )),
        (_, Some(acked)) if acked > end => Some(Error::corrupt(
            place,
            format!("commits up to {acked}, which were acknowledged"),
            format!("commits up to {end}"),
        )),
        _ => None,
    })
}

/// Returns the next frame: it has the next number, and names the check of the last frame. If that
/// check is unknown, its segment needs a valid header, whose epoch its frames carry.
fn next<'a>(
    later: &BTreeMap<Seq, Vec<(&'a Segment, &'a FrameAt)>>,
    at: Position,
) -> Option<(&'a Segment, &'a FrameAt)> {
    let all = later.get(&(at.seq + 1))?;
    let follows = |(segment, frame): &&(&Segment, &FrameAt)| match at.check {
        UNKNOWN => segment.header.is_some(),
        check => frame.prev == check,
    };
    all.iter().find(follows).copied()
}

fn seal(shared: &Inner, survey: &Survey, segment: &Segment) -> Result<()> {
    if segment.last().is_some_and(|last| last <= survey.archive.end()) {
        return fs::remove_file(&segment.path).map_err(|e| files::io("remove", &segment.path, &e));
    }
    if let (Some(header), Some(last)) = (segment.header, segment.last()) {
        shared.segments.sealed.lock().push_back(SealedSegment {
            header,
            path: segment.path.clone(),
            last,
            size: segment.size,
        });
    }
    Ok(())
}

/// Returns the end of the journal. After a clean end the last segment is continued. Otherwise it is
/// finished and a fresh one begun, since its unsynced bytes are unknown.
fn end_at(shared: &Inner, survey: &Survey, end: Position) -> Result<JournalEnd> {
    let mut journal = JournalEnd {
        active: None,
        last: end.seq,
        closed: survey.closed(),
        check: end.check,
        next_number: survey.archive.last_number + 1,
        next_size: 0,
    };
    let Some((segment, before)) = survey.segments.split_last() else {
        return Ok(journal);
    };
    // The archive replaces the segments that are removed now. The process that wrote it may have
    // died before the names were durable.
    files::sync_dir(&shared.layout.archive())?;
    for segment in before {
        seal(shared, survey, segment)?;
    }
    let Some(header) = segment.header else {
        return Ok(journal);
    };
    let (closed, at, size) = (segment.closed(), segment.end(), segment.size);
    // Also after a frame that marks a close: if its sync failed, later appends would be
    // acknowledged after a hole.
    segment.settle()?;
    journal.next_number = journal.next_number.max(header.number + 1);
    if survey.outlived(segment) {
        seal(shared, survey, segment)?;
        return Ok(journal);
    }
    journal.next_size = if at * 2 > size { size * 2 } else { size };
    if closed || segment.frames.is_empty() {
        let file = files::open_rw(&segment.path)?;
        segment.wipe_torn(&file)?;
        let path = segment.path.clone();
        // The archive may hold a rewritten copy of the previous frame, with another check.
        journal.check = segment.check().unwrap_or(end.check);
        journal.active = Some(ActiveSegment { header, path, file, at, size });
    } else {
        seal(shared, survey, segment)?;
    }
    Ok(journal)
}
