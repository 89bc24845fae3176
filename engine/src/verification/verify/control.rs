//! Index entries that follow from a control log. Its events change entries of earlier ones, so they
//! are read in order, and the resulting entries are compared with the index.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use milepost_codec::{
    BodyForm, Control, Error, Hash, LineageId, LogId, LogKind, Offset, Origin, Result, Seq, TaskNo,
};
use milepost_store::index::keys::{self, KeyKind};
use milepost_store::index::{
    BaseEntry, IndexInput, KeyEntry, LineageEntry, PriorIndex, Tally, index_record,
};

use super::Fault;
use super::chain::Ranged;
use crate::history::base;
use crate::history::catalog::Catalog;
use crate::history::events::Cursor;

/// Maximum attempts at reading a control log that grows during verification.
const TRIES: usize = 3;

/// The index entries and removals that follow from a control log.
#[derive(Default)]
struct Said {
    /// The resulting index entries; `None` for removed ones.
    entries: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Checkpoints and attached data that retention removed.
    removed: HashSet<(LineageId, Offset)>,
}

/// Compares the index with the entries that follow from a task's control log, and the checkpoints
/// in its lineages with the removed ones. Returns the number of compared entries, and adds it by
/// kind to `kinds`.
pub(super) fn check(
    catalog: &Catalog,
    task: TaskNo,
    lineages: &[(LogId, &Ranged)],
    until: Seq,
    kinds: &mut [u64; 256],
) -> Result<(u64, Vec<Fault>)> {
    let mut tries = 0;
    loop {
        tries += 1;
        let seq = catalog.log().seq();
        let said = Said::read(catalog, task)?;
        let mut faults = said.compare(catalog, task)?;
        faults.extend(said.marks(catalog, task, lineages, until)?);
        faults.extend(said.base_keys(catalog));
        if !faults.is_empty() && tries < TRIES && catalog.log().seq() != seq {
            continue;
        }
        let mut count = 0;
        for (key, _) in said.entries.iter().filter(|(_, value)| value.is_some()) {
            count += 1;
            if let Some(kind) = key.first().and_then(|kind| kinds.get_mut(*kind as usize)) {
                *kind += 1;
            }
        }
        let [.., keys] = kinds.split_at_mut(KeyKind::Key as usize + 1).0 else {
            return Ok((count, faults));
        };
        *keys += said.keys_of_gone(catalog, task)?;
        return Ok((count, faults));
    }
}

impl Said {
    fn read(catalog: &Catalog, task: TaskNo) -> Result<Self> {
        let log = LogId::control(task);
        let mut said = Self::default();
        let mut cursor = Cursor::new(catalog.log(), log, 0);
        while cursor
            .next_record(|offset, record| {
                let header = record.header()?;
                let payload = (record.form == BodyForm::Inline).then_some(record.payload);
                let record = IndexInput {
                    log,
                    origin: Origin([0; 16]),
                    offset,
                    before: Hash::ZERO,
                    seq: 0,
                    header: &header,
                    payload,
                };
                said.take(&record)
            })?
            .is_some()
        {}
        Ok(said)
    }

    fn take(&mut self, record: &IndexInput<'_>) -> Result<()> {
        if let Some(payload) = record.payload
            && let Control::Retained(retained) = Control::decode(record.header.kind, payload)?
        {
            let places = retained.removed.iter().map(|m| (m.lineage, m.offset));
            self.removed.extend(places);
            return Ok(());
        }
        let entries = RefCell::new(std::mem::take(&mut self.entries));
        let mut puts = Vec::new();
        let done = index_record(
            record,
            &mut PriorIndex {
                entry: &|key| Ok(entries.borrow().get(key).cloned().flatten()),
                tallies: &mut HashMap::new(),
            },
            &mut puts,
        );
        // Tallies are compared separately.
        puts.retain(|(key, _)| key.first() != Some(&(KeyKind::Tally as u8)));
        self.entries = entries.into_inner();
        self.entries.extend(puts);
        done
    }

    fn compare(&self, catalog: &Catalog, task: TaskNo) -> Result<Vec<Fault>> {
        let mut faults = Vec::new();
        for (key, value) in &self.entries {
            let found = catalog.log().get(key)?;
            if found == *value {
                continue;
            }
            let kind = key.first().expect("a key begins with its kind");
            let log = LogId::control(task);
            let (expected, found) = match (value, found) {
                (None, _) => ("no entry of a kind, since an event took it back", "one"),
                (_, None) => ("an entry that follows from an event", "none"),
                _ => ("the entry that follows from an event", "another"),
            };
            let error = Error::corrupt(format!("index of {log}, kind {kind}"), expected, found);
            faults.push(Fault::of(log, &error));
        }
        Ok(faults)
    }

