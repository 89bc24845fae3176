#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]
use std::sync::atomic::{AtomicU64, Ordering};

use milepost::events::{Message, StepFailed, StepFinished, StepStarted, ToolCalled, ToolReturned};
use milepost::retention::Policy;
use milepost::{Append, Body, Engine, Json, Options};
use milepost_api::{Big, TurnForm};
use milepost_codec::Float;
use proptest::prelude::*;

use super::*;

/// A clock that advances at each look: a request reads a hundred events.
#[derive(Debug, Default)]
struct Hasty(AtomicU64);

impl Clock for Hasty {
    fn now_us(&self) -> u64 {
        self.0.fetch_add(SLICE_US / 100, Ordering::Relaxed)
    }
}

fn body() -> impl Strategy<Value = Body> {
    let call = |call: u8| format!("c{call}");
    prop_oneof![
        ("user|assistant", "[ab]{0,3}").prop_map(|(role, text)| Message::text(&role, &text).into()),
        (0_u64..9).prop_map(|step| StepStarted { step, ..StepStarted::default() }.into()),
        (0_u64..9).prop_map(|step| StepFailed { step, error: "no".into() }.into()),
        (0_u8..3).prop_map(move |n| {
            ToolCalled { call: call(n), tool: "ls".into(), arguments: Json::null() }.into()
        }),
        (0_u8..3, any::<bool>(), "[ab]{0,3}").prop_map(move |(n, ok, text)| {
            let output = Some(Json::string(&text));
            ToolReturned { call: call(n), tool: None, ok, output }.into()
        }),
    ]
}

/// Returns an engine with a task of these events.
fn engine(bodies: Vec<Body>) -> (Engine, Task) {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("run", "ana").unwrap();
    if !bodies.is_empty() {
        task.append(Append::batch(bodies)).unwrap();
    }
    (engine, task)
}

fn turns(limit: usize) -> TurnsRequest {
    let (place, search) = (TurnPlace::From(0), EventSearch::default());
    TurnsRequest { lineage: None, place, limit, search }
}

