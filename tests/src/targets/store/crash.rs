//! Crashes: a copy of the open store as a kill leaves it, and after the last acknowledged frame the
//! remains of a torn write.

use std::fs;
use std::path::Path;

use milepost_codec::{
    AckWatermark, FRAME_HEADER_LEN, FrameHeader, SEGMENT_HEADER_LEN, SegmentHeader, StoreId,
    seal_frame,
};

use crate::folder::{copy_store, files};
use crate::seed::Random;
use crate::targets::input::Input;

/// Unit that reaches a disk at once.
const SECTOR: usize = 512;

/// A store that is open, as a kill at this moment leaves it.
pub(crate) fn copy(from: &Path, to: &Path) {
    copy_store(from, to).expect("a copy of the store");
}

/// Bytes after the last acknowledged frame.
#[derive(Debug)]
enum Torn {
    /// The remains of the kill, unchanged.
    Nothing,
    /// The file ends there, or somewhat later.
    Cut(usize),
    /// Bytes of no meaning.
    Garbage { seed: u64, at: usize, len: usize },
    /// Some sectors of a frame that would have been the next. It has the groups of the frame
    /// before, or bytes of no meaning.
    Frame { sectors: u32, len: Option<usize> },
    /// Remains of a frame whose body contains bytes of the journal: an older frame, intact.
    Quoted { at: usize },
}

/// Fate of the witness of the last acknowledged commit.
#[derive(Debug)]
enum Witness {
    Kept,
    Gone,
    /// Power loss leaves an older one.
    Older(u64),
    Garbage,
}

/// Bytes that a crash left after the acknowledged end.
#[derive(Debug)]
pub(crate) struct Tear {
    torn: Torn,
    witness: Witness,
}

impl Tear {
    pub(crate) fn take(input: &mut Input<'_>) -> Self {
        let how = input.byte();
        let torn = match how % 7 {
            0 | 1 => Torn::Nothing,
            2 => Torn::Cut(usize::from(input.short())),
            3 => Torn::Garbage {
                seed: u64::from(input.byte()),
                at: usize::from(input.byte()),
                len: usize::from(input.short()),
            },
            4 => Torn::Frame { sectors: input.word(), len: None },
            5 => Torn::Frame { sectors: input.word(), len: Some(usize::from(input.short())) },
            _ => Torn::Quoted { at: usize::from(input.byte()) },
        };
        let witness = match how / 7 % 6 {
            0..=2 => Witness::Kept,
            3 => Witness::Gone,
            4 => Witness::Older(u64::from(input.byte())),
            _ => Witness::Garbage,
        };
        Self { torn, witness }
    }

    /// Does it to a copy.
    pub(crate) fn apply(&self, store: &Path) {
        let acked_path = store.join("acked");
        let acked = fs::read(&acked_path).expect("the acknowledged commit");
        let acked = AckWatermark::decode(&acked).expect("the acknowledged commit");
        self.tear(store, &acked);
        match self.witness {
            Witness::Kept => {}
            Witness::Gone => fs::remove_file(&acked_path).expect("remove a file"),
            Witness::Older(by) => {
                let seq = acked.seq.saturating_sub(by);
                let older = AckWatermark { seq, ..acked };
                fs::write(&acked_path, older.encode()).expect("write a file");
            }
            Witness::Garbage => fs::write(&acked_path, [0x5a; 64]).expect("write a file"),
        }
    }

    fn tear(&self, store: &Path, acked: &AckWatermark) {
        let segments = files(&store.join("journal"), ".seg").expect("a folder");
        let Some(path) = segments.last() else { return };
        let mut bytes = fs::read(path).expect("a segment");
        let Some(end) = End::find(&bytes, acked.store, acked.seq) else {
            return;
        };
        // Unacknowledged frames disappear, as if they had not been written yet.
        let unseen = bytes.get_mut(end.at..end.last).unwrap_or_default();
        match &self.torn {
            Torn::Nothing => return,
            Torn::Cut(more) => {
                unseen.fill(0);
                bytes.truncate(end.at + more);
            }
            Torn::Garbage { seed, at, len } => {
                unseen.fill(0);
                let from = (end.at + at).min(bytes.len());
                let to = (from + len).min(bytes.len());
                let garbage = Random::new(*seed).bytes(to - from);
                bytes[from..to].copy_from_slice(&garbage);
            }
            Torn::Frame { sectors, len } => {
                unseen.fill(0);
                end.write_torn(&mut bytes, *sectors, *len);
            }
            Torn::Quoted { at } => {
                unseen.fill(0);
                // Behind room for its own header.
                let to = end.at + FRAME_HEADER_LEN + at * 8;
                if let Some(room) = bytes.get_mut(to..to + end.frame.len()) {
                    room.copy_from_slice(&end.frame);
                }
            }
        }
        fs::write(path, bytes).expect("write a segment");
    }
}

/// End of the acknowledged frames of the last segment.
struct End {
    /// Behind the last acknowledged frame.
    at: usize,
    /// Behind the last frame.
    last: usize,
    epoch: u64,
    /// Number and check of the last acknowledged commit.
    seq: u64,
    check: [u8; 16],
    /// The last acknowledged frame, and its payload.
    frame: Vec<u8>,
    payload: Vec<u8>,
}

impl End {
    fn find(bytes: &[u8], store: StoreId, acked: u64) -> Option<Self> {
        let header = SegmentHeader::decode(bytes).ok()?;
        if header.store != store || header.first > acked + 1 {
            return None;
        }
        let mut end = Self {
            at: SEGMENT_HEADER_LEN,
            last: SEGMENT_HEADER_LEN,
            epoch: header.epoch,
            seq: header.first.saturating_sub(1),
            check: header.prev,
            frame: Vec::new(),
            payload: Vec::new(),
        };
        while let Some(Ok((frame, payload))) =
            bytes.get(end.last..).map(|b| FrameHeader::read(b, None))
        {
            if frame.epoch != header.epoch {
                break;
            }
            end.last += frame.stride() as usize;
            if frame.seq <= acked {
                end.at = end.last;
                (end.seq, end.check) = (frame.seq, frame.check);
                end.payload = payload.to_vec();
                let from = end.at - frame.stride() as usize;
                end.frame = bytes[from..end.at].to_vec();
            }
        }
        Some(end)
    }

    /// Writes some sectors of the frame that would have come next, but not all of it.
    fn write_torn(&self, bytes: &mut [u8], sectors: u32, len: Option<usize>) {
        let mut frame = vec![0; FRAME_HEADER_LEN];
        match len {
            Some(len) => frame.extend(Random::new(u64::from(sectors)).bytes(len)),
            None => frame.extend_from_slice(&self.payload),
        }
        let whole = frame.len();
        seal_frame(&mut frame, self.seq + 1, self.epoch, false, &self.check, None);
        let Some(room) = bytes.get_mut(self.at..self.at + frame.len()) else {
            return;
        };
        let before = room.to_vec();
        for (n, byte) in frame.iter().enumerate() {
            let sector = (self.at + n) / SECTOR - self.at / SECTOR;
            if sectors >> (sector % 32) & 1 == 1 {
                room[n] = *byte;
            }
        }
        // A frame that got through whole is no torn one.
        if room[..whole] == frame[..whole] {
            room.copy_from_slice(&before);
        }
    }
}
