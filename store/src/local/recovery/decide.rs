//! Decisions of opening, by the state of the files: `docs/RECOVERY.md` has the table.
//!
//! ```text
//! ../journal/scan.rs     the frames of each segment
//! survey.rs              segments and archive files, and what they lack
//! replay.rs              frames back into the tail
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;

use milepost_codec::{Error, ErrorKind, Result, SEGMENT_HEADER_LEN, Seq};

use crate::files;
use crate::liveness::Liveness;
use crate::local::archive::{Gap, Reader, from_index};
use crate::local::index::local_index::LocalIndex;
use crate::local::inner::Inner;
use crate::local::journal::pool::{SealedSegment, SegmentPool};
use crate::local::journal::scan::{FrameAt, Segment, payload};
use crate::local::journal::writer::{ActiveSegment, JournalEnd};
use crate::local::layout::{self, Layout};
use crate::local::markers::applied::{AppliedPosition, UNKNOWN};
use crate::local::recovery::parallel_apply::ParallelApplier;
use crate::local::recovery::replay::{Position, Replay};
use crate::local::recovery::survey::Survey;
use crate::local::repairs::copies;
use crate::local::rounds;
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

/// A function that returns the bytes of a surveyed segment.
type BytesOf<'a> = dyn Fn(&Segment) -> Result<Cow<'a, [u8]>> + 'a;

/// Reads a segment's file.
fn from_file(segment: &Segment) -> Result<Cow<'static, [u8]>> {
    let bytes = fs::read(&segment.path).map_err(|e| files::io("read", &segment.path, &e))?;
    Ok(Cow::Owned(bytes))
}

/// The outcome of a recovery.
pub(crate) struct Recovered {
    /// The end of the journal.
    pub(crate) end: JournalEnd,
    /// The number of commits that sled did not hold.
    pub(crate) commits: u64,
    /// Set if there was a torn frame after the last commit.
    pub(crate) torn: bool,
    /// Set if sled was built anew.
    pub(crate) rebuilt: bool,
}

/// Replays the commits that sled does not hold.
pub(crate) fn recover(
    shared: &Inner,
    survey: &Survey,
    findings: &mut Vec<Finding>,
    progress: Option<&dyn Fn(Progress)>,
) -> std::result::Result<Recovered, Refusal> {
    let AppliedPosition { seq, check, .. } = shared.index.position();
    let all = survey.last_seen().saturating_sub(seq);
    let report = |at: Seq| {
        if let Some(progress) = progress {
            let done = at.saturating_sub(seq).min(all);
            progress(Progress { done, all });
        }
        Ok(())
    };
    let (index, layout) = (&shared.index, &shared.layout);
    let begin = Position { seq, check };
    let (failed, (end, replayed)) = replay(index, layout, survey, begin, &from_file, &report)?;
    if let Some(error) = failed {
        return Err(Refusal::Other(error));
    }
    shared.segments.adopt(&layout.journal())?;
    let torn = (survey.segments.last())
        .filter(|s| s.torn > 0 && s.last().is_some_and(|last| last >= end.seq));
    let recovered =
        |end| Recovered { end, commits: replayed, torn: torn.is_some(), rebuilt: false };
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
        let place = layout.acked().display().to_string();
        let error = Error::corrupt(place, "the last acknowledged commit", "no such thing");
        damage.push(Finding::repaired("acked", &error));
    }
    layout.record(&damage, copies::WITNESSES, shared.clock.now_us())?;
    findings.append(&mut damage);
    if index.tail.read().is_empty() {
        // Only frames that mark the close of the store followed the commits in sled.
        index.set_applied(end.seq);
    }
    let mut holes = survey.archive.holes.clone();
    if journal.is_empty() {
        holes.extend(survey.hole_before_journal());
    }
    let archive = &survey.archive.damaged;
    if journal.is_empty() && holes.is_empty() && archive.is_empty() {
        return Ok(recovered(end_at(&shared.segments, layout, survey, end)?));
    }
    let found = archive.iter().map(|(_, error)| error).chain(&journal);
    let mut repaired: Vec<Finding> = found.map(|e| Finding::repaired("journal", e)).collect();
    if repaired.is_empty() {
        repaired.extend(holes.iter().map(|hole| missing(layout, hole)));
    }
    layout.record(&repaired, copies::SLED, shared.clock.now_us())?;
    let healed = heal(index, layout, survey, &holes, end, !journal.is_empty())?;
    findings.extend(repaired);
    let end = healed.map_or_else(|| end_at(&shared.segments, layout, survey, end), Ok)?;
    Ok(recovered(end))
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

