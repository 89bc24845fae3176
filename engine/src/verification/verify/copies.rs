//! The second copy: sections of the journal and its archive, compared with those from which the
//! chains were computed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use milepost_codec::{LogId, Result, Seq};
use milepost_store::liveness::LiveSection;
use milepost_store::{Fault, Remedy, Sections, StorageCheck};

use crate::history::catalog::Catalog;

/// Reads logs again whose copies differ, and reports the first difference of each.
pub(super) fn locate(
    catalog: &Catalog,
    until: Seq,
    differ: &HashSet<LogId>,
    faults: &mut Vec<Fault>,
) -> Result<()> {
    let live = Arc::new(catalog.log().live()?);
    let mut check = StorageCheck::new(until, Arc::clone(&live));
    check.copy = Some(Sections { wanted: differ.clone(), found: HashMap::new() });
    catalog.log().check_storage(&mut check)?;
    let copy = check.copy.expect("a check keeps the sections that it collects");
    let none = BTreeMap::new();
    for id in differ {
        let theirs = copy.found.get(id).unwrap_or(&none);
        let mut mine = BTreeMap::new();
        let Some(head) = catalog.log().head(*id)? else {
            continue;
        };
        let mut at = head.start;
        while at < head.head.next {
            let Some(extent) = catalog.log().extent(*id, at)? else {
                break;
            };
            let mut first = extent.first;
            for section in extent.sections_and_bytes() {
                let (section, bytes) = section?;
                if section.seq <= until {
                    let hashed = |bytes: &[u8]| (section.seq, blake3::hash(bytes));
                    match live.part(*id, first, &section)? {
                        LiveSection::Nothing => {}
                        LiveSection::Whole => drop(mine.insert(first, hashed(bytes))),
                        LiveSection::Other(at, bytes) => drop(mine.insert(at, hashed(&bytes))),
                    }
                }
                first += u64::from(section.count);
            }
            at = extent.end();
        }
        let first = mine.iter().chain(theirs).filter_map(|(offset, found)| {
            let same = mine.get(offset) == theirs.get(offset);
            (!same).then_some((*offset, found.0))
        });
        if let Some((offset, seq)) = first.min() {
            let message = format!(
                "the two copies differ from offset {offset} on: what archive and journal have of \
                 commit {seq} is not what the blocks have"
            );
            faults.push(Fault::new(format!("{id} at offset {offset}"), message, Remedy::Files));
        }
    }
    Ok(())
}
