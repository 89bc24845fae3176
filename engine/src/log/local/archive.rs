//! The archive: finished segments, compressed, in commit order. With the active segment it is the
//! second copy of every event, and sled can be rebuilt from it.

use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use milepost_codec::{ArchiveBlock, ArchiveHeader, Error, FrameHeader, Result, Seq, StoreId};

use super::journal::Sealed;
use super::layout;
use super::scan::Scanned;

/// Frames that are compressed together: more pack better, and are held in memory at once.
const BLOCK_TARGET: usize = 512 << 10;

/// Writes a finished segment into the archive; when this returns, it survives power loss.
pub(crate) fn write(dir: &Path, sealed: &Sealed, store: StoreId) -> Result<()> {
    let path = layout::numbered_path(dir, sealed.header.number, "mpa");
    if path.exists() {
        // Whoever wrote it may have died before its name was durable.
        return layout::sync_dir(dir);
    }
    let segment = Scanned::read(&sealed.path, store)?;
    if segment.last != sealed.last {
        return Err(Error::corrupt(
            sealed.path.display().to_string(),
            format!("commits up to {}", sealed.last),
            format!("commits up to {}", segment.last),
        ));
    }
    let beside = path.with_extension("tmp");
    let mut out = File::create(&beside).map_err(|e| layout::io("create", &beside, &e))?;
    let mut buf = ArchiveHeader(segment.header).encode();
    let mut first = segment.header.first;
    let (mut from, mut at) = (SEGMENT_START, SEGMENT_START);
    let mut count = 0_u32;
    loop {
        let rest = segment
            .bytes
            .get(at..segment.end as usize)
            .unwrap_or_default();
        let frame = FrameHeader::read(rest).ok();
        if count > 0 && (frame.is_none() || at - from >= BLOCK_TARGET) {
            let raw = segment.bytes.get(from..at).unwrap_or_default();
            ArchiveBlock::encode(raw, count, first, &mut buf);
            out.write_all(&buf)
                .map_err(|e| layout::io("write", &beside, &e))?;
            buf.clear();
            first += Seq::from(count);
            (from, count) = (at, 0);
        }
        let Some((header, _)) = frame else { break };
        at += header.stride() as usize;
        count += 1;
    }
    ArchiveBlock::encode(&[], 0, first, &mut buf);
    out.write_all(&buf)
        .and_then(|()| out.sync_all())
        .and_then(|()| fs::rename(&beside, &path))
        .map_err(|e| layout::io("write", &beside, &e))?;
    layout::sync_dir(dir)
}

const SEGMENT_START: usize = milepost_codec::SEGMENT_HEADER_LEN;

/// Reads one archive file, a block at a time.
pub(crate) struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    pub(crate) header: ArchiveHeader,
    next: Seq,
    check: [u8; 16],
    done: bool,
}

impl Reader {
    pub(crate) fn open(path: &Path, store: StoreId) -> Result<Self> {
        let file = File::open(path).map_err(|e| layout::io("open", path, &e))?;
        let mut file = BufReader::with_capacity(256 << 10, file);
        let mut header = [0; ArchiveHeader::LEN];
        file.read_exact(&mut header).map_err(|_| short(path))?;
        let header = ArchiveHeader::decode(&header).map_err(|e| e.at(path.display()))?;
        if header.0.store != store {
            return Err(Error::corrupt(
                path.display().to_string(),
                format!("an archive of store {store}"),
                format!("one of store {}", header.0.store),
            ));
        }
        let (next, check) = (header.0.first, header.0.prev);
        Ok(Self {
            path: path.to_owned(),
            file,
            header,
            next,
            check,
            done: false,
        })
    }

    /// The frames of the next block, checked, one after another; nothing at the end of the file.
    pub(crate) fn next_block(&mut self) -> Result<Option<Vec<u8>>> {
        if self.done {
            return Ok(None);
        }
        let read = self.read_block();
        read.map_err(|e| e.at(self.path.display()))
    }

    fn read_block(&mut self) -> Result<Option<Vec<u8>>> {
        let mut head = [0; ArchiveBlock::HEADER_LEN];
        self.file
            .read_exact(&mut head)
            .map_err(|_| short(&self.path))?;
        let block = ArchiveBlock::decode_header(&head)?;
        let mut payload = vec![0; block.stored_len()];
        self.file
            .read_exact(&mut payload)
            .map_err(|_| short(&self.path))?;
        let frames = block.decode(&head, &payload)?;
        if block.first != self.next {
            return Err(Error::corrupt("archive block", self.next, block.first));
        }
        if block.frames == 0 {
            self.done = true;
            return Ok(None);
        }
        self.check_frames(&frames, block.frames)?;
        Ok(Some(frames))
    }

    fn check_frames(&mut self, frames: &[u8], count: u32) -> Result<()> {
        let mut rest = frames;
        for _ in 0..count {
            let (frame, _) = FrameHeader::read(rest)?;
            let epoch = self.header.0.epoch;
            if (frame.seq, frame.epoch, frame.prev) != (self.next, epoch, self.check) {
                return Err(Error::corrupt("archived frame", self.next, frame.seq));
            }
            self.next += 1;
            self.check = frame.check;
            rest = rest.get(frame.stride() as usize..).unwrap_or_default();
        }
        if !rest.is_empty() {
            return Err(Error::corrupt(
                "archive block",
                "no bytes after its frames",
                rest.len(),
            ));
        }
        Ok(())
    }

    /// The commit after the last one read, and the check of the last frame.
    pub(crate) fn position(&self) -> (Seq, [u8; 16]) {
        (self.next, self.check)
    }
}

fn short(path: &Path) -> Error {
    Error::corrupt(
        path.display().to_string(),
        "a whole archive file",
        "one that ends too early",
    )
}
