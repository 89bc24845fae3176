//! The archive: sealed segments, compressed, in commit order. Together with the journal it is the
//! second copy of every event, and sled can be rebuilt from it.

pub(crate) mod from_index;
pub(crate) mod rebuild;

use std::fs;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use milepost_codec::{
    ArchiveBlock, ArchiveHeader, Error, ErrorKind, FrameHeader, Result, SegmentHeader, Seq,
    StoreId, StoreKey,
};

use crate::files::{self, FolderHandle};
use crate::local::journal::pool::SealedSegment;
use crate::local::journal::scan::Segment;
use crate::local::markers::applied::UNKNOWN;

/// Bytes of frames compressed together: more compress better, but are held in memory at once.
const BLOCK_TARGET: usize = 512 << 10;

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
    let mut writer = Writer::create(path, header)?;
    for frame in &segment.frames {
        // The file may end in the padding of its last frame.
        let end = frame.end.min(bytes.len() as u64);
        let found = bytes.get(frame.at as usize..end as usize);
        let found = found.expect("a frame lies in the segment in which it was found");
        writer.frame(found, frame.end - end)?;
    }
    writer.finish(false, folder).map(Some)
}

/// Writes an archive file under a temporary name, and renames it when it is complete.
pub(crate) struct Writer {
    path: PathBuf,
    temp_path: PathBuf,
    out: File,
    buf: Vec<u8>,
    raw: Vec<u8>,
    frames: u32,
    next: Seq,
    written: u64,
}

impl Writer {
    pub(crate) fn create(path: PathBuf, header: SegmentHeader) -> Result<Self> {
        let (out, temp_path) = files::create_temp(&path)?;
        Ok(Self {
            path,
            temp_path,
            out,
            buf: ArchiveHeader(header).encode(),
            raw: Vec::new(),
            frames: 0,
            next: header.first,
            written: 0,
        })
    }

    /// Adds a frame, with `zeros` bytes of padding appended.
    pub(crate) fn frame(&mut self, frame: &[u8], zeros: u64) -> Result<()> {
        if !self.raw.is_empty() && self.raw.len() + frame.len() > BLOCK_TARGET {
            self.block()?;
        }
        self.raw.extend_from_slice(frame);
        self.raw.resize(self.raw.len() + zeros as usize, 0);
        self.frames += 1;
        Ok(())
    }

    fn block(&mut self) -> Result<()> {
        if self.frames > 0 {
            ArchiveBlock::encode(&self.raw, self.frames, self.next, &mut self.buf);
            self.next += Seq::from(self.frames);
            self.raw.clear();
            self.frames = 0;
        }
        self.out.write_all(&self.buf).map_err(|e| files::io("write", &self.temp_path, &e))?;
        self.written += self.buf.len() as u64;
        self.buf.clear();
        Ok(())
    }

    /// Finishes the file; when this returns, it survives power loss. Returns its length in bytes.
    pub(crate) fn finish(mut self, rewritten: bool, folder: &FolderHandle) -> Result<u64> {
        self.block()?;
        ArchiveBlock::encode_end(self.next, rewritten, &mut self.buf);
        self.block()?;
        self.out
            .sync_all()
            .and_then(|()| fs::rename(&self.temp_path, &self.path))
            .map_err(|e| files::io("write", &self.temp_path, &e))?;
        folder.sync()?;
        Ok(self.written)
    }
}

