//! Lists of tasks and checkpoints, in pages: newest first, or by name.

use std::collections::HashMap;
use std::ops::Range;

use milepost_codec::{Epoch, Error, LineageId, LogId, MarkStatus, Offset, Result, TaskNo};
use milepost_replay::text_value;
use milepost_store::index::keys::{self, KeyKind};
use milepost_store::index::{LogHead, MarkEntry, TaskEntry};

use crate::history::catalog::{Catalog, Viewer};
use crate::history::checkpoint::Checkpoint;

/// Default number of items on a page.
const LIMIT_DEFAULT: usize = 20;

/// Entries of one scan.
const STRIDE: usize = 64;

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items, newest first unless the query asks for another order.
    pub items: Vec<T>,
    /// The cursor of the next page; `None` on the last page.
    pub next: Option<String>,
}

/// Filter and page of a list of tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only tasks of this user.
    pub user: Option<String>,
    /// Only tasks whose id begins with this text. Such a list is in ascending order of the bytes of
    /// the ids, not newest first: a page reads the index entries of its tasks only. With an empty
    /// text it has all tasks. A cursor belongs to the prefix of its list.
    pub prefix: Option<String>,
    /// Maximum number of items; 20 if `None`.
    pub limit: Option<usize>,
    /// Start of the page: `next` of the previous page.
    pub cursor: Option<String>,
}

/// Order of a list of checkpoints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CheckpointOrder {
    /// The newest commit first.
    #[default]
    Committed,
    /// The newest creation time first, then the newest commit. An import has its original times, so
    /// this order may be another one. A page reads the index entries of all checkpoints.
    Created,
    /// The greatest alias first, by its bytes. Only checkpoints with an alias, each once: by its
    /// greatest alias that fits the query. Needs a task. A page reads the index entries of its own
    /// checkpoints only.
    Alias,
}

/// Filter and page of a list of checkpoints.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckpointQuery {
    /// Only checkpoints of this task.
    pub task: Option<String>,
    /// Only checkpoints marked on this lineage itself.
    pub lineage: Option<LineageId>,
    /// Only checkpoints whose metadata has each of these values at the top level.
    pub filter: Vec<(String, serde_json::Value)>,
    /// Only checkpoints with this alias, on any lineage of the task. Needs a task.
    pub alias: Option<String>,
    /// Only checkpoints with an alias whose bytes sort before this text. Needs a task.
    pub before: Option<String>,
    /// Only checkpoints of this status.
    pub status: Option<MarkStatus>,
    /// The order of the list. A cursor belongs to the order of its list.
    pub order: CheckpointOrder,
    /// Maximum number of items; 20 if `None`.
    pub limit: Option<usize>,
    /// Start of the page: `next` of the previous page.
    pub cursor: Option<String>,
}

/// Summary of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskInfo {
    /// The task's id, chosen by the caller.
    pub id: String,
    /// The owner.
    pub user: String,
    /// The task's number in the store.
    pub no: TaskNo,
    /// Start time, in microseconds since the Unix epoch.
    pub created_us: u64,
    /// The active lineage.
    pub active: LineageId,
    /// The epoch of its activation.
    pub epoch: Epoch,
    /// The number of lineages.
    pub lineages: u32,
    /// The next offset of the active lineage.
    pub head: Offset,
    /// Events of all lineages, each counted on the lineage it was appended to.
    pub events: u64,
}

impl Catalog {
    /// Returns tasks, newest first, or the tasks with a prefix by id.
    pub(crate) fn tasks(&self, query: &TaskQuery) -> Result<Page<TaskInfo>> {
        let wanted = |task: TaskNo, entry: TaskEntry| {
            let others = query.user.as_ref().is_some_and(|user| *user != entry.user);
            if others || entry.deleted_us.is_some() {
                return Ok(None);
            }
            self.task_info(task, entry).map(Some)
        };
        let (limit, cursor) = (query.limit, query.cursor.as_deref());
        let Some(begin) = &query.prefix else {
            let prefix = keys::all(KeyKind::Task);
            let range = range_of(&prefix);
            return page(self, range, Order::Descending, limit, cursor, |key, value| {
                wanted(TaskNo(keys::first_u64(key)), TaskEntry::decode(value)?)
            });
        };
        let prefix = keys::task_name(begin);
        page(self, range_of(&prefix), Order::Ascending, limit, cursor, |_, value| {
            let task = TaskNo(keys::tail_u64(value));
            match self.log().get(&keys::task(task))? {
                Some(entry) => wanted(task, TaskEntry::decode(&entry)?),
                None => Ok(None),
            }
        })
    }

