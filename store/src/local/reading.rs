//! The reading side of the local store: the tail first, then sled.

use milepost_codec::{Error, LogId, Offset, Result};

use crate::digest::DigestPart;
use crate::extent::Extent;
use crate::index::keys::{self, KeyKind};
use crate::index::{Entry, IndexPut, LogHead};
use crate::local::LocalStore;
use crate::local::index::blocks;
use crate::projection::Index;
use crate::tail::merge;

impl Index for LocalStore {
    fn head(&self, log: LogId) -> Result<Option<LogHead>> {
        self.get(&keys::head(log))?.map(|bytes| LogHead::decode(&bytes)).transpose()
    }

    fn extent(&self, log: LogId, offset: Offset) -> Result<Option<Extent>> {
        self.shared.check_open()?;
        if let Some(extent) = self.shared.index.tail.read().extent(log, offset) {
            return Ok(Some(extent));
        }
        let shared = &self.shared;
        let read = blocks::read(&shared.index.kv, shared.index.key.as_ref(), log, offset);
        let read = shared.sled(read)?;
        if read.is_none()
            && let Some(head) = shared.sled(shared.index.stored_head(log))?
            && (head.start..head.head.next).contains(&offset)
        {
            return shared.sled(Err(Error::corrupt(
                log.to_string(),
                format!("a block with offset {offset}"),
                "none",
            )));
        }
        Ok(read)
    }

    fn forget_unpacked(&self) {
        if let Ok(blocks) = self.shared.index.kv.blocks() {
            blocks.forget_unpacked();
        }
        self.shared.index.packs.forget_unpacked();
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.shared.check_open()?;
        let waiting = self.shared.index.tail.read().get(key);
        if let Some(value) = waiting {
            return Ok(value);
        }
        self.shared.sled(self.shared.index.kv.get(key))
    }

    fn scan(&self, from: &[u8], to: &[u8], backwards: bool, limit: usize) -> Result<Vec<Entry>> {
        self.shared.check_open()?;
        let waiting = self.shared.index.tail.read().scan(from, to, backwards, limit);
        let removals = waiting.iter().filter(|(_, value)| value.is_none()).count();
        let stored = self.shared.index.kv.scan(from, to, backwards, limit.saturating_add(removals));
        let stored = self.shared.sled(stored)?;
        if stored.is_empty() && from.first() == Some(&(KeyKind::Key as u8)) {
            self.shared.sled(self.shared.index.audit(DigestPart::Keys))?;
        }
        Ok(merge(waiting, stored, backwards, limit))
    }

    fn put_note(&self, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.change_note((key, Some(value)))
    }

    fn drop_note(&self, key: Vec<u8>) -> Result<()> {
        self.change_note((key, None))
    }
}

impl LocalStore {
    fn change_note(&self, put: IndexPut) -> Result<()> {
        let _here = self.shared.index.switching.read();
        self.poisons(self.shared.sled(self.shared.index.kv.apply(vec![put])))
    }
}
