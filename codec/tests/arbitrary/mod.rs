//! Strategies for every stored type. `bodies.rs` has the event kinds, `trees.rs` trees, this file
//! the rest.

#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

mod bodies;
pub mod trees;

pub use bodies::{body, control, json, known_body, mark};
use milepost_codec::{
    Base, BaseKey, BodyForm, CheckpointId, ChunkId, ChunkList, ChunkedBody, Hash, Head, Header,
    LineageId, LogId, LogKind, Origin, Piece, ReducerState, Salts, SectionRef, Seed, Seq, Snapshot,
    TaskNo, encode_record,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Configures proptest so that failures are reproducible: `PROPTEST_RNG_SEED` takes a seed, and a
/// file keeps the cases.
pub fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

/// Any text, control characters and all planes of Unicode included.
pub fn text() -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..8).prop_map(String::from_iter)
}

/// Numbers around each length of a variable-length integer.
pub fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..=260_u64, 65_500..=65_600_u64, any::<u32>().prop_map(u64::from), any::<u64>()]
}

pub fn hash() -> impl Strategy<Value = Hash> {
    any::<[u8; 32]>().prop_map(Hash)
}

pub fn chunk() -> impl Strategy<Value = ChunkId> {
    any::<[u8; 32]>().prop_map(ChunkId)
}

pub fn checkpoint() -> impl Strategy<Value = CheckpointId> {
    any::<[u8; 32]>().prop_map(CheckpointId)
}

pub fn origin() -> impl Strategy<Value = Origin> {
    any::<[u8; 16]>().prop_map(Origin)
}

pub fn lineage() -> impl Strategy<Value = LineageId> {
    (0..u32::MAX).prop_map(LineageId)
}

pub fn head() -> impl Strategy<Value = Head> {
    (number(), hash()).prop_map(|(next, hash)| Head { next, hash })
}

pub fn log() -> impl Strategy<Value = LogId> {
    (number(), any::<u32>())
        .prop_map(|(task, log)| LogId { task: TaskNo(task), kind: LogKind::from_number(log) })
}

pub fn header() -> impl Strategy<Value = Header> {
    let texts = (option::of(text()), option::of(text()), option::of(text()), option::of(text()));
    (any::<u16>(), number(), texts, any::<u32>()).prop_map(
        |(kind, time_us, (actor, user, correlation, key), batch)| Header {
            kind,
            time_us,
            actor,
            user,
            correlation,
            key,
            batch,
        },
    )
}

/// A record that owns its parts.
pub type Record = (Vec<u8>, BodyForm, Vec<u8>);

pub fn record() -> impl Strategy<Value = Record> {
    let body = prop_oneof![
        4 => vec(any::<u8>(), 0..300).prop_map(|b| (BodyForm::Inline, b)),
        1 => chunked_body().prop_map(|body| (BodyForm::Chunked, body.encode())),
        1 => hash().prop_map(|hash| (BodyForm::Erased, hash.0.to_vec())),
    ];
    (header(), body).prop_map(|(header, (form, payload))| (header.encode(), form, payload))
}

/// A section that owns its parts.
#[derive(Debug, Clone)]
pub struct Section {
    pub seq: Seq,
    pub seed: Option<(Seed, u64)>,
    pub salts: Vec<u8>,
    pub count: u32,
    pub records: Vec<u8>,
}

impl Section {
    pub fn as_ref(&self) -> SectionRef<'_> {
        let salts = match self.seed {
            Some((seed, index)) => Salts::Seeded(seed, index),
            None => Salts::Explicit(&self.salts),
        };
        SectionRef { seq: self.seq, salts, count: self.count, records: &self.records }
    }
}

pub fn section() -> impl Strategy<Value = Section> {
    let seed = option::of((any::<[u8; 16]>().prop_map(Seed), number()));
    let salts = vec(any::<[u8; 16]>(), 6);
    (number(), seed, salts, vec(record(), 0..6)).prop_map(|(seq, seed, salts, all)| {
        let mut records = Vec::new();
        for (header, form, payload) in &all {
            encode_record(&mut records, header, *form, payload);
        }
        let salts = salts[..all.len()].concat();
        Section { seq, seed, salts, count: all.len() as u32, records }
    })
}

pub fn chunked_body() -> impl Strategy<Value = ChunkedBody> {
    let end = || vec(any::<u8>(), 0..100);
    (end(), chunk_list(), end()).prop_map(|(before, content, after)| ChunkedBody {
        before,
        content,
        after,
    })
}

pub fn chunk_list() -> impl Strategy<Value = ChunkList> {
    (number(), vec(chunk(), 0..4)).prop_map(|(len, chunks)| ChunkList { len, chunks })
}

pub fn piece() -> impl Strategy<Value = Piece> {
    (chunk(), number(), number()).prop_map(|(id, items, bytes)| Piece { id, items, bytes })
}

pub fn snapshot() -> impl Strategy<Value = Snapshot> {
    (text(), any::<u32>(), head(), chunk_list(), vec(chunk(), 0..3)).prop_map(
        |(reducer, version, head, state, refers)| Snapshot {
            reducer,
            version,
            head,
            state,
            refers,
        },
    )
}

pub fn base() -> impl Strategy<Value = Base> {
    let state = (text(), any::<u32>(), chunk_list(), vec(chunk(), 0..3)).prop_map(
        |(reducer, version, state, refers)| ReducerState { reducer, version, state, refers },
    );
    (origin(), lineage(), head(), vec(state, 0..3), chunk_list()).prop_map(
        |(origin, lineage, head, states, keys)| Base { origin, lineage, head, states, keys },
    )
}

pub fn base_key() -> impl Strategy<Value = BaseKey> {
    (text(), number(), any::<u32>(), any::<[u8; 16]>(), hash())
        .prop_map(|(key, first, count, salt, digest)| BaseKey { key, first, count, salt, digest })
}
