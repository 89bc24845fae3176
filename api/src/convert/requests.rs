//! Conversions of requests.

use std::time::Duration;

use milepost::events::GuidanceGiven;
use milepost::retention::Policy;
use milepost::{Error, Json, Mark, Result};
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
    /// `Invalid`: the request keeps nothing explicitly, `keep_count` is too large, or it names both
    /// a user and a task.
    pub fn policy(self) -> Result<Policy> {
        if self.keep_count.is_none() && self.younger_than_seconds.is_none() {
            return Err(Error::invalid(
                "a policy says what is kept: send `keep_count`, `younger_than_seconds` or both, as \
                 in {\"keep_count\": 10}",
            ));
        }
        let mut policy =
            Policy::new().marks_only(self.marks_only).keep_lineages(!self.drop_lineages);
        if let Some(Big(seconds)) = self.younger_than_seconds {
            policy = policy.younger_than(Duration::from_secs(seconds));
        }
        match self.keep_count {
            Some(keep) if keep > Self::KEEP_MAX => {
                let most = Self::KEEP_MAX;
                return Err(Error::invalid(format!("keep_count is 0 to {most}, not {keep}")));
            }
            Some(keep) => policy = policy.keep(keep),
            None => {}
        }
        if let Some(undo) = self.undo {
            policy = policy.undo(undo);
        }
        match (self.user, self.task) {
            (Some(_), Some(_)) => Err(Error::invalid("name a user or a task, not both")),
            (Some(user), None) => Ok(policy.user(user)),
            (None, Some(task)) => Ok(policy.task(task)),
            (None, None) => Ok(policy),
        }
    }
}
