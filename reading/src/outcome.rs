//! The outcome of a lineage.

use milepost_codec::MarkStatus;
use serde::Serialize;
use serde_json::Value;

/// Pointers to the value of an outcome in a state. The first existing one counts.
pub const OUTCOME_POINTERS: [&str; 3] =
    ["/variables/outcome", "/variables/reward", "/variables/info/exit_status"];

/// Texts that report the success of a run, and its failure.
const GOOD: [&str; 5] = ["success", "ok", "passed", "resolved", "submitted"];
const BAD: [&str; 4] = ["failure", "failed", "error", "unresolved"];

/// The outcome of a lineage, as recorded at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The status of the last mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<MarkStatus>,
    /// The value in the last state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl Outcome {
    /// Creates an outcome of a status and a value.
    pub fn new(status: Option<MarkStatus>, value: Option<Value>) -> Self {
        Self { status, value }
    }

    /// Returns the outcome of a lineage by the status of its last mark and its last state, as
    /// JSON. `pointer` replaces [`OUTCOME_POINTERS`].
    ///
    /// ```
    /// use milepost_reading::Outcome;
    ///
    /// let state = serde_json::json!({"variables": {"reward": 0.5}});
    /// let outcome = Outcome::of(None, &state, None);
    /// assert_eq!(outcome.is_good(), Some(false));
    /// ```
    pub fn of(status: Option<MarkStatus>, state: &Value, pointer: Option<&str>) -> Self {
        let value = match pointer {
            Some(pointer) => state.pointer(pointer),
            None => OUTCOME_POINTERS.iter().find_map(|pointer| state.pointer(pointer)),
        };
        Self { status, value: value.filter(|value| !value.is_null()).cloned() }
    }

    /// Returns `true` for a good outcome and `false` for a bad one: the value decides, then the
    /// status. `None` if neither is conclusive.
    pub fn is_good(&self) -> Option<bool> {
        let by_value = self.value.as_ref().and_then(is_good);
        by_value.or_else(|| self.status.map(|status| status == MarkStatus::Success))
    }
}

fn is_good(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(good) => Some(*good),
        Value::Number(number) => number.as_f64().map(|number| number >= 1.0),
        Value::String(text) => {
            let text = text.trim().to_lowercase();
            let is_good = GOOD.contains(&text.as_str());
            (is_good || BAD.contains(&text.as_str())).then_some(is_good)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_value_decides_and_then_the_status() {
        let of = |variables: Value, status| {
            let state = json!({ "variables": variables });
            Outcome::of(status, &state, None).is_good()
        };
        use MarkStatus::{Failure, Success};
        assert_eq!(of(json!({"reward": 1.0}), Some(Failure)), Some(true));
        assert_eq!(of(json!({"reward": 0.0}), Some(Success)), Some(false));
        assert_eq!(of(json!({"outcome": "Passed", "reward": 0}), None), Some(true));
        assert_eq!(of(json!({"info": {"exit_status": "submitted"}}), None), Some(true));
        assert_eq!(of(json!({"info": {"exit_status": "exit_cost"}}), Some(Success)), Some(true));
        assert_eq!(of(json!({"outcome": null}), Some(Failure)), Some(false));
        assert_eq!(of(json!({}), None), None);
        let state = json!({"metrics": {"score": 2}, "variables": {"reward": 0}});
        assert_eq!(Outcome::of(None, &state, Some("/metrics/score")).is_good(), Some(true));
        assert_eq!(Outcome::of(None, &state, Some("/nothing")), Outcome::default());
    }
}
