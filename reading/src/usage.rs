//! Tokens, cost and model of answers, as programs recorded them.

use std::collections::VecDeque;

use bincode::{Decode, Encode};
use milepost_codec::{Body, Data, Json, bounded};
use milepost_replay::Event;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The last answers whose ids are known: parts of one answer are close to each other.
pub(crate) const ANSWERS: usize = 6;

/// The longest id of an answer that is compared, and the longest model and currency, in bytes.
pub(crate) const ANSWER_ID: usize = 40;
const NAME: usize = 24;

/// The currency of a sum over several currencies, which has no cost.
pub const MIXED_CURRENCIES: &str = "mixed";

/// Names of each number, by program. The parts of a path are separated by dots.
const INPUT: [&str; 4] = ["input", "input_tokens", "prompt_tokens", "inputTokens"];
const OUTPUT: [&str; 4] = ["output", "output_tokens", "completion_tokens", "outputTokens"];
const CACHE_READ: [&str; 4] = [
    "cache_read",
    "cache_read_input_tokens",
    "prompt_tokens_details.cached_tokens",
    "input_token_details.cache_read",
];
const CACHE_WRITE: [&str; 3] =
    ["cache_write", "cache_creation_input_tokens", "input_token_details.cache_creation"];
const COST: [&str; 3] = ["cost", "cost_usd", "total_cost"];
/// Names of the cost of a whole run, whose usage is that of its answers once more.
const RUN_COST: [&str; 2] = ["totalCostUSD", "total_cost_usd"];
const MODEL: [&str; 2] = ["model", "model_name"];

/// Tokens and cost of answers. A number that was not recorded is absent.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens of output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Tokens of input that were read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Tokens of input that were written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// The cost, in `currency`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The currency of the cost, if it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The model; of several, the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Usage {
    /// Reads the usage of an event, with names of at most `name_max` bytes. The second value is the
    /// id of the answer.
    pub(crate) fn of(event: &Event, name_max: usize) -> Option<(Self, Option<String>)> {
        let json = match event.body.as_ref()? {
            Body::Message(message) => &message.extra.as_ref()?.0,
            Body::Application(event) => match &event.data {
                Data::Json(json) => json,
                Data::Bytes(_) => return None,
            },
            _ => return None,
        };
        let fields = fields_if(json, |text| text.contains("usage") || text.contains("_tokens"))?;
        let is_of_run = RUN_COST.iter().any(|name| fields.contains_key(*name));
        if is_of_run { None } else { found_in(&fields, 2, name_max) }
    }

    fn read(
        own: &Map<String, Value>,
        around: &Map<String, Value>,
        name_max: usize,
    ) -> Option<Self> {
        let usage = Self {
            input: number(own, &INPUT),
            output: number(own, &OUTPUT),
            cache_read: number(own, &CACHE_READ),
            cache_write: number(own, &CACHE_WRITE),
            cost: COST.iter().find_map(|name| own.get(*name)?.as_f64()),
            currency: text(own, &["currency"])
                .or_else(|| own.contains_key("cost_usd").then(|| "USD".to_owned()))
                .map(|currency| bounded(&currency, name_max).to_owned()),
            model: text(own, &MODEL)
                .or_else(|| text(around, &MODEL))
                .map(|model| bounded(&model, name_max).to_owned()),
        };
        let is_empty = usage.tokens().is_none() && usage.cost.is_none();
        (!is_empty).then_some(usage)
    }

    /// Returns the tokens of input and output; `None` if neither was recorded.
    pub fn tokens(&self) -> Option<u64> {
        let sum = |a: u64, b: Option<u64>| a.saturating_add(b.unwrap_or(0));
        let is_known = self.input.is_some() || self.output.is_some();
        is_known.then(|| sum(sum(0, self.input), self.output))
    }

    /// Returns the sum of usages; `None` if there is none.
    pub fn sum(parts: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        let mut total = None;
        parts.into_iter().flatten().for_each(|part| settle(&mut total, &part));
        total
    }

    /// Adds another usage.
    pub fn add(&mut self, other: &Self) {
        let add = |a: &mut Option<u64>, b: Option<u64>| {
            if let Some(b) = b {
                *a = Some(a.unwrap_or(0).saturating_add(b));
            }
        };
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cache_read, other.cache_read);
        add(&mut self.cache_write, other.cache_write);
        self.add_cost(other);
        if other.model.is_some() {
            self.model.clone_from(&other.model);
        }
    }

    /// Adds a cost. Costs in different currencies have no sum.
    fn add_cost(&mut self, other: &Self) {
        let is_mixed = |usage: &Self| usage.currency.as_deref() == Some(MIXED_CURRENCIES);
        let has_cost = |usage: &Self| usage.cost.is_some() || is_mixed(usage);
        if !has_cost(other) {
            return;
        }
        let differs = has_cost(self) && self.currency != other.currency;
        if differs || is_mixed(self) || is_mixed(other) {
            (self.cost, self.currency) = (None, Some(MIXED_CURRENCIES.to_owned()));
        } else if let Some(cost) = other.cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost);
            self.currency.clone_from(&other.currency);
        }
    }

    /// Returns the usage without an earlier one of the same sum; `None` if nothing is left.
    pub(crate) fn since(&self, earlier: &Self) -> Option<Self> {
        let less = |now: Option<u64>, before: Option<u64>| {
            now.map(|now| now.saturating_sub(before.unwrap_or(0))).filter(|left| *left > 0)
        };
        let cost = self.cost.map(|cost| cost - earlier.cost.unwrap_or(0.0));
        let left = Self {
            input: less(self.input, earlier.input),
            output: less(self.output, earlier.output),
            cache_read: less(self.cache_read, earlier.cache_read),
            cache_write: less(self.cache_write, earlier.cache_write),
            cost: cost.filter(|cost| *cost > 0.0),
            currency: None,
            model: None,
        };
        let is_empty = left == Self::default() && self.currency == earlier.currency;
        let (currency, model) = (self.currency.clone(), self.model.clone());
        (!is_empty).then_some(Self { currency, model, ..left })
    }
}

