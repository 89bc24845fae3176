//! Content that is too large for a record: a list of chunks.

// tidy: one rule
use std::sync::Arc;

use milepost_codec::{ChunkList, Result};

use crate::log::Log;

/// The maximum bytes of a body that is stored inline. A larger one is stored in chunks.
pub const INLINE_MAX: usize = 256 << 10;

/// The size of a chunk of a large body, in bytes.
pub const CHUNK: usize = 256 << 10;

/// Splits content into chunks and stores them. They are durable after `sync_chunks`.
///
/// # Errors
///
/// Those of [`put_chunk`](crate::commit_log::ChunkStore::put_chunk).
pub fn put_content(log: &Arc<dyn Log>, content: &[u8]) -> Result<ChunkList> {
    let chunks = content.chunks(CHUNK).map(|chunk| log.put_chunk(chunk, false));
    Ok(ChunkList { len: content.len() as u64, chunks: chunks.collect::<Result<_>>()? })
}
