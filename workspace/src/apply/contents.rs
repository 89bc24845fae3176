//! Contents of new files, in the order of writing. For many files, a second thread reads and
//! unpacks them a few chunks ahead of the writer.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use milepost::{Error, Result};
use milepost_codec::{EntryKind, FilePart, Item};

use crate::chunks::Contents;
use crate::tree::{self, entries, parts};

/// Number of chunks read ahead, each of up to 256 KiB as captures cut them.
const AHEAD: usize = 32;

type Chunk = Result<Arc<[u8]>>;

/// Source of the next chunk.
pub(super) enum ChunkSource<'a> {
    /// The caller reads.
    Direct(&'a dyn Contents),
    /// Another thread reads.
    Thread(Receiver<Chunk>),
}

impl ChunkSource<'_> {
    /// Returns the next chunk, which has to be `part`.
    pub(super) fn next(&self, part: &FilePart) -> Chunk {
        match self {
            Self::Direct(contents) => tree::part(*contents, part),
            Self::Thread(chunks) => match chunks.recv() {
                Ok(chunk) => chunk,
                // The reader ended too early, although both threads walk the same trees.
                Err(_) => Err(Error::corrupt("stored tree", part.id, "no more chunks")),
            },
        }
    }
}

/// Calls `work` with a source of the chunks of `items`, in their order.
pub(super) fn with_chunks<T>(
    contents: &dyn Contents,
    items: &[&Item],
    ahead: bool,
    work: impl FnOnce(ChunkSource<'_>) -> T,
) -> T {
    if !ahead {
        return work(ChunkSource::Direct(contents));
    }
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(AHEAD);
        scope.spawn(move || {
            for item in items {
                // The receiver has ended: so does the writer.
                if !send_all(contents, item, &send) {
                    return;
                }
            }
        });
        work(ChunkSource::Thread(receive))
    })
}

/// Sends all chunks of an item. Returns `false` if reading has to end.
fn send_all(contents: &dyn Contents, item: &Item, send: &SyncSender<Chunk>) -> bool {
    let failed = |error| {
        let _ = send.send(Err(error));
        false
    };
    match &item.kind {
        EntryKind::Link { .. } => true,
        EntryKind::Directory { id } => match entries(contents, id) {
            Ok(list) => (list.iter()).all(|entry| send_all(contents, &entry.item, send)),
            Err(error) => failed(error),
        },
        _ => match parts(contents, item) {
            Ok(parts) => parts.iter().all(|part| {
                let chunk = tree::part(contents, part);
                let is_last = chunk.is_err();
                send.send(chunk).is_ok() && !is_last
            }),
            Err(error) => failed(error),
        },
    }
}