    pub(crate) fn task_info(&self, no: TaskNo, entry: TaskEntry) -> Result<TaskInfo> {
        let catalog = self;
        let (epoch, active) = catalog.active(no)?;
        let prefix = keys::of_task(KeyKind::Head, no);
        let (mut lineages, mut events, mut head) = (0, 0, 0);
        // First offset of each lineage that retention did not drop.
        let mut begins = HashMap::new();
        for (lineage, _) in catalog.lineages(no)? {
            let base = catalog.base(no, lineage)?;
            begins.insert(LogId::lineage(no, lineage), base.map_or(0, |base| base.head.next));
        }
        for (key, value) in
            catalog.log().scan(&prefix, &keys::after_prefix(&prefix), false, usize::MAX)?
        {
            let log = keys::log_of(&key);
            if log == LogId::control(no) {
                continue;
            }
            let found = LogHead::decode(&value)?;
            if log == LogId::lineage(no, active.lineage) {
                head = found.head.next;
            }
            let Some(begin) = begins.get(&log) else {
                continue;
            };
            lineages += 1;
            events += found.head.next.saturating_sub(found.start.max(*begin));
        }
        Ok(TaskInfo {
            id: entry.name,
            user: entry.user,
            no,
            created_us: entry.created_us,
            active: active.lineage,
            epoch,
            lineages,
            head,
            events,
        })
    }

    /// Returns the checkpoints of the tasks that `viewer` may see, newest first.
    pub(crate) fn checkpoints(
        &self,
        query: &CheckpointQuery,
        viewer: Viewer<'_>,
    ) -> Result<Page<Checkpoint>> {
        let catalog = self;
        let named = query.task.as_deref().or(viewer.task);
        let named = named.map(|id| catalog.find_for(id, viewer));
        let task = named.transpose()?;
        let by_alias = query.order == CheckpointOrder::Alias;
        let range = match (task, &query.alias) {
            (Some(task), Some(alias)) => range_of(&keys::named(KeyKind::MarkAlias, task, alias)),
            (Some(task), None) if by_alias => {
                let mut range = range_of(&keys::of_task(KeyKind::MarkAlias, task));
                if let Some(before) = &query.before {
                    range.end = keys::before_name(KeyKind::MarkAlias, task, before);
                }
                range
            }
            (Some(task), None) => range_of(&keys::of_task(KeyKind::TaskMark, task)),
            (None, alias) if alias.is_some() || query.before.is_some() || by_alias => {
                let why = "a list of checkpoints by alias is of one task: give `task` too";
                return Err(Error::invalid(why));
            }
            (None, _) => range_of(&keys::all(KeyKind::StoreMark)),
        };
        let wanted = |key: &[u8], _: &[u8]| {
            let (lineage, offset) = keys::mark_place(key);
            let owner = task.unwrap_or_else(|| TaskNo(keys::second_u64(key)));
            if query.lineage.is_some_and(|only| only != lineage) || !catalog.shows(owner, viewer)? {
                return Ok(None);
            }
            let Some(entry) = catalog.log().get(&keys::mark(owner, lineage, offset))? else {
                return Ok(None);
            };
            let entry = MarkEntry::decode(&entry)?;
            let alias = greatest_alias(query, &entry);
            let is_elsewhere = by_alias && alias != keys::mark_name(key);
            if is_elsewhere || (alias.is_none() && asks_for_alias(query)) {
                return Ok(None);
            }
            let name = catalog.task(owner)?.name;
            let checkpoint = catalog.checkpoint(owner, &name, lineage, offset, &entry)?;
            Ok(Some(checkpoint).filter(|checkpoint| fits(query, checkpoint)))
        };
        let (limit, cursor) = (query.limit, query.cursor.as_deref());
        match query.order {
            CheckpointOrder::Alias => {
                page(catalog, range, Order::Descending, limit, cursor, wanted)
            }
            // The entries of an alias are not in the order of commits.
            CheckpointOrder::Committed if query.alias.is_none() => {
                page(catalog, range, Order::Descending, limit, cursor, wanted)
            }
            CheckpointOrder::Committed | CheckpointOrder::Created => {
                let keys = catalog.marks_sorted(range, task, query.order)?;
                page_of(keys, limit, cursor, |key| wanted(key, &[]))
            }
        }
    }

    /// Returns the keys of marks, newest first, each after its creation time or its commit.
    fn marks_sorted(
        &self,
        range: Range<Vec<u8>>,
        task: Option<TaskNo>,
        order: CheckpointOrder,
    ) -> Result<Vec<SortedKey>> {
        let mut sorted = Vec::new();
        let Range { start, mut end } = range;
        loop {
            let entries = self.log().scan(&start, &end, true, STRIDE)?;
            let Some((first, _)) = entries.last() else {
                break;
            };
            end.clone_from(first);
            for (key, _) in entries {
                let (lineage, offset) = keys::mark_place(&key);
                let owner = task.unwrap_or_else(|| TaskNo(keys::second_u64(&key)));
                if let Some(entry) = self.log().get(&keys::mark(owner, lineage, offset))? {
                    let entry = MarkEntry::decode(&entry)?;
                    let is_by_time = order == CheckpointOrder::Created;
                    sorted.push((if is_by_time { entry.time_us } else { entry.seq }, key));
                }
            }
        }
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        Ok(sorted)
    }
}

