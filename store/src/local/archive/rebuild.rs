//! Archive files that are written again: out of sled if they are damaged, packed anew if their
//! blocks are small.

use std::fs;
use std::path::Path;
use std::slice::from_ref;

use milepost_codec::{CommitTableHeader, ErrorKind, Result, StoreId, StoreKey};

use crate::clock::Clock;
use crate::files::{self, FolderHandle};
use crate::local::archive::writer::Writer;
use crate::local::archive::{ArchiveScan, Archived, Reader, from_index};
use crate::local::index::local_index::LocalIndex;
use crate::local::layout::{self, Layout};
use crate::local::repairs::copies;
use crate::open_report::Finding;

/// Reads every archive file, and rewrites damaged ones from sled.
pub(crate) fn mend_archive(
    index: &LocalIndex,
    layout: &Layout,
    clock: &dyn Clock,
) -> Result<Vec<Finding>> {
    let (dir, store, key) = (layout.archive(), index.store, index.key.as_ref());
    let mut findings = Vec::new();
    for file in ArchiveScan::take(&dir, store, key)?.files {
        let read = || -> Result<()> {
            let mut reader = Reader::open(&file.path, store, key)?;
            while reader.next_round()?.is_some() {}
            Ok(())
        };
        match read() {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                index.kv.sync()?;
                index.audit_all()?;
                let finding = Finding::repaired("archive", &error);
                layout.record(from_ref(&finding), copies::SLED, clock.now_us())?;
                layout::set_aside(layout, &file.path)?;
                from_index::range(
                    index,
                    &dir,
                    file.first,
                    file.next - 1,
                    std::iter::once(file.number),
                )?;
                findings.push(finding);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(findings)
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
