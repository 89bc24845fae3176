//! Blocks in sled, cut into parts because values have to be small.

use std::collections::VecDeque;

use milepost_codec::{Block, BlockBuilder, Error, LogId, Offset, Result, StoreKey};

use crate::extent::Extent;
use crate::index::IndexPut;
use crate::index::keys;
use crate::local::index::kv::{Kv, VALUE_MAX};
use crate::local::inner::Inner;
use crate::sync::Mutex;
use crate::threads;

/// The size in bytes up to which the last block takes another extent. So of a lineage that is
/// rarely written to, only a small part is packed again, and only a few times.
const FILL_BELOW: usize = 8 << 10;

/// The number of unpacked blocks in the cache, and the maximum bytes of one of them.
const CACHED_MAX: usize = 4;
const CACHED_BYTES_MAX: usize = 256 << 10;

/// Cache of the last unpacked blocks: a caller that reads one event after another finds the next in
/// the same block. A write to sled invalidates the cache, so its answers equal those of a read.
#[derive(Debug, Default)]
pub(crate) struct BlockCache(Mutex<VecDeque<(u64, LogId, Extent)>>);

impl BlockCache {
    /// Returns the extent that holds `offset`, from the cache or from sled.
    pub(crate) fn extent(
        &self,
        kv: &Kv,
        key: Option<&StoreKey>,
        log: LogId,
        offset: Offset,
    ) -> Result<Option<Extent>> {
        let packed = kv.packed();
        {
            let mut cached = self.0.lock();
            cached.retain(|(at, _, _)| *at == packed);
            let holds = |(_, id, extent): &&(u64, LogId, Extent)| {
                *id == log && (extent.first..extent.end()).contains(&offset)
            };
            if let Some((_, _, extent)) = cached.iter().find(holds) {
                return Ok(Some(extent.clone()));
            }
        }
        let Some((block, _)) = read(kv, key, log, offset)? else {
            return Ok(None);
        };
        let extent = Extent::from(block);
        if extent.bytes.len() <= CACHED_BYTES_MAX && kv.packed() == packed {
            let mut cached = self.0.lock();
            cached.truncate(CACHED_MAX - 1);
            cached.push_front((packed, log, extent.clone()));
        }
        Ok(Some(extent))
    }

    /// Clears the cache.
    pub(crate) fn forget(&self) {
        self.0.lock().clear();
    }
}

/// Returns the block that holds `offset`, and the number of its parts. Reads again if the applier
/// packed the block again between two parts.
pub(crate) fn read(
    kv: &Kv,
    key: Option<&StoreKey>,
    log: LogId,
    offset: Offset,
) -> Result<Option<(Block, u16)>> {
    let mut before = None;
    loop {
        let packed = kv.packed();
        match read_once(kv, log, offset, key) {
            Err(_) if before != Some(packed) || packed != kv.packed() => before = Some(packed),
            done => return done,
        }
    }
}

fn read_once(
    kv: &Kv,
    log: LogId,
    offset: Offset,
    key: Option<&StoreKey>,
) -> Result<Option<(Block, u16)>> {
    let from = keys::block(log, 0, 0);
    let to = keys::after_prefix(&keys::block(log, offset, u16::MAX));
    let Some((found, last)) = kv.scan(&from, &to, true, 1)?.pop() else {
        return Ok(None);
    };
    let first = keys::block_first(&found);
    let part = found.last_chunk::<2>().map_or(0, |b| u16::from_be_bytes(*b));
    let mut bytes = Vec::new();
    for n in 0..part {
        let found = kv.get(&keys::block(log, first, n))?;
        bytes.extend(found.ok_or_else(|| {
            let place = format!("block of {log} at offset {first}");
            Error::corrupt(place, format!("parts 0 to {part}"), format!("no part {n}"))
        })?);
    }
    bytes.extend(last);
    let block = Block::decode(log, &bytes, key)?;
    Ok((block.end() > offset).then_some((block, part.saturating_add(1))))
}

