//! `tasks`: list of tasks, newest first.

use milepost_api::TaskForm;

use crate::args;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, hint, printable, time_short};

/// Size of a page if no limit is given.
const PAGE: usize = 1000;

pub fn run(source: &dyn Backend, args: &args::Tasks, out: &mut Out) -> Result<()> {
    let mut all = Vec::new();
    let mut cursor = args.cursor.clone();
    loop {
        let limit = args.limit.unwrap_or(PAGE);
        let page = source.tasks(args.user.as_deref(), limit, cursor)?;
        all.extend(page.items);
        cursor = page.next;
        if cursor.is_none() || args.limit.is_some() {
            break;
        }
    }
    if out.json {
        out.json(&all)?;
    } else if all.is_empty() {
        out.line("no tasks; `milepost record FILE` records one")?;
    } else {
        let rows: Vec<Vec<String>> = all.iter().map(row).collect();
        out.table(&["TASK", "USER", "LINEAGES", "ACTIVE", "HEAD", "EVENTS", "CREATED"], &rows)?;
    }
    if let Some(cursor) = cursor {
        hint(&format!("there is more: --cursor {cursor}"));
    }
    Ok(())
}

fn row(task: &TaskForm) -> Vec<String> {
    vec![
        printable(&task.id).into_owned(),
        printable(&task.user).into_owned(),
        task.lineages.to_string(),
        task.active.to_string(),
        format!("@{}", task.head),
        task.events.to_string(),
        time_short(task.created_us.0),
    ]
}
