//! Summaries of tasks, kept in memory: a list that is sorted or searched reads only the tasks that
//! changed.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use milepost::Engine;
use milepost::ids::{Seq, TaskNo};
use milepost::query::{TaskQuery, TaskVersion};
use milepost_api::{SortValue, SummaryFilter, SummaryForm, SummaryOrder};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::error::{Error, OperationResult};
use crate::forms;
use crate::view::View;

/// Maximum bytes of kept summaries. Further ones are read for each request.
const BYTES: usize = 64 << 20;

/// Estimated bytes of a kept summary in addition to its JSON.
const OVERHEAD: usize = 512;

/// Maximum number of columns that are kept of a task. The oldest goes.
const COLUMNS: usize = 32;

/// Maximum bytes of a column's value.
pub const VALUE_MAX: usize = 256;

/// Maximum number of tasks that are sorted or searched.
const TASKS_MAX: usize = 200_000;

/// The kept summaries of an engine's tasks.
#[derive(Debug, Default)]
pub struct Summaries {
    kept: Mutex<Kept>,
    /// Locked while the versions are read: after a commit one request reads them for all.
    walk: Mutex<()>,
}

/// Values of the last state of a task, by pointer. `None` is a pointer without a value.
pub type Columns = BTreeMap<String, Option<Value>>;

#[derive(Debug, Default)]
struct Kept {
    /// The versions of all tasks after a commit.
    versions: Option<(Seq, Arc<Vec<TaskVersion>>)>,
    rows: HashMap<TaskNo, Row>,
    bytes: usize,
}

#[derive(Debug)]
struct Row {
    version: u64,
    form: Arc<SummaryForm>,
    /// Values of the last state that were asked for, oldest first.
    columns: Vec<(String, Option<Value>)>,
    bytes: usize,
}

/// The tasks that a request asks about and its caller may see.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The only user whose tasks are shown.
    pub user: Option<String>,
    /// The beginning of the ids that are shown.
    pub prefix: Option<String>,
    /// The only task of a caller with that limit.
    pub only: Option<String>,
}

impl Shown {
    /// Returns the number of tasks that it shows.
    fn count(&self, versions: &[TaskVersion]) -> usize {
        match (&self.user, &self.prefix, &self.only) {
            (None, None, None) => versions.len(),
            _ => versions.iter().filter(|task| self.shows(task)).count(),
        }
    }

    /// Returns true if the task is shown.
    pub fn shows(&self, task: &TaskVersion) -> bool {
        self.user.as_ref().is_none_or(|user| *user == task.user)
            && self.prefix.as_ref().is_none_or(|prefix| task.id.starts_with(prefix.as_str()))
            && self.only.as_ref().is_none_or(|only| *only == task.id)
    }
}

/// A list of summaries that is sorted or searched.
pub struct Search {
    /// The tasks to search.
    pub shown: Shown,
    /// The conditions of a match.
    pub filter: SummaryFilter,
    /// The order of the list.
    pub order: SummaryOrder,
    /// The maximum number of tasks of the page.
    pub limit: usize,
    /// The `next` of the previous page.
    pub cursor: Option<String>,
}

/// A page of summaries.
pub struct Found {
    /// The tasks and their summaries.
    pub items: Vec<(TaskVersion, Arc<SummaryForm>)>,
    /// The cursor of the next page, unless this is the last one.
    pub next: Option<String>,
    /// The number of tasks in all pages.
    pub total: usize,
}

/// A row of a list that is sorted, by its place in the list.
struct Sorted<'a> {
    order: &'a SummaryOrder,
    value: SortValue,
    form: Arc<SummaryForm>,
    task: &'a TaskVersion,
}

impl Ord for Sorted<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.compare((&self.value, &self.form.id), (&other.value, &other.form.id))
    }
}

impl PartialOrd for Sorted<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Sorted<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Sorted<'_> {}

impl Summaries {
    /// Forgets everything, for an engine that replaces another one.
    pub fn clear(&self) {
        // Versions of the former engine that are being read are kept before.
        let _walk = self.walk.lock();
        *self.kept.lock() = Kept::default();
    }