/// Adds the usages of events, in order.
///
/// ```
/// use milepost_codec::{Application, Body, Header, LineageId};
/// use milepost_replay::Event;
/// use milepost_reading::UsageSum;
///
/// let mut sum = UsageSum::default();
/// for (offset, answer) in [(0, "a"), (1, "a"), (2, "b")] {
///     let usage = serde_json::json!({"input_tokens": 10, "output_tokens": 2});
///     let usage = serde_json::json!({"id": answer, "usage": usage});
///     let body = Some(Body::Application(Application::new("answer", &usage)?));
///     sum.add(&Event { lineage: LineageId(0), offset, header: Header::default(), body });
/// }
/// // The answer `a` is stored in two events.
/// assert_eq!(sum.total().and_then(|usage| usage.tokens()), Some(24));
/// # Ok::<(), milepost_replay::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct UsageSum {
    /// Usages whose answers may have further parts, oldest first.
    answers: VecDeque<(String, Usage)>,
    settled: Option<Usage>,
    /// The sums that programs recorded of their own: those that are over, and the last one with the
    /// session that it counts.
    recorded: Usage,
    counted: Option<(Option<String>, Usage)>,
}

impl UsageSum {
    /// Adds the usage of an event. Returns `true` if it has one.
    pub fn add(&mut self, event: &Event) -> bool {
        let is_recorded = self.add_recorded(event);
        let Some((usage, answer)) = Usage::of(event, NAME) else {
            return is_recorded;
        };
        self.answered(usage, answer);
        true
    }

    /// Adds the sum of a run that a program recorded itself. Returns `true` if the event has one.
    pub(crate) fn add_recorded(&mut self, event: &Event) -> bool {
        let recorded = recorded_sum(event);
        let is_recorded = recorded.is_some();
        if let Some((session, sum)) = recorded {
            self.count(session, sum);
        }
        is_recorded
    }

    /// Takes a sum so far. It begins at 0 again in another session, as one that continues this one
    /// after a rewind, and in a process that counts less than before.
    fn count(&mut self, session: Option<String>, sum: Usage) {
        if let Some((of, last)) = self.counted.take()
            && (of != session || sum.cost < last.cost)
        {
            self.recorded.add(&last);
        }
        self.counted = Some((session, sum));
    }

    /// Adds the usage of an answer.
    fn answered(&mut self, usage: Usage, answer: Option<String>) {
        let Some(answer) = answer else {
            return settle(&mut self.settled, &usage);
        };
        let answer = bounded(&answer, ANSWER_ID).to_owned();
        if let Some((_, known)) = self.answers.iter_mut().find(|(id, _)| *id == answer) {
            *known = usage;
            return;
        }
        if self.answers.len() == ANSWERS
            && let Some((_, oldest)) = self.answers.pop_front()
        {
            settle(&mut self.settled, &oldest);
        }
        self.answers.push_back((answer, usage));
    }

