//! Hashes that make history provable: exact values, the preimages of `docs/FORMAT.md` spelled out,
//! and the effect of every input on the hash.

use crate::arbitrary::{self, config};
use milepost_codec::{
    BodyForm, Chain, CheckpointId, CheckpointMarked, Hash, Head, Json, LineageId, LogId, LogKind,
    MarkCause, MarkStatus, Origin, Seed, TaskNo, body_hash, checkpoint_id, salt,
};
use proptest::collection::vec;
use proptest::prelude::*;
use sha2::{Digest, Sha256};

const ORIGIN: Origin = Origin([0x0A; 16]);

fn blake3(parts: &[&[u8]]) -> String {
    blake3::hash(&parts.concat()).to_hex().to_string()
}

fn chain() -> Chain {
    Chain::new(ORIGIN, LogId::lineage(TaskNo(7), LineageId(3)))
}

#[test]
fn a_salt_is_the_start_of_a_hash_over_seed_and_place() {
    let found = Hash([salt(Seed([0x5E; 16]), 300), [0; 16]].concat().try_into().unwrap());
    let whole = blake3(&[b"milepost.salt.1\0", &[0x5E; 16], &300_u64.to_le_bytes()]);
    assert_eq!(found.to_string()[..32], whole[..32]);
    assert_eq!(found.to_string()[..32], *"00988e7502e870f97e76c6b1e9b8866e");
}

#[test]
fn a_body_hash_is_over_salt_form_and_payload() {
    let found = body_hash(&[0x11; 16], BodyForm::Chunked, b"body").to_string();
    assert_eq!(found, blake3(&[b"milepost.body.1\0", &[0x11; 16], &[1], b"body"]));
    assert_eq!(found, "69cd91e25fb8a9ad2b7dadfb9ee977b99d207e27659a49cfc4b54228b4515aea");
}

#[test]
fn a_root_is_over_origin_and_log() {
    let found = chain().root().to_string();
    assert_eq!(found, blake3(&[b"milepost.root.1\0", &[0x0A; 16], &3_u32.to_le_bytes()]));
    assert_eq!(found, "fd36729a0357cdeeb55e70174ed0585c6642f1641c979f4bb6b0fb9882b33ee4");
    let control = Chain::new(ORIGIN, LogId::control(TaskNo(7))).root().to_string();
    assert_eq!(control, blake3(&[b"milepost.root.1\0", &[0x0A; 16], &[0xFF; 4]]));
}

#[test]
fn a_link_is_over_origin_log_offset_hash_before_header_and_body() {
    let found = chain().next(40, &Hash([0x44; 32]), b"header", &Hash([0xEE; 32])).to_string();
    let spelled = blake3(&[
        b"milepost.event.1",
        &[0x0A; 16],
        &3_u32.to_le_bytes(),
        &40_u64.to_le_bytes(),
        &[0x44; 32],
        &6_u32.to_le_bytes(),
        &[0xEE; 32],
        b"header",
    ]);
    assert_eq!(found, spelled);
    assert_eq!(found, "bacba4419021aab0172b76538b9f7a86a94fea8a4a31400a464d0c53bc5e6fcc");
}

