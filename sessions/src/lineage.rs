//! Lineages of sessions, their records, and restores of their files.

use milepost::{Body, LineageId, Result, Scope, Task};
use milepost_formats::session_description;

/// Number of events at the beginning of a lineage among which its restore is, and number of last
/// events that are searched for one.
const LOOKED_AT: u64 = 64;

/// Returns the lineage that the conversation of a session is in: the active one, unless it belongs
/// to another session, which a rewind made of this one.
pub(crate) fn of_session(task: &Task, id: &str) -> Result<LineageId> {
    let (own, begin) = (session_description(id), session_description(""));
    let lineages = task.lineages()?;
    let mut found = task.lineage().id();
    let mut next = Some(found);
    // Ids of parents are lower, so the loop ends.
    while let Some(info) = next.and_then(|id| lineages.iter().find(|info| info.id == id)) {
        let parent = info.parent.map(|parent| parent.lineage);
        let is_other = |text: &String| text.starts_with(&begin) && *text != own;
        if let (Some(parent), true) = (parent, info.description.as_ref().is_some_and(is_other)) {
            found = parent;
        }
        next = parent;
    }
    Ok(found)
}

/// Returns `true` if the restore that opened the active lineage restored files.
pub(crate) fn opened_with_files(task: &Task) -> Result<bool> {
    let Some(parent) = task.lineage().info()?.parent else { return Ok(false) };
    let end = task.head()?.next.min(parent.offset + LOOKED_AT);
    for event in task.read(parent.offset..end)? {
        if let Some(Body::Restored(restored)) = event?.body {
            return Ok(restored.scope != Scope::State);
        }
    }
    Ok(false)
}

/// Returns `true` if files were restored since the last event of an agent, for another session than
/// this one.
pub(crate) fn files_went_back(task: &Task, id: &str) -> Result<bool> {
    let info = task.lineage().info()?;
    if info.description == Some(session_description(id)) {
        return Ok(false);
    }
    let head = task.head()?.next;
    let from = head.saturating_sub(LOOKED_AT).max(info.begin);
    let mut has_files = false;
    for event in task.read(from..head)? {
        let event = event?;
        let actor = event.header.actor.as_deref().unwrap_or_default();
        let is_of_agent = actor == "import" || actor.starts_with("agent");
        match event.body {
            Some(Body::Restored(restored)) => has_files = restored.scope != Scope::State,
            _ if is_of_agent => has_files = false,
            _ => {}
        }
    }
    Ok(has_files)
}

/// Returns `true` if events were appended under a key: on the active lineage, and for a document
/// that waited on any lineage, as the user may have rewound since.
pub(crate) fn is_appended(task: &Task, key: &str, is_spooled: bool) -> Result<bool> {
    if task.lineage().appended_under(key)?.is_some() {
        return Ok(true);
    }
    if is_spooled {
        for lineage in task.lineages()? {
            if task.lineage_named(lineage.id)?.appended_under(key)?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
