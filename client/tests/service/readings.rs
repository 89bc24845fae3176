//! Rows, turns, overviews, metrics and alignments, and their answers.

use milepost::events::{Message, StepFinished, StepStarted, ToolCalled, ToolReturned};
use milepost::{Append, Json, Mark};
use milepost_client::api::{AlignOp, Big, EraseRequest, ShareRequest};
use milepost_client::calls::{
    Align, AlignQuery, Bisect, BisectQuery, Erase, MetricsQuery, Overview, OverviewQuery, Rows,
    RowsQuery, Search, SearchQuery, Series, SeriesQuery, TaskMetrics, Turns, TurnsQuery, Unmark,
};
use milepost_client::{Client, ErrorKind};
use milepost_codec::{Body, Float};

use crate::served::{Served, branch_of};

fn bisect_of(when: &str, good: Option<&str>) -> Bisect {
    let (when, good) = (when.to_owned(), good.map(str::to_owned));
    Bisect::new("run", BisectQuery { when, good })
}

fn step(number: u64, ok: bool) -> Vec<Body> {
    let call = format!("c{number}");
    let arguments = Json::new(r#"{"command": "make test"}"#).unwrap();
    let output = Some(Json::string(&format!("{number} tests")));
    let metrics = [("loss".to_owned(), Float(1.0 / (number + 1) as f64))].into();
    vec![
        StepStarted { step: number, ..StepStarted::default() }.into(),
        Message::text("assistant", "I run the tests.").into(),
        ToolCalled { call: call.clone(), tool: "bash".into(), arguments }.into(),
        ToolReturned { call, tool: None, ok, output }.into(),
        StepFinished { step: number, metrics, ..StepFinished::default() }.into(),
    ]
}

/// Returns a service with a task of ten steps, of which the fourth failed.
async fn run() -> (Served, Client) {
    let served = Served::new().await;
    let task = served.engine.start_task("run", "local").unwrap();
    for number in 0..10 {
        task.append(Append::batch(step(number, number != 3))).unwrap();
    }
    let client = served.client();
    (served, client)
}

fn failed_rows() -> RowsQuery {
    RowsQuery { failed: true, ..RowsQuery::default() }
}

fn failed_hits() -> SearchQuery {
    SearchQuery { failed: true, ..SearchQuery::default() }
}

fn align_of(a: &str, b: &str, from: u64, limit: Option<usize>) -> Align {
    Align::new(a, b, AlignQuery { from: Some(Big(from)), limit, texts: false })
}

fn failed_turns() -> TurnsQuery {
    TurnsQuery { failed: true, ..TurnsQuery::default() }
}

pub async fn rows() {
    let (_served, client) = run().await;
    let query = RowsQuery { from: Some(Big(3)), limit: Some(2), ..RowsQuery::default() };
    let page = client.call(&Rows::new("run", query)).await.unwrap();
    assert_eq!((page.next, page.head), (Some(Big(5)), Big(51)));
    let [called, returned] = &page.items[..] else { panic!("{page:?}") };
    assert_eq!(called.text, "bash make test");
    assert_eq!((returned.tool.as_deref(), returned.ok), (Some("bash"), Some(true)));
    // The call and its result came with one commit, and so at one time.
    assert_eq!(returned.took_us, None);
    let page = client.call(&Rows::new("run", failed_rows())).await.unwrap();
    assert_eq!((page.items.len(), page.next), (1, None));
    assert_eq!(page.items[0].text, "failed: 3 tests");
    let text = RowsQuery { text: Some("7 TESTS".into()), ..RowsQuery::default() };
    assert_eq!(client.call(&Rows::new("run", text)).await.unwrap().items.len(), 1);
    let kind = RowsQuery { kind: Some("step_started".into()), ..RowsQuery::default() };
    assert_eq!(client.call(&Rows::new("run", kind)).await.unwrap().items.len(), 10);
    let kind = RowsQuery { kind: Some("steps".into()), ..RowsQuery::default() };
    let error = client.call(&Rows::new("run", kind)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

pub async fn turns() {
    let (served, client) = run().await;
    let query = TurnsQuery { from: Some(Big(2)), limit: Some(3), ..TurnsQuery::default() };
    let page = client.call(&Turns::new("run", query)).await.unwrap();
    assert_eq!((page.next, page.total, page.read, page.head), {
        (Some(Big(5)), Big(10), Big(51), Big(51))
    });
    let numbers: Vec<_> = page.items.iter().map(|turn| turn.number.0).collect();
    assert_eq!(numbers, [2, 3, 4]);
    let turn = &page.items[1];
    assert_eq!((turn.step, turn.first, turn.next), (Some(Big(3)), Big(16), Big(21)));
    assert_eq!(turn.said.as_deref(), Some("I run the tests."));
    assert_eq!(turn.failed.as_deref(), Some("3 tests"));
    assert_eq!((turn.calls[0].tool.as_str(), turn.calls[0].ok), ("bash", Some(false)));
    assert_eq!(turn.metrics["loss"].0, 0.25);
    let all = client.call(&Turns::new("run", failed_turns())).await.unwrap().items;
    assert_eq!(&all[..], std::slice::from_ref(turn));
    let near = TurnsQuery { near: Some(Big(17)), limit: Some(1), ..TurnsQuery::default() };
    assert_eq!(client.call(&Turns::new("run", near)).await.unwrap().items[0], *turn);
    let text = TurnsQuery { text: Some("8 tests".into()), ..TurnsQuery::default() };
    assert_eq!(client.call(&Turns::new("run", text)).await.unwrap().items[0].number, Big(8));
    // The reading continues with the new events.
    served.engine.task("run").unwrap().append(Append::batch(step(10, true))).unwrap();
    let page = client.call(&Turns::new("run", TurnsQuery::default())).await.unwrap();
    assert_eq!((page.total, page.read), (Big(11), Big(56)));
    // An event that is erased is not shown from what was read before.
    client.call(&Erase::new("run@17", EraseRequest::default())).await.unwrap();
    let turn = &client.call(&Turns::new("run", failed_turns())).await.unwrap().items[0];
    assert_eq!((turn.number, turn.said.as_deref()), (Big(3), None));
}

pub async fn marks() {
    let (served, client) = run().await;
    let task = served.engine.task("run").unwrap();
    let marked = task.checkpoint(Mark::new().label("good")).unwrap();
    // A lineage that inherits the mark names it too.
    let fork = client.call(&branch_of("run", None)).await.unwrap();
    for lineage in [None, Some(fork.id.0)] {
        let query = TurnsQuery { lineage, ..TurnsQuery::default() };
        let turns = client.call(&Turns::new("run", query)).await.unwrap();
        let turn = turns.items.iter().find_map(|turn| turn.mark.as_ref()).unwrap();
        assert_eq!((turn.id, turn.label.as_deref()), (Some(marked.id), Some("good")));
        let kind = Some("checkpoint_marked".into());
        let query = RowsQuery { lineage, kind, ..RowsQuery::default() };
        let rows = client.call(&Rows::new("run", query)).await.unwrap();
        assert_eq!(rows.items[0].mark.as_ref().unwrap().id, Some(marked.id));
    }
    let aligned = client.call(&align_of("run", "run", 9, None)).await.unwrap();
    let turn = aligned.items[0].a.as_ref().unwrap();
    assert_eq!(turn.mark.as_ref().unwrap().id, Some(marked.id));
    client.call(&Unmark::new(marked.id.to_string())).await.unwrap();
    let turns = client.call(&Turns::new("run", TurnsQuery::default())).await.unwrap();
    let turn = turns.items.iter().find_map(|turn| turn.mark.as_ref()).unwrap();
    assert_eq!((turn.id, turn.label.as_deref()), (None, Some("good")));
}

pub async fn overview() {
    let (_served, client) = run().await;
    let whole = client
        .call(&Overview::new("run", OverviewQuery { lineage: None, buckets: Some(1) }))
        .await
        .unwrap();
    assert_eq!((whole.buckets.len(), whole.turns, whole.width), (1, Big(10), Big(64)));
    let all = &whole.buckets[0];
    assert_eq!((all.events, all.steps, all.calls, all.failed), (Big(51), Big(10), Big(10), Big(1)));
    let buckets = client
        .call(&Overview::new("run", OverviewQuery { lineage: None, buckets: None }))
        .await
        .unwrap()
        .buckets;
    assert_eq!(buckets.len(), 51);
    let error = client
        .call(&Overview::new("run", OverviewQuery { lineage: None, buckets: Some(0) }))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

pub async fn task_metrics() {
    let (_served, client) = run().await;
    let metrics =
        client.call(&TaskMetrics::new("run", MetricsQuery::default())).await.unwrap().items;
    let [loss] = &metrics[..] else { panic!("{metrics:?}") };
    assert_eq!((loss.name.as_str(), loss.count), ("loss", Big(10)));
    assert_eq!((loss.last.0, loss.max.0), (0.1, 1.0));
}

pub async fn series() {
    let (_served, client) = run().await;
    let at = vec!["run".to_owned(), "run@21".to_owned()];
    let query = SeriesQuery { at, metric: "loss".into(), ..SeriesQuery::default() };
    let items = client.call(&Series::new(query.clone())).await.unwrap().items;
    let counts: Vec<_> = items.iter().map(|one| one.buckets.len()).collect();
    assert_eq!(counts, [10, 4]);
    assert_eq!(items[1].address, "run/0@21");
    assert_eq!((items[1].buckets[3].x, items[1].buckets[3].first.0), (Big(3), 0.25));
    let offsets = SeriesQuery { x: Some("offset".into()), points: Some(2), ..query };
    let items = client.call(&Series::new(offsets)).await.unwrap().items;
    let bucket = &items[0].buckets[1];
    assert_eq!((bucket.x, bucket.count, bucket.max.0), (Big(30), Big(5), 1.0 / 6.0));
    let error = client.call(&Series::new(SeriesQuery::default())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

pub async fn align() {
    let (served, client) = run().await;
    let task = served.engine.task("run").unwrap();
    let fork = served.engine.view().branch(&task.point(16).unwrap()).run().unwrap();
    let bodies = || [step(3, true), step(4, true)].concat();
    let other = Body::from(Message::text("assistant", "I give up."));
    fork.append(Append::batch([bodies(), vec![other]].concat())).unwrap();
    let aligned = client.call(&align_of("run/0@26", "run/1", 0, None)).await.unwrap();
    assert_eq!((aligned.common, aligned.next), (Big(5), None));
    assert_eq!((aligned.counts.same, aligned.counts.only_b), (Big(5), Big(1)));
    let last = aligned.items.last().unwrap();
    assert_eq!((last.op, &last.a), (AlignOp::OnlyB, &None));
    assert_eq!(last.b.as_ref().unwrap().said.as_deref(), Some("I give up."));
    let page = client.call(&align_of("run/0@26", "run/1", 4, Some(1))).await.unwrap();
    assert_eq!((page.items.len(), page.next), (1, Some(Big(5))));
}

pub async fn value() {
    let (_served, client) = run().await;
    let value = client.value("run@3", "/arguments/command").await.unwrap();
    assert_eq!(&value[..], b"make test");
    let value = client.value("run@3", "/arguments").await.unwrap();
    assert_eq!(&value[..], br#"{"command":"make test"}"#);
    let error = client.value("run@3", "/nothing").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

pub async fn bisect() {
    let (_served, client) = run().await;
    let found = client.call(&bisect_of("/step/number >= 3", None)).await.unwrap();
    assert_eq!((found.found.as_str(), found.step), ("run/0@16", Some(Big(3))));
    assert_eq!(found.event.event.kind, "step_started");
    assert!(found.changes.items.iter().any(|change| change.path == "/step/number"));
    assert!(found.states.0 < 10, "{found:?}");
    let error = client.call(&bisect_of("/step/number >= 30", None)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let error = client.call(&bisect_of("/step/number >= 3", Some("run@40"))).await.unwrap_err();
    assert!(error.to_string().contains("already"), "{error}");
    let error = client.call(&bisect_of("/step/number >= ", None)).await.unwrap_err();
    assert!(error.to_string().contains("at character 17"), "{error}");
}

pub async fn search() {
    let (served, client) = run().await;
    let other = served.engine.start_task("other", "local").unwrap();
    other.append(Append::batch(step(7, true))).unwrap();
    let text = SearchQuery { text: Some("7 TESTS".into()), limit: Some(1), ..Default::default() };
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = client.call(&Search::new(SearchQuery { cursor, ..text.clone() })).await.unwrap();
        found.extend(page.items.into_iter().map(|hit| hit.address));
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
        // A task that is started in between changes nothing.
        let new = format!("new {}", found.len());
        let new = served.engine.start_task(&new, "local").unwrap();
        new.append(Append::batch(step(7, true))).unwrap();
    }
    assert_eq!(found, ["other/0@4", "run/0@39"]);
    let hits = client.call(&Search::new(failed_hits())).await.unwrap().items;
    assert_eq!((hits.len(), hits[0].row.text.as_str()), (1, "failed: 3 tests"));
    let error = client.call(&Search::new(SearchQuery::default())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let error = client
        .call(&Search::new(SearchQuery { cursor: Some("1.2".into()), ..failed_hits() }))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

pub async fn export() {
    let (served, client) = run().await;
    let task = served.engine.task("run").unwrap();
    let secret = format!("sk-{}", "aB3".repeat(8));
    task.append(Message::text("user", secret.as_str())).unwrap();
    let file = client.export("run", false).await.unwrap();
    let text = String::from_utf8(file.whole().await.unwrap()).unwrap();
    assert!(text.starts_with("{\"milepost_export\":1,") && text.contains(&secret));

    let redacted = client.redacted_export("run").await.unwrap().whole().await.unwrap();
    assert!(!String::from_utf8(redacted).unwrap().contains(&secret));
    let error = client.export("nothing", true).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

pub async fn share() {
    let (served, client) = run().await;
    let task = served.engine.task("run").unwrap();
    task.append(Message::text("user", "ticket ACME-4711")).unwrap();
    let asked = ShareRequest { withhold: vec!["ACME-[0-9]+".into()], ..ShareRequest::default() };
    let plan = client.share_plan("run", &asked).await.unwrap();
    assert_eq!((plan.withheld, plan.events), (Big(1), Big(54)));
    assert_eq!(
        (plan.finds[0].name.as_str(), &plan.finds[0].places[0][..]),
        ("withhold", "run/0@51")
    );
    let file = client.share("run", &asked).await.unwrap();
    assert_eq!(file.size(), Some(plan.bytes.0));
    let file = file.whole().await.unwrap();
    assert!(file.starts_with(b"<!doctype html><!-- milepost share 1 -->\n"));
    assert_eq!(file.len() as u64, plan.bytes.0);

    let wrong = ShareRequest { withhold: vec!["(".into()], ..ShareRequest::default() };
    let error = client.share_plan("run", &wrong).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let error = client.share("nothing", &asked).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
