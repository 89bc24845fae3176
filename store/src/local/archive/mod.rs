//! The archive: the commits of sealed segments, in block files. Together with the journal it is the
//! second copy of every event, and sled can be rebuilt from it.
//!
//! ```text
//! writer.rs      rounds of commits, packed         begun.rs       the file of the next segment
//! reader.rs      rounds read and checked           from_index.rs  commits out of sled
//!                                                  rebuild.rs     files written again
//! ```

pub(crate) mod begun;
pub(crate) mod from_index;
pub(crate) mod reader;
pub(crate) mod rebuild;
pub(crate) mod writer;

pub(crate) use reader::Reader;

use std::io;
use std::path::{Path, PathBuf};

use milepost_codec::{
    BlockFileHeader, CommitTable, CommitTableHeader, Error, ErrorKind, Result, SegmentHeader, Seq,
    StoreId, StoreKey,
};

use crate::files::{self, FolderHandle};
use crate::local::archive::writer::Writer;
use crate::local::journal::pool::SealedSegment;
use crate::local::journal::scan::{Segment, payload};
use crate::local::markers::applied::UNKNOWN;

/// The level of zstd for segments: other work waits for it.
const LEVEL: i32 = 1;

/// Returns the path of a segment's archive file.
pub(crate) fn path(dir: &Path, header: &SegmentHeader) -> PathBuf {
    files::numbered_path(dir, header.number, "mpa")
}

/// Writes a sealed segment into the archive; when this returns, it survives power loss. Returns the
/// bytes of the file, or `None` if it existed.
pub(crate) fn write(
    folder: &FolderHandle,
    sealed: &SealedSegment,
    store: StoreId,
    key: Option<&StoreKey>,
) -> Result<Option<u64>> {
    let path = path(folder.path(), &sealed.header);
    if path.exists() {
        // The process that wrote it may have died before the name was durable.
        return folder.sync().map(|()| None);
    }
    let (segment, bytes) = Segment::survey(&sealed.path, store, key)?;
    let header = *segment.sound()?;
    if segment.last() != Some(sealed.last) {
        return Err(Error::corrupt(
            sealed.path.display().to_string(),
            format!("commits up to {}", sealed.last),
            format!("commits up to {:?}", segment.last()),
        ));
    }
    let mut writer = Writer::create(&path, header.first, (LEVEL, false), key)?;
    for frame in &segment.frames {
        writer.commit(payload(&bytes, frame)?, frame.check)?;
    }
    writer.finish(&path, header, folder).map(Some)
}

/// An archive file, described by its beginning and end.
#[derive(Debug, Clone)]
pub(crate) struct Archived {
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
    /// Its first commit.
    pub(crate) first: Seq,
    /// The commit after its last.
    pub(crate) next: Seq,
    /// The check of the frame of its last commit; [`UNKNOWN`] if the file was not written from
    /// frames.
    pub(crate) check: [u8; 16],
}

/// Commits missing from the archive between two of its files.
#[derive(Debug, Clone)]
pub(crate) struct Gap {
    /// The first missing commit.
    pub(crate) first: Seq,
    /// The last missing commit.
    pub(crate) last: Seq,
    /// The file numbers that are free for them.
    pub(crate) numbers: Vec<u64>,
}

/// A scan of the archive by the beginning and end of each file.
#[derive(Debug, Default)]
pub(crate) struct ArchiveScan {
    /// Intact files, in order, without overlaps.
    pub(crate) files: Vec<Archived>,
    pub(crate) holes: Vec<Gap>,
    /// Damaged files, with the error of each.
    pub(crate) damaged: Vec<(PathBuf, Error)>,
    /// The highest number of any file.
    pub(crate) last_number: u64,
}

impl Archived {
    /// Returns `true` if the file may lack withdrawn content.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.check == UNKNOWN
    }
}

impl ArchiveScan {
    /// Returns the last commit of the last intact file.
    pub(crate) fn end(&self) -> Seq {
        self.files.last().map_or(0, |file| file.next - 1)
    }

    /// Reads the beginning and end of each file.
    pub(crate) fn take(dir: &Path, store: StoreId, key: Option<&StoreKey>) -> Result<Self> {
        let mut survey = Self::default();
        let mut free = Vec::new();
        let mut number = 1;
        for (file_number, path) in files::numbered(dir, "mpa")? {
            free.extend(number..file_number);
            number = file_number + 1;
            survey.last_number = file_number;
            let after = survey.end() + 1;
            match look(&path, (store, key), file_number) {
                Ok(file) if file.first >= after && (file.first == after || !free.is_empty()) => {
                    if file.first > after {
                        survey.holes.push(Gap {
                            first: after,
                            last: file.first - 1,
                            numbers: std::mem::take(&mut free),
                        });
                    }
                    free.clear();
                    survey.files.push(file);
                }
                Ok(file) => {
                    let expected = format!("commits from {after}");
                    let found = format!("commits from {}", file.first);
                    let error = Error::corrupt(path.display().to_string(), expected, found);
                    survey.damaged.push((path, error));
                    free.push(file_number);
                }
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    survey.damaged.push((path, error));
                    free.push(file_number);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(survey)
    }
}

fn look(path: &Path, (store, key): (StoreId, Option<&StoreKey>), number: u64) -> Result<Archived> {
    let file = files::open_read(path)?;
    let mut bytes = vec![0; BlockFileHeader::LEN];
    files::read_whole_at(&file, &mut bytes, 0).map_err(|e| unread(path, &e))?;
    let header = decode_header(path, &bytes, store)?;
    if header.number != number {
        let place = path.display().to_string();
        return Err(Error::corrupt(
            place,
            format!("file {number}"),
            format!("file {}", header.number),
        ));
    }
    let len = file.metadata().map_err(|e| files::io("read", path, &e))?.len();
    // The last table has no blocks and no commits.
    let mut end = [0; CommitTableHeader::LEN];
    let at = len.checked_sub(end.len() as u64).ok_or_else(|| short(path))?;
    files::read_whole_at(&file, &mut end, at).map_err(|e| unread(path, &e))?;
    let table = CommitTable::decode(&end, key).map_err(|_| short(path))?;
    if !table.is_last || table.first < header.first {
        return Err(short(path));
    }
    let (path, check) = (path.to_owned(), table.last);
    Ok(Archived { number, path, first: header.first, next: table.first, check })
}

fn decode_header(path: &Path, bytes: &[u8], store: StoreId) -> Result<SegmentHeader> {
    if bytes.starts_with(b"MPAR") {
        let form = "the form of archives before the first release";
        let message = format!("{} has {form}, which is not read any more", path.display());
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let header = BlockFileHeader::decode(bytes).map_err(|e| e.at(path.display()))?.0;
    if header.store == store {
        return Ok(header);
    }
    Err(Error::corrupt(
        path.display().to_string(),
        format!("an archive of store {store}"),
        format!("one of store {}", header.store),
    ))
}

/// Returns the damage of a file of which a part cannot be read.
fn unread(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => short(path),
        _ => {
            let found = format!("one that cannot be read: {error}");
            Error::corrupt(path.display().to_string(), "a whole archive file", found)
        }
    }
}

fn short(path: &Path) -> Error {
    Error::corrupt(path.display().to_string(), "a whole archive file", "one that ends too early")
}

#[cfg(test)]
mod tests;
