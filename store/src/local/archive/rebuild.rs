//! Archive files that are written again: out of sled if they are damaged, packed anew if their
//! blocks are small.

use std::fs;
use std::path::Path;
use std::slice::from_ref;

use milepost_codec::{CommitTableHeader, ErrorKind, Result, StoreId, StoreKey};

use crate::files::{self, FolderHandle};
use crate::local::applier;
use crate::local::archive::from_index;
use crate::local::archive::writer::Writer;
use crate::local::archive::{ArchiveScan, Archived, Gap, Reader};
use crate::local::inner::Inner;
use crate::local::journal::writer::JournalEnd;
use crate::local::layout;
use crate::local::markers::applied::UNKNOWN;
use crate::local::recovery::decide::Survey;
use crate::local::recovery::replay::Position;
use crate::local::repairs::copies;
use crate::open_report::Finding;

/// Writes missing archive files from sled. If the journal itself is damaged, its commits are
/// archived too, its files are removed, and the new end of the journal is returned.
pub(crate) fn heal(
    shared: &Inner,
    survey: &Survey,
    holes: &[Gap],
    end: Position,
    journal: bool,
) -> Result<Option<JournalEnd>> {
    apply_all(shared)?;
    shared.audit_all()?;
    for (path, _) in &survey.archive.damaged {
        layout::set_aside(&shared.layout, path)?;
    }
    for hole in holes {
        from_index::range(shared, hole.first, hole.last, hole.numbers.iter().copied())?;
    }
    if !journal {
        return Ok(None);
    }
    let archived = survey.archive.end();
    let free = survey.archive.files.last().map_or(1, |file| file.number + 1);
    let last_number = from_index::range(shared, archived + 1, end.seq, free..)?;
    // The frames of the new file have other checks, so the next commit is matched by number only.
    shared.move_applied(end.seq, UNKNOWN)?;
    shared.kv.sync()?;
    for segment in &survey.segments {
        if segment.fault().is_none() {
            fs::remove_file(&segment.path).map_err(|e| files::io("remove", &segment.path, &e))?;
        } else {
            layout::set_aside(&shared.layout, &segment.path)?;
        }
    }
    files::sync_dir(&shared.layout.journal())?;
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

/// Reads every archive file, and rewrites damaged ones from sled.
pub(crate) fn mend_archive(shared: &Inner) -> Result<Vec<Finding>> {
    let (dir, store) = (shared.layout.archive(), shared.config.store);
    let mut findings = Vec::new();
    for file in ArchiveScan::take(&dir, store, shared.key.as_ref())?.files {
        let read = || -> Result<()> {
            let mut reader = Reader::open(&file.path, store, shared.key.as_ref())?;
            while reader.next_round()?.is_some() {}
            Ok(())
        };
        match read() {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                shared.kv.sync()?;
                shared.audit_all()?;
                let finding = Finding::repaired("archive", &error);
                let now_us = shared.clock.now_us();
                shared.layout.record(from_ref(&finding), copies::SLED, now_us)?;
                layout::set_aside(&shared.layout, &file.path)?;
                from_index::range(shared, file.first, file.next - 1, std::iter::once(file.number))?;
                findings.push(finding);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(findings)
}

/// Applies the whole tail, so that sled holds every commit, and makes it durable.
fn apply_all(shared: &Inner) -> Result<()> {
    applier::all(shared)?;
    shared.packs.sync()?;
    shared.packs.sync_copies()?;
    shared.kv.sync()
}

/// Packs the commits of a file again if its blocks are small, and replaces it if it becomes
/// smaller. Returns `true` if it was replaced.
pub(crate) fn repack(
    file: &Archived,
    dir: &Path,
    store: StoreId,
    key: Option<&StoreKey>,
) -> Result<bool> {
    if !Reader::open(&file.path, store, key)?.has_small_blocks()? {
        return Ok(false);
    }
    let mut reader = Reader::open(&file.path, store, key)?;
    let mut writer =
        Writer::create(&file.path, file.first, (from_index::LEVEL, file.is_rewritten()), key)?;
    while let Some(round) = reader.next_round()? {
        round.add_to(&mut writer)?;
    }
    let before = fs::metadata(&file.path).map_err(|e| files::io("read", &file.path, &e))?.len();
    if writer.end()? + CommitTableHeader::LEN as u64 >= before {
        return Ok(false);
    }
    writer.finish(&file.path, reader.header, &FolderHandle::open(dir)?)?;
    Ok(true)
}