/// Reads one archive file, a block at a time.
pub(crate) struct Reader<'a> {
    path: PathBuf,
    file: BufReader<File>,
    /// Bytes of the file that are not read yet.
    remaining: u64,
    key: Option<&'a StoreKey>,
    pub(crate) header: SegmentHeader,
    next: Seq,
    check: [u8; 16],
    rewritten: bool,
    done: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn open(path: &Path, store: StoreId, key: Option<&'a StoreKey>) -> Result<Self> {
        let file = files::open_read(path)?;
        let len = file.metadata().map_err(|e| files::io("read", path, &e))?.len();
        let mut file = BufReader::with_capacity(256 << 10, file);
        let mut header = [0; ArchiveHeader::LEN];
        files::read_whole(&mut file, &mut header).map_err(|e| unread(path, &e))?;
        let header = decode_header(path, &header, store)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            remaining: len.saturating_sub(ArchiveHeader::LEN as u64),
            key,
            header,
            next: header.first,
            check: header.prev,
            rewritten: false,
            done: false,
        })
    }

    /// Returns the checked frames of the next block, one after another, or `None` at the end of the
    /// file.
    pub(crate) fn next_block(&mut self) -> Result<Option<Vec<u8>>> {
        if self.done {
            return Ok(None);
        }
        let read = self.read_block();
        read.map_err(|e| e.at(self.path.display()))
    }

    fn read_block(&mut self) -> Result<Option<Vec<u8>>> {
        let mut head = [0; ArchiveBlock::HEADER_LEN];
        files::read_whole(&mut self.file, &mut head).map_err(|e| unread(&self.path, &e))?;
        let block = ArchiveBlock::decode_header(&head)?;
        self.remaining = self.remaining.saturating_sub(head.len() as u64);
        if block.stored_len() as u64 > self.remaining {
            return Err(short(&self.path));
        }
        self.remaining -= block.stored_len() as u64;
        let mut payload = vec![0; block.stored_len()];
        files::read_whole(&mut self.file, &mut payload).map_err(|e| unread(&self.path, &e))?;
        let frames = block.decode(&head, &payload)?;
        if block.first != self.next {
            return Err(Error::corrupt("archive block", self.next, block.first));
        }
        if block.frames == 0 {
            self.done = true;
            self.rewritten = block.rewritten;
            return Ok(None);
        }
        self.check_frames(&frames, block.frames)?;
        Ok(Some(frames))
    }

    fn check_frames(&mut self, frames: &[u8], count: u32) -> Result<()> {
        let mut rest = frames;
        for _ in 0..count {
            let (frame, _) = FrameHeader::read(rest, self.key)?;
            let epoch = self.header.epoch;
            if (frame.seq, frame.epoch, frame.prev) != (self.next, epoch, self.check) {
                return Err(Error::corrupt("archived frame", self.next, frame.seq));
            }
            self.next += 1;
            self.check = frame.check;
            rest = frame.after(rest);
        }
        if !rest.is_empty() {
            return Err(Error::corrupt("archive block", "no bytes after its frames", rest.len()));
        }
        Ok(())
    }

    /// Returns the commit after the last one read, and the check of the last frame: [`UNKNOWN`] at
    /// the end of a file that was rewritten from sled.
    pub(crate) fn position(&self) -> (Seq, [u8; 16]) {
        let check = if self.rewritten { UNKNOWN } else { self.check };
        (self.next, check)
    }
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
    /// Set if it was rewritten from sled.
    pub(crate) rewritten: bool,
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

impl ArchiveScan {
    /// Returns the last commit of the last intact file.
    pub(crate) fn end(&self) -> Seq {
        self.files.last().map_or(0, |file| file.next - 1)
    }

    /// Reads the beginning and end of each file.
    pub(crate) fn take(dir: &Path, store: StoreId) -> Result<Self> {
        let mut survey = Self::default();
        let mut free = Vec::new();
        let mut number = 1;
        for (file_number, path) in files::numbered(dir, "mpa")? {
            free.extend(number..file_number);
            number = file_number + 1;
            survey.last_number = file_number;
            let after = survey.end() + 1;
            match look(&path, store, file_number) {
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

fn look(path: &Path, store: StoreId, number: u64) -> Result<Archived> {
    let file = files::open_read(path)?;
    let mut bytes = [0; ArchiveHeader::LEN];
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
    let mut end = [0; ArchiveBlock::HEADER_LEN];
    let at = len.checked_sub(end.len() as u64).ok_or_else(|| short(path))?;
    files::read_whole_at(&file, &mut end, at).map_err(|e| unread(path, &e))?;
    let block = ArchiveBlock::decode_header(&end).map_err(|_| short(path))?;
    if block.frames != 0 || block.first < header.first || block.decode(&end, &[]).is_err() {
        return Err(short(path));
    }
    Ok(Archived {
        number,
        path: path.to_owned(),
        first: header.first,
        next: block.first,
        rewritten: block.rewritten,
    })
}

fn decode_header(path: &Path, bytes: &[u8], store: StoreId) -> Result<SegmentHeader> {
    let header = ArchiveHeader::decode(bytes).map_err(|e| e.at(path.display()))?.0;
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
