//! Every decoder behind one face, with valid bytes for each.

#![allow(dead_code, reason = "each test file uses a part")]

use milepost_codec::{
    Base, BaseKey, BlockFileHeader, Body, ChunkEntry, ChunkGroup, ChunkList, ChunkedBody,
    CommitTable, CommitTableHeader, Control, Error, FrameHeader, Header, LogBatches, Node, Piece,
    Records, RestoreIntent, Result, RunBlock, SectionRef, Sections, SegmentHeader, Skip, Snapshot,
};

use super::samples;

/// One way to read bytes.
pub struct Decoder {
    pub name: &'static str,
    /// `true` if all of its bytes are under a check.
    pub checked: bool,
    /// `true` if it reads a caller's request, not stored bytes.
    pub request: bool,
    pub decode: fn(&[u8]) -> Result<()>,
    samples: fn() -> Vec<Vec<u8>>,
}

pub fn samples_of(decoder: &Decoder) -> Vec<Vec<u8>> {
    (decoder.samples)()
}

const fn plain(
    name: &'static str,
    decode: fn(&[u8]) -> Result<()>,
    samples: fn() -> Vec<Vec<u8>>,
) -> Decoder {
    Decoder { name, checked: false, request: false, decode, samples }
}

const fn checked(
    name: &'static str,
    decode: fn(&[u8]) -> Result<()>,
    samples: fn() -> Vec<Vec<u8>>,
) -> Decoder {
    Decoder { name, checked: true, request: false, decode, samples }
}

macro_rules! bodies {
    ($type:ident, $samples:path, $what:literal, $($kind:literal)*) => {
        [$(plain(
            concat!($what, " ", $kind),
            |bytes| $type::decode($kind, bytes).map(drop),
            || {
                let samples = $samples();
                let bodies = samples.iter().map(|(_, b)| b.encode());
                bodies.filter(|b| b.0 == $kind).map(|b| b.1).collect()
            },
        )),*]
    };
}

static BODIES: [Decoder; 22] = bodies!(
    Body, samples::bodies, "event body",
    1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22
);

static CONTROLS: [Decoder; 17] = bodies!(
    Control, samples::controls, "control event",
    256 257 258 259 260 261 262 263 264 265 266 267 268 269 270 271 272
);

static OTHERS: [Decoder; 22] = [
    plain(
        "header",
        |b| Header::decode(b).map(drop),
        || samples::headers().iter().map(|(_, h)| h.encode()).collect(),
    ),
    plain("records", |b| walk_records(Records::new(b)), || vec![samples::records()]),
    plain("sections", walk_sections, || vec![samples::sections()]),
    plain("groups", walk_groups, || {
        samples::groups().into_iter().map(|(_, _, _, bytes)| bytes).collect()
    }),
    checked("frame", read_frame, || {
        let (_, _, _, payload) = samples::groups().remove(0);
        vec![samples::frame(&payload, false), samples::frame(&[0; 16], true)]
    }),
    checked(
        "segment header",
        |b| SegmentHeader::decode(b).map(drop),
        || vec![samples::segment().encode()],
    ),
    checked(
        "chunk",
        |b| ChunkEntry::decode(b).map(drop),
        || {
            let mut small = Vec::new();
            ChunkEntry::encode(&samples::incompressible(20), true, &mut small).unwrap();
            let mut large = Vec::new();
            ChunkEntry::encode(&[7; 5000], false, &mut large).unwrap();
            vec![small, large]
        },
    ),
    checked(
        "block file header",
        |b| BlockFileHeader::decode(b).map(drop),
        || vec![samples::block_file().encode()],
    ),
    checked("block of runs", read_runs, || samples::run_blocks(None).into()),
    checked("commit table", read_commit_table, || {
        let tables = [(samples::commit_table(), 5), (samples::end_table(), 0)];
        let encode = |(table, epoch): (CommitTable, u64)| {
            let mut out = Vec::new();
            table.encode(epoch, None, &mut out).unwrap();
            out
        };
        tables.map(encode).into()
    }),
    checked("chunk group", read_chunk_group, || samples::chunk_groups().into()),
    plain("tree node", read_node, || {
        samples::nodes().iter().map(|(_, node)| node.encode()).collect()
    }),
    plain("skips", read_skips, || vec![samples::skips()]),
    plain("restore plan", read_plan, || {
        vec![samples::plan().encode(), RestoreIntent::default().encode()]
    }),
    plain(
        "chunk list",
        |b| ChunkList::decode(b).map(drop),
        || samples::chunk_lists().iter().map(|(_, list)| list.encode()).collect(),
    ),
    plain(
        "chunked body",
        |b| ChunkedBody::decode(b).map(drop),
        || samples::chunked_bodies().iter().map(|(_, body)| body.encode()).collect(),
    ),
    plain(
        "piece list",
        |b| Piece::decode_list(b).map(drop),
        || vec![Piece::encode_list(&samples::pieces())],
    ),
    plain(
        "snapshot",
        |b| Snapshot::decode(b).map(drop),
        || samples::snapshots().iter().map(|(_, snapshot)| snapshot.encode()).collect(),
    ),
    plain(
        "base",
        |b| Base::decode(b).map(drop),
        || samples::bases().iter().map(|(_, base)| base.encode()).collect(),
    ),
    plain(
        "base keys",
        |b| BaseKey::decode_list(b).map(drop),
        || vec![BaseKey::encode_list(&samples::base_keys())],
    ),
    plain("unknown body", |b| Body::decode(9999, b).map(drop), || vec![vec![1, 2, 3]]),
    Decoder {
        name: "JSON body",
        checked: false,
        request: true,
        decode: read_json,
        samples: || {
            let bodies = samples::bodies();
            bodies.iter().map(|(_, body)| body.to_json().unwrap().into_bytes()).collect()
        },
    },
];