#[test]
fn a_checkpoint_id_is_over_everything_that_makes_it_one() {
    let mark = CheckpointMarked {
        at: Some(Head { next: 40, hash: Hash([0x44; 32]) }),
        parent: Some(CheckpointId([0xBB; 32])),
        label: Some("lunch".into()),
        cause: MarkCause::BeforeTool,
        status: MarkStatus::Failure,
        metadata: Some(Json::new(r#"{"a":1}"#).unwrap()),
        aliases: vec!["x".into()],
    };
    let head = Head { next: 41, hash: Hash([0x45; 32]) };
    let found = checkpoint_id(ORIGIN, LineageId(3), head, 1000, &mark).to_string();
    let mut spelled = Vec::new();
    spelled.extend_from_slice(b"milepost.mark.1\0");
    spelled.extend_from_slice(&[0x0A; 16]);
    spelled.extend_from_slice(&3_u32.to_le_bytes());
    spelled.extend_from_slice(&40_u64.to_le_bytes());
    spelled.extend_from_slice(&[0x44; 32]);
    spelled.extend_from_slice(&41_u64.to_le_bytes());
    spelled.extend_from_slice(&[0xBB; 32]);
    spelled.extend_from_slice(&1000_u64.to_le_bytes());
    spelled.extend_from_slice(&[3, 1]);
    spelled.extend_from_slice(b"\x01\x05\0\0\0\0\0\0\0lunch");
    spelled.extend_from_slice(b"\x01\x07\0\0\0\0\0\0\0{\"a\":1}");
    spelled.extend_from_slice(&1_u64.to_le_bytes());
    spelled.extend_from_slice(b"\x01\x01\0\0\0\0\0\0\0x");
    assert_eq!(found, CheckpointId(Sha256::digest(&spelled).into()).to_string());
    assert_eq!(found, "e884f4a10bb882e1b6cc6d44d1814f9a840daa9ef942fe1f8c8b58917a938c72");

    let plain =
        checkpoint_id(ORIGIN, LineageId(3), head, 1000, &CheckpointMarked::default()).to_string();
    assert_eq!(plain, "baa247b2f5d2a34ea45245f170206fcc02a6daf7076abd29e85be162aec03751");
}

type Link = (Origin, u32, u64, Hash, Vec<u8>, Hash);

fn link((origin, number, offset, prev, header, body): &Link) -> Hash {
    let log = LogId { task: TaskNo(1), kind: LogKind::from_number(*number) };
    Chain::new(*origin, log).next(*offset, prev, header, body)
}

fn links() -> impl Strategy<Value = Link> {
    (
        arbitrary::origin(),
        0..3_u32,
        0..3_u64,
        arbitrary::hash(),
        vec(0..2_u8, 0..3),
        arbitrary::hash(),
    )
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn changing_any_one_input_changes_the_link(a in links(), b in links()) {
        let variants: [Link; 6] = [
            (b.0, a.1, a.2, a.3, a.4.clone(), a.5),
            (a.0, b.1, a.2, a.3, a.4.clone(), a.5),
            (a.0, a.1, b.2, a.3, a.4.clone(), a.5),
            (a.0, a.1, a.2, b.3, a.4.clone(), a.5),
            (a.0, a.1, a.2, a.3, b.4.clone(), a.5),
            (a.0, a.1, a.2, a.3, a.4.clone(), b.5),
        ];
        for variant in &variants {
            prop_assert_eq!(link(variant) == link(&a), variant == &a);
        }
    }

    #[test]
    fn changing_any_bit_of_a_long_header_changes_the_link(
        mut a in links(),
        len in 380..420_usize,
        (at, bit) in any::<(prop::sample::Index, u8)>(),
    ) {
        a.4 = vec![9; len];
        let before = link(&a);
        a.4[at.index(len)] ^= 1 << (bit % 8);
        prop_assert_ne!(link(&a), before);
    }

    #[test]
    fn changing_any_one_input_changes_salt_root_and_body_hash(
        (seed, other) in any::<([u8; 16], [u8; 16])>(),
        (index, step) in (0..u64::MAX / 2, 1..1000_u64),
        payload in vec(any::<u8>(), 0..40),
    ) {
        prop_assert_ne!(salt(Seed(seed), index), salt(Seed(seed), index + step));
        let log = |kind| LogId { task: TaskNo(1), kind };
        let root = |origin, kind| Chain::new(Origin(origin), log(kind)).root();
        let (control, lineage) = (LogKind::Control, LogKind::Lineage(LineageId(step as u32)));
        prop_assert_ne!(root(seed, control), root(seed, lineage));
        let mut longer = payload.clone();
        longer.push(0);
        let inline = body_hash(&seed, BodyForm::Inline, &payload);
        prop_assert_ne!(inline, body_hash(&seed, BodyForm::Inline, &longer));
        prop_assert_ne!(inline, body_hash(&seed, BodyForm::Chunked, &payload));
        if seed != other {
            prop_assert_ne!(salt(Seed(seed), index), salt(Seed(other), index));
            prop_assert_ne!(root(seed, control), root(other, control));
            prop_assert_ne!(inline, body_hash(&other, BodyForm::Inline, &payload));
        }
    }

    #[test]
    fn two_marks_share_an_id_only_if_they_are_one(
        (a, b) in (arbitrary::mark(), arbitrary::mark()),
        (head, other) in (arbitrary::head(), arbitrary::head()),
        time in any::<u64>(),
    ) {
        let id = |lineage, head, time, mark| {
            checkpoint_id(ORIGIN, LineageId(lineage), head, time, mark)
        };
        let plain = id(3, head, time, &a);
        prop_assert_ne!(plain, id(4, head, time, &a));
        prop_assert_ne!(plain, id(3, head, time ^ 1, &a));
        prop_assert_ne!(plain, checkpoint_id(Origin([1; 16]), LineageId(3), head, time, &a));
        if other.next != head.next {
            prop_assert_ne!(plain, id(3, other, time, &a));
        }
        let named = |mark: &CheckpointMarked| {
            CheckpointMarked { at: mark.at.or(Some(head)), ..mark.clone() }
        };
        prop_assert_eq!(plain == id(3, head, time, &b), named(&a) == named(&b));
    }
}
