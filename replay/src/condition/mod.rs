//! Conditions on a state, such as those of `bisect --when`. docs/COMMAND_LINE.md has the grammar.

mod parse;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use milepost_codec::{Error, Result};
use serde_json::{Number, Value};

use crate::{Chunks, RunState};

/// A condition on a state.
///
/// ```
/// use milepost_replay::{Condition, MemoryChunks, RunReducer, Reducer};
///
/// let condition: Condition = "/step/number > 3 or exists /last_error/message".parse()?;
/// let state = RunReducer.initial();
/// assert!(!condition.holds(&state, &MemoryChunks::default())?);
/// assert!("/step/number >".parse::<Condition>().is_err());
/// # Ok::<(), milepost_replay::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// At least one of them holds.
    Or(Vec<Self>),
    /// All of them hold.
    And(Vec<Self>),
    /// The condition does not hold.
    Not(Box<Self>),
    /// The pointer names a value.
    Exists(String),
    /// The value at the pointer compares to a literal in this way.
    Compare(String, Operator, Value),
}

/// Comparison of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Equal.
    Equal,
    /// Unequal.
    Unequal,
    /// Less.
    Less,
    /// Less or equal.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
}

/// The operators as text. An operator comes after those that begin with it.
pub(crate) const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl FromStr for Condition {
    type Err = Error;

    /// Parses a condition. An error names the character, and the input that was expected there.
    fn from_str(text: &str) -> Result<Self> {
        parse::parse(text)
    }
}

impl Condition {
    /// Returns `true` if the condition holds for a state.
    pub fn holds(&self, state: &RunState, chunks: &dyn Chunks) -> Result<bool> {
        match self {
            Self::Or(parts) => {
                for part in parts {
                    if part.holds(state, chunks)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::And(parts) => {
                for part in parts {
                    if !part.holds(state, chunks)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Not(part) => Ok(!part.holds(state, chunks)?),
            Self::Exists(pointer) => Ok(state.value_at(pointer, chunks)?.is_some()),
            Self::Compare(pointer, operator, literal) => {
                let value = state.value_at(pointer, chunks)?;
                Ok(value.is_some_and(|value| operator.holds(&value, literal)))
            }
        }
    }

    /// Returns the pointers that the condition reads, each once.
    pub fn pointers(&self) -> BTreeSet<&str> {
        match self {
            Self::Or(parts) | Self::And(parts) => {
                parts.iter().flat_map(|part| part.pointers()).collect()
            }
            Self::Not(part) => part.pointers(),
            Self::Exists(pointer) | Self::Compare(pointer, ..) => BTreeSet::from([&**pointer]),
        }
    }
}

impl Operator {
    fn holds(self, value: &Value, literal: &Value) -> bool {
        let order = match (value, literal) {
            (Value::Number(a), Value::Number(b)) => order(a, b),
            (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
            (a, b) if a == b => {
                return matches!(self, Self::Equal);
            }
            _ => None,
        };
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::Unequal => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::Greater => order == Some(Ordering::Greater),
            Self::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

/// Compares two numbers, exactly if both are whole.
fn order(a: &Number, b: &Number) -> Option<Ordering> {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = OPERATORS.iter().find(|(_, operator)| operator == self);
        f.write_str(found.map_or("==", |(text, _)| text))
    }
}

/// Text that parses to the same condition.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Or(parts) => joined(f, parts, " or "),
            Self::And(parts) => joined(f, parts, " and "),
            Self::Not(part) => {
                f.write_str("not ")?;
                operand(f, part)
            }
            Self::Exists(pointer) => write!(f, "exists {}", Pointer(pointer)),
            Self::Compare(pointer, operator, literal) => {
                write!(f, "{} {operator} {literal}", Pointer(pointer))
            }
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[Condition], between: &str) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        operand(f, part)?;
    }
    Ok(())
}

fn operand(f: &mut fmt::Formatter<'_>, part: &Condition) -> fmt::Result {
    match part {
        Condition::Or(_) | Condition::And(_) => write!(f, "({part})"),
        _ => write!(f, "{part}"),
    }
}

/// A pointer, in quotes if it cannot be parsed without them.
struct Pointer<'a>(&'a str);

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.is_empty() || self.0.contains(parse::ends_pointer) {
            true => write!(f, "{}", Value::from(self.0)),
            false => f.write_str(self.0),
        }
    }
}