    /// Returns the sum; `None` if nothing was recorded. Fields that no event has come from the
    /// program's own sum.
    pub fn total(&self) -> Option<Usage> {
        let answers = self.answers.iter().map(|(_, usage)| Some(usage.clone()));
        let total = Usage::sum([self.settled.clone()].into_iter().chain(answers));
        let mut recorded = self.recorded.clone();
        if let Some((_, last)) = &self.counted {
            recorded.add(last);
        }
        if total.is_none() && recorded == Usage::default() {
            return None;
        }
        let mut total = total.unwrap_or_default();
        total.input = total.input.or(recorded.input);
        total.output = total.output.or(recorded.output);
        if total.cost.is_none() && total.currency.as_deref() != Some(MIXED_CURRENCIES) {
            total.cost = recorded.cost;
            total.currency.clone_from(&recorded.currency);
        }
        Some(total)
    }
}

fn settle(total: &mut Option<Usage>, usage: &Usage) {
    match total {
        Some(total) => total.add(usage),
        None => *total = Some(usage.clone()),
    }
}

/// Finds the usage in an object, or in the objects in it.
fn found_in(
    fields: &Map<String, Value>,
    depth: usize,
    name_max: usize,
) -> Option<(Usage, Option<String>)> {
    let own = ["usage", "usage_metadata"].iter().find_map(|name| fields.get(*name)?.as_object());
    let own = own.or_else(|| fields.get("response_metadata")?.get("token_usage")?.as_object());
    if let Some(usage) = own.and_then(|own| Usage::read(own, fields, name_max)) {
        return Some((usage, text(fields, &["id"])));
    }
    let below = depth.checked_sub(1)?;
    fields.values().find_map(|value| found_in(value.as_object()?, below, name_max))
}

/// Returns the sum over a run that a program recorded itself, and the session that it counts.
fn recorded_sum(event: &Event) -> Option<(Option<String>, Usage)> {
    match event.body.as_ref()? {
        Body::Application(event) => {
            let Data::Json(json) = &event.data else {
                return None;
            };
            let may_have = |text: &str| RUN_COST.iter().any(|name| text.contains(name));
            let fields = fields_if(json, may_have)?;
            let cost = RUN_COST.iter().find_map(|name| fields.get(*name)?.as_f64())?;
            let session = text(&fields, &["sessionId", "session_id"]);
            let session = session.map(|id| bounded(&id, ANSWER_ID).to_owned());
            let currency = Some("USD".into());
            Some((session, Usage { cost: Some(cost), currency, ..Usage::default() }))
        }
        Body::VariablesPatched(patched) => {
            let has_stats = patched.patch.text().contains("model_stats");
            let patch: Value =
                serde_json::from_str(Some(patched.patch.text()).filter(|_| has_stats)?).ok()?;
            let stats = stats_in(&patch, 4)?;
            let usage = Usage {
                input: number(stats, &["tokens_sent"]),
                output: number(stats, &["tokens_received"]),
                cost: stats.get("instance_cost").and_then(Value::as_f64),
                ..Usage::default()
            };
            (usage != Usage::default()).then_some((None, usage))
        }
        _ => None,
    }
}

/// Finds `model_stats` in a patch, in either of its forms.
fn stats_in(value: &Value, depth: usize) -> Option<&Map<String, Value>> {
    let below = depth.checked_sub(1)?;
    match value {
        Value::Object(fields) => {
            let here = fields.get("model_stats").and_then(Value::as_object);
            here.or_else(|| fields.values().find_map(|value| stats_in(value, below)))
        }
        Value::Array(values) => values.iter().find_map(|value| stats_in(value, below)),
        _ => None,
    }
}

/// Parses an object, if its text passes a check: most events have no usage.
fn fields_if(json: &Json, may_have: impl Fn(&str) -> bool) -> Option<Map<String, Value>> {
    if !may_have(json.text()) {
        return None;
    }
    match serde_json::from_str(json.text()) {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    }
}

fn number(fields: &Map<String, Value>, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| {
        let mut names = name.split('.');
        let first = fields.get(names.next()?)?;
        names.try_fold(first, |value, name| value.get(name))?.as_u64()
    })
}

