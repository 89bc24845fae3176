//! Every stored type against the golden files: the exact bytes, and back.
//!
//! A golden file that differs is a change of the format: `docs/FORMAT.md` has the consequences.
//! `MILEPOST_BLESS=1` writes the files anew.

use std::fmt::Write as _;
use std::path::Path;

use crate::samples;
use data_encoding::HEXLOWER;
use milepost_codec::{
    AckWatermark, Base, BaseKey, BlockFileHeader, BlockHeader, Body, Chain, ChunkEntry, ChunkGroup,
    ChunkList, ChunkedBody, CommitTable, CommitTableHeader, Control, FrameHeader, Hash, Header,
    LogBatches, Node, Origin, Piece, Records, RestoreIntent, RunBlock, SEGMENT_HEADER_LEN,
    SEGMENT_HEADER_USED, Sections, SegmentHeader, Skip, Snapshot, StoreKey,
};

/// Compares named bytes with `golden/NAME.hex`, which has each on a line of its own.
fn golden(name: &str, about: &str, cases: &[(String, Vec<u8>)]) {
    let cases: Vec<_> =
        cases.iter().map(|(case, bytes)| (case.clone(), HEXLOWER.encode(bytes))).collect();
    golden_text(&format!("{name}.hex"), about, &cases);
}

