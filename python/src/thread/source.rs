//! The operations of a store that threads need. Those of an engine in this process are never
//! pending.

use std::collections::BTreeMap;
use std::sync::Arc;

use milepost::events::{Attachment, MarkCause};
use milepost::ids::TaskNo;
use milepost::query::{AddressTarget, CheckpointOrder, CheckpointQuery};
use milepost::{
    Address, Append, Body, CheckpointId, Engine, Json, LineageId, Mark, Offset, Reducer as _, Task,
};
use milepost_client::Client;
use milepost_client::EventQuery;
use milepost_client::api::{CheckpointForm, MarkRequest, SwitchRequest, TaskRequest};
use milepost_client::calls::{
    self, AliasQuery, Attachments, CheckpointOrder as ClientOrder, Checkpoints, Lineages, Point,
    StartTask, Switch, Unmark,
};
use milepost_langgraph::{Thread, ThreadReducer};
use milepost_service::forms;

use crate::errors::{Failure, Outcome};

/// The store of threads.
#[derive(Clone)]
pub enum Source {
    Here(Engine),
    There(Client),
}

/// A mark of a checkpoint.
#[derive(Debug, Clone)]
pub struct Marked {
    pub id: CheckpointId,
    pub alias: String,
    pub lineage: LineageId,
    pub at: Offset,
    pub mark: Offset,
    /// The number of the task, which a deleted one of the same id did not have. Unknown over HTTP.
    no: Option<TaskNo>,
}

impl Marked {
    /// Returns the mark that is the last event of a lineage.
    fn newest(
        id: CheckpointId,
        alias: String,
        lineage: LineageId,
        (head, no): (Offset, Option<TaskNo>),
    ) -> Self {
        let mark = head.saturating_sub(1);
        Self { id, alias, lineage, at: mark, mark, no }
    }
}

/// The marks of a list.
#[derive(Debug, Clone, Default)]
pub struct Which {
    pub alias: Option<String>,
    pub before: Option<String>,
    pub filter: Option<String>,
    pub limit: usize,
}

/// The events of a checkpoint, and its mark.
#[derive(Clone)]
pub struct Appending {
    pub bodies: Vec<Body>,
    pub alias: String,
    pub metadata: Option<Json>,
}

/// The largest page of a list.
const PAGE: usize = 100;

impl Appending {
    fn here(self) -> Append {
        let mut mark = Mark::new().cause(MarkCause::Step).alias(self.alias);
        if let Some(metadata) = self.metadata {
            mark = mark.metadata(metadata);
        }
        Append::batch(self.bodies).mark(mark)
    }

    fn there(self) -> milepost_client::Append {
        let mark = MarkRequest {
            cause: Some(MarkCause::Step),
            metadata: self.metadata,
            aliases: vec![self.alias],
            ..MarkRequest::default()
        };
        milepost_client::Append::batch(self.bodies).mark(mark)
    }
}

fn marked(checkpoint: milepost::Checkpoint) -> Marked {
    Marked {
        id: checkpoint.id,
        alias: checkpoint.aliases.into_iter().next().unwrap_or_default(),
        lineage: checkpoint.lineage,
        at: checkpoint.at,
        mark: checkpoint.mark,
        no: None,
    }
}

fn marked_there(form: CheckpointForm) -> Marked {
    Marked {
        id: form.id,
        alias: form.aliases.into_iter().next().unwrap_or_default(),
        lineage: form.lineage,
        at: form.at.0,
        mark: form.mark.0,
        no: None,
    }
}

/// Returns `None` for an error of the kind `NotFound`.
pub(super) fn found<T>(result: Outcome<T>) -> Outcome<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(failure) if failure.is_not_found() => Ok(None),
        Err(failure) => Err(failure),
    }
}

impl Source {
    /// Starts a task, unless it is there.
    pub async fn start(&self, task: &str, user: &str) -> Outcome<()> {
        let started = match self {
            Self::Here(engine) => engine.start_task(task, user).map(drop).map_err(Failure::from),
            Self::There(client) => {
                let (id, user) = (task.to_owned(), Some(user.to_owned()));
                let new = StartTask::new(TaskRequest { id, user, ..TaskRequest::default() });
                client.call(&new).await.map(drop).map_err(Failure::from)
            }
        };
        match started {
            Err(failure) if failure.is_conflict() => Ok(()),
            started => started,
        }
    }