    /// Returns the versions of all tasks, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// Errors of a read.
    pub fn versions(&self, engine: &Engine) -> OperationResult<Arc<Vec<TaskVersion>>> {
        if let Some(versions) = self.kept.lock().versions_at(engine.store().seq()) {
            return Ok(versions);
        }
        let _walk = self.walk.lock();
        // Read before the versions: a commit in between makes the next request read them again.
        let seq = engine.store().seq();
        if let Some(versions) = self.kept.lock().versions_at(seq) {
            return Ok(versions);
        }
        let versions = Arc::new(engine.query().task_versions()?);
        let kept = &mut *self.kept.lock();
        kept.versions = Some((seq, Arc::clone(&versions)));
        kept.rows
            .retain(|no, row| find(&versions, *no).is_some_and(|task| task.version == row.version));
        kept.bytes = kept.rows.values().map(|row| row.bytes).sum();
        Ok(versions)
    }

    /// Returns the summary of a task; `None` if it was deleted.
    ///
    /// # Errors
    ///
    /// Errors of a read.
    pub fn form(
        &self,
        engine: &Engine,
        task: &TaskVersion,
    ) -> OperationResult<Option<Arc<SummaryForm>>> {
        let known = self.kept.lock().current(task).map(|row| Arc::clone(&row.form));
        if known.is_some() {
            return Ok(known);
        }
        let Some(summary) = engine.query().summary_of(task.no)? else {
            return Ok(None);
        };
        let form = Arc::new(forms::summary(summary).listed());
        self.kept.lock().keep(task, &form);
        Ok(Some(form))
    }

    /// Returns the kept values of the last state of a task.
    pub fn columns(&self, task: &TaskVersion, pointers: &[String]) -> Columns {
        let kept = self.kept.lock();
        let columns = kept.current(task).map_or(&[][..], |row| &row.columns);
        columns.iter().filter(|(pointer, _)| pointers.contains(pointer)).cloned().collect()
    }

    /// Keeps values of the last state of a task.
    pub fn keep_columns(&self, task: &TaskVersion, columns: &Columns) {
        let mut kept = self.kept.lock();
        for (pointer, value) in columns {
            kept.keep_column(task, pointer, value);
        }
    }

    /// Returns a page of the engine's own order, which reads the tasks of the page only.
    ///
    /// # Errors
    ///
    /// `Invalid`: the cursor is not one of this list.
    pub fn page(
        &self,
        view: &View<'_>,
        engine: &Engine,
        shown: &Shown,
        query: &TaskQuery,
    ) -> OperationResult<Found> {
        let page = view.query().tasks(query)?;
        let versions = self.versions(engine)?;
        let mut items = Vec::with_capacity(page.items.len());
        for task in page.items {
            // A task that is started or deleted between the two reads is in one of them.
            if let Some(task) = find(&versions, task.no)
                && let Some(form) = self.form(engine, task)?
            {
                items.push((task.clone(), form));
            }
        }
        let total = shown.count(&versions);
        Ok(Found { items, next: page.next, total })
    }

    /// Returns a page of a list that is sorted or searched.
    ///
    /// # Errors
    ///
    /// `Invalid`: the cursor is not one of this list. `TooMuch`: more than 200,000 tasks are shown.
    pub fn search(&self, engine: &Engine, search: &Search) -> OperationResult<Found> {
        let Search { shown, filter, order, limit, cursor } = search;
        let after = cursor.as_deref().map(|text| place(text, order)).transpose()?;
        let versions = self.versions(engine)?;
        if shown.count(&versions) > TASKS_MAX {
            let text =
                "more than 200,000 tasks are not sorted or searched: name a user or a prefix";
            return Err(Error::TooMuch(text));
        }
        // Only the rows of the page are held, and the one after it.
        let (mut rows, mut total) = (BinaryHeap::new(), 0);
        for task in versions.iter().filter(|task| shown.shows(task)) {
            let Some(form) = self.form(engine, task)?.filter(|form| filter.fits(form)) else {
                continue;
            };
            total += 1;
            let value = order.value(&form);
            let is_after = after
                .as_ref()
                .is_none_or(|(after, id)| order.compare((&value, &form.id), (after, id)).is_gt());
            if is_after {
                rows.push(Sorted { order, value, form, task });
            }
            if rows.len() > *limit + 1 {
                rows.pop();
            }
        }
        let mut rows = rows.into_sorted_vec();
        let is_more = rows.len() > *limit;
        rows.truncate(*limit);
        let last = rows.last().filter(|_| is_more);
        let next = last.map(|row| cursor_of(order, &row.value, &row.form.id));
        let items = rows.into_iter().map(|row| (row.task.clone(), row.form)).collect();
        Ok(Found { items, next, total })
    }
}