/// Adds to `puts` the changes that append extents to a log whose sled part ends at `end`. Blocks
/// are packed on `processors` threads.
pub(crate) fn append(
    shared: &Inner,
    log: LogId,
    end: Option<Offset>,
    extents: &[Extent],
    processors: usize,
    puts: &mut Vec<IndexPut>,
) -> Result<()> {
    let Some(front) = extents.first() else {
        return Ok(());
    };
    let last = match end.filter(|end| *end == front.first).and_then(|end| end.checked_sub(1)) {
        Some(offset) => read(&shared.kv, shared.key.as_ref(), log, offset)?,
        None => None,
    };
    let mut stale = 0;
    let mut builder = match last {
        Some((block, parts)) if block.sections.len() <= FILL_BELOW => {
            stale = parts;
            BlockBuilder::new(block)
        }
        _ => BlockBuilder::at(front.first, front.prev),
    };
    for extent in extents {
        for section in extent.sections() {
            builder.push(&section?, extent.prev);
        }
    }
    let blocks = builder.finish();
    let packed = pack(log, &blocks, shared.key.as_ref(), processors);
    for (n, (block, bytes)) in blocks.iter().zip(packed).enumerate() {
        let mut parts = 0;
        for (part, bytes) in (0_u16..).zip(bytes.chunks(VALUE_MAX)) {
            puts.push((keys::block(log, block.first, part), Some(bytes.to_vec())));
            parts = part + 1;
        }
        // A repacked block may have fewer parts than before.
        for part in parts..if n == 0 { stale } else { 0 } {
            puts.push((keys::block(log, block.first, part), None));
        }
    }
    Ok(())
}

/// The number of blocks that justifies another thread.
const BLOCKS_EACH: usize = 16;

/// Returns the stored bytes of blocks, in order.
fn pack(log: LogId, blocks: &[Block], key: Option<&StoreKey>, processors: usize) -> Vec<Vec<u8>> {
    let half = blocks.len() / 2;
    if processors < 2 || half < BLOCKS_EACH {
        return blocks.iter().map(|block| block.encode(log, key)).collect();
    }
    let (front, back) = blocks.split_at(half);
    let rest = || pack(log, back, key, processors / 2);
    std::thread::scope(|scope| {
        let second = threads::start_in(scope, "packing", rest);
        let mut packed = pack(log, front, key, processors / 2);
        let done = second.ok().and_then(|thread| thread.join().ok());
        packed.extend(done.unwrap_or_else(rest));
        packed
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use milepost_codec::{Hash, TaskNo};

    use super::*;
    use crate::local::index::kv::SEGMENT;

    fn log() -> LogId {
        LogId::control(TaskNo(1))
    }

    /// Puts a block of one record, with these bytes as its sections.
    fn put(kv: &Kv, sections: &[u8]) {
        let block = Block { first: 0, count: 1, prev: Hash::ZERO, sections: sections.to_vec() };
        let bytes = block.encode(log(), None);
        kv.apply(vec![(keys::block(log(), 0, 0), Some(bytes))]).unwrap();
    }

    #[test]
    fn a_block_is_unpacked_once_until_something_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let kv = Kv::open(&dir.path().join("sled"), 1 << 20, SEGMENT).unwrap();
        let cached = BlockCache::default();
        let read = || cached.extent(&kv, None, log(), 0).unwrap().unwrap().bytes;
        assert!(cached.extent(&kv, None, log(), 0).unwrap().is_none());
        put(&kv, b"one");
        let first = read();
        assert!(Arc::ptr_eq(&first, &read()), "it is kept");
        put(&kv, b"two");
        assert_eq!((first.as_slice(), read().as_slice()), (&b"one"[..], &b"two"[..]));
        let second = read();
        cached.forget();
        assert!(!Arc::ptr_eq(&second, &read()));
        kv.apply(vec![(keys::block(log(), 0, 0), None)]).unwrap();
        assert!(cached.extent(&kv, None, log(), 0).unwrap().is_none());
    }
}