    /// Checks that each checkpoint is listed or was removed by an event, and that the tally is
    /// right.
    fn marks(
        &self,
        catalog: &Catalog,
        task: TaskNo,
        lineages: &[(LogId, &Ranged)],
        until: Seq,
    ) -> Result<Vec<Fault>> {
        let (mut faults, mut count) = (Vec::new(), 0);
        for (id, ranged) in lineages {
            let LogKind::Lineage(lineage) = id.kind else {
                continue;
            };
            let fault = |offset: &Offset, expected: &str, found: &str| {
                let place = format!("checkpoint or attached data of {id} at offset {offset}");
                Fault::of(id, &Error::corrupt(place, expected, found))
            };
            let is_removed = |offset: &&Offset| self.removed.contains(&(lineage, **offset));
            count += ranged.listed.len() as u64;
            for offset in ranged.listed.iter().filter(is_removed) {
                // It may have been removed since it was seen.
                let entry = keys::mark(task, lineage, *offset);
                if catalog.log().get(&entry)?.is_some() {
                    faults.push(fault(offset, "none, since retention removed it", "one"));
                }
            }
            let gone = ranged.unlisted.iter().filter(|o| !is_removed(o));
            faults.extend(gone.map(|o| fault(o, "its entries in the index", "none")));
        }
        let Tally { marks, dropped, retained, captured } = catalog.tally(task)?;
        // The comparison holds only if nothing was appended since the count.
        let same = catalog.log().seq() == until;
        let expected = (count, self.dropped()?);
        let found = (marks, dropped);
        // A capture may be before a base now.
        let seen = lineages.iter().any(|(_, ranged)| !ranged.captures.is_empty());
        let fits = found == expected && retained != self.removed.is_empty() && (captured || !seen);
        if same && !fits && task != TaskNo::STORE {
            let place = format!("tally of {}", LogId::control(task));
            let what = |(marks, dropped): (u64, u64)| {
                format!("{marks} checkpoints, {dropped} dropped lineages")
            };
            let error = Error::corrupt(place, what(expected), what(found));
            faults.push(Fault::of("index", &error));
        }
        Ok(faults)
    }

    /// Counts the dropped lineages.
    fn dropped(&self) -> Result<u64> {
        let is_lineage = |key: &&Vec<u8>| key.first() == Some(&(KeyKind::Lineage as u8));
        let lineages = self.entries.iter().filter(|(key, _)| is_lineage(key));
        let mut count = 0;
        for (_, value) in lineages {
            if let Some(value) = value {
                count += u64::from(LineageEntry::decode(value)?.dropped);
            }
        }
        Ok(count)
    }

    /// Counts the keys of trimmed or dropped events. They are removed with the events, by a
    /// compaction.
    fn keys_of_gone(&self, catalog: &Catalog, task: TaskNo) -> Result<u64> {
        let mut begins = HashMap::new();
        for (key, value) in &self.entries {
            let (Some(kind), Some(value)) = (key.first(), value) else {
                continue;
            };
            if *kind == KeyKind::Lineage as u8 && LineageEntry::decode(value)?.dropped {
                begins.insert(keys::tail_lineage(key), Offset::MAX);
            }
            if *kind == KeyKind::Base as u8 {
                let begin = BaseEntry::decode(value)?.head.next;
                begins.insert(keys::tail_lineage(key), begin);
            }
        }
        let mut count = 0;
        if !begins.is_empty() {
            let prefix = keys::of_task(KeyKind::Key, task);
            catalog.log().walk(&prefix, &mut |key, value| {
                if let Some(begin) = begins.get(&keys::tail_lineage(key)) {
                    count += u64::from(KeyEntry::decode(value)?.first < *begin);
                }
                Ok(())
            })?;
        }
        Ok(count)
    }

    /// Reads the idempotency keys of all bases.
    fn base_keys(&self, catalog: &Catalog) -> Vec<Fault> {
        let bases = (self.entries.iter())
            .filter(|(key, _)| key.first() == Some(&(KeyKind::Base as u8)))
            .filter_map(|(key, value)| Some((keys::log_of(key), value.as_ref()?)));
        let check = |(log, entry): (LogId, &Vec<u8>)| {
            let base = BaseEntry::decode(entry).and_then(|entry| base::read(catalog, &entry));
            let checked = base.and_then(|base| base::check_keys(catalog.log(), &base.keys));
            let place = || format!("idempotency keys in the base of {log}");
            checked.err().map(|error| Fault::of(place(), &error))
        };
        bases.filter_map(check).collect()
    }
}