/// Replays every commit after `begin`. Returns the error of a lost one, and the last commit with
/// the number of all.
pub(crate) fn replay(
    index: &LocalIndex,
    layout: &Layout,
    survey: &Survey,
    begin: Position,
    bytes_of: &BytesOf<'_>,
    report: &dyn Fn(Seq) -> Result<()>,
) -> Result<(Option<Error>, (Position, u64))> {
    let live = live(index, survey, begin.seq, bytes_of)?;
    std::thread::scope(|scope| {
        let applier = ParallelApplier::start(scope, index);
        let mut replay = Replay::new(index, applier, begin, report, &live);
        let failed = replay_all(layout, survey, &mut replay, bytes_of)?;
        Ok((failed, replay.finish()?))
    })
}

/// Reads which content is withdrawn, if commits after `seq` come from archive files that a
/// compaction rewrote, possibly without that content. Control records come after the events that
/// they withdraw, so all files are read first. Reads nothing if the index holds all commits of such
/// files.
fn live(index: &LocalIndex, survey: &Survey, seq: Seq, bytes_of: &BytesOf<'_>) -> Result<Liveness> {
    let mut live = Liveness::default();
    let mut files = survey.archive.files.iter();
    if !files.any(|file| file.is_rewritten() && file.next > seq + 1) {
        return Ok(live);
    }
    let (store, key) = (index.store, index.key.as_ref());
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
fn replay_all(
    layout: &Layout,
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
            None => layout.journal().display().to_string(),
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

fn seal(segments: &SegmentPool, survey: &Survey, segment: &Segment) -> Result<()> {
    if segment.last().is_some_and(|last| last <= survey.archive.end()) {
        return fs::remove_file(&segment.path).map_err(|e| files::io("remove", &segment.path, &e));
    }
    if let (Some(header), Some(last)) = (segment.header, segment.last()) {
        segments.sealed.lock().push_back(SealedSegment {
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
fn end_at(
    segments: &SegmentPool,
    layout: &Layout,
    survey: &Survey,
    end: Position,
) -> Result<JournalEnd> {
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
    files::sync_dir(&layout.archive())?;
    for segment in before {
        seal(segments, survey, segment)?;
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
        seal(segments, survey, segment)?;
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
        seal(segments, survey, segment)?;
    }
    Ok(journal)
}

/// Writes missing archive files from sled. If the journal itself is damaged, its commits are
/// archived too, its files are removed, and the new end of the journal is returned.
fn heal(
    index: &LocalIndex,
    layout: &Layout,
    survey: &Survey,
    holes: &[Gap],
    end: Position,
    journal: bool,
) -> Result<Option<JournalEnd>> {
    let dir = layout.archive();
    apply_all(index)?;
    index.audit_all()?;
    for (path, _) in &survey.archive.damaged {
        layout::set_aside(layout, path)?;
    }
    for hole in holes {
        from_index::range(index, &dir, hole.first, hole.last, hole.numbers.iter().copied())?;
    }
    if !journal {
        return Ok(None);
    }
    let archived = survey.archive.end();
    let free = survey.archive.files.last().map_or(1, |file| file.number + 1);
    let last_number = from_index::range(index, &dir, archived + 1, end.seq, free..)?;
    // The frames of the new file have other checks, so the next commit is matched by number only.
    index.move_applied(end.seq, UNKNOWN)?;
    index.kv.sync()?;
    for segment in &survey.segments {
        if segment.fault().is_none() {
            fs::remove_file(&segment.path).map_err(|e| files::io("remove", &segment.path, &e))?;
        } else {
            layout::set_aside(layout, &segment.path)?;
        }
    }
    files::sync_dir(&layout.journal())?;
    let used = survey.segments.iter().filter_map(|s| s.header);
    let used = used.map(|header| header.number).max().unwrap_or(0);
    Ok(Some(JournalEnd {
        active: None,
        last: end.seq,
        closed: false,
        check: UNKNOWN,
        next_number: last_number.max(used).max(survey.archive.last_number) + 1,
        next_size: 0,
    }))
}

/// Applies the whole tail, so that sled holds every commit, and makes it durable.
fn apply_all(index: &LocalIndex) -> Result<()> {
    rounds::all(index)?;
    index.packs.sync()?;
    index.packs.sync_copies()?;
    index.kv.sync()
}
