//! Put, get and list.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use milepost::events::Attachment;
use milepost::{CheckpointId, Engine, Error, ErrorKind, Json, Offset};
use milepost_client::Client;
use milepost_langgraph::{Checkpoint, Given, Missing, Thread, alias, id_in, prefix};

use super::cache::Cache;
use super::python::Found;
use super::source::{Appending, Marked, Source, Which, found};
use crate::errors::{Failure, Outcome};
use crate::operations::Operation;
use crate::ticket::Value;

/// The number of times that a put is tried while other writers append to its lineage.
const TRIES: u32 = 50;

/// The last character of Unicode: text that begins with a prefix sorts before the prefix and it.
const LAST: char = '\u{10ffff}';

/// A checkpoint that is put into a thread.
pub struct Putting {
    pub cache: Arc<Cache>,
    pub task: String,
    pub user: String,
    pub namespace: String,
    pub checkpoint: Checkpoint,
    /// The metadata for filters: a JSON object.
    pub metadata: Option<Json>,
    pub values: Vec<Given>,
    /// Refuses a second child of a checkpoint, in place of opening a lineage for it.
    pub raises: bool,
}

/// The result of a put.
#[derive(Debug)]
pub enum Put {
    Done,
    /// The names of channels whose values have to be given.
    Missing(Vec<String>),
}

/// The parent of a checkpoint, and its state.
struct Parent {
    marked: Marked,
    thread: Arc<Thread>,
    /// The head of its lineage if nothing was put there behind it.
    head: Option<Offset>,
}