/// Every decoder there is.
pub static DECODERS: std::sync::LazyLock<Vec<&'static Decoder>> =
    std::sync::LazyLock::new(|| BODIES.iter().chain(&CONTROLS).chain(&OTHERS).collect());

fn read_runs(bytes: &[u8]) -> Result<()> {
    let block = RunBlock::decode(bytes, None)?;
    for (n, run) in block.runs().enumerate() {
        assert!(run.end() >= run.first);
        walk_sections(block.sections(n).rest())?;
    }
    Ok(())
}

/// There is one form for each table.
fn read_commit_table(bytes: &[u8]) -> Result<()> {
    let table = CommitTable::decode(bytes, None)?;
    let epoch = CommitTableHeader::decode(bytes)?.epoch;
    let mut again = Vec::new();
    table.encode(epoch, None, &mut again)?;
    assert_eq!(again, bytes);
    Ok(())
}

fn read_chunk_group(bytes: &[u8]) -> Result<()> {
    let _ = ChunkGroup::ids(bytes);
    let contents = ChunkGroup::decode(bytes)?;
    let all = (0..contents.len()).map(|n| contents.get(n).map(|(_, content)| content.len()));
    let all: usize = all.collect::<Result<Vec<_>>>()?.into_iter().sum();
    assert!(all <= milepost_codec::CHUNK_RAW_MAX);
    Ok(())
}

/// Asserts that each value has one form: a decoded node is encoded to the same bytes.
fn read_node(bytes: &[u8]) -> Result<()> {
    let node = Node::decode(bytes)?;
    assert_eq!(node.encode(), bytes);
    node.names(&mut |_, _| ());
    Ok(())
}

fn read_skips(bytes: &[u8]) -> Result<()> {
    let mut again = Vec::new();
    for skip in Skip::decode_list(bytes) {
        skip?.encode(&mut again);
    }
    assert_eq!(again, bytes);
    Ok(())
}

fn read_plan(bytes: &[u8]) -> Result<()> {
    assert_eq!(RestoreIntent::decode(bytes)?.encode(), bytes);
    Ok(())
}

fn walk_records(records: Records<'_>) -> Result<()> {
    for record in records {
        let record = record?;
        let header = record.header()?;
        record.body_hash(&[1; 16])?;
        if record.form == milepost_codec::BodyForm::Chunked {
            ChunkedBody::decode(record.payload)?.payload_len();
        }
        drop(header);
    }
    Ok(())
}

/// Everything that is done with a section, the outcome of its records last.
fn walk_section(section: &SectionRef<'_>) -> Result<()> {
    for at in [0, 1, 2, section.count / 2, section.count, u32::MAX] {
        section.salt(at);
        let _ = section.iter().nth(at as usize);
        // Invalid where a caller asks for more than there is, so not passed on.
        if let Ok(tail) = section.skip(at) {
            tail.encode(&mut Vec::new());
        }
        if let Ok(front) = section.truncate(at) {
            front.encode(&mut Vec::new());
        }
    }
    section.iter().try_for_each(|record| record.map(drop))?;
    walk_records(Records::new(section.records))
}

fn walk_sections(bytes: &[u8]) -> Result<()> {
    Sections::new(bytes).try_for_each(|section| walk_section(&section?))
}

fn walk_groups(bytes: &[u8]) -> Result<()> {
    LogBatches::new(bytes).try_for_each(|group| walk_section(&group?.section))
}

fn read_frame(bytes: &[u8]) -> Result<()> {
    FrameHeader::looks_like(bytes, 12);
    let (header, payload) = FrameHeader::read(bytes, None)?;
    assert!(header.stride() >= payload.len() as u64);
    if header.closed { Ok(()) } else { walk_groups(payload) }
}

fn read_json(bytes: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(bytes).map_err(|e| Error::invalid(e.to_string()))?;
    let body = Body::from_json(text)?;
    let (kind, payload) = body.encode();
    assert_eq!(Body::decode(kind, &payload)?, body);
    if let Ok(Some(same)) = Body::from_json_of(body.kind_name(), text) {
        assert_eq!(same, body);
    }
    Ok(())
}
