//! Formats with a check of their own, and the lists in chunks.

use milepost_codec::{
    AckWatermark, Base, BaseKey, BlockFileHeader, CHUNK_RAW_MAX, ChunkEntry, ChunkList,
    CommitTable, CommitTableHeader, FRAME_PAYLOAD_MAX, FrameHeader, LogBatches, Piece, Result,
    RunBlock, SegmentHeader, Snapshot,
};

use crate::targets::bounds::{bounded, told};
use crate::targets::checks;
use crate::targets::records::walk_section;

/// Types of an input, by the low bits of its first byte; bit 7: its checks are corrected first.
pub const BLOCKS: [&str; 6] =
    ["block of runs", "chunk", "frame", "segment header", "commit table", "block file header"];

/// Types of an input, by its first byte.
pub const LISTS: [&str; 5] = ["chunk list", "piece list", "snapshot", "base", "base keys"];

/// Bytes as a block, chunk, frame, header or commit table.
pub fn blocks(bytes: &[u8]) {
    let Some((selector, rest)) = bytes.split_first() else {
        return;
    };
    let mut own = rest.to_vec();
    let bytes = own.as_mut_slice();
    let (right, which) = (selector & 0x80 != 0, (selector & 0x7f) % BLOCKS.len() as u8);
    if right {
        match which {
            0 => checks::file_block(bytes),
            1 => checks::chunk(bytes),
            2 => checks::frame(bytes),
            4 => checks::commit_table(bytes),
            _ => checks::header(bytes),
        }
    }
    // A packed payload may claim what its limit allows: how much it unpacks to shows only then.
    let claim = match which {
        0 => FRAME_PAYLOAD_MAX,
        1 => CHUNK_RAW_MAX,
        _ => 0,
    };
    let bytes = &*bytes;
    let outcome = bounded("blocks", bytes.len(), claim, || match which {
        0 => read_runs(bytes),
        1 => read_chunk(bytes),
        2 => read_frame(bytes),
        3 => SegmentHeader::decode(bytes).map(|header| {
            assert_eq!(SegmentHeader::decode(&header.encode()).ok(), Some(header));
        }),
        4 => read_commit_table(bytes),
        _ => BlockFileHeader::decode(bytes).map(|header| {
            assert_eq!(BlockFileHeader::decode(&header.encode()).ok(), Some(header));
        }),
    });
    if let Err(error) = outcome {
        told("blocks", &error);
    }
}

fn read_chunk(bytes: &[u8]) -> Result<()> {
    let (header, content) = ChunkEntry::decode(bytes)?;
    assert!(content.len() <= CHUNK_RAW_MAX);
    assert_eq!(ChunkEntry::id_of(&content), header.id);
    Ok(())
}

fn read_frame(bytes: &[u8]) -> Result<()> {
    FrameHeader::looks_like(bytes, 12);
    let (header, payload) = FrameHeader::read(bytes, None)?;
    assert!(header.stride() >= payload.len() as u64);
    for group in LogBatches::new(payload) {
        walk_section(&group?.section)?;
    }
    Ok(())
}

fn read_runs(bytes: &[u8]) -> Result<()> {
    let block = RunBlock::decode(bytes, None)?;
    for (n, run) in block.runs().enumerate() {
        assert!(run.end() >= run.first);
        for section in block.sections(n) {
            walk_section(&section?)?;
        }
    }
    Ok(())
}

fn read_commit_table(bytes: &[u8]) -> Result<()> {
    let (header, table) = (CommitTableHeader::decode(bytes)?, CommitTable::decode(bytes, None)?);
    let mut again = Vec::new();
    table.encode(header.epoch, None, &mut again)?;
    assert_eq!(again, bytes);
    Ok(())
}

/// Bytes as one of the lists that stand in records and chunks.
pub fn lists(bytes: &[u8]) {
    let Some((selector, rest)) = bytes.split_first() else {
        return;
    };
    macro_rules! comes_back {
        ($decode:expr, $encode:expr) => {
            $decode(rest).map(|value| {
                let again = $decode(&$encode(&value)).expect("what a writer wrote");
                assert_eq!(again, value);
            })
        };
    }
    let which = selector % LISTS.len() as u8;
    let outcome = bounded("lists", rest.len(), 0, || match which {
        0 => comes_back!(ChunkList::decode, ChunkList::encode),
        1 => comes_back!(Piece::decode_list, |list: &Vec<_>| Piece::encode_list(list)),
        2 => comes_back!(Snapshot::decode, Snapshot::encode),
        3 => comes_back!(Base::decode, Base::encode),
        _ => comes_back!(BaseKey::decode_list, |list: &Vec<_>| BaseKey::encode_list(list)),
    });
    if let Err(error) = outcome {
        told("lists", &error);
    }
}

/// Bytes as the file that names the acknowledged commit.
pub fn acked(bytes: &[u8]) {
    let Some((selector, rest)) = bytes.split_first() else {
        return;
    };
    let mut own = rest.to_vec();
    if selector & 0x80 != 0 {
        checks::acked(&mut own);
    }
    match bounded("acked", own.len(), 0, || AckWatermark::decode(&own)) {
        Ok(acked) => assert_eq!(AckWatermark::decode(&acked.encode()).ok(), Some(acked)),
        Err(error) => told("acked", &error),
    }
}