    /// Returns the marks of a task, the greatest alias first; none if there is no such task.
    pub async fn marks(&self, task: &str, which: &Which) -> Outcome<Vec<Marked>> {
        let mut marks = Vec::new();
        let mut cursor = None;
        while marks.len() < which.limit {
            let limit = (which.limit - marks.len()).min(PAGE);
            let page = self.page(task, which, limit, cursor).await;
            let Some((page, next)) = found(page)? else {
                return Ok(Vec::new());
            };
            marks.extend(page);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(marks)
    }

    async fn page(
        &self,
        task: &str,
        which: &Which,
        limit: usize,
        cursor: Option<String>,
    ) -> Outcome<(Vec<Marked>, Option<String>)> {
        let Which { alias, before, filter, .. } = which.clone();
        match self {
            Self::Here(engine) => {
                let filter = match filter {
                    Some(text) => fields(&text)?,
                    None => Vec::new(),
                };
                let page = engine.query().checkpoints(&CheckpointQuery {
                    task: Some(task.to_owned()),
                    alias,
                    before,
                    filter,
                    order: CheckpointOrder::Alias,
                    limit: Some(limit),
                    cursor,
                    ..CheckpointQuery::default()
                })?;
                Ok((page.items.into_iter().map(marked).collect(), page.next))
            }
            Self::There(client) => {
                let query = calls::CheckpointQuery {
                    alias,
                    before,
                    filter,
                    order: ClientOrder::Alias,
                    limit: Some(limit),
                    cursor,
                    ..calls::CheckpointQuery::default()
                };
                let page = client.call(&Checkpoints::new(task, query)).await?;
                Ok((page.items.into_iter().map(marked_there).collect(), page.next))
            }
        }
    }

    /// Returns the head of a lineage if its newest mark is `mark`.
    pub async fn head_behind(&self, task: &str, mark: &Marked) -> Outcome<Option<Offset>> {
        match self {
            Self::Here(engine) => {
                let task = engine.task(task)?;
                if mark.no.is_some_and(|no| no != task.no()) {
                    return Ok(None);
                }
                let lineage = task.lineage_named(mark.lineage)?;
                let head = lineage.head()?.next;
                let newest = lineage.newest_mark()?.map(|(offset, _)| offset);
                Ok((newest == Some(mark.mark)).then_some(head))
            }
            Self::There(client) => {
                let address = address(task, mark.lineage, AddressTarget::Head);
                let head = client.call(&Point::new(&address)).await?.offset.0;
                let query = calls::CheckpointQuery {
                    lineage: Some(mark.lineage.0),
                    limit: Some(1),
                    ..calls::CheckpointQuery::default()
                };
                let newest =
                    client.call(&Checkpoints::new(task, query)).await?.items.into_iter().next();
                Ok(newest.filter(|newest| newest.id == mark.id).map(|_| head))
            }
        }
    }

    /// Returns the active lineage and its head if it is the first one and has no mark, and the
    /// point where the first checkpoint of a namespace begins.
    pub async fn beginning(&self, task: &str) -> Outcome<(Option<(LineageId, Offset)>, String)> {
        let (lineage, begin, unmarked) = match self {
            Self::Here(engine) => {
                let task = engine.task(task)?;
                let info = task.lineage().info()?;
                let newest = task.lineage().newest_mark()?;
                let is_unmarked = info.parent.is_none() && newest.is_none();
                (info.id, info.begin, is_unmarked.then_some(info.head.next))
            }
            Self::There(client) => {
                let lineages = client.call(&Lineages::new(task)).await?.items;
                let active = lineages.into_iter().find(|lineage| lineage.active);
                let active = active
                    .ok_or_else(|| Failure::Broken(format!("task `{task}` has no lineage")))?;
                let query = calls::CheckpointQuery {
                    lineage: Some(active.id.0),
                    limit: Some(1),
                    ..calls::CheckpointQuery::default()
                };
                let marked = client.call(&Checkpoints::new(task, query)).await?.items;
                let is_unmarked = active.parent.is_none() && marked.is_empty();
                (active.id, active.begin.0, is_unmarked.then_some(active.head.0))
            }
        };
        // Behind the event that opens the lineage.
        let first = begin.max(1);
        let address = address(task, lineage, AddressTarget::Offset(first));
        Ok((unmarked.map(|head| (lineage, head)), address))
    }

    /// Appends to a lineage that has this head.
    pub async fn append(
        &self,
        task: &str,
        (lineage, head): (LineageId, Offset),
        appending: Appending,
    ) -> Outcome<Option<Marked>> {
        let alias = appending.alias.clone();
        let (id, next) = match self {
            Self::Here(engine) => {
                let task = on(engine, task, lineage)?;
                let appended = task.append(appending.here().expect_head(head))?;
                (appended.checkpoint, (appended.head.next, Some(task.no())))
            }
            Self::There(client) => {
                let append = appending.there().lineage(lineage.0).expect_head(head);
                let appended = client.append(task, append).await?;
                (appended.checkpoint, (appended.next.0, None))
            }
        };
        Ok(id.map(|id| Marked::newest(id, alias, lineage, next)))
    }

    /// Appends to a new lineage at a point.
    pub async fn branch(
        &self,
        address: &str,
        appending: Appending,
    ) -> Outcome<(LineageId, Option<Marked>)> {
        let alias = appending.alias.clone();
        let (lineage, id, next) = match self {
            Self::Here(engine) => {
                let point = engine.point(address)?;
                let (lineage, appended) = engine.branch(&point).append(appending.here())?;
                (lineage.id(), appended.checkpoint, (appended.head.next, Some(point.no)))
            }
            Self::There(client) => {
                let branched = client.append_branch(address, None, appending.there()).await?;
                let appended = branched.appended;
                (branched.lineage, appended.checkpoint, (appended.next.0, None))
            }
        };
        Ok((lineage, id.map(|id| Marked::newest(id, alias, lineage, next))))
    }

    /// Makes a lineage the active one.
    pub async fn switch(&self, task: &str, lineage: LineageId) -> Outcome<()> {
        match self {
            Self::Here(engine) => {
                let lineage = engine.task(task)?.lineage_named(lineage)?;
                engine.switch(&lineage).run()?;
            }
            Self::There(client) => {
                drop(client.call(&Switch::new(task, SwitchRequest { lineage: lineage.0 })).await?)
            }
        }
        Ok(())
    }

    /// Removes a mark, unless it was removed before.
    pub async fn unmark(&self, id: CheckpointId) -> Outcome<()> {
        let removed = match self {
            Self::Here(engine) => engine.retention().unmark(&[id]).map_err(Failure::from),
            Self::There(client) => {
                client.call(&Unmark::new(id.to_string())).await.map_err(Failure::from)
            }
        };
        found(removed).map(drop)
    }

    /// Returns the number of erased events of a task.
    pub async fn erased(&self, task: &str) -> Outcome<u64> {
        match self {
            Self::Here(engine) => Ok(engine.task(task)?.erased()),
            // The service does not say it: states are kept for one call.
            Self::There(_) => Ok(0),
        }
    }

    /// Returns the state at a mark.
    pub async fn thread(&self, task: &str, mark: &Marked) -> Outcome<Thread> {
        let address = address(task, mark.lineage, AddressTarget::Offset(mark.at));
        match self {
            Self::Here(engine) => Ok(engine.state(&ThreadReducer, &engine.point(&address)?)?),
            Self::There(client) => {
                let bytes = client.encoded_state(&address, ThreadReducer::NAME).await?;
                Ok(ThreadReducer.decode(&bytes)?)
            }
        }
    }

    /// Returns the states at marks of one lineage, in one pass over its events.
    pub async fn threads(
        &self,
        task: &str,
        marks: &[&Marked],
    ) -> Outcome<BTreeMap<CheckpointId, Arc<Thread>>> {
        let mut marks = marks.to_vec();
        marks.sort_by_key(|mark| mark.at);
        let (Some(first), Some(last)) = (marks.first(), marks.last()) else {
            return Ok(BTreeMap::new());
        };
        let mut state = self.thread(task, first).await?;
        let mut states = BTreeMap::new();
        let mut left = marks.iter().peekable();
        let mut keep = |at: Offset, state: &Thread| {
            while let Some(mark) = left.next_if(|mark| mark.at == at) {
                states.insert(mark.id, Arc::new(state.clone()));
            }
        };
        keep(first.at, &state);
        match self {
            Self::Here(engine) => {
                let lineage = engine.task(task)?.lineage_named(first.lineage)?;
                for event in lineage.read(first.at..last.at)? {
                    let event = event?;
                    if let Some(body) = &event.body {
                        state.apply(body);
                    }
                    keep(event.offset + 1, &state);
                }
            }
            Self::There(client) => {
                let mut from = Some(first.at);
                while let Some(next) = from.filter(|next| *next < last.at) {
                    let page = client.events(task, range(first.lineage, next, last.at)).await?;
                    for event in page.items {
                        if let Some(body) = &event.body {
                            state.apply(body);
                        }
                        keep(event.offset.0 + 1, &state);
                    }
                    from = page.next.map(|next| next.0);
                }
            }
        }
        Ok(states)
    }

    /// Returns the data attached by an alias.
    pub async fn attached(&self, task: &str, alias: &str) -> Outcome<Vec<Attachment>> {
        Ok(match self {
            Self::Here(engine) => engine.task(task)?.attached(alias)?,
            Self::There(client) => {
                let query = AliasQuery { alias: alias.to_owned() };
                let listed = client.call(&Attachments::new(task, query)).await?;
                listed.items.into_iter().map(forms::to_attachment).collect()
            }
        })
    }
}

fn range(lineage: LineageId, from: Offset, to: Offset) -> EventQuery {
    EventQuery {
        from: Some(from),
        to: Some(to),
        limit: Some(1000),
        lineage: Some(lineage.0),
        ..EventQuery::default()
    }
}

fn on(engine: &Engine, task: &str, lineage: LineageId) -> milepost::Result<Task> {
    engine.task(task)?.lineage_named(lineage)?.as_task()
}

fn fields(text: &str) -> Outcome<Vec<(String, serde_json::Value)>> {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)
        .map_err(|error| Failure::Invalid(format!("the filter: {error}")))?;
    Ok(fields.into_iter().collect())
}

/// Returns the address of a point: the engine's text for it.
fn address(task: &str, lineage: LineageId, place: AddressTarget) -> String {
    Address::Task { task: task.to_owned(), lineage: Some(lineage), place }.to_string()
}
