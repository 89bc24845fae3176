//! One check, and its result.

use milepost_api::RepairForm;
use serde::Serialize;

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Fine,
    /// Nothing is wrong yet, but the user should look.
    Look,
    Wrong,
}

/// One check.
#[derive(Debug, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub state: State,
    /// Condition that was found.
    pub said: String,
    /// Remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Records of repaired damage, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RepairForm>,
}

impl Check {
    pub fn fine(name: &'static str, said: impl Into<String>) -> Self {
        Self { name, state: State::Fine, said: said.into(), advice: None, records: Vec::new() }
    }

    pub fn look(name: &'static str, said: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: State::Look, advice: Some(advice.into()), ..Self::fine(name, said) }
    }

    pub fn failed(name: &'static str, said: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: State::Wrong, ..Self::look(name, said, advice) }
    }
}