fn golden_text(file: &str, about: &str, cases: &[(String, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let mut text = format!("# {about}\n");
    for (case, value) in cases {
        writeln!(text, "{case}: {value}").unwrap();
    }
    if std::env::var_os("MILEPOST_BLESS").is_some_and(|v| v == "1") {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let (kept, now): (Vec<_>, Vec<_>) = (kept.lines().collect(), text.lines().collect());
    for (kept, now) in kept.iter().zip(&now) {
        assert_eq!(kept, now, "{file}");
    }
    assert_eq!(kept.len(), now.len(), "values in {file}");
}

fn named<T>(values: &[(&'static str, T)], bytes: impl Fn(&T) -> Vec<u8>) -> Vec<(String, Vec<u8>)> {
    values.iter().map(|(name, value)| ((*name).to_owned(), bytes(value))).collect()
}

#[test]
fn every_kind_of_body_is_stored_as_ever() {
    let mut cases = Vec::new();
    for (name, body) in samples::bodies() {
        let (kind, payload) = body.encode();
        assert_eq!(Body::decode(kind, &payload).unwrap(), body);
        cases.push((format!("{kind} {} {name}", body.kind_name()), payload));
    }
    for kind in (0..=u16::MAX).filter(|kind| Body::name_of(*kind) != "unknown") {
        let prefix = format!("{kind} {} ", Body::name_of(kind));
        assert!(cases.iter().any(|(case, _)| case.starts_with(&prefix)), "no value of {prefix}");
    }
    golden("bodies", "event bodies: kind, JSON name, optional fields set", &cases);
}

#[test]
fn every_kind_of_control_event_is_stored_as_ever() {
    let mut cases = Vec::new();
    for (name, body) in samples::controls() {
        let (kind, payload) = body.encode();
        assert_eq!(Control::decode(kind, &payload).unwrap(), body);
        cases.push((format!("{kind} {} {name}", body.kind_name()), payload));
    }
    for kind in (0..=u16::MAX).filter(|kind| Control::name_of(*kind) != "unknown") {
        let prefix = format!("{kind} {} ", Control::name_of(kind));
        assert!(cases.iter().any(|(case, _)| case.starts_with(&prefix)), "no value of {prefix}");
    }
    golden("controls", "control events: kind, JSON name, optional fields set", &cases);
}

#[test]
fn every_kind_has_the_json_form_it_ever_had() {
    let mut cases = Vec::new();
    for (name, body) in samples::bodies() {
        let json = body.to_json().unwrap();
        assert_eq!(Body::from_json(&json).unwrap(), body);
        cases.push((format!("{} {name}", body.kind()), json));
    }
    for (name, body) in samples::controls() {
        cases.push((format!("{} {name}", body.kind()), serde_json::to_string(&body).unwrap()));
    }
    let unknown = Body::decode(9999, &[1, 2, 3]).unwrap();
    cases.push(("9999 unknown".to_owned(), unknown.to_json().unwrap()));
    golden_text("json.txt", "the JSON form of bodies and control events", &cases);
}

#[test]
fn headers_and_records_are_stored_as_ever() {
    let headers = samples::headers();
    for (_, header) in &headers {
        assert_eq!(Header::decode(&header.encode()).unwrap(), *header);
    }
    golden("header", "event headers", &named(&headers, Header::encode));

    let bytes = samples::records();
    let mut cases = Vec::new();
    let mut records = Records::new(&bytes);
    for name in ["inline", "chunked", "erased"] {
        let before = records.rest();
        records.next().unwrap().unwrap();
        let len = before.len() - records.rest().len();
        cases.push((name.to_owned(), before[..len].to_vec()));
    }
    assert!(records.next().is_none());
    golden("record", "records, by the form of the body", &cases);
}

#[test]
fn sections_and_groups_are_stored_as_ever() {
    samples::with_sections(|sections| {
        let encode = |section: &milepost_codec::SectionRef<'_>| {
            let mut out = Vec::new();
            section.encode(&mut out);
            out
        };
        golden("section", "sections, by what the salts come from", &named(sections, encode));
        let all = samples::sections();
        let read: Vec<_> = Sections::new(&all).map(Result::unwrap).collect();
        assert_eq!(read, sections.iter().map(|(_, s)| *s).collect::<Vec<_>>());
    });

    let mut cases = Vec::new();
    for (name, log, first, bytes) in samples::groups() {
        let group = LogBatches::new(&bytes).next().unwrap().unwrap();
        assert_eq!((group.log, group.first, group.section.count), (log, first, 3));
        cases.push((name.to_owned(), bytes));
    }
    golden("group", "groups, by log", &cases);
}

#[test]
fn frames_and_segments_are_stored_as_ever() {
    let (_, _, _, payload) = samples::groups().remove(0);
    let frames = [
        ("a group", samples::frame(&payload, false)),
        ("closed", samples::frame(&[], true)),
        ("padded", samples::frame(&[1], false)),
    ];
    for (name, frame) in &frames {
        let (header, payload) = FrameHeader::read(frame, None).unwrap();
        assert_eq!((header.seq, header.closed), (12, *name == "closed"));
        assert_eq!(payload.len(), header.payload_len as usize);
        assert_eq!(header.stride(), frame.len() as u64);
    }
    golden("frame", "frames, with what pads them to a multiple of 8", &named(&frames, Vec::clone));

    let header = samples::segment();
    let bytes = header.encode();
    assert_eq!((bytes.len(), SegmentHeader::decode(&bytes).unwrap()), (SEGMENT_HEADER_LEN, header));
    assert!(bytes[80..].iter().all(|b| *b == 0));
    let recycled = SegmentHeader { recycled: true, ..header };
    let again = recycled.encode();
    assert_eq!(SegmentHeader::decode(&again).unwrap(), recycled);
    let cases = [("segment", bytes[..80].to_vec()), ("used again", again[..80].to_vec())];
    golden("segment", "headers of segments (zeros follow)", &named(&cases, Vec::clone));
}

#[test]
fn chunks_and_lists_are_stored_as_ever() {
    let content = samples::incompressible(20);
    let mut cases = Vec::new();
    for (name, pieces) in [("content", false), ("pieces", true)] {
        let mut bytes = Vec::new();
        let id = ChunkEntry::encode(&content, pieces, &mut bytes).unwrap();
        let (entry, read) = ChunkEntry::decode(&bytes).unwrap();
        assert_eq!((entry.id, entry.pieces, &read), (id, pieces, &content));
        cases.push((name.to_owned(), bytes));
    }
    golden("chunk", "chunks that are not packed", &cases);

    let lists = samples::chunk_lists();
    for (_, list) in &lists {
        assert_eq!(ChunkList::decode(&list.encode()).unwrap(), *list);
    }
    golden("chunk_list", "lists of chunks", &named(&lists, ChunkList::encode));

    let bodies = samples::chunked_bodies();
    for (_, body) in &bodies {
        assert_eq!(ChunkedBody::decode(&body.encode()).unwrap(), *body);
    }
    golden("chunked_body", "payloads of chunked records", &named(&bodies, ChunkedBody::encode));

    let pieces = samples::pieces();
    let bytes = Piece::encode_list(&pieces);
    assert_eq!(Piece::decode_list(&bytes).unwrap(), pieces);
    golden("piece_list", "a list of pieces", &[("two pieces".to_owned(), bytes)]);
}

#[test]
fn snapshots_and_bases_are_stored_as_ever() {
    let snapshots = samples::snapshots();
    for (_, snapshot) in &snapshots {
        assert_eq!(Snapshot::decode(&snapshot.encode()).unwrap(), *snapshot);
    }
    golden("snapshot", "snapshots", &named(&snapshots, Snapshot::encode));

    let bases = samples::bases();
    for (_, base) in &bases {
        assert_eq!(Base::decode(&base.encode()).unwrap(), *base);
    }
    golden("base", "bases", &named(&bases, Base::encode));

    let keys = samples::base_keys();
    let bytes = BaseKey::encode_list(&keys);
    assert_eq!(BaseKey::decode_list(&bytes).unwrap(), keys);
    golden("base_keys", "a list of keys", &[("two keys".to_owned(), bytes)]);
}

#[test]
fn the_acknowledged_commit_is_stored_as_ever() {
    let acked = AckWatermark { store: samples::segment().store, seq: 12 };
    let bytes = acked.encode();
    assert_eq!(AckWatermark::decode(&bytes).unwrap(), acked);
    let cases = [("commit 12".to_owned(), bytes.to_vec())];
    golden("acked", "acknowledged commits", &cases);
}

#[test]
fn with_a_key_chains_and_frames_are_stored_as_ever() {
    let key = StoreKey::new(&[9; 32]);
    let chain = Chain::new(Origin([1; 16]), samples::log()).keyed(Some(&key));
    let next = chain.next(3, &chain.root(), b"header", &Hash([4; 32]));
    let frame = samples::frame_with(&[1], false, Some(&key));
    assert!(FrameHeader::read(&frame, Some(&key)).is_ok());
    assert!(FrameHeader::read(&frame, None).is_err());
    let cases = [
        ("id of the key", key.id().to_vec()),
        ("chain, root", chain.root().0.to_vec()),
        ("chain, next", next.0.to_vec()),
        ("frame", frame),
    ];
    let about = "what a key of 32 bytes, each 9, changes";
    golden("keyed", about, &named(&cases, Vec::clone));
}

#[test]
fn block_files_are_stored_as_ever() {
    let (key, header, table) =
        (StoreKey::new(&[9; 32]), samples::block_file(), samples::commit_table());
    let encoded = header.encode();
    assert_eq!(BlockFileHeader::decode(&encoded).unwrap(), header);
    assert!(encoded[SEGMENT_HEADER_USED..].iter().all(|byte| *byte == 0));
    let ([runs, packed], [keyed, _]) = (samples::run_blocks(None), samples::run_blocks(Some(&key)));
    let mut commits = Vec::new();
    table.encode(5, None, &mut commits).unwrap();
    assert_eq!(CommitTable::decode(&commits, None).unwrap(), table);
    let (end, mut end_bytes, mut keyed_end) = (samples::end_table(), Vec::new(), Vec::new());
    end.encode(0, None, &mut end_bytes).unwrap();
    assert_eq!(end_bytes.len(), CommitTableHeader::LEN);
    assert_eq!(CommitTable::decode(&end_bytes, None).unwrap(), end);
    end.encode(0, Some(&key), &mut keyed_end).unwrap();
    assert_eq!(CommitTable::decode(&keyed_end, Some(&key)).unwrap(), end);
    assert!(CommitTable::decode(&keyed_end, None).is_err());

    let read = RunBlock::decode(&packed, None).unwrap();
    assert!(BlockHeader::decode(&packed).unwrap().block_len() < read.sections(0).rest().len());
    assert_eq!(read.sections(1).count(), 120);
    assert!(RunBlock::decode(&keyed, Some(&key)).is_ok());
    assert!(RunBlock::decode(&keyed, None).is_err());

    let cases = [
        ("header of a file, 80 of 4096 bytes", encoded[..SEGMENT_HEADER_USED].to_vec()),
        ("runs of two logs, to be packed later", runs),
        ("the same with a key of 32 bytes, each 9", keyed),
        ("commit table", commits),
        ("the last table of an archive file", end_bytes),
        ("the same with the key", keyed_end),
    ];
    golden("block_file", "block files", &named(&cases, Vec::clone));
}

#[test]
fn groups_of_chunks_are_stored_as_ever() {
    let [bytes, packed] = samples::chunk_groups();
    assert_eq!(bytes[4..6], [0, 0], "not packed");
    assert_eq!(ChunkGroup::decode(&bytes).unwrap().len(), 3);
    let about = "a group of three chunks that is not packed";
    golden("chunk_group", about, &[("as it is".to_owned(), bytes)]);

    assert_eq!(packed[4..6], [1, 0]);
    let read = ChunkGroup::decode(&packed).unwrap();
    assert_eq!(read.get(0).unwrap().1, [7; 3000]);
    assert_eq!(read.get(1).unwrap().1, [8; 2000]);
}

#[test]
fn trees_are_stored_as_ever() {
    let nodes = samples::nodes();
    for (name, node) in &nodes {
        assert_eq!(Node::decode(&node.encode()).unwrap(), *node, "{name}");
    }
    for tag in 1..=5 {
        assert!(nodes.iter().any(|(_, node)| node.encode()[0] == tag));
    }
    let mut cases = named(&nodes, Node::encode);
    let plan = samples::plan();
    assert_eq!(RestoreIntent::decode(&plan.encode()).unwrap(), plan);
    cases.push(("restore plan".to_owned(), plan.encode()));
    let skips = samples::skips();
    assert_eq!(Skip::decode_list(&skips).filter_map(Result::ok).count(), 4);
    cases.push(("skips".to_owned(), skips));
    golden("tree", "nodes of trees, a restore plan, a list of skips", &cases);
}
