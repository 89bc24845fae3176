//! One fixed value of every stored type: with all optional fields set, and with none.
//!
//! `bodies.rs` has the event kinds, this file the rest. The golden files pin their bytes and the
//! hostile tests damage them.

#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

mod block_files;
mod bodies;
mod trees;

pub use block_files::{block_file, commit_table, end_table, run_blocks, sealing};
pub use bodies::{bodies, controls};
use milepost_codec::{
    Base, BaseKey, BodyForm, CheckpointId, ChunkId, ChunkList, ChunkedBody, FRAME_HEADER_LEN, Hash,
    Head, Header, LineageId, LogId, Offset, Origin, Piece, ReducerState, Salts, SectionRef, Seed,
    SegmentHeader, Snapshot, StoreId, StoreKey, TaskNo, begin_log_batch, encode_record, seal_frame,
};
pub use trees::{chunk_group, chunk_groups, nodes, plan, skips};

pub const ORIGIN: Origin = Origin([0x0A; 16]);
pub const STORE: StoreId = StoreId([0x05; 16]);
pub const SEED: Seed = Seed([0x5E; 16]);
pub const LINEAGE: LineageId = LineageId(3);
pub const OFFSET: Offset = 40;

pub fn hash(fill: u8) -> Hash {
    Hash([fill; 32])
}

pub fn chunk(fill: u8) -> ChunkId {
    ChunkId([fill; 32])
}

pub fn checkpoint(fill: u8) -> CheckpointId {
    CheckpointId([fill; 32])
}

pub fn head() -> Head {
    Head { next: OFFSET, hash: hash(0x44) }
}

pub fn log() -> LogId {
    LogId::lineage(TaskNo(7), LINEAGE)
}

pub fn headers() -> Vec<(&'static str, Header)> {
    let all = Header {
        kind: 13,
        time_us: 1_753_833_918_043_000,
        actor: Some("planner".into()),
        user: Some("wang1".into()),
        correlation: Some("req-1".into()),
        key: Some("k".into()),
        batch: 2,
    };
    vec![("all", all), ("none", Header { kind: 2, time_us: 0, ..Header::default() })]
}

/// Three records: one inline, one in chunks, one erased.
pub fn records() -> Vec<u8> {
    let mut out = Vec::new();
    let (inline, chunked) = (&headers()[0].1, &headers()[1].1);
    encode_record(&mut out, &inline.encode(), BodyForm::Inline, b"body");
    encode_record(&mut out, &chunked.encode(), BodyForm::Chunked, &chunked_bodies()[0].1.encode());
    encode_record(&mut out, &chunked.encode(), BodyForm::Erased, &hash(0xEE).0);
    out
}

/// Salts of the three records, when each has its own: the erased one's are zeros.
pub fn explicit_salts() -> Vec<u8> {
    [[0x11; 16], [0x22; 16], [0; 16]].concat()
}

pub fn with_sections<R>(use_them: impl FnOnce(&[(&'static str, SectionRef<'_>)]) -> R) -> R {
    let (records, salts) = (records(), explicit_salts());
    let seeded = Salts::Seeded(SEED, 300);
    use_them(&[
        ("seeded", SectionRef { seq: 70_000, salts: seeded, count: 3, records: &records }),
        (
            "explicit",
            SectionRef { seq: 9, salts: Salts::Explicit(&salts), count: 3, records: &records },
        ),
        ("empty", SectionRef { seq: 0, salts: Salts::Explicit(&[]), count: 0, records: &[] }),
    ])
}

/// The bytes of all sections above, one after another.
pub fn sections() -> Vec<u8> {
    let mut out = Vec::new();
    with_sections(|sections| sections.iter().for_each(|(_, s)| s.encode(&mut out)));
    out
}

pub fn groups() -> Vec<(&'static str, LogId, Offset, Vec<u8>)> {
    let logs = [
        ("lineage", log(), OFFSET),
        ("control log of a task", LogId::control(TaskNo(7)), 1 << 40),
        ("control log of the store", LogId::STORE, 0),
    ];
    let one = |(name, log, first)| {
        let mut out = Vec::new();
        begin_log_batch(&mut out, log, first);
        with_sections(|sections| sections[0].1.encode(&mut out));
        (name, log, first, out)
    };
    logs.map(one).into()
}

pub fn frame(payload: &[u8], closed: bool) -> Vec<u8> {
    frame_with(payload, closed, None)
}

pub fn frame_with(payload: &[u8], closed: bool, key: Option<&StoreKey>) -> Vec<u8> {
    let mut frame = vec![0; FRAME_HEADER_LEN];
    frame.extend_from_slice(payload);
    seal_frame(&mut frame, 12, 0x0123_4567_89AB_CDEF, closed, &[0xFA; 16], key);
    frame
}

pub fn segment() -> SegmentHeader {
    let (number, epoch, first) = (2, 0x0123_4567_89AB_CDEF, 12);
    SegmentHeader { store: STORE, number, epoch, first, recycled: false, prev: [0xFA; 16] }
}

/// Bytes that no packer makes smaller.
pub fn incompressible(len: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(len + 32);
    while out.len() < len {
        out.extend_from_slice(blake3::hash(&(out.len() as u64).to_le_bytes()).as_bytes());
    }
    out.truncate(len);
    out
}

pub fn chunk_lists() -> Vec<(&'static str, ChunkList)> {
    let two = ChunkList { len: 1_500_000, chunks: vec![chunk(0xC1), chunk(0xC2)] };
    vec![("two chunks", two), ("empty", ChunkList::default())]
}

pub fn chunked_bodies() -> Vec<(&'static str, ChunkedBody)> {
    let content = chunk_lists()[0].1.clone();
    let whole = ChunkedBody { content: content.clone(), ..ChunkedBody::default() };
    let middle = ChunkedBody { before: b"before".to_vec(), content, after: b"after".to_vec() };
    vec![("whole", whole), ("middle", middle)]
}

pub fn pieces() -> Vec<Piece> {
    vec![
        Piece { id: chunk(0xC1), items: 250, bytes: 65_535 },
        Piece { id: chunk(0xC2), items: 251, bytes: 65_536 },
    ]
}

pub fn snapshots() -> Vec<(&'static str, Snapshot)> {
    let all = Snapshot {
        reducer: "run".into(),
        version: 4,
        head: head(),
        state: chunk_lists()[0].1.clone(),
        refers: vec![chunk(0xC3)],
    };
    let none = Snapshot { state: ChunkList::default(), refers: vec![], ..all.clone() };
    vec![("all", all), ("none", none)]
}

pub fn bases() -> Vec<(&'static str, Base)> {
    let state = ReducerState {
        reducer: "run".into(),
        version: 4,
        state: chunk_lists()[0].1.clone(),
        refers: vec![chunk(0xC3)],
    };
    let all = Base {
        origin: ORIGIN,
        lineage: LINEAGE,
        head: head(),
        states: vec![state],
        keys: ChunkList { len: 90, chunks: vec![chunk(0xC4)] },
    };
    let none = Base { states: vec![], keys: ChunkList::default(), ..all.clone() };
    vec![("all", all), ("none", none)]
}

pub fn base_keys() -> Vec<BaseKey> {
    let key = |key: &str, first| BaseKey {
        key: key.into(),
        first,
        count: 2,
        salt: [0x11; 16],
        digest: hash(0xD1),
    };
    vec![key("k", 0), key("another", 40)]
}
