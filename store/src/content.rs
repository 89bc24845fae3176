//! Content that is too large for a record, or that the store has already: chunks.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;
// tidy: one rule
use std::sync::Arc;

use milepost_codec::{BodyForm, ChunkEntry, ChunkList, ChunkedBody, Result};

use crate::index::is_indexed;
use crate::log::Log;

/// The maximum bytes of a body that is stored inline. A larger one is stored in chunks.
pub const INLINE_MAX: usize = 256 << 10;

/// The size of a chunk of a large body, in bytes.
pub const CHUNK: usize = 256 << 10;

/// The minimum bytes of a body whose middle is stored once if it comes again.
const REPEATED_MIN: usize = 8 << 10;

/// The maximum bytes of each end of a body that are not part of its middle.
const END_MAX: usize = 1 << 10;

/// The bytes that decide where a middle begins and ends.
const WINDOW: usize = 8;

/// The bytes at each of three places of a content from which a fingerprint is computed.
const SAMPLE: usize = 256;

/// Splits content into chunks and stores them. They are durable after `sync_chunks`.
///
/// # Errors
///
/// Errors of [`put_chunk`](crate::commit_log::ChunkStore::put_chunk).
pub fn put_content(log: &Arc<dyn Log>, content: &[u8]) -> Result<ChunkList> {
    let chunks = content.chunks(CHUNK).map(|chunk| log.put_chunk(chunk, false));
    Ok(ChunkList { len: content.len() as u64, chunks: chunks.collect::<Result<_>>()? })
}

/// Stores a part of a body's payload in chunks, which are durable after `sync_chunks`. Returns the
/// payload of its record.
///
/// # Errors
///
/// Errors of [`put_chunk`](crate::commit_log::ChunkStore::put_chunk).
pub fn put_body(log: &Arc<dyn Log>, payload: &[u8], middle: &Range<usize>) -> Result<ChunkedBody> {
    let content = payload.get(middle.clone()).expect("the middle is a part of the payload");
    Ok(ChunkedBody::of(payload, middle, put_content(log, content)?.chunks))
}

/// Returns the part of a payload that goes into chunks: the middle of a large one, and of one whose
/// middle comes again. Bodies that the index reads stay inline.
pub fn stored_apart(log: &Arc<dyn Log>, kind: u16, payload: &[u8]) -> Option<Range<usize>> {
    let is_large = payload.len() > INLINE_MAX;
    if payload.len() < REPEATED_MIN || is_indexed(kind) {
        return is_large.then_some(0..payload.len());
    }
    let middle = middle(payload);
    let content = payload.get(middle.clone()).expect("the middle is a part of the payload");
    (is_large || log.comes_again(content)).then_some(middle)
}

/// Returns the record's payload of a body in chunks, without storing them.
pub fn chunked(payload: &[u8], middle: &Range<usize>) -> ChunkedBody {
    let content = payload.get(middle.clone()).expect("the middle is a part of the payload");
    ChunkedBody::of(payload, middle, content.chunks(CHUNK).map(ChunkEntry::id_of).collect())
}

/// Returns the form and the payload by which a record is compared with another one: the form and
/// payload of a body that came before. Whether it did decides how a body is stored, and not its
/// content.
pub fn compared(kind: u16, form: BodyForm, payload: &[u8]) -> (BodyForm, Cow<'_, [u8]>) {
    if form != BodyForm::Inline || payload.len() < REPEATED_MIN || is_indexed(kind) {
        return (form, Cow::Borrowed(payload));
    }
    let body = chunked(payload, &middle(payload));
    (BodyForm::Chunked, Cow::Owned(body.encode()))
}

/// Returns the middle of a payload of 8 KiB or more. The content decides where it
/// begins and ends: payloads that differ only near their ends mostly have the same middle.
pub fn middle(payload: &[u8]) -> Range<usize> {
    let end = END_MAX.min(payload.len() / 4);
    let (first, rest) = payload.split_at(end);
    let last = rest.split_at(rest.len() - end).1;
    lowest(first)..payload.len() - end + lowest(last)
}

/// Returns the position of the window with the lowest hash: equal windows have equal hashes.
fn lowest(bytes: &[u8]) -> usize {
    let hash = |window: &[u8]| {
        let number = <[u8; WINDOW]>::try_from(window).map_or(0, u64::from_le_bytes);
        number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
    };
    let windows = bytes.windows(WINDOW).map(hash).enumerate();
    windows.min_by_key(|(_, hash)| *hash).map_or(0, |(at, _)| at)
}

/// Returns a number that is the same for equal contents, computed from samples of the content.
/// Contents that are not equal may have the same number.
pub(crate) fn fingerprint(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let half = content.len() / 2;
    let last = content.len().saturating_sub(SAMPLE);
    for at in [0, half, last] {
        let sample = content.get(at..content.len().min(at + SAMPLE));
        hasher.write(sample.expect("a sample ends before the content"));
    }
    hasher.write_usize(content.len());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_middle_is_within_the_payload_and_has_half_of_it(
            payload in vec(any::<u8>(), REPEATED_MIN..20_000),
        ) {
            let middle = middle(&payload);
            prop_assert!(middle.start <= END_MAX && middle.end <= payload.len());
            prop_assert!(middle.len() >= payload.len() / 2);
        }
    }

    #[test]
    fn most_payloads_that_differ_near_their_ends_have_the_same_middle() {
        let text: String = (0..2000).map(|n| format!("{n} {}\n", n * n % 97)).collect();
        let middles = (0..100).map(|n| {
            let payload = format!("call_{:024x}{text}, {n} lines", n * 0x1234_5677_u64);
            payload.as_bytes()[middle(payload.as_bytes())].to_vec()
        });
        let mut middles: Vec<_> = middles.collect();
        middles.sort();
        middles.dedup();
        assert!(middles.len() < 15, "{}", middles.len());
    }
}
