//! Hints for names that do not exist: the nearest ones that do.
//!
//! At most [`CANDIDATES_MAX`] names of a store are looked at. A name is never completed silently:
//! the next one with the same beginning would change what a command does.

use milepost::query::AddressTarget;
use milepost::{Address, ErrorKind};
use milepost_api::CheckpointForm;

use super::{Backend, CheckpointsRequest};
use crate::error::Failure;
use crate::output::nearest::{CANDIDATES_MAX, did_you_mean, nearest};
use crate::output::{printable, words};

/// Size of a page of names.
const PAGE: usize = 1000;

/// Hint for a task that does not exist.
pub const TASKS: &str = "`milepost tasks` lists the tasks of the store";

/// Adds a hint to the failure of a task that does not exist.
pub fn of_task(source: &dyn Backend, failure: Failure, id: &str) -> Failure {
    if let Some(meant) = meant(source, id) {
        return failure.hint(format!("did you mean `{meant}`? {TASKS}"));
    }
    match did_you_mean(&nearest_tasks(source, id)) {
        Some(question) => failure.hint(format!("{question} {TASKS}")),
        None => failure.hint(TASKS),
    }
}

/// Returns the address that was meant by one that names no task: the id of a task as an address has
/// it, a label without its task, or a task and a label with another sign between them.
fn meant(source: &dyn Backend, given: &str) -> Option<String> {
    let is_task = |id: &str| source.lineages(id).is_ok();
    let as_id = words::encode(given);
    if as_id != given && is_task(given) {
        return Some(as_id);
    }
    if let Some((task, label)) = given.rsplit_once([':', '#', ' '])
        && is_task(task)
    {
        return Some(format!("{}@{}", words::encode(task), words::encode(label)));
    }
    let all = checkpoints(source, None);
    let labelled = all.iter().find(|checkpoint| checkpoint.label.as_deref() == Some(given))?;
    Some(format!("{}@{}", words::encode(&labelled.task), words::encode(given)))
}

/// Adds a hint to the failure of an address.
pub fn of_point(source: &dyn Backend, failure: Failure, address: &str) -> Failure {
    let kind = failure.kind();
    if !matches!(kind, Some(ErrorKind::Invalid | ErrorKind::NotFound)) {
        return failure;
    }
    let as_id = words::encode(address);
    if as_id != address && source.lineages(address).is_ok() {
        return failure.hint(format!(
            "did you mean `{as_id}`? Inside a task's id, `@`, `~`, `/` and `%` are percent-encoded"
        ));
    }
    match address.parse() {
        Ok(Address::Checkpoint(name)) if ["head", "latest", "last", "now"].contains(&&*name) => {
            failure.hint(format!("a task's id alone is its head, as in `TASK`; {TASKS}"))
        }
        Ok(Address::Checkpoint(name)) => of_checkpoint(source, failure, &name),
        Ok(Address::Task { task, lineage, place }) => {
            let Ok(lineages) = source.lineages(&task) else {
                return of_task(source, failure, &task);
            };
            let name = words::encode(&task);
            match (lineage, place) {
                (Some(asked), _) if !lineages.iter().any(|lineage| lineage.id == asked) => {
                    failure.hint(format!("`milepost lineages {}` draws them", printable(&name)))
                }
                (lineage, AddressTarget::Label(label)) => {
                    let front = match lineage {
                        Some(lineage) => format!("{name}/{lineage}"),
                        None => name.clone(),
                    };
                    of_label(source, failure, (&task, &front), &label)
                }
                (_, AddressTarget::Back(_)) => failure.hint(checkpoints_of(&name)),
                (_, AddressTarget::Offset(_) | AddressTarget::Head) => failure.hint(format!(
                    "`milepost log {} -n 5` prints the last events",
                    printable(&name)
                )),
            }
        }
        Err(_) => failure.hint(
            "addresses are TASK, TASK@N, TASK@LABEL, TASK~N, TASK/LINEAGE and @HEX; \
             `milepost log TASK -n 5` shows the last events",
        ),
    }
}

