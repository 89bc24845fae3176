//! Requests to the store, made while no key waits.

use milepost_api::{CheckpointForm, Listed};

use super::details;
use super::model::{Job, Model};
use super::preview;
use crate::backend::{Backend, CheckpointsRequest};
use crate::error::Result;

/// Number of checkpoints on the first page, and on each later one.
const FIRST: usize = 200;
const LATER: usize = 1000;

/// Runs a job of the model. A list that cannot be read is an error; details that cannot be read are
/// shown as unknown.
pub fn run(source: &dyn Backend, job: Job, model: &mut Model) -> Result<()> {
    match job {
        Job::StorePage => {
            let cursor = model.list.store_next().flatten();
            let page = page(source, None, cursor)?;
            model.list.add_store_page(page);
            model.renew();
        }
        Job::TaskPage(group) => {
            let cursor = model.list.task_next(group).flatten();
            let task = model.list.group(group).map(|group| group.task.clone());
            let page = page(source, task, cursor)?;
            model.list.add_task_page(group, page);
            model.renew();
        }
        Job::About(group) => {
            let task = model.list.group(group).map(|group| group.task.as_str());
            let about = task.and_then(|task| details::about(source, task).ok());
            model.abouts.put(group, about.unwrap_or_default());
        }
        Job::Details(group, item) => {
            if let Some(item) = model.list.item(group, item) {
                let id = item.checkpoint.id;
                let details = details::details(source, &model.list, &item.checkpoint);
                model.details.put(id, details);
            }
        }
        Job::Preview(group, item) => {
            if let Some(item) = model.list.item(group, item) {
                let id = item.checkpoint.id;
                let preview = preview::read(source, &item.checkpoint);
                model.previews.put(id, preview);
            }
        }
    }
    Ok(())
}

fn page(
    source: &dyn Backend,
    task: Option<String>,
    cursor: Option<String>,
) -> Result<Listed<CheckpointForm>> {
    let limit = if cursor.is_some() { LATER } else { FIRST };
    source.checkpoints(&CheckpointsRequest { task, limit, cursor, ..CheckpointsRequest::default() })
}
