//! Summaries of tasks, kept in memory, so that lists of them are sorted and searched without a read
//! of those that have not changed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use milepost::ids::{Seq, TaskNo};
use milepost::query::{TaskQuery, TaskVersion};
use milepost::{Engine, ErrorKind, Result, RunState};
use milepost_api::{SortValue, SummaryFilter, SummaryForm, SummaryOrder};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::auth::Caller;
use crate::error::ApiError;
use crate::view::View;

/// Maximum bytes of kept summaries. Further ones are read for each request.
const BYTES: usize = 64 << 20;

/// Estimated bytes of a kept summary in addition to its JSON.
const OVERHEAD: usize = 512;

/// Maximum number of columns that are kept of a task.
const COLUMNS: usize = 32;

/// Maximum bytes of a column's value.
const VALUE_MAX: usize = 256;

/// Maximum number of tasks that are sorted or searched.
const TASKS_MAX: usize = 200_000;

/// The kept summaries of an engine's tasks.
#[derive(Debug, Default)]
pub(crate) struct Summaries(Mutex<Kept>);

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
    /// Values of the last state that were asked for.
    columns: BTreeMap<String, Option<Value>>,
    bytes: usize,
}

/// The tasks that a request asks about and its caller may see.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) user: Option<String>,
    pub(crate) prefix: Option<String>,
    only: Option<String>,
}

impl Shown {
    pub(crate) fn of(
        caller: &Caller,
        user: Option<String>,
        prefix: Option<String>,
    ) -> std::result::Result<Self, ApiError> {
        let user = caller.asks_about(user)?;
        Ok(Self { user, prefix, only: caller.limits.task.clone() })
    }

    pub(crate) fn shows(&self, task: &TaskVersion) -> bool {
        self.user.as_ref().is_none_or(|user| *user == task.user)
            && self.prefix.as_ref().is_none_or(|prefix| task.id.starts_with(prefix.as_str()))
            && self.only.as_ref().is_none_or(|only| *only == task.id)
    }
}

/// A list of summaries that is sorted or searched.
pub(crate) struct Search {
    pub(crate) shown: Shown,
    pub(crate) filter: SummaryFilter,
    pub(crate) order: SummaryOrder,
    pub(crate) limit: usize,
    pub(crate) cursor: Option<String>,
}

/// A page of summaries.
pub(crate) struct Found {
    pub(crate) items: Vec<(TaskVersion, Arc<SummaryForm>)>,
    pub(crate) next: Option<String>,
    pub(crate) total: usize,
}

impl Summaries {
    /// Forgets everything, for an engine that replaces another one.
    pub(crate) fn clear(&self) {
        *self.0.lock() = Kept::default();
    }

    /// Returns the versions of all tasks.
    pub(crate) fn versions(&self, engine: &Engine) -> Result<Arc<Vec<TaskVersion>>> {
        // Read before the versions: a commit in between makes the next request read them again.
        let seq = engine.store().seq();
        if let Some((at, versions)) = &self.0.lock().versions
            && *at == seq
        {
            return Ok(Arc::clone(versions));
        }
        let versions = Arc::new(engine.query().task_versions()?);
        let kept = &mut *self.0.lock();
        kept.versions = Some((seq, Arc::clone(&versions)));
        if kept.rows.len() > versions.len() {
            let there: HashSet<TaskNo> = versions.iter().map(|task| task.no).collect();
            kept.rows.retain(|no, _| there.contains(no));
            kept.bytes = kept.rows.values().map(|row| row.bytes).sum();
        }
        Ok(versions)
    }

    /// Returns the summary of a task; `None` if it was deleted.
    pub(crate) fn form(
        &self,
        engine: &Engine,
        task: &TaskVersion,
    ) -> Result<Option<Arc<SummaryForm>>> {
        let known = self.0.lock().current(task).map(|row| Arc::clone(&row.form));
        if known.is_some() {
            return Ok(known);
        }
        let Some(summary) = engine.query().summary_of(task.no)? else {
            return Ok(None);
        };
        let form = Arc::new(SummaryForm::from(summary).listed());
        self.0.lock().keep(task, &form);
        Ok(Some(form))
    }

    /// Returns values of the last state of a task, by pointer. One that is not there is absent.
    pub(crate) fn columns(
        &self,
        engine: &Engine,
        task: &TaskVersion,
        pointers: &[String],
    ) -> Result<BTreeMap<String, Value>> {
        let mut found = BTreeMap::new();
        let mut state: Option<Option<RunState>> = None;
        for pointer in pointers {
            let known =
                self.0.lock().current(task).and_then(|row| row.columns.get(pointer).cloned());
            let value = match known {
                Some(value) => value,
                None => {
                    if state.is_none() {
                        state = Some(last_state(engine, task)?);
                    }
                    let of = state.as_ref().and_then(Option::as_ref);
                    let value = of.and_then(|state| {
                        state.value_at(pointer, engine.chunks().as_ref()).ok().flatten()
                    });
                    let value = value.map(cut);
                    self.0.lock().keep_column(task, pointer, &value);
                    value
                }
            };
            if let Some(value) = value {
                found.insert(pointer.clone(), value);
            }
        }
        Ok(found)
    }

