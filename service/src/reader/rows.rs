//! Events on one line each.

use std::collections::HashMap;

use milepost::reading::{UsageSum, row};
use milepost::{Body, Event, Lineage, LineageId, Offset, Result, Task};
use milepost_api::{Big, ReadMarkForm, RowForm, RowsForm};
use milepost_codec::bounded;
use milepost_reading::passed;

use super::{EventSearch, Reader, lineage_of};
use crate::forms;

/// Maximum number of calls whose returns are waited for.
const CALLS: usize = 1024;

/// The longest tool, and id of a call, in bytes. A longer one is cut.
const NAME: usize = 200;

/// A range of events, and those that are looked for in it.
#[derive(Debug, Clone)]
pub struct RowsRequest {
    /// The lineage; `None` for the active one.
    pub lineage: Option<LineageId>,
    /// The first offset; `None` for the first readable one.
    pub from: Option<Offset>,
    /// The end offset, exclusive; `None` for the head.
    pub to: Option<Offset>,
    /// Maximum number of rows.
    pub limit: usize,
    /// The events that are looked for.
    pub search: EventSearch,
}

impl Reader {
    /// Returns the rows of a range. It may end early, where the next request continues.
    ///
    /// # Errors
    ///
    /// As [`Lineage::read`](milepost::Lineage::read). `NotFound`: the task has no such lineage.
    pub fn rows(&self, task: &Task, asked: &RowsRequest) -> Result<RowsForm> {
        let lineage = lineage_of(task, asked.lineage)?;
        let info = lineage.info()?;
        let head = info.head.next;
        let from = asked.from.filter(|from| *from > 0).unwrap_or(info.begin);
        let to = asked.to.unwrap_or(head).min(head).max(from);
        let (mut items, mut calls) = (Vec::new(), Calls::default());
        let (mut next, deadline) = (from, self.deadline());
        for event in lineage.read(from..to)? {
            let event = event?;
            next = event.offset.saturating_add(1);
            calls.note(&event);
            if asked.search.takes(&event) {
                items.push(row_form(&event, &calls, &lineage)?);
            }
            if items.len() == asked.limit || deadline.is_over() {
                break;
            }
        }
        Ok(RowsForm { items, next: Some(Big(next)).filter(|_| next < to), head: Big(head) })
    }
}

/// The tools and times of the calls that did not return so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: HashMap<String, (String, u64)>,
    /// The tool and the time of the call that returned last.
    returned: Option<(String, u64)>,
}

impl Calls {
    pub(super) fn note(&mut self, event: &Event) {
        self.returned = None;
        match &event.body {
            Some(Body::ToolCalled(called)) => {
                if self.open.len() == CALLS {
                    self.open.clear();
                }
                let call = (short(&called.tool), event.header.time_us);
                self.open.insert(short(&called.call), call);
            }
            Some(Body::ToolReturned(returned)) => {
                self.returned = self.open.remove(&short(&returned.call));
            }
            _ => {}
        }
    }
}

/// Returns the beginning of a name or an id, of at most 200 bytes.
fn short(name: &str) -> String {
    bounded(name, NAME).to_owned()
}

/// Returns the row of an event of a lineage that the calls have noted.
pub(super) fn row_form(event: &Event, calls: &Calls, lineage: &Lineage) -> Result<RowForm> {
    let mut usage = UsageSum::default();
    usage.add(event);
    let mut form = RowForm {
        offset: Big(event.offset),
        lineage: event.lineage,
        kind: Body::name_of(event.header.kind).into(),
        time_us: Big(event.header.time_us),
        actor: event.header.actor.clone(),
        text: row(event),
        tool: None,
        call: None,
        ok: None,
        took_us: None,
        usage: usage.total().map(forms::usage),
        mark: None,
        erased: event.body.is_none(),
    };
    match &event.body {
        Some(Body::ToolCalled(called)) => {
            (form.tool, form.call) = (Some(short(&called.tool)), Some(short(&called.call)));
        }
        Some(Body::ToolReturned(returned)) => {
            let call = calls.returned.as_ref();
            form.call = Some(short(&returned.call));
            form.tool =
                returned.tool.as_deref().map(short).or_else(|| call.map(|(tool, _)| tool.clone()));
            form.ok = Some(returned.ok);
            let took_us = call.and_then(|(_, began)| passed(*began, event.header.time_us));
            form.took_us = took_us.map(Big);
        }
        Some(Body::StepFailed(_)) => form.ok = Some(false),
        Some(Body::CheckpointMarked(mark)) => {
            let (id, label) = (lineage.marked_at(event.offset)?, mark.label.clone());
            let (status, at) = (mark.status, Big(event.offset));
            form.mark = Some(ReadMarkForm { id, label, status, at });
        }
        _ => {}
    }
    Ok(form)
}
