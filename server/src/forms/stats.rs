//! What is held, in numbers.

use milepost::{Stats, TaskNo, TaskStats};
use serde::Serialize;
use utoipa::ToSchema;

use super::Big;
use crate::wrong::Wrong;

/// Of the store, or of a user's tasks.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum StatsForm {
    Store(StoreForm),
    User(UserForm),
}

/// What a store holds. `milepost stats --json` prints the same.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StoreForm {
    tasks: Big,
    lineages: Big,
    /// Each counted where it was appended.
    events: Big,
    checkpoints: Big,
    /// Bytes of the events' records.
    event_bytes: Big,
    /// Commits that opening took back from the journal.
    recovered: Big,
    /// The last commit.
    seq: Big,
    /// The last commit that is where it stays.
    applied: Big,
    disk: DiskForm,
}

/// What it takes on disk, in bytes.
#[derive(Debug, Serialize, ToSchema)]
struct DiskForm {
    journal: Big,
    archive: Big,
    sled: Big,
    packs: Big,
    /// Everything.
    total: Big,
}

impl From<Stats> for StoreForm {
    fn from(stats: Stats) -> Self {
        Self {
            tasks: Big(stats.tasks),
            lineages: Big(stats.lineages),
            events: Big(stats.events),
            checkpoints: Big(stats.checkpoints),
            event_bytes: Big(stats.event_bytes),
            recovered: Big(stats.recovered),
            seq: Big(stats.seq),
            applied: Big(stats.applied),
            disk: DiskForm {
                journal: Big(stats.disk.journal),
                archive: Big(stats.disk.archive),
                sled: Big(stats.disk.sled),
                packs: Big(stats.disk.packs),
                total: Big(stats.disk.total),
            },
        }
    }
}

/// What each task of a user holds, and all of them. `milepost stats --user --json` prints the same.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UserForm {
    user: String,
    /// Newest first.
    tasks: Vec<TaskStatsForm>,
    /// The cursor of the next page; `null` where this is the last.
    next: Option<String>,
    /// Of all of them, whatever page this is.
    total: CountsForm,
}

/// What a task holds.
#[derive(Debug, Serialize, ToSchema)]
struct TaskStatsForm {
    id: String,
    user: String,
    #[serde(flatten)]
    counts: CountsForm,
}

#[derive(Debug, Serialize, ToSchema)]
struct CountsForm {
    lineages: Big,
    /// Each counted where it was appended.
    events: Big,
    checkpoints: Big,
    /// Of the events' records.
    bytes: Big,
    /// About, of what the store takes on disk.
    disk_bytes: Big,
}

impl UserForm {
    /// A page of so many tasks at most, from those that were started before the one of the cursor.
    pub(crate) fn of(
        user: String,
        mut tasks: Vec<TaskStats>,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Self, Wrong> {
        let before = cursor.map(task_no).transpose()?;
        let mut total = TaskStats::default();
        for task in &tasks {
            total.lineages += task.lineages;
            total.events += task.events;
            total.checkpoints += task.checkpoints;
            total.bytes += task.bytes;
            total.disk += task.disk;
        }
        tasks.retain(|task| before.is_none_or(|before| task.no < before));
        tasks.sort_by_key(|task| std::cmp::Reverse(task.no));
        let is_more = tasks.len() > limit;
        tasks.truncate(limit);
        let last = tasks.last().filter(|_| is_more);
        let next = last.map(|last| format!("{:016x}", last.no.0));
        let tasks = tasks.into_iter().map(|task| TaskStatsForm {
            counts: CountsForm::of(&task),
            id: task.task,
            user: task.user,
        });
        Ok(Self {
            user,
            tasks: tasks.collect(),
            next,
            total: CountsForm::of(&total),
        })
    }
}

/// The task that a cursor names: the last one of a page.
fn task_no(cursor: &str) -> Result<TaskNo, Wrong> {
    let small = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    let digits = Some(cursor).filter(|cursor| cursor.len() == 16 && cursor.bytes().all(small));
    let no = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let wrong = || Wrong::Invalid(format!("`{cursor}` is no cursor of this list"));
    no.map(TaskNo).ok_or_else(wrong)
}

impl CountsForm {
    fn of(stats: &TaskStats) -> Self {
        Self {
            lineages: Big(stats.lineages),
            events: Big(stats.events),
            checkpoints: Big(stats.checkpoints),
            bytes: Big(stats.bytes),
            disk_bytes: Big(stats.disk),
        }
    }
}
