//! Ancestors of a checkpoint, with the values and the writes of some channels.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use milepost::Engine;
use milepost_client::Client;
use milepost_langgraph::{Thread, alias};

use super::operations::{Getting, is_in, now, states};
use super::python::Found;
use super::source::{Marked, Source, Which};
use crate::errors::Outcome;
use crate::operations::Operation;
use crate::ticket::Value;

/// The number of checkpoints that are read first. Each further page has twice as many.
const PAGE: usize = 16;
/// The largest page.
const PAGE_MAX: usize = 1024;

/// Ancestors to get: from the parent of a checkpoint to the nearest that has a value of each of the
/// channels, or to the first one.
pub struct Ancestors {
    pub getting: Getting,
    pub channels: BTreeSet<String>,
}

impl Ancestors {
    /// Returns the ancestors, the parent first.
    async fn run(self, source: Source) -> Outcome<Value> {
        let Self { getting, mut channels } = self;
        let Some((_, target)) = getting.found(&source).await? else {
            return Ok(Value::Threads(Vec::new(), false));
        };
        let mut next = target.parent.clone();
        let mut known: BTreeMap<String, Arc<Thread>> = BTreeMap::new();
        let mut all = Vec::new();
        let mut seen = BTreeSet::new();
        let mut page = PAGE;
        while let Some(id) = next.filter(|_| !channels.is_empty()) {
            let alias = alias(&getting.namespace, &id);
            // A checkpoint may name itself or a child as its parent.
            if !seen.insert(alias.clone()) {
                break;
            }
            if !known.contains_key(&alias) {
                // Most parents have smaller ids. Those behind another one are read alone.
                let limit = if seen.first() == Some(&alias) { page } else { 1 };
                known = read(&source, &getting, &alias, limit).await?;
                page = (page * 2).min(PAGE_MAX);
            }
            // One that was removed ends the history.
            let Some(thread) = known.remove(&alias) else {
                break;
            };
            let mut attached = source.attached(&getting.task, &alias).await?;
            attached.retain(|one| channels.contains(&*one.name));
            let mut thread = Thread::clone(&thread);
            thread.channels.retain(|name, _| channels.contains(&**name));
            channels.retain(|name| !thread.channels.contains_key(name.as_str()));
            next = thread.parent.clone();
            let namespace = getting.namespace.clone();
            all.push(Found { namespace, thread: Arc::new(thread), attached });
        }
        Ok(Value::Threads(all, false))
    }
}

/// Reads a checkpoint and those with the next smaller ids, by their aliases. Their states are read
/// in one pass over the events of each lineage.
async fn read(
    source: &Source,
    getting: &Getting,
    alias: &str,
    limit: usize,
) -> Outcome<BTreeMap<String, Arc<Thread>>> {
    let before = Some(format!("{alias}\0"));
    let marks = source.marks(&getting.task, &Which { before, limit, ..Which::default() }).await?;
    let marks = marks.into_iter().take_while(|mark| is_in(&mark.alias, &getting.namespace));
    let marks: Vec<Marked> = marks.collect();
    let mut states = states(source, &getting.task, &marks).await?;
    let found = |mark: Marked| Some((mark.alias, states.remove(&mark.id)?));
    Ok(marks.into_iter().filter_map(found).collect())
}

impl Operation for Ancestors {
    fn here(self, engine: &Engine) -> Outcome<Value> {
        now(self.run(Source::Here(engine.clone())))
    }

    async fn there(mut self, client: Client) -> Outcome<Value> {
        self.getting.forget();
        self.run(Source::There(client)).await
    }
}