impl Putting {
    async fn run(self, source: Source) -> Outcome<Value> {
        let mut tries = TRIES;
        loop {
            match self.once(&source).await {
                Ok(put) => return Ok(Value::Put(put)),
                // Another writer appended to the lineage, or switched to another one.
                Err(failure)
                    if failure.is_conflict() && tries > 0 && !self.is_refusal(&failure) =>
                {
                    tries -= 1;
                }
                Err(failure) if failure.is_not_found() && tries == TRIES => {
                    source.start(&self.task, &self.user).await?;
                    tries -= 1;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Returns `true` for the conflict that `raises` is about.
    fn is_refusal(&self, failure: &Failure) -> bool {
        self.raises
            && matches!(failure, Failure::Engine(error) if error.detail().is_none()
                && error.to_string().contains(SECOND_CHILD))
    }

    async fn once(&self, source: &Source) -> Outcome<Put> {
        let own = alias(&self.namespace, &self.checkpoint.id);
        let earlier = marked(source, &self.task, &own).await?;
        let parent = match &self.checkpoint.parent {
            Some(parent) => self.parent(source, parent).await?,
            None => None,
        };
        let events = match &parent {
            Some(parent) => self.checkpoint.events(&parent.thread, &self.values),
            None => self.checkpoint.first_events(&self.values),
        };
        let bodies = match events {
            Ok(bodies) => bodies,
            Err(Missing(names)) => return Ok(Put::Missing(names)),
        };
        let mut thread = parent.as_ref().map(|one| Thread::clone(&one.thread)).unwrap_or_default();
        for body in &bodies {
            thread.apply(body);
        }
        let appending = Appending { bodies, alias: own, metadata: self.metadata.clone() };
        let marked = match &parent {
            Some(parent) => self.behind(source, parent, appending).await?,
            None => self.first(source, appending).await?,
        };
        if let Some(earlier) = earlier {
            // The same checkpoint, put again: the newer one replaces it.
            source.unmark(earlier.id).await?;
        }
        if let Some(marked) = marked {
            let erased = source.erased(&self.task).await?;
            self.cache.put(marked.id, erased, Arc::new(thread));
            self.cache.put_mark(&self.task, marked);
        }
        Ok(Put::Done)
    }

    /// Returns the parent; `None` if it is not there any more.
    async fn parent(&self, source: &Source, id: &str) -> Outcome<Option<Parent>> {
        let alias = alias(&self.namespace, id);
        if let Some(marked) = self.cache.marked(&self.task, &alias)
            && let Some(Some(head)) = found(source.head_behind(&self.task, &marked).await)?
        {
            let thread = state(source, &self.cache, &self.task, &marked).await?;
            return Ok(Some(Parent { marked, thread, head: Some(head) }));
        }
        let Some(marked) = marked(source, &self.task, &alias).await? else {
            return Ok(None);
        };
        let thread = state(source, &self.cache, &self.task, &marked).await?;
        let head = source.head_behind(&self.task, &marked).await?;
        Ok(Some(Parent { marked, thread, head }))
    }

    /// Appends to the lineage of the parent if nothing was put there behind it, and otherwise to a
    /// new lineage.
    async fn behind(
        &self,
        source: &Source,
        Parent { marked, head, .. }: &Parent,
        appending: Appending,
    ) -> Outcome<Option<Marked>> {
        if let Some(head) = *head {
            return source.append(&self.task, (marked.lineage, head), appending).await;
        }
        if self.raises {
            let text = format!(
                "{SECOND_CHILD}: checkpoint {} of `{}` has one, and {} would be another: read the \
                 newest checkpoint, and go on from there",
                marked.alias, self.task, self.checkpoint.id
            );
            return Err(Error::new(ErrorKind::Conflict, text).into());
        }
        let (lineage, id) = source.branch(&format!("@{}", marked.id), appending).await?;
        if self.namespace.is_empty() {
            // Commands and pages show what the graph continues from.
            source.switch(&self.task, lineage).await?;
        }
        Ok(id)
    }

    /// Appends the first checkpoint of a namespace: that of the root namespace to a lineage that
    /// has no mark yet (writes may come before it), others to new lineages.
    async fn first(&self, source: &Source, appending: Appending) -> Outcome<Option<Marked>> {
        let (unmarked, address) = source.beginning(&self.task).await?;
        let is_root = self.namespace.is_empty();
        if let Some(place) = unmarked.filter(|_| is_root) {
            return source.append(&self.task, place, appending).await;
        }
        let (lineage, id) = source.branch(&address, appending).await?;
        if is_root {
            source.switch(&self.task, lineage).await?;
        }
        Ok(id)
    }
}

const SECOND_CHILD: &str = "a second child of a checkpoint";

/// Returns the newest mark with an alias.
async fn marked(source: &Source, task: &str, alias: &str) -> Outcome<Option<Marked>> {
    let which = Which { alias: Some(alias.to_owned()), limit: 10, ..Which::default() };
    let marks = source.marks(task, &which).await?;
    Ok(marks.into_iter().max_by_key(|mark| (mark.lineage, mark.mark)))
}

/// Returns the state at a mark.
async fn state(
    source: &Source,
    cache: &Cache,
    task: &str,
    marked: &Marked,
) -> Outcome<Arc<Thread>> {
    let erased = source.erased(task).await?;
    if let Some(thread) = cache.get(marked.id, erased) {
        return Ok(thread);
    }
    let thread = Arc::new(source.thread(task, marked).await?);
    cache.put(marked.id, erased, thread.clone());
    Ok(thread)
}

/// A checkpoint to get: one by its id, or the newest of a namespace.
pub struct Getting {
    pub cache: Arc<Cache>,
    pub texts: bool,
    pub task: String,
    pub namespace: String,
    pub id: Option<String>,
}

impl Getting {
    async fn run(self, source: Source) -> Outcome<Value> {
        let Some((marked, thread)) = self.found(&source).await? else {
            return Ok(Value::Threads(Vec::new(), self.texts));
        };
        let attached = source.attached(&self.task, &marked.alias).await?;
        let found = Found { namespace: self.namespace, thread, attached };
        Ok(Value::Threads(vec![found], self.texts))
    }

    /// Returns the mark and the state of the checkpoint; `None` if there is none.
    pub async fn found(&self, source: &Source) -> Outcome<Option<(Marked, Arc<Thread>)>> {
        let found = match &self.id {
            Some(id) => marked(source, &self.task, &alias(&self.namespace, id)).await?,
            None => {
                let which = Which { limit: 1, before: top(&self.namespace), ..Which::default() };
                let newest = source.marks(&self.task, &which).await?.into_iter().next();
                newest.filter(|mark| is_in(&mark.alias, &self.namespace))
            }
        };
        let Some(marked) = found else {
            return Ok(None);
        };
        let thread = state(source, &self.cache, &self.task, &marked).await?;
        Ok(Some((marked, thread)))
    }

    /// Discards the states that were read before: the service does not report erasures since.
    pub fn forget(&mut self) {
        self.cache = Arc::default();
    }
}

/// Returns the states at marks, in one pass over the events of each lineage.
pub(super) async fn states(
    source: &Source,
    task: &str,
    marks: &[Marked],
) -> Outcome<BTreeMap<CheckpointId, Arc<Thread>>> {
    let mut by_lineage: BTreeMap<u32, Vec<&Marked>> = BTreeMap::new();
    for mark in marks {
        by_lineage.entry(mark.lineage.0).or_default().push(mark);
    }
    let mut threads = BTreeMap::new();
    for marks in by_lineage.values() {
        threads.extend(source.threads(task, marks).await?);
    }
    Ok(threads)
}

/// Returns the text that all aliases of a namespace sort before.
fn top(namespace: &str) -> Option<String> {
    // Aliases of the root namespace are the greatest.
    (!namespace.is_empty()).then(|| format!("{}{LAST}", prefix(namespace)))
}

pub(super) fn is_in(alias: &str, namespace: &str) -> bool {
    id_in(alias).is_some_and(|(found, _)| found == namespace)
}

/// Checkpoints to list, those with the greatest ids first.
pub struct Listing {
    pub texts: bool,
    pub task: String,
    /// `None` for all namespaces.
    pub namespace: Option<String>,
    /// Only ids that sort before this one.
    pub before: Option<String>,
    pub filter: Option<String>,
    pub limit: usize,
}

impl Listing {
    async fn run(self, source: Source) -> Outcome<Value> {
        let marks = self.marks(&source).await?;
        let mut threads = states(&source, &self.task, &marks).await?;
        let mut all = Vec::with_capacity(marks.len());
        for mark in &marks {
            let (Some(thread), Some((namespace, _))) =
                (threads.remove(&mark.id), id_in(&mark.alias))
            else {
                continue;
            };
            let attached: Vec<Attachment> = source.attached(&self.task, &mark.alias).await?;
            all.push(Found { namespace, thread, attached });
        }
        Ok(Value::Threads(all, self.texts))
    }

    async fn marks(&self, source: &Source) -> Outcome<Vec<Marked>> {
        let Some(namespace) = &self.namespace else {
            let which =
                Which { filter: self.filter.clone(), limit: usize::MAX, ..Which::default() };
            let mut marks: Vec<(String, Marked)> = Vec::new();
            for mark in source.marks(&self.task, &which).await? {
                if let Some((_, id)) = id_in(&mark.alias)
                    && self.before.as_ref().is_none_or(|before| id < *before)
                {
                    marks.push((id, mark));
                }
            }
            marks.sort_by(|a, b| b.0.cmp(&a.0));
            marks.truncate(self.limit);
            return Ok(marks.into_iter().map(|(_, mark)| mark).collect());
        };
        let before = match &self.before {
            Some(id) => Some(alias(namespace, id)),
            None => top(namespace),
        };
        let (filter, limit) = (self.filter.clone(), self.limit);
        let marks = source.marks(&self.task, &Which { alias: None, before, filter, limit }).await?;
        let marks = marks.into_iter().take_while(|mark| is_in(&mark.alias, namespace));
        Ok(marks.collect())
    }
}

/// Runs an operation of an engine here, which is never pending.
pub(super) fn now(operation: impl Future<Output = Outcome<Value>>) -> Outcome<Value> {
    match pin!(operation).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => Err(Failure::Broken("an operation of this process is pending".into())),
    }
}

impl Operation for Putting {
    fn here(self, engine: &Engine) -> Outcome<Value> {
        now(self.run(Source::Here(engine.clone())))
    }

    async fn there(self, client: Client) -> Outcome<Value> {
        self.run(Source::There(client)).await
    }
}

impl Operation for Getting {
    fn here(self, engine: &Engine) -> Outcome<Value> {
        now(self.run(Source::Here(engine.clone())))
    }

    async fn there(mut self, client: Client) -> Outcome<Value> {
        self.forget();
        self.run(Source::There(client)).await
    }
}

impl Operation for Listing {
    fn here(self, engine: &Engine) -> Outcome<Value> {
        now(self.run(Source::Here(engine.clone())))
    }

    async fn there(self, client: Client) -> Outcome<Value> {
        self.run(Source::There(client)).await
    }
}
