//! Round trips of arbitrary values.
//!
//! `PROPTEST_RNG_SEED` repeats a run; `PROPTEST_CASES` says how many values are tried.

use crate::arbitrary::{self, config};
use milepost_codec::{
    Base, BaseKey, BlockHeader, Body, ChunkEntry, ChunkGroup, ChunkList, ChunkedBody, CommitTable,
    CommitTableHeader, Control, FRAME_HEADER_LEN, FrameHeader, Hash, Header, LogBatches, LogId,
    LogKind, Node, Packing, Piece, RecordRef, Records, RestoreIntent, Run, RunBlock, Sealing,
    Sections, SegmentHeader, Skip, Snapshot, StoreId, TaskNo, begin_log_batch, encode_record,
    seal_frame,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_body_comes_back_from_its_stored_form(body in arbitrary::body()) {
        let (kind, payload) = body.encode();
        prop_assert_eq!(kind, body.kind());
        prop_assert_eq!(Body::decode(kind, &payload).unwrap(), body);
    }

    #[test]
    fn a_body_comes_back_from_its_json_form(body in arbitrary::known_body()) {
        let json = body.to_json().unwrap();
        prop_assert_eq!(&Body::from_json(&json).unwrap(), &body, "{}", json);
        // If the kind is known from elsewhere, the form may contain it or not.
        let kind = body.kind_name();
        prop_assert_eq!(&Body::from_json_of(kind, &json).unwrap(), &Some(body.clone()), "{}", json);
        let said = format!("{{\"kind\":\"{kind}\"");
        let rest = json.strip_prefix(&said).unwrap().trim_start_matches(',');
        let bare = format!("{{{rest}");
        prop_assert_eq!(Body::from_json_of(kind, &bare).unwrap(), Some(body), "{}", bare);
    }

    #[test]
    fn a_control_event_comes_back_from_its_stored_form(body in arbitrary::control()) {
        let (kind, payload) = body.encode();
        prop_assert_eq!(Control::decode(kind, &payload).unwrap(), body);
    }

    #[test]
    fn a_header_comes_back_and_a_longer_one_of_a_newer_version_too(
        header in arbitrary::header(),
        newer in vec(any::<u8>(), 0..10),
    ) {
        let mut bytes = header.encode();
        prop_assert_eq!(&Header::decode(&bytes).unwrap(), &header);
        bytes.extend_from_slice(&newer);
        prop_assert_eq!(Header::decode(&bytes).unwrap(), header);
    }

    #[test]
    fn records_come_back_in_their_order(records in vec(arbitrary::record(), 0..8)) {
        let mut bytes = Vec::new();
        for (header, form, payload) in &records {
            encode_record(&mut bytes, header, *form, payload);
        }
        let read: Vec<_> = Records::new(&bytes).map(Result::unwrap).collect();
        let written: Vec<_> = records
            .iter()
            .map(|(header, form, payload)| RecordRef { header, form: *form, payload })
            .collect();
        prop_assert_eq!(read, written);
    }

    #[test]
    fn sections_come_back_in_their_order(sections in vec(arbitrary::section(), 0..5)) {
        let mut bytes = Vec::new();
        sections.iter().for_each(|section| section.as_ref().encode(&mut bytes));
        let read: Vec<_> = Sections::new(&bytes).map(Result::unwrap).collect();
        let written: Vec<_> = sections.iter().map(arbitrary::Section::as_ref).collect();
        prop_assert_eq!(&read, &written);
        for section in read {
            prop_assert_eq!(section.iter().map(Result::unwrap).count(), section.count as usize);
        }
    }

    #[test]
    fn a_section_may_be_cut_anywhere(section in arbitrary::section()) {
        let whole = section.as_ref();
        let records: Vec<_> = whole.iter().map(Result::unwrap).collect();
        let salts: Vec<_> = (0..whole.count).map(|n| whole.salt(n)).collect();
        for cut in 0..=whole.count {
            let (front, back) = (whole.truncate(cut).unwrap(), whole.skip(cut).unwrap());
            prop_assert_eq!((front.count, back.count), (cut, whole.count - cut));
            let both: Vec<_> = front.iter().chain(back.iter()).map(Result::unwrap).collect();
            prop_assert_eq!(&both, &records);
            let front_salts = (0..front.count).map(|n| front.salt(n));
            let both: Vec<_> =
                front_salts.chain((0..back.count).map(|n| back.salt(n))).collect();
            prop_assert_eq!(&both, &salts);
            let mut bytes = Vec::new();
            front.encode(&mut bytes);
            back.encode(&mut bytes);
            let read: Vec<_> = Sections::new(&bytes).map(Result::unwrap).collect();
            prop_assert_eq!(read, [front, back]);
        }
        prop_assert!(whole.skip(whole.count + 1).is_err());
        prop_assert!(whole.truncate(whole.count + 1).is_err());
    }

    #[test]
    fn groups_come_back_from_a_frame(
        groups in vec((arbitrary::log(), 0..u64::MAX / 2, arbitrary::section()), 0..4),
        (seq, epoch, closed, prev) in any::<(u64, u64, bool, [u8; 16])>(),
        after in vec(any::<u8>(), 0..20),
    ) {
        let mut frame = vec![0xFF; FRAME_HEADER_LEN];
        for (log, first, section) in &groups {
            begin_log_batch(&mut frame, *log, *first);
            section.as_ref().encode(&mut frame);
        }
        let check = seal_frame(&mut frame, seq, epoch, closed, &prev, None);
        let len = frame.len();
        frame.extend_from_slice(&after);

        let (header, payload) = FrameHeader::read(&frame, None).unwrap();
        prop_assert_eq!((header.seq, header.epoch, header.closed), (seq, epoch, closed));
        prop_assert_eq!((header.prev, header.check), (prev, check));
        prop_assert_eq!(header.stride(), len as u64);
        let read: Vec<_> = LogBatches::new(payload).map(Result::unwrap).collect();
        prop_assert_eq!(read.len(), groups.len());
        for (read, (log, first, section)) in read.iter().zip(&groups) {
            prop_assert_eq!((read.log, read.first, read.section), (*log, *first, section.as_ref()));
        }
    }

    #[test]
    fn a_segment_header_comes_back(
        (store, number, epoch, first, prev) in any::<([u8; 16], u64, u64, u64, [u8; 16])>(),
    ) {
        let recycled = epoch % 2 == 1;
        let header = SegmentHeader { store: StoreId(store), number, epoch, first, recycled, prev };
        prop_assert_eq!(SegmentHeader::decode(&header.encode()).unwrap(), header);
    }

    #[test]
    fn a_chunk_comes_back(
        content in prop_oneof![vec(any::<u8>(), 0..300), (0..9000_usize).prop_map(|n| vec![7; n])],
        pieces in any::<bool>(),
    ) {
        let mut bytes = Vec::new();
        let id = ChunkEntry::encode(&content, pieces, &mut bytes).unwrap();
        prop_assert_eq!(id, ChunkEntry::id_of(&content));
        let (entry, read) = ChunkEntry::decode(&bytes).unwrap();
        prop_assert_eq!((entry.id, entry.pieces, read), (id, pieces, content));
        prop_assert_eq!(ChunkEntry::HEADER_LEN + entry.stored_len(), bytes.len());
        prop_assert!(entry.is_intact(&bytes));
    }

    #[test]
    fn lists_snapshots_and_bases_come_back(
        list in arbitrary::chunk_list(),
        body in arbitrary::chunked_body(),
        pieces in vec(arbitrary::piece(), 0..5),
        snapshot in arbitrary::snapshot(),
        base in arbitrary::base(),
        keys in vec(arbitrary::base_key(), 0..5),
    ) {
        prop_assert_eq!(ChunkList::decode(&list.encode()).unwrap(), list);
        prop_assert_eq!(ChunkedBody::decode(&body.encode()).unwrap(), body);
        prop_assert_eq!(Piece::decode_list(&Piece::encode_list(&pieces)).unwrap(), pieces);
        prop_assert_eq!(Snapshot::decode(&snapshot.encode()).unwrap(), snapshot);
        prop_assert_eq!(Base::decode(&base.encode()).unwrap(), base);
        prop_assert_eq!(BaseKey::decode_list(&BaseKey::encode_list(&keys)).unwrap(), keys);
    }
    #[test]
    fn a_block_of_runs_comes_back(
        runs in vec(
            (any::<u64>(), any::<u32>(), 0..1_u64 << 40, any::<bool>(), vec(any::<u8>(), 0..300)),
            1..20,
        ),
        level in prop_oneof![Just(None), (1..10_i32).prop_map(Some)],
        cuts in vec(any::<Index>(), 0..3),
        rewritten: bool,
        epoch: u64,
    ) {
        let packing = level.map_or(Packing::Later, Packing::Level);
        let runs: Vec<_> = runs.into_iter().map(|(task, number, first, indexed, bytes)| {
            let log = LogId { task: TaskNo(task), kind: LogKind::from_number(number) };
            let count = bytes.len() as u32;
            (Run { log, first, count, indexed, prev: Hash([7; 32]) }, bytes)
        }).collect();
        let of = Sealing { packing, rewritten, epoch, key: None };
        let mut bytes = Vec::new();
        // The sections of a run come in one slice or in several, which makes no difference.
        let slices = |bytes| cuts.iter().fold(vec![bytes], |mut slices: Vec<&[u8]>, cut| {
            let last = slices.pop().unwrap();
            let (front, back) = last.split_at(cut.index(last.len() + 1));
            slices.extend([front, back]);
            slices
        });
        let given: Vec<_> = runs.iter().map(|(run, bytes)| (*run, slices(bytes))).collect();
        let hash = RunBlock::encode(&given, &of, &mut bytes).unwrap();
        let header = BlockHeader::decode(&bytes).unwrap();
        prop_assert_eq!((header.hash, header.block_len()), (hash, bytes.len()));
        prop_assert_eq!((header.parts(), header.epoch), (runs.len(), epoch));
        prop_assert_eq!(header.is_rewritten(), rewritten);
        prop_assert_eq!(header.is_to_be_packed(), level.is_none());
        let read = RunBlock::decode(&bytes, None).unwrap();
        let all: Vec<_> = read.runs().enumerate()
            .map(|(n, run)| (run, read.sections(n).rest().to_vec())).collect();
        prop_assert_eq!(&all, &runs);
        prop_assert_eq!(header.raw_len(), all.iter().map(|(_, bytes)| bytes.len()).sum::<usize>());
        let ranges: Vec<_> = (0..=runs.len()).map(|n| read.range(n)).collect();
        let (parts, raw) = read.into_parts();
        prop_assert!(parts.iter().map(|(_, range)| range).eq(&ranges[..runs.len()]));
        prop_assert_eq!(&ranges[runs.len()], &(0..0));
        let all: Vec<_> =
            parts.into_iter().map(|(run, range)| (run, raw[range].to_vec())).collect();
        prop_assert_eq!(all, runs);
    }

    #[test]
    fn a_commit_table_comes_back(
        commits in vec(any::<u64>(), 0..20),
        blocks in vec(any::<[u8; 32]>(), 0..9),
        (first, last) in (0..1_u64 << 60, any::<[u8; 16]>()),
        is_last: bool,
        epoch: u64,
    ) {
        let blocks = blocks.into_iter().map(Hash).collect();
        let table = CommitTable { is_last, first, commits, blocks, last };
        let mut bytes = Vec::new();
        table.encode(epoch, None, &mut bytes).unwrap();
        let header = CommitTableHeader::decode(&bytes).unwrap();
        prop_assert_eq!((header.epoch, header.table_len()), (epoch, bytes.len()));
        prop_assert_eq!(CommitTable::decode(&bytes, None).unwrap(), table);
    }

    #[test]
    fn a_group_of_chunks_comes_back(
        contents in vec(prop_oneof![
            vec(any::<u8>(), 0..300),
            (0..9000_usize).prop_map(|n| vec![7; n]),
        ], 1..8),
        level in 1..10,
    ) {
        let members: Vec<_> = contents.iter()
            .map(|content| (ChunkEntry::id_of(content), content.as_slice())).collect();
        let mut entry = Vec::new();
        ChunkGroup::encode(&members, level, &mut entry).unwrap();
        let header = ChunkGroup::decode_header(&entry).unwrap();
        prop_assert!(header.is_intact(&entry));
        prop_assert_eq!(header.entry_len(), entry.len());
        let read = ChunkGroup::decode(&entry).unwrap();
        let all: Vec<_> = (0..read.len()).map(|n| read.get(n).unwrap()).collect();
        prop_assert_eq!(all, members);
    }

    #[test]
    fn nodes_skips_and_plans_come_back(
        node in arbitrary::trees::node(),
        skips in arbitrary::trees::skips(),
        plan in arbitrary::trees::plan(),
    ) {
        prop_assert_eq!(Node::decode(&node.encode()).unwrap(), node);
        prop_assert_eq!(RestoreIntent::decode(&plan.encode()).unwrap(), plan);
        let mut bytes = Vec::new();
        skips.iter().for_each(|skip| skip.encode(&mut bytes));
        let read: Vec<_> = Skip::decode_list(&bytes).map(Result::unwrap).collect();
        prop_assert_eq!(read, skips);
    }

    #[test]
    fn each_cut_of_a_node_is_refused_and_each_changed_byte_is_refused_or_another_node(
        node in arbitrary::trees::node(),
        change in 1..=255_u8,
    ) {
        let bytes = node.encode();
        for at in 0..bytes.len() {
            prop_assert!(Node::decode(&bytes[..at]).is_err());
            let mut changed = bytes.clone();
            changed[at] ^= change;
            if let Ok(other) = Node::decode(&changed) {
                prop_assert_eq!(other.encode(), changed);
            }
        }
        prop_assert!(Node::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn a_directory_comes_back_from_its_leaves(
        entries in arbitrary::trees::entries(0..40),
        repeat in 0..40_u16,
    ) {
        // Names that differ, in order, so that some are large enough to be cut.
        let mut all = Vec::new();
        for n in 0..repeat {
            for entry in &entries {
                let name = [&n.to_be_bytes().map(|b| b | 0x80)[..], entry.name.as_bytes()].concat();
                let Ok(name) = milepost_codec::Name::new(&name) else { continue };
                all.push(milepost_codec::Entry { name, item: entry.item.clone() });
            }
        }
        let mut nodes = std::collections::HashMap::new();
        let id = milepost_codec::encode_directory(&all, &mut |id, content| {
            nodes.insert(id, Node::decode(&content).unwrap());
        });
        let read = match &nodes[&id] {
            Node::Leaves(leaves) => leaves.iter().flat_map(|leaf| match &nodes[&leaf.id] {
                Node::Directory(part) => part.clone(),
                _ => vec![],
            }).collect(),
            Node::Directory(whole) => whole.clone(),
            _ => vec![],
        };
        prop_assert_eq!(read, all);
    }
}
