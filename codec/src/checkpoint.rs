//! Checkpoint marks, and the digest that is a checkpoint's id.

use bincode::{Decode, Encode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::id::{CheckpointId, Hash, Head, LineageId, Offset, Origin};
use crate::json::Json;
use crate::limits::{ALIASES_BYTES_MAX, ID_MAX, METADATA_MAX, NAME_MAX, check_size};

/// Cause of a checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkCause {
    /// A user or program requested it.
    #[default]
    Manual,
    /// A step ended.
    Step,
    /// No event arrived for a while.
    Idle,
    /// A tool was about to change data.
    BeforeTool,
    /// The present state was saved before a restore.
    BeforeRestore,
    /// An import brought it.
    Imported,
}

impl MarkCause {
    /// Returns the name in the JSON form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Step => "step",
            Self::Idle => "idle",
            Self::BeforeTool => "before_tool",
            Self::BeforeRestore => "before_restore",
            Self::Imported => "imported",
        }
    }
}

/// Outcome of the work before a checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkStatus {
    /// The work succeeded: a good point to return to.
    #[default]
    Success,
    /// The work failed.
    Failure,
}

impl MarkStatus {
    /// Returns the name in the JSON form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }
}

/// A checkpoint: a mark on an offset, itself an event. It holds no state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct CheckpointMarked {
    /// The marked point. Usually absent: the mark is then on its own offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Head>,
    /// The previous checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The cause of the mark.
    #[serde(default)]
    pub cause: MarkCause,
    /// The outcome of the work before it.
    #[serde(default)]
    pub status: MarkStatus,
    /// A JSON object. Lists can be filtered by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Ids of the checkpoint in other systems.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// The most aliases of a mark. An index keeps the aliases and has to stay small.
const ALIASES_MAX: usize = 8;

impl CheckpointMarked {
    /// Refuses marks that could not be addressed or listed later: a label of digits only; a label
    /// or alias that is empty, too long, or has a control character; more than 8 aliases, or more
    /// than 2 KiB of them; metadata that is not an object or is over 64 KiB.
    pub fn check(&self) -> Result<()> {
        let Self { at: _, parent: _, label, cause: _, status: _, metadata, aliases } = self;
        if aliases.len() > ALIASES_MAX {
            return Err(Error::invalid(format!(
                "a checkpoint has at most {ALIASES_MAX} aliases, not {}",
                aliases.len()
            )));
        }
        aliases.iter().try_for_each(|alias| check_alias(alias))?;
        let bytes = aliases.iter().map(String::len).sum();
        check_size("all aliases of a checkpoint,", bytes, ALIASES_BYTES_MAX)?;
        label.iter().try_for_each(|label| check_name("label", label, NAME_MAX))?;
        if let Some(label) = label
            && label.bytes().all(|b| b.is_ascii_digit())
        {
            return Err(Error::invalid(format!(
                "the label `{label}` is all digits and would be read as an offset"
            )));
        }
        match metadata {
            Some(json) if !json.text().starts_with('{') => {
                Err(Error::invalid(format!("metadata is not a JSON object: {json}")))
            }
            Some(json) => check_size("metadata", json.text().len(), METADATA_MAX),
            None => Ok(()),
        }
    }
}

/// Refuses an alias that is empty, over [`ID_MAX`], or has a control character.
///
/// # Errors
///
/// `Invalid`: a limit is exceeded; the message has it.
pub fn check_alias(alias: &str) -> Result<()> {
    check_name("alias", alias, ID_MAX)
}

/// Refuses a name that is empty, longer than `max`, or has a control character. `what` names the
/// kind of name, without an article.
///
/// # Errors
///
/// `Invalid`: a limit is exceeded; the message has it.
pub fn check_name(what: &str, name: &str, max: usize) -> Result<()> {
    if name.is_empty() || name.len() > max {
        let len = name.len();
        return Err(Error::invalid(format!("the {what} has {len} bytes, it has 1 to {max}")));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::invalid(format!("the {what} {name:?} has a control character")));
    }
    Ok(())
}

/// A checkpoint's mark was removed. The events remain.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct CheckpointUnmarked {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// The offset of its mark.
    pub mark: Offset,
}

/// Returns the id of a checkpoint: SHA-256 over the history, the time and every field of the mark.
/// `mark` is the head before the mark's own event; it is also the marked point unless the mark
/// names another.
///
/// Each text follows its length, so two marks never share a preimage. `time_us` is in microseconds
/// since the Unix epoch.
pub fn checkpoint_id(
    origin: Origin,
    lineage: LineageId,
    mark: Head,
    time_us: u64,
    body: &CheckpointMarked,
) -> CheckpointId {
    // A field that the digest does not have would give two marks one id.
    let CheckpointMarked { at, parent, label, cause, status, metadata, aliases } = body;
    let at = at.unwrap_or(mark);
    let mut sha = Sha256::new();
    sha.update(b"milepost.mark.1\0");
    sha.update(origin.0);
    sha.update(lineage.0.to_le_bytes());
    sha.update(at.next.to_le_bytes());
    sha.update(at.hash.0);
    sha.update(mark.next.to_le_bytes());
    sha.update(parent.map_or(Hash::ZERO.0, |p| p.0));
    sha.update(time_us.to_le_bytes());
    sha.update([*cause as u8, *status as u8]);
    let text = |sha: &mut Sha256, text: Option<&str>| {
        sha.update([u8::from(text.is_some())]);
        let text = text.unwrap_or_default();
        sha.update((text.len() as u64).to_le_bytes());
        sha.update(text.as_bytes());
    };
    text(&mut sha, label.as_deref());
    text(&mut sha, metadata.as_ref().map(Json::text));
    sha.update((aliases.len() as u64).to_le_bytes());
    for alias in aliases {
        text(&mut sha, Some(alias));
    }
    CheckpointId(sha.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Head = Head { next: 7, hash: Hash([1; 32]) };

    fn id(body: &CheckpointMarked) -> CheckpointId {
        checkpoint_id(Origin([2; 16]), LineageId(3), HEAD, 4, body)
    }

    #[test]
    fn every_field_of_a_mark_changes_its_id() {
        let plain = CheckpointMarked::default();
        let others = [
            CheckpointMarked { label: Some(String::new()), ..plain.clone() },
            CheckpointMarked { label: Some("a".into()), ..plain.clone() },
            CheckpointMarked { status: MarkStatus::Failure, ..plain.clone() },
            CheckpointMarked { cause: MarkCause::Step, ..plain.clone() },
            CheckpointMarked { metadata: Some(Json::new("{}").unwrap()), ..plain.clone() },
            CheckpointMarked { aliases: vec!["a".into()], ..plain.clone() },
            CheckpointMarked { parent: Some(CheckpointId([9; 32])), ..plain.clone() },
            CheckpointMarked { at: Some(Head { next: 6, ..HEAD }), ..plain.clone() },
        ];
        let mut ids: Vec<_> = others.iter().map(id).chain([id(&plain)]).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), others.len() + 1);
    }

    #[test]
    fn a_mark_on_its_own_offset_may_name_it_or_not() {
        let named = CheckpointMarked { at: Some(HEAD), ..CheckpointMarked::default() };
        assert_eq!(id(&named), id(&CheckpointMarked::default()));
    }

    #[test]
    fn labels_that_would_be_read_as_offsets_are_refused() {
        let mark =
            |label: &str| CheckpointMarked { label: Some(label.into()), ..Default::default() };
        assert!(mark("12").check().is_err());
        assert!(mark("").check().is_err());
        assert!(mark("a\nb").check().is_err());
        assert!(mark("v12").check().is_ok());
    }
}
