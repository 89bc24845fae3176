//! Pages of the statistics of a user's tasks.

use milepost::{TaskNo, TaskStats};

use super::{CountsForm, TaskStatsForm, UserForm};
use crate::error::ApiError;

/// Returns a page of at most `limit` tasks, those created before the task of the cursor.
pub(crate) fn page_of(
    user: String,
    mut tasks: Vec<TaskStats>,
    limit: usize,
    cursor: Option<&str>,
) -> Result<UserForm, ApiError> {
    let before = cursor.map(task_no).transpose()?;
    let total = CountsForm::total(&tasks);
    tasks.retain(|task| before.is_none_or(|before| task.no < before));
    tasks.sort_by_key(|task| std::cmp::Reverse(task.no));
    let is_more = tasks.len() > limit;
    tasks.truncate(limit);
    let last = tasks.last().filter(|_| is_more);
    let next = last.map(|last| format!("{:016x}", last.no.0));
    Ok(UserForm { user, tasks: tasks.into_iter().map(TaskStatsForm::from).collect(), next, total })
}

/// Returns the task that a cursor names: the last one of a page.
fn task_no(cursor: &str) -> Result<TaskNo, ApiError> {
    let small = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    let digits = Some(cursor).filter(|cursor| cursor.len() == 16 && cursor.bytes().all(small));
    let no = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let wrong = || ApiError::Invalid(format!("`{cursor}` is no cursor of this list"));
    no.map(TaskNo).ok_or_else(wrong)
}