/// Adds a hint to the failure of a label of a task, whose addresses begin with `front`.
fn of_label(
    source: &dyn Backend,
    failure: Failure,
    (task, front): (&str, &str),
    label: &str,
) -> Failure {
    // The lineage comes before the place.
    if let Some((place, lineage)) = label.split_once('/')
        && lineage.parse::<u32>().is_ok()
    {
        let name = words::encode(task);
        return of_names(failure, &[format!("{name}/{lineage}@{place}")], &checkpoints_of(&name));
    }
    let name = words::encode(task);
    if ["head", "latest", "last", "now"].contains(&label) {
        return of_names(failure, &[front.to_owned()], &checkpoints_of(&name));
    }
    if let Some(back) = label.strip_prefix('-').filter(|back| back.parse::<u32>().is_ok()) {
        return of_names(failure, &[format!("{front}~{back}")], &checkpoints_of(&name));
    }
    let all = checkpoints(source, Some(task.to_owned()));
    let labels = all.iter().filter_map(|checkpoint| checkpoint.label.as_deref());
    let near = nearest(label, labels).into_iter();
    let near: Vec<String> = near.map(|label| format!("{front}@{}", words::encode(label))).collect();
    of_names(failure, &near, &checkpoints_of(&words::encode(task)))
}

/// Adds a hint to the failure of a checkpoint's id or alias.
fn of_checkpoint(source: &dyn Backend, failure: Failure, name: &str) -> Failure {
    if failure.kind() == Some(ErrorKind::Invalid) {
        return failure.hint("`milepost checkpoints --json` lists whole ids");
    }
    let all = checkpoints(source, None);
    let aliases = all.iter().flat_map(|checkpoint| &checkpoint.aliases);
    let near = nearest(name, aliases).into_iter();
    let mut near: Vec<String> = near.map(|alias| format!("@{}", words::encode(alias))).collect();
    // A label is found in its task.
    let labelled = all.iter().find(|checkpoint| checkpoint.label.as_deref() == Some(name));
    near.extend(
        labelled.map(|checkpoint| {
            format!("{}@{}", words::encode(&checkpoint.task), words::encode(name))
        }),
    );
    near.truncate(3);
    of_names(failure, &near, "`milepost checkpoints` lists the checkpoints of the store")
}

/// Adds a hint with the nearest names, and the command that lists all.
fn of_names(failure: Failure, near: &[String], all: &str) -> Failure {
    match did_you_mean(near) {
        Some(question) => failure.hint(format!("{question} {all}")),
        None => failure.hint(all),
    }
}

fn checkpoints_of(name: &str) -> String {
    format!("`milepost checkpoints {}` lists the checkpoints", printable(name))
}

/// Returns the tasks that are nearest to an id, as in an address.
fn nearest_tasks(source: &dyn Backend, id: &str) -> Vec<String> {
    let (mut ids, mut cursor) = (Vec::new(), None);
    // Without an answer there is no hint: the failure is what counts.
    while let Ok(page) = source.tasks(None, PAGE, cursor.take()) {
        ids.extend(page.items.into_iter().map(|task| task.id));
        cursor = page.next;
        if cursor.is_none() || ids.len() >= CANDIDATES_MAX {
            break;
        }
    }
    nearest(id, ids).iter().map(|id| words::encode(id)).collect()
}

/// Returns the newest checkpoints of a task, or of the store.
fn checkpoints(source: &dyn Backend, task: Option<String>) -> Vec<CheckpointForm> {
    let mut asked = CheckpointsRequest { task, limit: PAGE, ..CheckpointsRequest::default() };
    let mut all = Vec::new();
    while let Ok(page) = source.checkpoints(&asked) {
        all.extend(page.items);
        asked.cursor = page.next;
        if asked.cursor.is_none() || all.len() >= CANDIDATES_MAX {
            break;
        }
    }
    all
}
