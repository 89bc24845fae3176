//! Idempotency keys of appends: earlier uses of a key, and comparison of their events.

use std::sync::Arc;

use milepost_codec::{
    BaseKey, Body, BodyForm, CheckpointId, CheckpointMarked, Error, ErrorKind, Hash, Head,
    LineageId, LogId, Offset, Origin, Result, Seq, TaskNo,
};
use milepost_store::compared;
use milepost_store::index::keys;
use milepost_store::index::{BaseEntry, KeyEntry, MarkEntry};
use smallvec::smallvec;

use crate::commit::committer::{CommitResult, LogAppend};
use crate::history::base::{self, BaseKeys, KeyDigest};
use crate::history::catalog::Catalog;
use crate::history::checkpoint::PendingMark;
use crate::history::events::{Ancestry, Cursor};

/// A use of a key by an append.
pub(crate) struct KeyUse {
    /// The lineage of the append.
    pub(crate) owner: LineageId,
    /// The offset up to which that lineage is inherited.
    pub(crate) to: Offset,
    pub(crate) first: Offset,
    pub(crate) count: u32,
    pub(crate) seq: Seq,
    /// The key as a base keeps it, if the events were trimmed.
    pub(crate) trimmed: Option<BaseKey>,
}

impl KeyUse {
    /// Returns the offset after the events.
    pub(crate) fn end(&self) -> Offset {
        self.first + u64::from(self.count)
    }
}

impl Catalog {
    /// Returns the result of an append under this key in a lineage or its ancestors before the
    /// fork. Fails with `Conflict` if that append had other bodies.
    pub(crate) fn seen(
        &self,
        append: &LogAppend,
        lineage: LineageId,
        key: &str,
    ) -> Result<Option<CommitResult>> {
        let task = append.log.task;
        let Some(used) = self.same_use(append, lineage, key)? else {
            return Ok(None);
        };
        if used.trimmed.is_some() {
            return Ok(Some(trimmed(&used)));
        }
        let checkpoint = match &append.mark {
            Some(draft) if used.end() < used.to && self.is_marked_behind(task, &used, draft)? => {
                // `None` if retention has removed the mark.
                self.mark_at(task, &used)?
            }
            Some(_) => {
                return Err(used_for(key, "events that another checkpoint, or none, follows"));
            }
            None => None,
        };
        let next = used.end() + u64::from(append.mark.is_some());
        let hash = self.hash_behind(task, append.origin, &used, next)?;
        Ok(Some(CommitResult {
            appended: smallvec![(used.first, Head { next, hash })],
            seq: used.seq,
            repeated: Some(used.count),
            checkpoint,
            marked: None,
        }))
    }

    /// Returns the use of a key in a lineage or its ancestors before the fork. Fails with
    /// `Conflict` if it was used for other bodies.
    pub(crate) fn same_use(
        &self,
        append: &LogAppend,
        lineage: LineageId,
        key: &str,
    ) -> Result<Option<KeyUse>> {
        let Some(used) = self.keyed(append.log.task, lineage, key)? else {
            return Ok(None);
        };
        let (end, to) = (used.end(), used.to);
        if end > to {
            let count = used.count;
            let what = format!("{count} events of which the fork at {to} kept a part");
            return Err(used_for(key, &what));
        }
        let same = match &used.trimmed {
            Some(key) => key.digest == digest_of(append, &key.salt)?,
            None => self.same_bodies(append, &used)?,
        };
        if !same {
            return Err(used_for(key, &format!("other events, at offset {}", used.first)));
        }
        Ok(Some(used))
    }

    /// Returns the checkpoint that directly follows the events under a key, if it is equal to a
    /// draft and was not removed.
    pub(crate) fn mark_behind(
        &self,
        task: TaskNo,
        used: &KeyUse,
        draft: &PendingMark,
    ) -> Result<Option<CheckpointId>> {
        let is_there = used.trimmed.is_none() && used.end() < used.to;
        match is_there && self.is_marked_behind(task, used, draft)? {
            true => self.mark_at(task, used),
            false => Ok(None),
        }
    }

    fn is_marked_behind(&self, task: TaskNo, used: &KeyUse, draft: &PendingMark) -> Result<bool> {
        self.marked_behind(task, used.owner, used.end(), draft)
    }

    fn mark_at(&self, task: TaskNo, used: &KeyUse) -> Result<Option<CheckpointId>> {
        let entry = self.log().get(&keys::mark(task, used.owner, used.end()))?;
        let entry = entry.map(|entry| MarkEntry::decode(&entry)).transpose()?;
        Ok(entry.map(|entry| entry.id))
    }

    /// Returns the chain hash at `next`, which follows the events under a key; zero if they were
    /// trimmed.
    pub(crate) fn hash_behind(
        &self,
        task: TaskNo,
        origin: Origin,
        used: &KeyUse,
        next: Offset,
    ) -> Result<Hash> {
        match used.trimmed {
            Some(_) => Ok(Hash::ZERO),
            None => {
                let log = LogId::lineage(task, used.owner);
                crate::history::chain_hash::hash_at(self, origin, log, next)
            }
        }
    }

