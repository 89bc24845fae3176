//! Usage divided among groups, such as models or days.

use std::collections::{BTreeMap, VecDeque};

use milepost_codec::bounded;
use milepost_replay::Event;

use crate::usage::{ANSWER_ID, ANSWERS, MIXED_CURRENCIES, Usage, UsageSum};

/// The longest name of a model and a currency, in bytes.
const NAME: usize = 200;

/// An answer that may have further parts.
#[derive(Debug, Clone)]
struct Answer<K> {
    id: String,
    /// The group of its first part.
    group: K,
    usage: Usage,
    /// The usage before a fork, which counts there.
    before: Option<Usage>,
}

/// Divides the usage of a lineage among groups. The sum of all groups is that of a
/// [`UsageSum`] with the same events.
///
/// ```
/// use milepost_codec::{Application, Body, Header, LineageId};
/// use milepost_replay::Event;
/// use milepost_reading::UsageGroups;
///
/// let mut groups = UsageGroups::default();
/// for (offset, model, tokens) in [(0, "small", 10), (1, "large", 20), (2, "small", 30)] {
///     let usage = serde_json::json!({"model": model, "usage": {"input_tokens": tokens}});
///     let body = Some(Body::Application(Application::new("answer", &usage)?));
///     let event = Event { lineage: LineageId(0), offset, header: Header::default(), body };
///     groups.add(&event, |model| model.map(str::to_owned));
/// }
/// let tokens = |(model, usage): (Option<String>, milepost_reading::Usage)| (model, usage.input);
/// let groups: Vec<_> = groups.end().into_iter().map(tokens).collect();
/// assert_eq!(groups, [(Some("large".into()), Some(20)), (Some("small".into()), Some(40))]);
/// # Ok::<(), milepost_replay::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct UsageGroups<K> {
    answers: VecDeque<Answer<K>>,
    groups: BTreeMap<K, Usage>,
    /// The usage of answers before the last fork.
    inherited: Option<Usage>,
    /// The sums that programs recorded, those before the last fork, and the group of the last one.
    recorded: UsageSum,
    recorded_before: Option<Usage>,
    recorded_group: Option<K>,
}

impl<K> Default for UsageGroups<K> {
    fn default() -> Self {
        Self {
            answers: VecDeque::new(),
            groups: BTreeMap::new(),
            inherited: None,
            recorded: UsageSum::default(),
            recorded_before: None,
            recorded_group: None,
        }
    }
}

impl<K: Ord + Clone> UsageGroups<K> {
    /// Adds the usage of an event to the group that `group` returns for its model. All parts of an
    /// answer count for the group of the first part.
    pub fn add(&mut self, event: &Event, group: impl FnOnce(Option<&str>) -> K) {
        if self.recorded.add_recorded(event) {
            self.recorded_group = Some(group(None));
            return;
        }
        let Some((usage, id)) = Usage::of(event, NAME) else { return };
        let Some(id) = id.map(|id| bounded(&id, ANSWER_ID).to_owned()) else {
            return settle(&mut self.groups, group(usage.model.as_deref()), &usage);
        };
        if let Some(known) = self.answers.iter_mut().find(|known| known.id == id) {
            known.usage = usage;
            return;
        }
        let group = group(usage.model.as_deref());
        self.answers.push_back(Answer { id, group, usage, before: None });
        if self.answers.len() > ANSWERS
            && let Some(oldest) = self.answers.pop_front()
        {
            oldest.settle(&mut self.groups);
        }
    }

    /// Returns what takes the events of a lineage that forks here: what was added so far does not
    /// count there.
    #[must_use]
    pub fn fork(&self) -> Self {
        let mut forked = self.clone();
        let own = self.clone().answered();
        forked.inherited =
            Usage::sum([self.inherited.clone()].into_iter().chain(own.into_values().map(Some)));
        forked.groups.clear();
        for answer in &mut forked.answers {
            answer.before = Some(answer.usage.clone());
        }
        forked.recorded_before = self.recorded.total();
        forked
    }

    /// Returns the usage of each group.
    pub fn end(mut self) -> BTreeMap<K, Usage> {
        let (inherited, before) = (self.inherited.take(), self.recorded_before.take());
        let (recorded, group) = (self.recorded.total(), self.recorded_group.take());
        let mut groups = self.answered();
        let (Some(recorded), Some(group)) = (recorded, group) else { return groups };
        let Some(more) = recorded.since(&before.unwrap_or_default()) else { return groups };
        let answers = groups.values().cloned().map(Some).chain([inherited]);
        let known = Usage::sum(answers).unwrap_or_default();
        // As in a sum: fields that no answer has come from the program's own sum.
        let has_cost = known.cost.is_some() || known.currency.as_deref() == Some(MIXED_CURRENCIES);
        let more = Usage {
            input: more.input.filter(|_| known.input.is_none()),
            output: more.output.filter(|_| known.output.is_none()),
            cost: more.cost.filter(|_| !has_cost),
            currency: more.currency.filter(|_| !has_cost),
            ..Usage::default()
        };
        if more != Usage::default() {
            settle(&mut groups, group, &more);
        }
        groups
    }

    fn answered(mut self) -> BTreeMap<K, Usage> {
        for answer in self.answers {
            answer.settle(&mut self.groups);
        }
        self.groups
    }
}