    /// Returns a page of the engine's own order, which reads the tasks of the page only.
    pub(crate) fn page(
        &self,
        view: &View<'_>,
        engine: &Engine,
        shown: &Shown,
        query: &TaskQuery,
    ) -> std::result::Result<Found, ApiError> {
        let page = view.tasks(query)?;
        let versions = self.versions(engine)?;
        let by_no: HashMap<TaskNo, &TaskVersion> =
            versions.iter().map(|task| (task.no, task)).collect();
        let mut items = Vec::with_capacity(page.items.len());
        for task in page.items {
            // A task that is started or deleted between the two reads is in one of them.
            if let Some(task) = by_no.get(&task.no)
                && let Some(form) = self.form(engine, task)?
            {
                items.push(((*task).clone(), form));
            }
        }
        let total = versions.iter().filter(|task| shown.shows(task)).count();
        Ok(Found { items, next: page.next, total })
    }

    /// Returns a page of a list that is sorted or searched.
    pub(crate) fn search(
        &self,
        engine: &Engine,
        search: &Search,
    ) -> std::result::Result<Found, ApiError> {
        let Search { shown, filter, order, limit, cursor } = search;
        let after = cursor.as_deref().map(|text| place(text, order)).transpose()?;
        let versions = self.versions(engine)?;
        let tasks: Vec<_> = versions.iter().filter(|task| shown.shows(task)).collect();
        if tasks.len() > TASKS_MAX {
            let text =
                "more than 200,000 tasks are not sorted or searched: name a user or a prefix";
            return Err(ApiError::TooMuch(text));
        }
        let mut rows = Vec::new();
        for task in tasks {
            if let Some(form) = self.form(engine, task)?
                && filter.fits(&form)
            {
                rows.push((order.value(&form), form, task));
            }
        }
        let total = rows.len();
        if let Some((value, id)) = &after {
            rows.retain(|(of, form, _)| order.compare((of, &form.id), (value, id)).is_gt());
        }
        rows.sort_by(|a, b| order.compare((&a.0, &a.1.id), (&b.0, &b.1.id)));
        let is_more = rows.len() > *limit;
        rows.truncate(*limit);
        let last = rows.last().filter(|_| is_more);
        let next = last.map(|(value, form, _)| cursor_of(order, value, &form.id));
        let items = rows.into_iter().map(|(_, form, task)| (task.clone(), form)).collect();
        Ok(Found { items, next, total })
    }
}

impl Kept {
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
        let (form, columns) = (Arc::clone(form), BTreeMap::new());
        self.rows.insert(task.no, Row { version: task.version, form, columns, bytes });
    }

    fn keep_column(&mut self, task: &TaskVersion, pointer: &str, value: &Option<Value>) {
        let bytes = pointer.len() + VALUE_MAX;
        let fits = self.bytes + bytes <= BYTES;
        let row = self.rows.get_mut(&task.no).filter(|row| row.version == task.version);
        if let Some(row) = row
            && fits
            && row.columns.len() < COLUMNS
        {
            row.columns.insert(pointer.to_owned(), value.clone());
            row.bytes += bytes;
            self.bytes += bytes;
        }
    }
}

/// Returns the last state of a task; `None` if it cannot be read.
fn last_state(engine: &Engine, task: &TaskVersion) -> Result<Option<RunState>> {
    let state = engine.task(&task.id).and_then(|task| {
        let head = task.head()?.next;
        engine.run_state(&task.point(head)?)
    });
    match state {
        Ok(state) => Ok(Some(state)),
        Err(error) if error.kind() == ErrorKind::Unavailable => Err(error),
        Err(_) => Ok(None),
    }
}

/// Returns a value, or the beginning of a long one and its length.
fn cut(value: Value) -> Value {
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.len() > VALUE_MAX {
        true => {
            let end = (0..=VALUE_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let (begin, _) = text.split_at(end);
            json!({ "cut": begin, "bytes": text.len().to_string() })
        }
        false => value,
    }
}

/// Returns the cursor behind a task: the order, the value and the id. Numbers are exact.
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
fn place(cursor: &str, order: &SummaryOrder) -> std::result::Result<(SortValue, String), ApiError> {
    let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).unwrap_or_default();
    let place = serde_json::from_slice(&bytes);
    let place: Option<(String, Option<u64>, Option<String>, String)> = place.ok();
    let wrong = || ApiError::Invalid(format!("`{cursor}` is no cursor of this list"));
    let (of, bits, text, id) = place.ok_or_else(wrong)?;
    if of != order.to_string() {
        return Err(wrong());
    }
    let number = bits.map(|bits| SortValue::Number(f64::from_bits(bits)));
    let value = number.or(text.map(SortValue::Text)).unwrap_or(SortValue::Absent);
    Ok((value, id))
}
