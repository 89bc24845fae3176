//! Numbers of the store.

use std::cmp::Reverse;

use milepost::ids::TaskNo;
use milepost::{Error, Result};
use milepost_api::calls::{Stats, StatsQuery};
use milepost_api::{StatsForm, UserForm};

use super::page_size;
use crate::error::OperationResult;
use crate::forms;
use crate::serve::Serve;
use crate::view::View;

/// The maximum number of tasks of a page.
const TASKS_MAX: usize = 1000;

impl Serve for Stats {
    fn serve(self, view: &View<'_>) -> OperationResult<StatsForm> {
        let StatsQuery { user, limit, cursor } = self.query;
        let is_paged = limit.is_some() || cursor.is_some();
        match view.asks_about(user)? {
            Some(user) => {
                let limit = page_size(limit, TASKS_MAX, TASKS_MAX)?;
                Ok(StatsForm::User(user_stats(view, user, limit, cursor.as_deref())?))
            }
            None if is_paged => {
                let text = "`limit` and `cursor` are for the tasks of a user: name one in `user`";
                Err(Error::invalid(text).into())
            }
            None => {
                let engine = view.whole("numbers of the store are for admins")?;
                Ok(StatsForm::Store(forms::store(engine.store().stats()?)))
            }
        }
    }
}

/// Returns the sizes of a user's tasks, newest first, and their sums: at most `limit` tasks, those
/// before the task of the cursor.
fn user_stats(
    view: &View<'_>,
    user: String,
    limit: usize,
    cursor: Option<&str>,
) -> Result<UserForm> {
    let mut tasks = view.query().task_stats(Some(&user))?;
    let before = cursor.map(task_no).transpose()?;
    let total = forms::total(&tasks);
    tasks.retain(|task| before.is_none_or(|before| task.no < before));
    tasks.sort_by_key(|task| Reverse(task.no));
    let is_more = tasks.len() > limit;
    tasks.truncate(limit);
    let next = tasks.last().filter(|_| is_more).map(|last| format!("{:016x}", last.no.0));
    Ok(UserForm { user, tasks: tasks.into_iter().map(forms::task_stats).collect(), next, total })
}

/// Returns the task that a cursor names: the last one of a page.
fn task_no(cursor: &str) -> Result<TaskNo> {
    let small = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    let digits = Some(cursor).filter(|cursor| cursor.len() == 16 && cursor.bytes().all(small));
    let no = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    no.map(TaskNo).ok_or_else(|| Error::invalid(format!("`{cursor}` is no cursor of this list")))
}
