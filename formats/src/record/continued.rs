//! Lineages that continue in the file of another session: an agent was rewound, and continues under
//! a new id.

use milepost::query::{LineageInfo, TaskQuery};
use milepost::{Engine, ErrorKind, LineageId};

use crate::error::{Error, Result};

/// Number of tasks that are listed at once.
const PAGE: usize = 100;

/// Beginning of the description of a lineage that continues in the file of another session.
const SESSION: &str = "session ";

/// Returns the description of a lineage that continues in the file of a session.
pub fn session_description(session: &str) -> String {
    format!("{SESSION}{session}")
}

/// Returns the task and the lineage that a session continues, if its id is not the one of a task:
/// an agent was rewound, and continues in a new file.
///
/// # Errors
///
/// Errors of reading the lists of tasks and lineages.
pub fn continued(engine: &Engine, session: &str) -> Result<Option<(String, LineageId)>> {
    match engine.task(session) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        found => return found.map(|_| None).map_err(Error::from),
    }
    let description = session_description(session);
    let mut query = TaskQuery { limit: Some(PAGE), ..TaskQuery::default() };
    loop {
        let page = engine.query().tasks(&query)?;
        for task in page.items {
            let lineages = engine.task(&task.id)?.lineages()?;
            let is_it = |info: &&LineageInfo| info.description.as_ref() == Some(&description);
            if let Some(info) = lineages.iter().rev().find(is_it) {
                return Ok(Some((task.id, info.id)));
            }
        }
        let Some(next) = page.next else { return Ok(None) };
        query.cursor = Some(next);
    }
}
