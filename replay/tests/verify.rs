//! Promise I3 on random ranges: whatever is changed, left out, doubled or swapped, the head that
//! the verifier ends at is another one, or it ends with an error.

use milepost_codec::{
    BodyForm, Chain, Head, LineageId, LogId, Origin, Salts, SectionRef, Sections, Seed, TaskNo,
    encode_record,
};
use milepost_replay::{Result, Verifier};
use proptest::prelude::*;

fn chain(origin: u8, lineage: u32) -> Chain {
    Chain::new(Origin([origin; 16]), LogId::lineage(TaskNo(1), LineageId(lineage)))
}

/// Each section encoded, made of headers and bodies.
fn encoded(sections: &[Vec<(Vec<u8>, Vec<u8>)>]) -> Vec<Vec<u8>> {
    let encoded = sections.iter().zip(1_u8..).map(|(events, seq)| {
        let mut records = Vec::new();
        for (header, body) in events {
            encode_record(&mut records, header, BodyForm::Inline, body);
        }
        let salts = Salts::Seeded(Seed([seq; 16]), 0);
        let count = events.len() as u32;
        let mut out = Vec::new();
        SectionRef { seq: u64::from(seq), salts, count, records: &records }.encode(&mut out);
        out
    });
    encoded.collect()
}

/// The head after all sections in `bytes`.
fn head(chain: Chain, bytes: &[u8]) -> Result<Head> {
    let mut verifier = Verifier::new(chain, Head { next: 5, hash: chain.root() });
    for section in Sections::new(bytes) {
        verifier.section(verifier.head().next, &section?)?;
    }
    Ok(verifier.head())
}

fn sections() -> impl Strategy<Value = Vec<Vec<(Vec<u8>, Vec<u8>)>>> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..20);
    prop::collection::vec(prop::collection::vec((bytes(), bytes()), 1..5), 2..5)
}

proptest! {
    #[test]
    fn i3_any_change_of_a_range_is_found(
        sections in sections(),
        at in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        let parts = encoded(&sections);
        let bytes = parts.concat();
        let good = head(chain(1, 0), &bytes).unwrap();
        prop_assert_eq!(good.next, 5 + sections.iter().map(Vec::len).sum::<usize>() as u64);

        let mut bad = bytes.clone();
        bad[at.index(bytes.len())] ^= 1 << bit;
        let same_records = Sections::new(&bad).zip(Sections::new(&bytes)).all(|(a, b)| {
            // The commit's number is for the block's check to guard, not for the chain.
            matches!((a, b), (Ok(a), Ok(b)) if SectionRef { seq: b.seq, ..a } == b)
        });
        if !same_records {
            prop_assert_ne!(head(chain(1, 0), &bad).ok(), Some(good));
        }
        prop_assert_ne!(head(chain(1, 0), &parts[1..].concat()).ok(), Some(good));
        let last = &parts[parts.len() - 1];
        prop_assert_ne!(head(chain(1, 0), &[&bytes[..], last].concat()).ok(), Some(good));
        let swapped: Vec<u8> = parts.iter().rev().flatten().copied().collect();
        prop_assert_ne!(head(chain(1, 0), &swapped).ok(), Some(good));
        prop_assert_ne!(head(chain(2, 0), &bytes).ok(), Some(good));
        prop_assert_ne!(head(chain(1, 1), &bytes).ok(), Some(good));
    }

    #[test]
    fn bytes_that_are_no_sections_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = head(chain(1, 0), &bytes);
    }
}
