//! Conversions of requests.

use std::time::Duration;

use milepost::events::GuidanceGiven;
use milepost::retention::Policy;
use milepost::{Engine, Error, Json, Mark, Result};
use milepost_workspace::Choices;
use serde_json::json;

use crate::{Big, CheckpointGiven, ChoicesAsked, GuidanceAsked, MarkGiven, RetentionAsked};

impl From<MarkGiven> for Mark {
    fn from(given: MarkGiven) -> Self {
        let mut mark = Self::new();
        if let Some(label) = given.label {
            mark = mark.label(label);
        }
        if let Some(status) = given.status {
            mark = mark.status(status);
        }
        if let Some(cause) = given.cause {
            mark = mark.cause(cause);
        }
        if let Some(metadata) = given.metadata {
            mark = mark.metadata(metadata);
        }
        given.aliases.into_iter().fold(mark, Self::alias)
    }
}

impl From<CheckpointGiven> for Mark {
    fn from(given: CheckpointGiven) -> Self {
        let CheckpointGiven { label, status, cause, metadata, aliases, lineage: _, at } = given;
        let mark = Self::from(MarkGiven { label, status, cause, metadata, aliases });
        match at {
            Some(Big(at)) => mark.at(at),
            None => mark,
        }
    }
}

impl TryFrom<GuidanceAsked> for GuidanceGiven {
    type Error = Error;

    fn try_from(asked: GuidanceAsked) -> Result<Self> {
        let data = asked.target.map(|target| Json::from_value(&json!({ "target": target })));
        Ok(Self { text: asked.text, data: data.transpose()? })
    }
}

impl From<ChoicesAsked> for Choices {
    fn from(asked: ChoicesAsked) -> Self {
        let choices = asked.theirs.into_iter().fold(Self::default(), Self::theirs);
        let choices = asked.keep_mine.into_iter().fold(choices, Self::keep_mine);
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
}

impl RetentionAsked {
    /// Returns the policy of the request.
    ///
    /// # Errors
    ///
    /// `Invalid`: the request keeps nothing explicitly, a number is too large, it names both a user
    /// and a task, or checkpoints without their task. `NotFound`: no such point in `trim_before`.
    pub fn policy(self, engine: &Engine) -> Result<Policy> {
        self.check()?;
        let mut policy =
            Policy::new().marks_only(self.marks_only).keep_lineages(!self.drop_lineages);
        if let Some(Big(seconds)) = self.younger_than_seconds {
            policy = policy.younger_than(Duration::from_secs(seconds));
        }
        if let Some(keep) = self.keep_count {
            policy = policy.keep(keep);
        }
        if let Some(undo) = self.undo {
            policy = policy.undo(undo);
        }
        if let Some(address) = &self.trim_before {
            let point = engine.point(address)?;
            if self.task.as_ref().is_some_and(|task| *task != point.task) {
                return Err(Error::invalid("`trim_before` is a point of `task`"));
            }
            policy = policy.trim_before(&point);
        }
        Ok(match (self.user, self.task, self.remove) {
            (_, Some(task), Some(ids)) => policy.remove(task, ids),
            (Some(user), ..) => policy.user(user),
            (None, Some(task), None) => policy.task(task),
            (None, None, _) => policy,
        })
    }

    /// Refuses what cannot be meant.
    fn check(&self) -> Result<()> {
        let named = self.remove.as_ref().map(Vec::len);
        let is_of_task = named.is_some() || self.trim_before.is_some();
        if self.keep_count.is_none() && self.younger_than_seconds.is_none() && !is_of_task {
            return Err(Error::invalid(
                "a policy says what is kept: send `keep_count`, `younger_than_seconds` or both, as \
                 in {\"keep_count\": 10}, or `remove` or `trim_before`",
            ));
        }
        let numbers = [
            ("keep_count", self.keep_count, Self::KEEP_MAX),
            ("the number of ids in remove", named, Self::IDS_MAX),
        ];
        for (what, number, most) in numbers {
            if let Some(number) = number.filter(|number| *number > most) {
                return Err(Error::invalid(format!("{what} is 0 to {most}, not {number}")));
            }
        }
        match (&self.user, &self.task) {
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
}
