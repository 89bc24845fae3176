//! Conversions of requests.

use std::time::Duration;

use milepost::events::GuidanceGiven;
use milepost::retention::Policy;
use milepost::{Engine, Error, Json, Mark, Result};
use milepost_api::{
    Big, CheckpointRequest, ChoicesRequest, GuidanceRequest, MarkRequest, RetentionRequest,
};
use milepost_workspace::Choices;
use serde_json::json;

/// Returns the mark of a request.
pub fn mark(given: MarkRequest) -> Mark {
    let MarkRequest { label, status, cause, metadata, aliases } = given;
    let mut mark = Mark::new();
    if let Some(label) = label {
        mark = mark.label(label);
    }
    if let Some(status) = status {
        mark = mark.status(status);
    }
    if let Some(cause) = cause {
        mark = mark.cause(cause);
    }
    if let Some(metadata) = metadata {
        mark = mark.metadata(metadata);
    }
    aliases.into_iter().fold(mark, Mark::alias)
}

/// Returns the mark of a request, with its offset.
pub fn mark_at(given: CheckpointRequest) -> Mark {
    let CheckpointRequest { label, status, cause, metadata, aliases, lineage: _, at } = given;
    let mark = mark(MarkRequest { label, status, cause, metadata, aliases });
    match at {
        Some(Big(at)) => mark.at(at),
        None => mark,
    }
}

/// Returns the guidance of a request.
///
/// # Errors
///
/// `Invalid`: the target cannot be stored as JSON.
pub fn guidance(asked: GuidanceRequest) -> Result<GuidanceGiven> {
    let data = asked.target.map(|target| Json::from_value(&json!({ "target": target })));
    Ok(GuidanceGiven { text: asked.text, data: data.transpose()? })
}

/// Returns the choices of a request.
pub fn choices(asked: ChoicesRequest) -> Choices {
    let choices = asked.theirs.into_iter().fold(Choices::default(), Choices::theirs);
    let choices = asked.keep_mine.into_iter().fold(choices, Choices::keep_mine);
    let choices = match asked.take_ignored {
        true => choices.take_ignored(),
        false => choices,
    };
    let choices = match asked.leave_others {
        true => choices.leave_others(),
        false => choices,
    };
    match asked.moved {
        true => choices.moved(),
        false => choices,
    }
}

/// Returns the policy of the request.
///
/// # Errors
///
/// `Invalid`: the request keeps nothing explicitly, a number is too large, it names both a user
/// and a task, or checkpoints without their task. `NotFound`: no such point in `trim_before`.
pub fn policy(asked: RetentionRequest, engine: &Engine) -> Result<Policy> {
    check(&asked)?;
    let mut policy = Policy::new().marks_only(asked.marks_only).keep_lineages(!asked.drop_lineages);
    if let Some(Big(seconds)) = asked.younger_than_seconds {
        policy = policy.younger_than(Duration::from_secs(seconds));
    }
    if let Some(keep) = asked.keep_count {
        policy = policy.keep(keep);
    }
    if let Some(undo) = asked.undo {
        policy = policy.undo(undo);
    }
    if let Some(address) = &asked.trim_before {
        let point = engine.point(address)?;
        if asked.task.as_ref().is_some_and(|task| *task != point.task) {
            return Err(Error::invalid("`trim_before` is a point of `task`"));
        }
        policy = policy.trim_before(&point);
    }
    Ok(match (asked.user, asked.task, asked.remove) {
        (_, Some(task), Some(ids)) => policy.remove(task, ids),
        (Some(user), ..) => policy.user(user),
        (None, Some(task), None) => policy.task(task),
        (None, None, _) => policy,
    })
}

/// Refuses what cannot be meant.
fn check(asked: &RetentionRequest) -> Result<()> {
    let named = asked.remove.as_ref().map(Vec::len);
    let is_of_task = named.is_some() || asked.trim_before.is_some();
    if asked.keep_count.is_none() && asked.younger_than_seconds.is_none() && !is_of_task {
        return Err(Error::invalid(
            "a policy says what is kept: send `keep_count`, `younger_than_seconds` or both, as \
             in {\"keep_count\": 10}, or `remove` or `trim_before`",
        ));
    }
    let numbers = [
        ("keep_count", asked.keep_count, RetentionRequest::KEEP_MAX),
        ("the number of ids in remove", named, RetentionRequest::IDS_MAX),
    ];
    for (what, number, most) in numbers {
        if let Some(number) = number.filter(|number| *number > most) {
            return Err(Error::invalid(format!("{what} is 0 to {most}, not {number}")));
        }
    }
    match (&asked.user, &asked.task) {
        (Some(_), Some(_)) => Err(Error::invalid("name a user or a task, not both")),
        (Some(_), None) if is_of_task => {
            Err(Error::invalid("`remove` and `trim_before` are of a task, not of a user"))
        }
        (_, None) if named.is_some() => {
            Err(Error::invalid("`remove` has checkpoints of one task: name it in `task`"))
        }
        _ => Ok(()),
    }
}