impl Kept {
    /// Returns the versions after the commit with a number.
    fn versions_at(&self, seq: Seq) -> Option<Arc<Vec<TaskVersion>>> {
        self.versions.as_ref().filter(|(at, _)| *at == seq).map(|(_, kept)| Arc::clone(kept))
    }

    /// Returns the row of a task if it is of this version.
    fn current(&self, task: &TaskVersion) -> Option<&Row> {
        self.rows.get(&task.no).filter(|row| row.version == task.version)
    }

    fn keep(&mut self, task: &TaskVersion, form: &Arc<SummaryForm>) {
        let bytes = serde_json::to_vec(&**form).map_or(0, |json| json.len()) + OVERHEAD;
        if let Some(old) = self.rows.remove(&task.no) {
            self.bytes -= old.bytes;
        }
        if self.bytes + bytes > BYTES {
            return;
        }
        self.bytes += bytes;
        let (form, columns) = (Arc::clone(form), Vec::new());
        self.rows.insert(task.no, Row { version: task.version, form, columns, bytes });
    }

    fn keep_column(&mut self, task: &TaskVersion, pointer: &str, value: &Option<Value>) {
        let bytes = |pointer: &str| pointer.len() + VALUE_MAX;
        let row = self.rows.get_mut(&task.no).filter(|row| row.version == task.version);
        let Some(row) = row.filter(|row| row.columns.iter().all(|(of, _)| of != pointer)) else {
            return;
        };
        if row.columns.len() >= COLUMNS {
            let (oldest, _) = row.columns.remove(0);
            row.bytes -= bytes(&oldest);
            self.bytes -= bytes(&oldest);
        }
        if self.bytes + bytes(pointer) <= BYTES {
            row.columns.push((pointer.to_owned(), value.clone()));
            row.bytes += bytes(pointer);
            self.bytes += bytes(pointer);
        }
    }
}

/// Returns the task with a number.
fn find(versions: &[TaskVersion], no: TaskNo) -> Option<&TaskVersion> {
    versions.binary_search_by_key(&no, |task| task.no).ok().and_then(|at| versions.get(at))
}

/// Returns the cursor after a task: the order, the value and the id. Numbers are exact.
fn cursor_of(order: &SummaryOrder, value: &SortValue, id: &str) -> String {
    let (bits, text) = match value {
        SortValue::Number(number) => (Some(number.to_bits()), None),
        SortValue::Text(text) => (None, Some(text)),
        SortValue::Absent => (None, None),
    };
    let place = json!([order.to_string(), bits, text, id]);
    BASE64URL_NOPAD.encode(place.to_string().as_bytes())
}

/// Returns the value and the id that a cursor names.
fn place(cursor: &str, order: &SummaryOrder) -> OperationResult<(SortValue, String)> {
    let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).unwrap_or_default();
    let place = serde_json::from_slice(&bytes);
    let place: Option<(String, Option<u64>, Option<String>, String)> = place.ok();
    let wrong = || milepost::Error::invalid(format!("`{cursor}` is no cursor of this list"));
    let (of, bits, text, id) = place.ok_or_else(wrong)?;
    if of != order.to_string() {
        return Err(wrong().into());
    }
    let number = bits.map(|bits| SortValue::Number(f64::from_bits(bits)));
    let value = number.or(text.map(SortValue::Text)).unwrap_or(SortValue::Absent);
    Ok((value, id))
}

