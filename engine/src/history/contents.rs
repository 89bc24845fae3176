//! Contents that the store has in chunks.

use std::sync::Arc;

use milepost_codec::{ChunkId, ChunkList, ChunkedBody, Error, Result};
use milepost_store::Log;

/// Returns the content of a chunk that the store refers to.
pub(crate) fn read_chunk(log: &Arc<dyn Log>, id: &ChunkId) -> Result<Vec<u8>> {
    let content = log.get_chunk(id)?;
    content.ok_or_else(|| Error::corrupt(format!("chunk {id}"), "it", "nothing"))
}

/// Returns the payload of a body that is in chunks.
pub(crate) fn read_body(log: &Arc<dyn Log>, body: &ChunkedBody) -> Result<Vec<u8>> {
    let content = read_chunks(log, &body.content)?;
    Ok(match (&body.before[..], &body.after[..]) {
        ([], []) => content,
        (before, after) => [before, &content, after].concat(),
    })
}

/// Returns the content of a chunk list.
pub(crate) fn read_chunks(log: &Arc<dyn Log>, list: &ChunkList) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    for (n, id) in list.chunks.iter().enumerate() {
        let chunk = read_chunk(log, id)?;
        if n == 0 {
            // Reserves the exact length, but no more than the chunks can hold if `list.len` is
            // wrong.
            let most = chunk.len().saturating_mul(list.chunks.len());
            content.reserve_exact(most.min(usize::try_from(list.len).unwrap_or(usize::MAX)));
        }
        content.extend_from_slice(&chunk);
    }
    if content.len() as u64 != list.len {
        return Err(Error::corrupt("chunk list", format!("{} bytes", list.len), content.len()));
    }
    Ok(content)
}