impl<K: Ord> Answer<K> {
    fn settle(self, groups: &mut BTreeMap<K, Usage>) {
        let own = match &self.before {
            None => Some(self.usage),
            Some(before) if *before == self.usage => None,
            Some(before) => self.usage.since(before),
        };
        if let Some(own) = own {
            settle(groups, self.group, &own);
        }
    }
}

fn settle<K: Ord>(groups: &mut BTreeMap<K, Usage>, group: K, usage: &Usage) {
    groups.entry(group).and_modify(|sum| sum.add(usage)).or_insert_with(|| usage.clone());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use milepost_codec::{Application, Body, Header, LineageId};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    type Groups = BTreeMap<Option<String>, Usage>;

    fn event(offset: u64, data: &Value) -> Event {
        let body = Some(Body::Application(Application::new("answer", data).unwrap()));
        Event { lineage: LineageId(0), offset, header: Header::default(), body }
    }

    fn of(events: &[Value]) -> Groups {
        let mut groups = UsageGroups::default();
        for (offset, data) in (0..).zip(events) {
            groups.add(&event(offset, data), |model| model.map(str::to_owned));
        }
        groups.end()
    }

    fn answer(id: Option<&str>, model: Option<&str>, (input, output): (u64, u64)) -> Value {
        let usage = json!({"input_tokens": input, "output_tokens": output});
        let mut answer = json!({"usage": usage});
        for (name, value) in [("id", id), ("model", model)] {
            if let Some(value) = value {
                answer[name] = json!(value);
            }
        }
        answer
    }

    fn tokens(groups: &Groups) -> Vec<(Option<&str>, Option<u64>, Option<u64>)> {
        groups.iter().map(|(name, usage)| (name.as_deref(), usage.input, usage.output)).collect()
    }

    #[test]
    fn parts_of_answers_count_for_their_own_models() {
        let (small, large) = (Some("small"), Some("large"));
        let woven = [
            answer(Some("a"), small, (10, 1)),
            answer(Some("b"), large, (20, 1)),
            answer(Some("a"), small, (10, 500)),
        ];
        let of_models = [(large, Some(20), Some(1)), (small, Some(10), Some(500))];
        assert_eq!(tokens(&of(&woven)), of_models);
        let some = [
            answer(Some("a"), large, (10, 1)),
            answer(None, small, (100, 1)),
            answer(None, None, (7, 1)),
        ];
        let of_models =
            [(None, Some(7), Some(1)), (large, Some(10), Some(1)), (small, Some(100), Some(1))];
        assert_eq!(tokens(&of(&some)), of_models);
        let names = ["anthropic/claude-sonnet-4", "anthropic/claude-sonnet-4.5"];
        let long = names.map(|name| answer(None, Some(name), (1, 1)));
        assert_eq!(of(&long).len(), 2);
    }

    #[test]
    fn a_fork_counts_what_comes_after_it() {
        let mut parent = UsageGroups::default();
        let model = |model: Option<&str>| model.map(str::to_owned);
        parent.add(&event(0, &answer(Some("a"), None, (10, 1))), model);
        let mut child = parent.fork();
        assert!(child.clone().end().is_empty());
        child.add(&event(1, &answer(Some("a"), None, (10, 5))), model);
        child.add(&event(2, &answer(None, None, (3, 1))), model);
        assert_eq!(tokens(&child.end()), [(None, Some(3), Some(5))]);
        assert_eq!(tokens(&parent.end()), [(None, Some(10), Some(1))]);
    }

    fn any_event() -> impl Strategy<Value = Value> {
        let id = prop::option::of("[a-i]");
        let model = prop::option::of("[sl]");
        let cost = prop::option::of((0_u32..9, prop::option::of("USD|EUR")));
        let answer = (id, model, 0_u64..99, cost).prop_map(|(id, model, input, cost)| {
            let mut data = answer(id.as_deref(), model.as_deref(), (input, 1));
            if let Some((cost, currency)) = cost {
                data["usage"]["cost"] = json!(f64::from(cost) / 4.0);
                data["usage"]["currency"] = json!(currency);
            }
            data
        });
        let recorded = ("[st]", 0_u32..9).prop_map(
            |(session, cost)| json!({"sessionId": session, "totalCostUSD": f64::from(cost) / 4.0}),
        );
        prop_oneof![9 => answer, 1 => recorded]
    }

    proptest! {
        #[test]
        fn the_sum_of_the_groups_is_that_of_the_events(
            events in prop::collection::vec(any_event(), 0..30)
        ) {
            let mut sum = UsageSum::default();
            for (offset, data) in (0..).zip(&events) {
                sum.add(&event(offset, data));
            }
            let total = |usage: Option<Usage>| {
                let usage = usage.unwrap_or_default();
                (usage.input, usage.output, usage.cost.filter(|cost| *cost > 0.0), usage.currency)
            };
            let groups = Usage::sum(of(&events).into_values().map(Some));
            let (mut groups, mut all) = (total(groups), total(sum.total()));
            if all.2.is_none() && all.3.as_deref() != Some(MIXED_CURRENCIES) {
                // A cost of nothing has no row.
                (groups.3, all.3) = (None, None);
            }
            prop_assert_eq!(groups, all);
        }
    }
}
