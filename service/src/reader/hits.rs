//! A search in all tasks.

use milepost::query::{LineageInfo, TaskInfo, TaskQuery};
use milepost::{Error, LineageId, Offset, Result, View};
use milepost_api::{Big, HitForm, HitsForm};

use super::rows::{Calls, row_form};
use super::{Deadline, EventSearch, Reader};

/// Events that are looked for in tasks.
#[derive(Debug, Clone, Default)]
pub struct HitsRequest {
    /// Only tasks of this user.
    pub user: Option<String>,
    /// Maximum number of hits.
    pub limit: usize,
    /// The `next` of the previous page.
    pub cursor: Option<String>,
    /// The events that are looked for.
    pub search: EventSearch,
}

/// A place in the search: in a task, the lineage and the offset to read from, and the cursor of the
/// list of tasks before it.
#[derive(Debug, Clone, Default)]
struct Place {
    /// The number of the task; `None` for the next one of the list.
    task: Option<u64>,
    lineage: u32,
    offset: Offset,
    list: Option<String>,
}

impl Place {
    /// Reads a cursor: `TASK.LINEAGE.OFFSET.LIST`.
    fn of(cursor: &str) -> Result<Self> {
        let wrong = || Error::invalid(format!("`{cursor}` is no cursor of this list"));
        let mut parts = cursor.splitn(4, '.');
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
        let (task, lineage, offset) = (number(), number(), number());
        let lineage = lineage.and_then(|lineage| u32::try_from(lineage).ok()).ok_or_else(wrong)?;
        let list = parts.next().ok_or_else(wrong)?;
        Ok(Self {
            task: Some(task.ok_or_else(wrong)?),
            lineage,
            offset: offset.ok_or_else(wrong)?,
            list: Some(list.to_owned()).filter(|list| !list.is_empty()),
        })
    }

    /// Returns the cursor of the place. Without a task it is the beginning of the next one.
    fn cursor(&self) -> String {
        let list = self.list.as_deref().unwrap_or_default();
        format!("{}.{}.{}.{list}", self.task.unwrap_or(u64::MAX), self.lineage, self.offset)
    }
}

impl Reader {
    /// Returns events of all tasks that a view shows, the newest task first, each event once. A
    /// page may end early, where the next request continues.
    ///
    /// # Errors
    ///
    /// `Invalid`: the cursor is not one of this list. Others as
    /// [`Lineage::read`](milepost::Lineage::read).
    pub fn hits(&self, view: &View, asked: &HitsRequest) -> Result<HitsForm> {
        let cursor = asked.cursor.as_deref().map(Place::of).transpose()?;
        let mut place = cursor.unwrap_or_default();
        let mut found = Found { items: Vec::new(), events: 0, deadline: self.deadline() };
        loop {
            let query = TaskQuery {
                user: asked.user.clone(),
                limit: Some(1),
                cursor: place.list.clone(),
                ..TaskQuery::default()
            };
            let page = view.query().tasks(&query)?;
            // Tasks that were started since the page before are newer.
            let is_new = |task: &TaskInfo| place.task.is_some_and(|no| task.no.0 > no);
            let Some(task) = page.items.into_iter().next() else {
                return Ok(found.form(None));
            };
            if !is_new(&task) {
                if place.task != Some(task.no.0) {
                    (place.lineage, place.offset) = (0, 0);
                }
                if !found.in_task(view, &task, &mut place, asked)? {
                    place.task = Some(task.no.0);
                    return Ok(found.form(Some(place.cursor())));
                }
                place.task = None;
            }
            match page.next {
                Some(list) => place.list = Some(list),
                None => return Ok(found.form(None)),
            }
            if found.deadline.is_over() {
                return Ok(found.form(Some(place.cursor())));
            }
        }
    }
}

/// The hits of a page.
struct Found<'a> {
    items: Vec<HitForm>,
    events: u64,
    deadline: Deadline<'a>,
}

impl Found<'_> {
    /// Reads a task from a place on. Returns `false` if the page ends in it, at the place.
    fn in_task(
        &mut self,
        view: &View,
        info: &TaskInfo,
        place: &mut Place,
        asked: &HitsRequest,
    ) -> Result<bool> {
        let Ok(task) = view.task(&info.id) else {
            // It was deleted.
            return Ok(true);
        };
        let (begin, offset) = (place.lineage, place.offset);
        for lineage in task.lineages()?.iter().filter(|lineage| lineage.id.0 >= begin) {
            let from = match lineage.id.0 == begin {
                true => offset.max(own(lineage)),
                false => own(lineage),
            };
            let mut calls = Calls::default();
            let events = task.lineage_named(lineage.id)?;
            for event in events.read(from.min(lineage.head.next)..lineage.head.next)? {
                let event = event?;
                self.events += 1;
                calls.note(&event);
                (place.lineage, place.offset) = (lineage.id.0, event.offset.saturating_add(1));
                if asked.search.takes(&event) {
                    let address = address(&task, lineage.id, event.offset)?;
                    let (task, row) = (info.id.clone(), row_form(&event, &calls, &events)?);
                    self.items.push(HitForm { address, task, row });
                }
                if self.items.len() == asked.limit || self.deadline.is_over() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn form(self, next: Option<String>) -> HitsForm {
        HitsForm { items: self.items, next, events: Big(self.events) }
    }
}

/// Returns the first offset that a lineage itself recorded: its ancestors have their own.
fn own(lineage: &LineageInfo) -> Offset {
    lineage.parent.as_ref().map_or(0, |parent| parent.offset).max(lineage.begin)
}

fn address(task: &milepost::Task, lineage: LineageId, offset: Offset) -> Result<String> {
    Ok(task.lineage_named(lineage)?.point(offset)?.to_string())
}
