//! Filters and orders of summaries.
//!
//! A filter has words and conditions, separated by spaces, and all of them have to hold:
//! `airline has:failure steps:>20`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::{LineageSummaryForm, SummaryForm};

/// A filter of summaries.
///
/// ```
/// use milepost_api::SummaryFilter;
///
/// let filter: SummaryFilter = "airline has:failure steps:>20".parse().unwrap();
/// assert!("steps:many".parse::<SummaryFilter>().is_err());
/// # let _ = filter;
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SummaryFilter(Vec<Condition>);

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    /// Text of the id or the title, in lower case.
    Word(String),
    Failure,
    /// The outcome of a lineage: its value as text, its status, `good` or `bad`.
    Outcome(String),
    State(String),
    User(String),
    Count(Count, &'static [Ordering], f64),
}

/// A number of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    Lineages,
    Steps,
    Calls,
    Failed,
    Events,
    Tokens,
    Cost,
}

impl Count {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "lineages" => Self::Lineages,
            "steps" => Self::Steps,
            "calls" => Self::Calls,
            "failed" => Self::Failed,
            "events" => Self::Events,
            "tokens" => Self::Tokens,
            "cost" => Self::Cost,
            _ => return None,
        })
    }

    /// Returns the number; `None` if it was not recorded.
    fn of(self, task: &SummaryForm) -> Option<f64> {
        let whole = |number: u64| Some(number as f64);
        match self {
            Self::Lineages => whole(task.lineages.len() as u64 + u64::from(task.older_lineages)),
            Self::Steps => whole(task.steps.0),
            Self::Calls => whole(task.calls.0),
            Self::Failed => whole(task.failed.0),
            Self::Events => whole(task.events.0),
            Self::Tokens => task.usage.as_ref()?.tokens().and_then(whole),
            Self::Cost => task.usage.as_ref()?.cost,
        }
    }
}

impl SummaryFilter {
    /// Returns true if it has no condition.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if all conditions hold for a task.
    pub fn fits(&self, task: &SummaryForm) -> bool {
        self.0.iter().all(|condition| condition.fits(task))
    }
}

impl Condition {
    fn fits(&self, task: &SummaryForm) -> bool {
        match self {
            Self::Word(word) => {
                let has = |text: &str| text.to_lowercase().contains(word);
                has(&task.id) || task.title.as_deref().is_some_and(has)
            }
            Self::Failure => task.failed.0 > 0,
            Self::Outcome(wanted) => task.lineages.iter().any(|it| has_outcome(it, wanted)),
            Self::State(state) => task.control.name() == state,
            Self::User(user) => task.user == *user,
            Self::Count(count, orders, than) => count
                .of(task)
                .and_then(|number| number.partial_cmp(than))
                .is_some_and(|order| orders.contains(&order)),
        }
    }
}

fn has_outcome(lineage: &LineageSummaryForm, wanted: &str) -> bool {
    let outcome = &lineage.outcome;
    let good = outcome.good.map(|good| if good { "good" } else { "bad" });
    let status = outcome.status.map(|status| status.name());
    let value = match &outcome.value {
        Some(Value::String(text)) => text.eq_ignore_ascii_case(wanted),
        Some(Value::Number(number)) => wanted.parse().ok() == number.as_f64(),
        Some(Value::Bool(is)) => wanted.parse() == Ok(*is),
        _ => false,
    };
    value || good == Some(wanted) || status == Some(wanted)
}

impl FromStr for SummaryFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split_whitespace().map(condition).collect::<Result<_, _>>().map(Self)
    }
}

fn condition(word: &str) -> Result<Condition, String> {
    let Some((name, value)) = word.split_once(':') else {
        return Ok(Condition::Word(word.to_lowercase()));
    };
    match name {
        "has" if value == "failure" => Ok(Condition::Failure),
        "has" => Err(format!("`{word}` is no condition: `has:failure` is one")),
        "outcome" => Ok(Condition::Outcome(value.to_owned())),
        "state" if ["idle", "running", "paused", "stopped"].contains(&value) => {
            Ok(Condition::State(value.to_owned()))
        }
        "state" => Err(format!("`{word}`: a state is idle, running, paused or stopped")),
        "user" => Ok(Condition::User(value.to_owned())),
        _ => match Count::named(name) {
            Some(count) => {
                let (orders, number) = comparison(value);
                let number = number.parse().ok().filter(|number: &f64| number.is_finite());
                let number = number.ok_or_else(|| {
                    format!("`{word}`: `{name}:` takes a number, as in `{name}:3` or `{name}:>3`")
                })?;
                Ok(Condition::Count(count, orders, number))
            }
            // Ids of tasks may have colons.
            None => Ok(Condition::Word(word.to_lowercase())),
        },
    }
}

/// Splits `>=3` into the orders that fit, and the number.
fn comparison(value: &str) -> (&'static [Ordering], &str) {
    use Ordering::{Equal, Greater, Less};
    for (sign, orders) in [
        (">=", [Greater, Equal].as_slice()),
        ("<=", [Less, Equal].as_slice()),
        (">", [Greater].as_slice()),
        ("<", [Less].as_slice()),
        ("=", [Equal].as_slice()),
    ] {
        if let Some(number) = value.strip_prefix(sign) {
            let orders: &'static [Ordering] = orders;
            return (orders, number);
        }
    }
    (&[Equal], value)
}