    /// Returns `true` if the event at an offset is a mark equal to a draft, even if the mark was
    /// removed.
    pub(crate) fn marked_behind(
        &self,
        task: TaskNo,
        lineage: LineageId,
        offset: Offset,
        draft: &PendingMark,
    ) -> Result<bool> {
        let mut cursor = Cursor::new(self.log(), LogId::lineage(task, lineage), offset);
        let found = cursor.next_record(|_, record| {
            let header = record.header()?;
            if header.kind != CheckpointMarked::KIND || record.form != BodyForm::Inline {
                return Ok(false);
            }
            let Body::CheckpointMarked(mut body) = Body::decode(header.kind, record.payload)?
            else {
                return Ok(false);
            };
            body.parent = body.parent.filter(|_| draft.mark.parent.is_some());
            Ok(body == draft.mark)
        })?;
        Ok(found == Some(true))
    }

    /// Finds a use of a key in a lineage or its ancestors before the forks.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the key is not among the events and the keys of the base cannot be read. No key
    /// counts as new then.
    pub(crate) fn keyed(
        &self,
        task: TaskNo,
        lineage: LineageId,
        key: &str,
    ) -> Result<Option<KeyUse>> {
        let ancestry = Ancestry::of(self, task, lineage)?;
        let prefix = keys::uses_of_key(task, key);
        let mut end = keys::after_prefix(&prefix);
        loop {
            let page = self.log().scan(&prefix, &end, true, 16)?;
            let Some((last, _)) = page.last() else { break };
            end.clone_from(last);
            for (name, value) in page {
                let owner = keys::tail_lineage(&name);
                let Some((from, to)) = ancestry.span(owner) else {
                    continue;
                };
                let entry = KeyEntry::decode(&value)?;
                // Entries of trimmed events stay until the store is compacted.
                if (from..to).contains(&entry.first) {
                    return Ok(Some(KeyUse {
                        owner,
                        to,
                        first: entry.first,
                        count: entry.count,
                        seq: entry.seq,
                        trimmed: None,
                    }));
                }
            }
        }
        let Some((owner, to, entry)) = ancestry.key_base() else {
            return Ok(None);
        };
        let keys = self.base_keys(&entry);
        let found = keys.and_then(|keys| keys.find(self.log(), key));
        let used = |key: BaseKey| KeyUse {
            owner,
            to,
            first: key.first,
            count: key.count,
            seq: 0,
            trimmed: Some(key),
        };
        let found = found.map_err(|error| unread(owner, &entry, error))?;
        Ok(found.filter(|key| key.first < to).map(used))
    }

    /// Reads the keys of a lineage's base into memory, so that the leader does not have to. The
    /// append itself reports read errors.
    pub(crate) fn read_keys_ahead(&self, task: TaskNo, lineage: LineageId) {
        let ancestry = Ancestry::of(self, task, lineage).ok();
        if let Some((_, _, entry)) = ancestry.and_then(|ancestry| ancestry.key_base()) {
            let _unread = self.base_keys(&entry);
        }
    }

    /// Returns the keys of a base.
    pub(crate) fn base_keys(&self, entry: &BaseEntry) -> Result<Arc<BaseKeys>> {
        let keys = || base::read(self, entry).map(|base| base.keys);
        self.known_keys.get(self.log(), entry.chunk, keys)
    }

    fn same_bodies(&self, append: &LogAppend, used: &KeyUse) -> Result<bool> {
        if append.records.len() != used.count as usize {
            return Ok(false);
        }
        let erased = self.erased_of(append.log.task);
        let log = LogId::lineage(append.log.task, used.owner);
        let mut cursor = Cursor::new(self.log(), log, used.first);
        for meta in &append.records {
            let new = milepost_codec::Records::new(append.slice((meta.start, meta.end))).next();
            let Some(new) = new.transpose()? else {
                return Ok(false);
            };
            let same = cursor.next_record(|at, old| {
                if erased.has(used.owner, at) {
                    return Ok(false);
                }
                let kinds = (old.header()?.kind, new.header()?.kind);
                let old = compared(kinds.0, old.form, old.payload);
                let is_same = old == compared(kinds.1, new.form, new.payload);
                Ok(old.0 != BodyForm::Erased && kinds.0 == kinds.1 && is_same)
            })?;
            if same != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the error of a key that was used for something else.
fn used_for(key: &str, what: &str) -> Error {
    Error::new(ErrorKind::Conflict, format!("the key `{key}` was used for {what}"))
}

/// Describes a failure to read the keys of a base.
fn unread(owner: LineageId, base: &BaseEntry, error: Error) -> Error {
    if error.kind() != ErrorKind::Corrupt {
        return error;
    }
    Error::corrupt(
        format!("lineage {owner}"),
        format!("the keys used before offset {}", base.head.next),
        format!(
            "damage: put `packs/` back from a copy and repair the store, until then no new key is \
             taken there ({error})"
        ),
    )
}

/// Returns the result of an append whose events were trimmed.
fn trimmed(used: &KeyUse) -> CommitResult {
    let head = Head { next: used.end(), hash: Hash::ZERO };
    CommitResult {
        appended: smallvec![(used.first, head)],
        seq: used.seq,
        repeated: Some(used.count),
        checkpoint: None,
        marked: None,
    }
}

/// Returns the digest of an append's bodies, as a base stores it.
fn digest_of(append: &LogAppend, salt: &[u8; 16]) -> Result<Hash> {
    let mut digest = KeyDigest::new(salt);
    for meta in &append.records {
        for record in milepost_codec::Records::new(append.slice((meta.start, meta.end))) {
            let record = record?;
            digest.take(record.header()?.kind, &record);
        }
    }
    Ok(digest.finish())
}
