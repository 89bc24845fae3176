//! The contents of files to come, in the order in which they are written. Of many files they are
//! read and unpacked by a second thread, a few chunks ahead of the one that writes.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use milepost::{Error, Result};
use milepost_codec::{EntryKind, FilePart, Item};

use crate::chunks::Contents;
use crate::tree::{self, entries, parts};

/// How many chunks are read ahead: of up to 256 KiB each as captures cut them.
const AHEAD: usize = 32;

type Chunk = Result<Arc<[u8]>>;

/// Where the next chunk comes from.
pub(super) enum Feed<'a> {
    /// Read when it is asked for.
    Here(&'a dyn Contents),
    /// Read by another thread.
    There(Receiver<Chunk>),
}

impl Feed<'_> {
    /// The next chunk, which is this one.
    pub(super) fn next(&self, part: &FilePart) -> Chunk {
        match self {
            Self::Here(contents) => tree::part(*contents, part),
            Self::There(chunks) => match chunks.recv() {
                Ok(chunk) => chunk,
                // It ended before its time: both walk the same trees.
                Err(_) => Err(Error::corrupt("stored tree", part.id, "no more chunks")),
            },
        }
    }
}

/// Does something with the chunks of these items, in their order.
pub(super) fn feed<T>(
    contents: &dyn Contents,
    items: &[&Item],
    ahead: bool,
    what: impl FnOnce(Feed<'_>) -> T,
) -> T {
    if !ahead {
        return what(Feed::Here(contents));
    }
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(AHEAD);
        scope.spawn(move || {
            for item in items {
                // Where nobody takes them any more, the writing has ended.
                if !send_all(contents, item, &send) {
                    return;
                }
            }
        });
        what(Feed::There(receive))
    })
}

/// Sends the chunks of what is in an item. False where there is no more to do.
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