/// An order of summaries by a column; tasks with the same value are in the order of their ids, and
/// those without one are last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryOrder {
    column: SortColumn,
    descending: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SortColumn {
    Id,
    Changed,
    Created,
    Count(Count),
    Outcome,
    Metric(String),
}

/// The value of a task in the column of an order.
#[derive(Debug, Clone, PartialEq)]
pub enum SortValue {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// The task has no value.
    Absent,
}

impl SummaryOrder {
    /// Returns the order of lists without another one: the newest task first.
    pub fn newest() -> Self {
        Self { column: SortColumn::Created, descending: true }
    }

    /// Returns the value of a task.
    pub fn value(&self, task: &SummaryForm) -> SortValue {
        let number = match &self.column {
            SortColumn::Id => return SortValue::Text(task.id.clone()),
            SortColumn::Changed => Some(task.changed_us.0 as f64),
            SortColumn::Created => Some(task.created_us.0 as f64),
            SortColumn::Count(count) => count.of(task),
            SortColumn::Outcome => {
                let outcome = task.active().map(|lineage| &lineage.outcome);
                let value = outcome.and_then(|it| it.value.as_ref()?.as_f64());
                value.or_else(|| outcome?.good.map(|good| f64::from(u8::from(good))))
            }
            SortColumn::Metric(name) => task.metrics.get(name).map(|metric| metric.last.0),
        };
        number.map_or(SortValue::Absent, SortValue::Number)
    }

    /// Compares two tasks by value and id.
    pub fn compare(&self, a: (&SortValue, &str), b: (&SortValue, &str)) -> Ordering {
        use SortValue::{Absent, Number, Text};
        let directed = |order: Ordering| if self.descending { order.reverse() } else { order };
        let by_value = match (a.0, b.0) {
            (Number(a), Number(b)) => directed(a.total_cmp(b)),
            (Text(a), Text(b)) => directed(a.cmp(b)),
            (Absent, Absent) => Ordering::Equal,
            (Absent, _) => Ordering::Greater,
            (_, Absent) => Ordering::Less,
            // A column has values of one kind.
            (Number(_), Text(_)) => Ordering::Less,
            (Text(_), Number(_)) => Ordering::Greater,
        };
        by_value.then_with(|| a.1.cmp(b.1))
    }
}

impl FromStr for SummaryOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, descending) = match text.strip_prefix('-') {
            Some(name) => (name, true),
            None => (text, false),
        };
        let column = match name {
            "id" => Some(SortColumn::Id),
            "changed" => Some(SortColumn::Changed),
            "created" => Some(SortColumn::Created),
            "outcome" => Some(SortColumn::Outcome),
            _ => match name.strip_prefix("metric:") {
                Some(metric) => Some(SortColumn::Metric(metric.to_owned())),
                None => Count::named(name).map(SortColumn::Count),
            },
        };
        let column = column.ok_or_else(|| {
            format!(
                "`{text}` is no column to sort by: id, changed, created, lineages, steps, calls, \
                 failed, events, tokens, cost, outcome, metric:NAME, each also with `-` before it"
            )
        })?;
        Ok(Self { column, descending })
    }
}

impl fmt::Display for SortColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id => f.write_str("id"),
            Self::Changed => f.write_str("changed"),
            Self::Created => f.write_str("created"),
            Self::Outcome => f.write_str("outcome"),
            Self::Count(count) => write!(f, "{}", format!("{count:?}").to_lowercase()),
            Self::Metric(name) => write!(f, "metric:{name}"),
        }
    }
}

/// The text that is parsed to the order.
impl fmt::Display for SummaryOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.descending { "-" } else { "" }, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_is_written() {
        for text in ["id", "-changed", "lineages", "-tokens", "outcome", "-metric:val loss"] {
            assert_eq!(text.parse::<SummaryOrder>().unwrap().to_string(), text);
        }
        for text in ["", "-", "title", "metric", "--id", "Steps"] {
            assert!(text.parse::<SummaryOrder>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_task_without_a_value_is_last_in_both_directions() {
        use SortValue::{Absent, Number};
        for (text, first) in [("cost", 1.0), ("-cost", 2.0)] {
            let order: SummaryOrder = text.parse().unwrap();
            let mut all = [(Absent, "a"), (Number(2.0), "b"), (Number(1.0), "c")];
            all.sort_by(|a, b| order.compare((&a.0, a.1), (&b.0, b.1)));
            assert_eq!((&all[0].0, &all[2].0), (&Number(first), &Absent), "{text}");
        }
        let order = SummaryOrder::newest();
        assert_eq!(order.compare((&Number(1.0), "a"), (&Number(1.0), "b")), Ordering::Less);
    }

    #[test]
    fn a_condition_that_is_none_is_refused_and_an_id_with_a_colon_is_a_word() {
        for text in ["has:x", "state:done", "steps:", "steps:many", "cost:>", "calls:>inf"] {
            assert!(text.parse::<SummaryFilter>().is_err(), "{text}");
        }
        let word = "lg:Thread".parse::<SummaryFilter>().unwrap();
        assert_eq!(word, SummaryFilter(vec![Condition::Word("lg:thread".into())]));
        assert!(" ".parse::<SummaryFilter>().unwrap().is_empty());
    }
}