/// A key of the index after a number of its entry: its commit, or its time in microseconds since
/// the Unix epoch.
type SortedKey = (u64, Vec<u8>);

/// Returns a page of sorted keys. A cursor is the number and key of the last item.
fn page_of<T>(
    keys: Vec<SortedKey>,
    limit: Option<usize>,
    cursor: Option<&str>,
    wanted: impl Fn(&[u8]) -> Result<Option<T>>,
) -> Result<Page<T>> {
    let limit = limit.unwrap_or(LIMIT_DEFAULT).max(1);
    let begin = match cursor {
        None => 0,
        Some(cursor) => {
            let bytes = data_encoding::HEXLOWER.decode(cursor.as_bytes()).ok();
            let place = bytes.as_deref().and_then(|bytes| bytes.split_first_chunk::<8>());
            let (time, key) = place.ok_or_else(|| not_of_this_list(cursor))?;
            let last = (u64::from_be_bytes(*time), key.to_vec());
            keys.partition_point(|place| *place >= last)
        }
    };
    let mut items = Vec::new();
    let mut last = None;
    for place in keys.into_iter().skip(begin) {
        if let Some(item) = wanted(&place.1)? {
            if items.len() == limit {
                let next =
                    last.map(|(time, key): SortedKey| [&time.to_be_bytes()[..], &key].concat());
                let next = next.map(|place| data_encoding::HEXLOWER.encode(&place));
                return Ok(Page { items, next });
            }
            items.push(item);
            last = Some(place);
        }
    }
    Ok(Page { items, next: None })
}

fn not_of_this_list(cursor: &str) -> Error {
    Error::invalid(format!("`{cursor}` is no cursor of this list"))
}

/// Returns the greatest alias of a checkpoint that fits a query.
fn greatest_alias<'a>(query: &CheckpointQuery, entry: &'a MarkEntry) -> Option<&'a str> {
    let aliases = entry.body.aliases.iter().map(String::as_str);
    let fits = |alias: &&str| {
        query.alias.as_deref().is_none_or(|only| only == *alias)
            && query.before.as_deref().is_none_or(|before| *alias < before)
    };
    aliases.filter(fits).max()
}

fn asks_for_alias(query: &CheckpointQuery) -> bool {
    query.alias.is_some() || query.before.is_some()
}

fn fits(query: &CheckpointQuery, checkpoint: &Checkpoint) -> bool {
    if query.status.is_some_and(|status| status != checkpoint.status) {
        return false;
    }
    if query.filter.is_empty() {
        return true;
    }
    let metadata = checkpoint.metadata.as_ref().and_then(|json| text_value(json.text()).ok());
    metadata.is_some_and(|it| query.filter.iter().all(|(name, value)| it.get(name) == Some(value)))
}

/// Direction of a walk through the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
}

/// Returns the range of all keys that begin with a prefix.
fn range_of(prefix: &[u8]) -> Range<Vec<u8>> {
    prefix.to_vec()..keys::after_prefix(prefix)
}

/// Walks through a range of the index until a page is full.
fn page<T>(
    catalog: &Catalog,
    range: Range<Vec<u8>>,
    order: Order,
    limit: Option<usize>,
    cursor: Option<&str>,
    wanted: impl Fn(&[u8], &[u8]) -> Result<Option<T>>,
) -> Result<Page<T>> {
    let limit = limit.unwrap_or(LIMIT_DEFAULT).max(1);
    let mut place = match cursor {
        None => None,
        Some(cursor) => {
            let key = data_encoding::HEXLOWER.decode(cursor.as_bytes()).ok();
            let key = key.filter(|key| range.contains(key));
            Some(key.ok_or_else(|| not_of_this_list(cursor))?)
        }
    };
    let Range { start: first, end: after } = range;
    let mut items = Vec::new();
    let mut last = Vec::new();
    loop {
        let (from, to) = match (order, &place) {
            (_, None) => (first.clone(), after.clone()),
            (Order::Descending, Some(key)) => (first.clone(), key.clone()),
            // The least key that is greater.
            (Order::Ascending, Some(key)) => ([key.as_slice(), &[0]].concat(), after.clone()),
        };
        let backwards = order == Order::Descending;
        let entries = catalog.log().scan(&from, &to, backwards, STRIDE)?;
        if entries.is_empty() {
            return Ok(Page { items, next: None });
        }
        for (key, value) in entries {
            if let Some(item) = wanted(&key, &value)? {
                if items.len() == limit {
                    // A further item exists. It is the only condition for a next page, which begins
                    // after the last item of this one.
                    let next = Some(data_encoding::HEXLOWER.encode(&last));
                    return Ok(Page { items, next });
                }
                items.push(item);
                last.clone_from(&key);
            }
            place = Some(key);
        }
    }
}