/// Returns all turns, page by page, as a client asks for them.
fn all(reader: &Reader, task: &Task, mut asked: TurnsRequest) -> Vec<TurnForm> {
    let mut items: Vec<TurnForm> = Vec::new();
    loop {
        let page = reader.turns(task, &asked).unwrap();
        assert!(page.items.len() <= asked.limit);
        for turn in page.items {
            // The last turn of the part that was read may have been unfinished.
            items.retain(|known| known.number != turn.number);
            items.push(turn);
        }
        match page.next {
            Some(Big(next)) => asked.place = TurnPlace::From(next),
            None if page.read == page.head => return items,
            None => asked.place = TurnPlace::From(page.total.0.saturating_sub(1)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn pages_have_all_turns_also_if_each_request_reads_a_piece(
        bodies in proptest::collection::vec(body(), 0..900), limit in 1_usize..400,
    ) {
        let (_engine, task) = engine(bodies);
        let whole = Reader::default().all_turns(task.lineage(), task.head().unwrap().next, 9999);
        let whole = whole.unwrap().unwrap();
        let whole = whole.iter().zip(0..).map(|(turn, n)| {
            turns::turn_form(n, turn, task.lineage()).unwrap()
        });
        let whole: Vec<_> = whole.collect();
        let hasty = Reader::with_clock(Box::<Hasty>::default());
        prop_assert_eq!(&all(&hasty, &task, turns(limit)), &whole);
        // Once the map is whole, the conditions find the same turns.
        let search = EventSearch::default().failed(true);
        let failed = all(&hasty, &task, TurnsRequest { search, ..turns(limit) });
        let expected: Vec<_> = whole.iter().filter(|turn| turn.failed.is_some()).cloned().collect();
        prop_assert_eq!(failed, expected);
        let search = EventSearch::default().text(Some("AB"));
        let found = all(&hasty, &task, TurnsRequest { search: search.clone(), ..turns(limit) });
        let has = |turn: &TurnForm| {
            let events = task.read(turn.first.0..turn.next.0).unwrap();
            events.into_iter().any(|event| search.has(&event.unwrap()))
        };
        let expected: Vec<_> = whole.iter().filter(|turn| has(turn)).cloned().collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn rows_of_all_pages_are_the_events_that_are_looked_for(
        bodies in proptest::collection::vec(body(), 0..900), limit in 1_usize..400,
    ) {
        let (_engine, task) = engine(bodies);
        let reader = Reader::with_clock(Box::<Hasty>::default());
        let search = EventSearch::default().kinds(Some("message, tool_returned")).unwrap();
        let search = search.text(Some("AB"));
        let mut asked = RowsRequest { lineage: None, from: None, to: None, limit, search };
        let mut found = Vec::new();
        loop {
            let page = reader.rows(&task, &asked).unwrap();
            prop_assert!(page.items.len() <= limit);
            found.extend(page.items.iter().map(|row| row.offset.0));
            match page.next {
                Some(Big(next)) => asked.from = Some(next),
                None => break,
            }
        }
        let events = task.read(..).unwrap().map(Result::unwrap);
        let is_asked = |event: &milepost::Event| match &event.body {
            Some(Body::Message(message)) => message.content.as_ref().unwrap().text().contains("ab"),
            Some(Body::ToolReturned(returned)) => {
                returned.output.as_ref().unwrap().text().contains("ab")
            }
            _ => false,
        };
        let expected: Vec<u64> = events.filter(is_asked).map(|event| event.offset).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn the_maps_that_were_not_used_for_longest_go_first() {
    let key = |no| (TaskNo(no), LineageId(0));
    let mut kept = Kept::default();
    for no in 1..=4 {
        let made_for = (0, 0);
        let map = LineageMap { history: HistoryMap::new(0), made_for };
        let map = Arc::new(Mutex::new(map));
        kept.maps.insert(key(no), Used { map, weight: 0, last: 10 - no });
        kept.weighed(key(no), BYTES / 3);
    }
    let mut left: Vec<_> = kept.maps.keys().map(|key| key.0.0).collect();
    left.sort_unstable();
    // 4 was added last, and is the one that the request is about.
    assert_eq!(left, [1, 2, 4]);
    // One that is larger than all of the memory serves its own request.
    kept.weighed(key(1), BYTES * 2);
    assert_eq!(kept.maps.keys().collect::<Vec<_>>(), [&key(1)]);
}

#[test]
fn a_series_ends_at_its_point_also_within_a_bucket() {
    let finished = |step: u64| {
        let metrics = [("loss".to_owned(), Float(step as f64))].into();
        Body::from(StepFinished { step, metrics, ..StepFinished::default() })
    };
    // With this many values a bucket has two.
    let (_engine, task) = engine((0..6000).map(finished).collect());
    let reader = Reader::default();
    for offset in [4000, 4001] {
        let point = task.point(offset).unwrap();
        let series = loop {
            let at = [(task.clone(), point.clone())];
            let series = reader.series(&at, "loss", SeriesAxis::Offset, 9000).unwrap();
            if series[0].read == series[0].head {
                break series;
            }
        };
        let buckets = &series[0].buckets;
        let count: u64 = buckets.iter().map(|bucket| bucket.count.0).sum();
        assert_eq!(count, offset - 1, "values before {offset}");
        assert_eq!(buckets.last().unwrap().max.0, (offset - 2) as f64);
        assert!(buckets.len() < 3000, "{}", buckets.len());
    }
}

#[test]
fn a_map_is_made_anew_if_a_cleanup_moved_the_beginning() {
    let step = |step| Body::from(StepStarted { step, ..StepStarted::default() });
    let (engine, task) = engine((0..40).map(step).collect());
    let reader = Reader::default();
    assert_eq!(reader.turns(&task, &turns(5)).unwrap().total.0, 40);
    let point = task.point(31).unwrap();
    task.checkpoint(milepost::Mark::new()).unwrap();
    engine.retention().retain(&Policy::new().trim_before(&point)).unwrap();
    let left = reader.turns(&task, &turns(5)).unwrap();
    let begin = task.lineage().info().unwrap().begin;
    assert!(begin > 1, "{begin}");
    assert_eq!((left.total.0, left.items[0].first.0), (41 - begin, begin));
}

#[test]
fn a_lineage_that_another_one_follows_has_a_map_of_its_own() {
    let step = |step| Body::from(StepStarted { step, ..StepStarted::default() });
    let (engine, task) = engine((0..9).map(step).collect());
    let reader = Reader::default();
    assert_eq!(reader.turns(&task, &turns(5)).unwrap().total.0, 9);
    engine.restore(&task.point(4).unwrap()).run().unwrap();
    let task = engine.task("run").unwrap();
    task.append(step(20)).unwrap();
    assert_eq!(reader.turns(&task, &turns(5)).unwrap().total.0, 4);
    let old = TurnsRequest { lineage: Some(LineageId(0)), ..turns(5) };
    assert_eq!(reader.turns(&task, &old).unwrap().total.0, 9);
}