#[cfg(test)]
mod tests {
    use milepost::Options;
    use milepost::events::{Message, StepFailed};

    use super::*;

    fn all() -> Shown {
        Shown { user: None, prefix: None, only: None }
    }

    #[test]
    fn pages_of_any_length_have_the_tasks_in_the_order_of_the_whole_list() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        // Many have the same value, and none is started in the order of its place.
        for n in 0..23 {
            let task = engine.start_task(&format!("t{}", n * 7 % 23), "ana").unwrap();
            for step in 0..n % 4 {
                task.append(StepFailed { step, error: "it failed".into() }).unwrap();
            }
        }
        let summaries = Summaries::default();
        let (versions, filter) = (summaries.versions(&engine).unwrap(), SummaryFilter::default());
        for sort in ["failed", "-failed", "id", "-created"] {
            let order: SummaryOrder = sort.parse().unwrap();
            let form = |task| summaries.form(&engine, task).unwrap().unwrap();
            let mut whole: Vec<_> = versions.iter().map(form).collect();
            whole.sort_by(|a, b| order.compare((&order.value(a), &a.id), (&order.value(b), &b.id)));
            let whole: Vec<_> = whole.iter().map(|form| form.id.clone()).collect();
            for limit in [1, 2, 5, 22, 23, 24] {
                let (mut pages, mut cursor) = (Vec::new(), None);
                loop {
                    let (shown, order, filter) = (all(), order.clone(), filter.clone());
                    let search = Search { shown, filter, order, limit, cursor };
                    let found = summaries.search(&engine, &search).unwrap();
                    assert!(found.items.len() <= limit && found.total == 23);
                    pages.extend(found.items.iter().map(|(_, form)| form.id.clone()));
                    cursor = found.next;
                    if cursor.is_none() {
                        break;
                    }
                }
                assert_eq!(pages, whole, "{sort}, {limit} a page");
            }
        }
    }

    #[test]
    fn rows_of_deleted_tasks_and_of_old_versions_go() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let summaries = Summaries::default();
        let read = || {
            let versions = summaries.versions(&engine).unwrap();
            let form = |task| summaries.form(&engine, task).unwrap().unwrap();
            versions.iter().map(form).map(|form| form.id.clone()).collect::<Vec<_>>()
        };
        let task = engine.start_task("a", "ana").unwrap();
        engine.start_task("b", "ana").unwrap();
        assert_eq!(read(), ["a", "b"]);
        let kept = || {
            summaries.versions(&engine).unwrap();
            let kept = summaries.kept.lock();
            assert_eq!(kept.bytes, kept.rows.values().map(|row| row.bytes).sum::<usize>());
            let mut ids: Vec<_> = kept.rows.values().map(|row| row.form.id.clone()).collect();
            ids.sort();
            ids
        };
        task.append(Message::text("user", "a secret")).unwrap();
        assert_eq!(kept(), ["b"]);
        assert_eq!(read(), ["a", "b"]);
        // As many tasks as rows.
        engine.retention().delete_task("a").unwrap();
        engine.start_task("c", "ana").unwrap();
        assert_eq!(kept(), ["b"]);
    }

    #[test]
    fn the_oldest_column_goes() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        engine.start_task("a", "ana").unwrap();
        let summaries = Summaries::default();
        let versions = summaries.versions(&engine).unwrap();
        let task = versions.first().unwrap();
        summaries.form(&engine, task).unwrap();
        let pointers: Vec<_> = (0..=COLUMNS).map(|n| format!("/{n}")).collect();
        for pointer in &pointers {
            summaries.keep_columns(task, &[(pointer.clone(), None)].into());
        }
        let columns = summaries.columns(task, &pointers);
        assert_eq!(columns.len(), COLUMNS);
        assert!(!columns.contains_key("/0") && columns.contains_key(&format!("/{COLUMNS}")));
    }
}