fn text(fields: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| fields.get(*name)?.as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use milepost_codec::{Application, Header, LineageId, VariablesPatched};
    use serde_json::json;

    use super::*;

    fn event(body: impl Into<Body>) -> Event {
        let body = Some(body.into());
        Event { lineage: LineageId(0), offset: 0, header: Header::default(), body }
    }

    fn sum(all: &[Value]) -> Option<Usage> {
        let mut sum = UsageSum::default();
        for data in all {
            sum.add(&event(Application::new("answer", data).unwrap()));
        }
        sum.total()
    }

    #[test]
    fn the_names_of_each_program_are_read() {
        let openai = json!({"model": "m", "usage": {"prompt_tokens": 5, "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 3}}});
        let usage = sum(&[openai]).unwrap();
        assert_eq!((usage.input, usage.output, usage.cache_read), (Some(5), Some(2), Some(3)));
        assert_eq!(usage.model.as_deref(), Some("m"));
        let anthropic = json!({"claude_code": {"message": {"id": "a", "model": "n", "usage":
            {"input_tokens": 7, "output_tokens": 1, "cache_creation_input_tokens": 4}}}});
        let usage = sum(&[anthropic]).unwrap();
        assert_eq!((usage.input, usage.cache_write), (Some(7), Some(4)));
        let langchain = json!({"usage_metadata": {"input_tokens": 1, "output_tokens": 2}});
        assert_eq!(sum(&[langchain]).unwrap().tokens(), Some(3));
        let older = json!({"response_metadata": {"token_usage": {"prompt_tokens": 9}}});
        assert_eq!(sum(&[older]).unwrap().tokens(), Some(9));
        let priced = json!({"usage": {"cost": 0.25, "currency": "EUR"}});
        let usage = sum(&[priced]).unwrap();
        assert_eq!((usage.cost, usage.currency.as_deref()), (Some(0.25), Some("EUR")));
        for none in
            [json!({"usage": 3}), json!({"usage": {"x": 1}}), json!([1]), json!({"a_tokens": 1})]
        {
            assert_eq!(sum(&[none]), None);
        }
    }

    #[test]
    fn an_answer_in_several_events_counts_once_with_its_last_usage() {
        let part = |id: &str, output: u64| json!({"id": id, "usage": {"output_tokens": output}});
        let all = [part("a", 1), part("b", 10), part("a", 3), json!({"usage": {"output": 100}})];
        assert_eq!(sum(&all).unwrap().output, Some(113));
        let many: Vec<_> = (0..500).map(|n| part(&n.to_string(), 1)).collect();
        assert_eq!(sum(&many).unwrap().output, Some(500));
    }

    #[test]
    fn a_cost_that_begins_at_zero_again_is_added_to_the_one_before() {
        let cost = |id: &str, cost: f64| json!({"sessionId": id, "totalCostUSD": cost});
        for (all, expected) in [
            (vec![cost("a", 0.125), cost("a", 0.5)], 0.5),
            (vec![cost("a", 0.5), cost("a", 0.25), cost("a", 0.375)], 0.875),
            (vec![cost("a", 0.125), cost("b", 0.25), cost("b", 0.5)], 0.625),
            (
                vec![
                    json!({"usage": {"input": 1}}),
                    json!({"type": "result", "session_id": "a",
                "usage": {"input_tokens": 7}, "total_cost_usd": 0.25}),
                ],
                0.25,
            ),
        ] {
            let usage = sum(&all).unwrap();
            assert_eq!(usage.cost, Some(expected), "{all:?}");
            assert!(usage.input.is_none_or(|input| input == 1), "{all:?}");
        }
        // A lineage that begins after a cut has the cost of its own session.
        let mut total = UsageSum::default();
        total.add(&event(Application::new("a", &cost("a", 0.125)).unwrap()));
        let inherited = total.total().unwrap();
        total.add(&event(Application::new("a", &cost("b", 0.25)).unwrap()));
        assert_eq!(total.total().unwrap().since(&inherited).unwrap().cost, Some(0.25));
    }

    #[test]
    fn a_programs_own_sum_stands_in_for_what_no_event_has() {
        let patch = json!([{"op": "add", "path": "/info", "value":
            {"model_stats": {"tokens_sent": 50, "tokens_received": 4, "instance_cost": 0.5}}}]);
        let mut total = UsageSum::default();
        let patch = Json::from_value(&patch).unwrap();
        total.add(&event(VariablesPatched { form: Default::default(), patch }));
        let usage = total.total().unwrap();
        assert_eq!((usage.tokens(), usage.cost), (Some(54), Some(0.5)));
        let cost = json!({"type": "cost-state", "totalCostUSD": 0.75});
        let usage = sum(&[json!({"usage": {"input": 8}}), cost]).unwrap();
        assert_eq!((usage.input, usage.cost), (Some(8), Some(0.75)));
        assert_eq!(usage.currency.as_deref(), Some("USD"));
    }
}
