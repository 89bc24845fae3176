//! Bytes as frames, segments, archive blocks, blocks, chunks, snapshots and bases.
#![no_main]

use libfuzzer_sys::fuzz_target;
use milepost_codec::{
    ArchiveBlock, ArchiveHeader, Base, Block, ChunkEntry, ChunkList, FrameHeader, LogId, Piece,
    SegmentHeader, Snapshot,
};

fuzz_target!(|bytes: &[u8]| {
    let _ = FrameHeader::read(bytes, None);
    let _ = SegmentHeader::decode(bytes);
    let _ = ArchiveHeader::decode(bytes);
    if let Ok(block) = ArchiveBlock::decode_header(bytes) {
        let (header, payload) = bytes.split_at(ArchiveBlock::HEADER_LEN);
        let _ = block.decode(header, payload);
    }
    let _ = Block::decode(LogId::STORE, bytes, None);
    let _ = ChunkEntry::decode(bytes);
    let _ = ChunkList::decode(bytes);
    let _ = Piece::decode_list(bytes);
    let _ = Snapshot::decode(bytes);
    let _ = Base::decode(bytes);
});
