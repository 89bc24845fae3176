//! Captured workspaces: checks that all of their chunks exist.

use std::collections::HashSet;

use milepost_codec::{ChunkId, Error, LogId, Offset, Result, TaskNo};
use milepost_store::tree_walk;

use super::Fault;
use crate::history::base;
use crate::history::catalog::Catalog;

/// A captured workspace: its root, and the event or base that names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    pub(super) log: LogId,
    pub(super) offset: Offset,
    pub(super) root: ChunkId,
}

/// Returns the captured workspaces in the states of bases. A base that cannot be read is a fault.
pub(super) fn of_bases(
    catalog: &Catalog,
    task: Option<TaskNo>,
    faults: &mut Vec<Fault>,
) -> Result<Vec<Named>> {
    let mut found = Vec::new();
    for (log, entry) in base::all(catalog)? {
        // Entries of deleted tasks stay until the store is compacted.
        if task.is_some_and(|task| task != log.task) || catalog.task(log.task).is_err() {
            continue;
        }
        let offset = entry.head.next;
        match base::workspace(catalog, &entry) {
            Ok(root) => found.extend(root.map(|root| Named { log, offset, root })),
            Err(error) => faults.push(Fault::of_event(log, offset, &error)),
        }
    }
    Ok(found)
}

/// Checks captured workspaces. `lost` are chunks known to be damaged. Returns a fault for each
/// damaged capture, with the affected paths.
pub(super) fn check(
    catalog: &Catalog,
    captures: &[Named],
    lost: HashSet<ChunkId>,
) -> Result<Vec<Fault>> {
    let log = catalog.log();
    let get = |id: &ChunkId| log.get_chunk(id);
    let (mut named, mut bad) = (HashSet::new(), lost);
    let roots = captures.iter().map(|named| named.root);
    for (id, _) in tree_walk::follow(roots, &get, &mut named) {
        bad.insert(id);
    }
    let named: Vec<ChunkId> = named.into_iter().collect();
    for (id, there) in named.iter().zip(log.has_chunks(&named)?) {
        if !there {
            bad.insert(*id);
        }
    }
    if !named.iter().any(|id| bad.contains(id)) {
        return Ok(Vec::new());
    }
    let mut faults = Vec::new();
    for capture in captures {
        let (paths, more) = tree_walk::paths_to(capture.root, &bad, &get);
        if paths.is_empty() {
            continue;
        }
        let more = if more { " and more" } else { "" };
        let found = format!("damage in {}{more}", paths.join(", "));
        let error = Error::corrupt("captured workspace", "all of its files", found);
        faults.push(Fault::of_event(capture.log, capture.offset, &error));
    }
    Ok(faults)
}
