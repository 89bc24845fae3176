#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]

use milepost_codec::{
    Application, CheckpointMarked, Float, Header, Json, LineageId, Message, StepFailed,
    StepFinished, StepStarted, ToolCalled, ToolReturned,
};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Summary, Usage};

fn call(call: u8) -> Body {
    let call = format!("c{call}");
    ToolCalled { call, tool: "ls".into(), arguments: Json::null() }.into()
}

fn returned(call: u8, ok: bool) -> Body {
    ToolReturned { call: format!("c{call}"), tool: None, ok, output: None }.into()
}

fn finished(step: u64, loss: f64) -> Body {
    let metrics = [("loss".to_owned(), Float(loss))].into();
    StepFinished { step, metrics, ..StepFinished::default() }.into()
}

fn answer(id: &str, input: u64) -> Body {
    let usage = json!({"id": id, "usage": {"input_tokens": input}});
    Application::new("answer", &usage).unwrap().into()
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        "user|assistant".prop_map(|role| Message::text(&role, "text").into()),
        (0_u64..9).prop_map(|step| StepStarted { step, ..StepStarted::default() }.into()),
        (0_u64..9, -2.0..2.0).prop_map(|(step, loss)| finished(step, loss)),
        (0_u64..9).prop_map(|step| StepFailed { step, error: "no".into() }.into()),
        (0_u8..3).prop_map(call),
        (0_u8..3, any::<bool>()).prop_map(|(call, ok)| returned(call, ok)),
        ("[a-z]", 1_u64..9).prop_map(|(id, input)| answer(&id, input)),
        Just(CheckpointMarked::default().into()),
    ]
}

fn events(begin: u64, bodies: Vec<Body>) -> Vec<Event> {
    let event = |(offset, body)| {
        let header = Header { time_us: offset * 10, ..Header::default() };
        Event { lineage: LineageId(0), offset, header, body: Some(body) }
    };
    (begin..).zip(bodies).map(event).collect()
}

fn history() -> impl Strategy<Value = Vec<Event>> {
    (0_u64..20, proptest::collection::vec(body(), 0..120))
        .prop_map(|(begin, bodies)| events(begin, bodies))
}

fn map(events: &[Event]) -> HistoryMap {
    let mut map = HistoryMap::new(events.first().map_or(0, |event| event.offset));
    events.iter().for_each(|event| map.add(event));
    map
}

/// Returns the turns of events; the last one may be unfinished.
fn divided(mut turns: Turns, events: &[Event]) -> Vec<Turn> {
    let mut all: Vec<Turn> = events.iter().filter_map(|event| turns.add(event)).collect();
    all.extend(turns.end());
    all
}

proptest! {
    #[test]
    fn turns_that_are_read_from_a_place_in_the_middle_are_those_of_the_whole(events in history()) {
        let (map, all) = (map(&events), divided(Turns::default(), &events));
        prop_assert_eq!(map.turns(), all.len() as u64);
        for number in 0..map.turns() {
            let resume = map.resume(number).unwrap();
            prop_assert!(resume.number <= number && number - resume.number < RESUME as u64);
            let from = events.iter().position(|event| event.offset == resume.offset).unwrap();
            let turns = divided(resume.turns.clone(), &events[from..]);
            prop_assert_eq!(&turns[..], &all[resume.number as usize..]);
        }
        for event in &events {
            let found = all.iter().rposition(|turn| turn.first <= event.offset);
            prop_assert_eq!(map.turn_at(event.offset), found.map(|number| number as u64));
        }
    }

    #[test]
    fn the_next_failed_turn_is_found(events in history()) {
        let (map, all) = (map(&events), divided(Turns::default(), &events));
        for number in 0..=all.len() {
            let next = (number..all.len()).find(|number| all[*number].failed.is_some());
            prop_assert_eq!(map.failed_from(number as u64), next.map(|number| number as u64));
        }
    }

    #[test]
    fn an_overview_of_any_number_of_parts_has_the_counts_of_the_summary(
        events in history(), most in 1_usize..12,
    ) {
        let mut summary = Summary::default();
        events.iter().for_each(|event| summary.add(event));
        let (width, buckets) = map(&events).overview(most);
        prop_assert!(buckets.len() <= most && width.is_power_of_two());
        let count = |of: fn(&OverviewBucket) -> u64| buckets.iter().map(of).sum::<u64>();
        prop_assert_eq!(count(|bucket| bucket.events), events.len() as u64);
        prop_assert_eq!(count(|bucket| bucket.calls), summary.calls);
        prop_assert_eq!(count(|bucket| bucket.failed), summary.failed);
        let usage = Usage::sum(buckets.iter().map(|bucket| bucket.usage.clone()));
        let tokens = |usage: Option<Usage>| usage.and_then(|usage| usage.tokens()).unwrap_or(0);
        // An answer that is stored again with fewer tokens takes nothing from a bucket.
        prop_assert!(tokens(usage) >= tokens(summary.usage()));
        for bucket in &buckets {
            let inside = events.iter().filter(|event| event.offset / width == bucket.from / width);
            prop_assert_eq!(bucket.from % width, 0);
            prop_assert_eq!(inside.clone().count() as u64, bucket.events);
            prop_assert_eq!(inside.map(|event| event.header.time_us).next(), Some(bucket.time_us));
        }
    }

    #[test]
    fn no_spike_of_a_metric_is_lost(
        values in proptest::collection::vec(-9.0..9.0, 0..80), most in 1_usize..12,
    ) {
        let bodies = values.iter().zip(0..).map(|(value, step)| finished(step, *value));
        let map = map(&events(0, bodies.collect()));
        let buckets = MetricBucket::joined(map.series("loss", Offset::MAX), most);
        prop_assert!(buckets.len() <= most);
        let count = buckets.iter().map(|bucket| bucket.count).sum::<u64>();
        prop_assert_eq!(count, values.len() as u64);
        let mut left = &values[..];
        for bucket in buckets {
            prop_assert_eq!(bucket.at, (values.len() - left.len()) as u64);
            prop_assert_eq!((bucket.step, bucket.time_us), (bucket.at, bucket.at * 10));
            let (own, behind) = left.split_at(bucket.count as usize);
            let (min, max) = own.iter().fold((9.0_f64, -9.0_f64), |(min, max), value| {
                (min.min(*value), max.max(*value))
            });
            prop_assert_eq!((bucket.min, bucket.max), (min, max));
            prop_assert_eq!((bucket.first, bucket.last), (own[0], own[own.len() - 1]));
            let at = |offset: u64| values[offset as usize];
            let named = (at(bucket.last_at), at(bucket.min_at), at(bucket.max_at));
            prop_assert_eq!(named, (bucket.last, bucket.min, bucket.max));
            left = behind;
        }
        if let Some((name, whole)) = map.metrics().next() {
            prop_assert_eq!((name, whole.count), ("loss", values.len() as u64));
            prop_assert_eq!(whole.last, values[values.len() - 1]);
        }
    }
}

#[test]
fn a_series_ends_before_an_offset() {
    let map = map(&events(0, (0..6).map(|step| finished(step, 1.0)).collect()));
    assert_eq!(map.series("loss", 4).len(), 4);
    assert_eq!(map.series("other", 4), []);
}
