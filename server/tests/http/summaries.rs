//! Summaries: sorted, searched, in pages, and as they change.

use milepost::events::{Float, MarkStatus, Message, PhaseChanged, StepFailed, StepFinished};
use milepost::{Engine, Mark};
use milepost_server::TokenLimits;
use serde_json::{Value, json};

use crate::changing::dressed;
use crate::served::{Events, Served, request};

/// Starts a task that says something, does steps, some of which fail, and ends with a loss.
fn task(engine: &Engine, id: &str, user: &str, (steps, failed): (u64, u64), loss: Option<f64>) {
    let task = engine.start_task(id, user).unwrap();
    task.append(Message::text("user", &format!("Please do {id}"))).unwrap();
    for step in 0..steps {
        let metrics = loss.map(|loss| ("loss".to_owned(), Float(loss))).into_iter().collect();
        task.append(StepFinished { step, metrics, ..StepFinished::default() }).unwrap();
    }
    for step in 0..failed {
        task.append(StepFailed { step, error: "it failed".into() }).unwrap();
    }
}

fn phase(name: &str) -> PhaseChanged {
    PhaseChanged { previous: None, phase: name.into(), iteration: 0 }
}

fn served() -> Served {
    let served = Served::new();
    let engine = &served.engine;
    task(engine, "airline-1", "ana", (3, 0), Some(0.5));
    task(engine, "airline-2", "ana", (1, 2), Some(0.25));
    task(engine, "retail-1", "bob", (3, 1), None);
    task(engine, "lg:retail", "bob", (1, 0), Some(0.75));
    let failure = Mark::new().status(MarkStatus::Failure);
    engine.task("retail-1").unwrap().checkpoint(failure).unwrap();
    served
}

fn ids(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn tasks_are_found_by_words_and_conditions_that_all_hold() {
    let served = served();
    for (q, found) in [
        ("", vec!["lg:retail", "retail-1", "airline-2", "airline-1"]),
        ("AIRLINE", vec!["airline-2", "airline-1"]),
        ("please+1", vec!["retail-1", "airline-1"]),
        ("lg:retail", vec!["lg:retail"]),
        ("has:failure", vec!["retail-1", "airline-2"]),
        ("has:failure+airline", vec!["airline-2"]),
        ("user:bob", vec!["lg:retail", "retail-1"]),
        ("outcome:failure", vec!["retail-1"]),
        ("outcome:bad", vec!["retail-1"]),
        ("outcome:good", vec![]),
        ("steps:3", vec!["airline-2", "airline-1"]),
        ("steps:%3E=3", vec!["retail-1", "airline-2", "airline-1"]),
        ("failed:%3C1", vec!["lg:retail", "airline-1"]),
        ("tokens:0", vec![]),
        ("state:idle+lineages:1+failed:2", vec!["airline-2"]),
        ("state:running", vec![]),
    ] {
        let page = served.get(&format!("/v1/summaries?sort=-created&q={q}")).await.json();
        assert_eq!(ids(&page), found, "{q}");
        assert_eq!(page["total"], found.len(), "{q}");
    }
}

#[tokio::test]
async fn pages_of_a_sorted_list_have_each_task_once() {
    let served = served();
    for n in 0..5 {
        task(&served.engine, &format!("more-{n}"), "ana", (n % 2, 0), None);
    }
    for (sort, first) in [
        ("id", "airline-1"),
        ("-id", "retail-1"),
        ("-steps", "retail-1"),
        ("failed", "airline-1"),
        ("-failed", "airline-2"),
        ("metric:loss", "airline-2"),
        ("-metric:loss", "lg:retail"),
        ("-outcome", "retail-1"),
        ("events", "more-0"),
        ("-changed", "more-4"),
        ("cost", "airline-1"),
    ] {
        let path = format!("/v1/summaries?sort={sort}");
        let whole = served.get(&format!("{path}&limit=1000")).await.json();
        let whole = ids(&whole);
        assert_eq!((whole.len(), whole[0]), (9, first), "{sort}: {whole:?}");
        let (mut pages, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = served.get(&format!("{path}&limit=2{cursor}")).await.json();
            assert_eq!(page["total"], 9);
            pages.extend(ids(&page).into_iter().map(str::to_owned));
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(pages, whole, "{sort}");
    }
    // A task that changed its place is not before the cursor any more.
    let page = served.get("/v1/summaries?sort=-failed&limit=1").await.json();
    let next = page["next"].as_str().unwrap().to_owned();
    let gone = served.engine.task(ids(&page)[0]).unwrap();
    served.engine.retention().delete_task(gone.id()).unwrap();
    let page = served.get(&format!("/v1/summaries?sort=-failed&limit=1&cursor={next}")).await;
    assert_eq!(ids(&page.json()), ["retail-1"]);
    for wrong in [
        format!("sort=failed&cursor={next}"),
        format!("cursor={next}"),
        "sort=-failed&cursor=x".into(),
        "sort=nothing".into(),
        "q=steps:many".into(),
        "q=has:nothing".into(),
        "limit=1001".into(),
        "columns=score".into(),
        format!("columns={}", vec!["/a"; 17].join(",")),
    ] {
        let came = served.get(&format!("/v1/summaries?{wrong}")).await;
        assert_eq!(came.status, 400, "{wrong}: {came:?}");
    }
}

#[tokio::test]
async fn a_list_that_was_read_before_has_what_changed_since() {
    let served = served();
    let engine = &served.engine;
    let row = async |id: &str| {
        let page = served.get(&format!("/v1/summaries?sort=id&q={id}")).await.json();
        page["items"].as_array().unwrap().iter().find(|row| row["id"] == id).cloned()
    };
    assert_eq!(row("airline-1").await.unwrap()["steps"], 3);
    let airline = engine.task("airline-1").unwrap();
    airline.append(StepFinished { step: 9, ..StepFinished::default() }).unwrap();
    let read = row("airline-1").await.unwrap();
    assert_eq!((&read["steps"], &read["title"]), (&4.into(), &"Please do airline-1".into()));
    engine.retention().erase(&engine.point("airline-1@1").unwrap(), None).unwrap();
    assert_eq!(row("airline-1").await.unwrap().get("title"), None);
    engine.restore(&engine.point("airline-1@3").unwrap()).run().unwrap();
    let read = row("airline-1").await.unwrap();
    assert_eq!((&read["steps"], read["lineages"].as_array().unwrap().len()), (&1.into(), 2));
    assert_eq!(row("retail-1").await.unwrap()["user"], "bob");
    engine.retention().delete_task("retail-1").unwrap();
    assert_eq!(row("retail-1").await, None);
    engine.start_task("retail-1", "carl").unwrap();
    let read = row("retail-1").await.unwrap();
    assert_eq!((&read["user"], &read["steps"]), (&"carl".into(), &0.into()));
    // As without any order.
    let plain = served.get("/v1/summaries?limit=1000").await.json();
    assert!(plain["items"].as_array().unwrap().contains(&read));
    assert_eq!(plain["total"], 4);
}

#[tokio::test]
async fn columns_are_values_of_the_last_state() {
    let served = served();
    let retail = served.engine.task("retail-1").unwrap();
    retail.append(phase("search")).unwrap();
    let path = "/v1/summaries?sort=id&q=retail-1&columns=/phase,/messages,/nothing/a,b";
    let columns = served.get(path).await.json()["items"][0]["columns"].clone();
    assert_eq!(columns["/phase"], "search");
    assert_eq!(columns["/messages"][0]["content"], "Please do retail-1", "{columns}");
    assert!(columns.get("/nothing/a,b").is_none(), "{columns}");
    let long = "word ".repeat(100);
    retail.append(phase(&long)).unwrap();
    let plain = served.get("/v1/summaries?prefix=retail&columns=/phase").await.json();
    let cut = json!({"cut": long.get(..256), "bytes": 500});
    assert_eq!(plain["items"][0]["columns"]["/phase"], cut);
}

#[tokio::test]
async fn a_caller_finds_its_own_tasks_only() {
    let served = served();
    let ana = served.token("ana", false);
    let limits = TokenLimits { task: Some("airline-2".into()), ..TokenLimits::default() };
    let one = served.limited("ana", limits);
    let root = served.token("root", true);
    for (token, query, found) in [
        (&ana, "sort=id", 2),
        (&ana, "q=retail", 0),
        (&ana, "q=user:bob", 0),
        (&ana, "limit=1", 2),
        (&root, "sort=id", 4),
        (&root, "sort=id&user=bob", 2),
        (&root, "user=bob", 2),
        (&root, "prefix=airline&sort=-id", 2),
    ] {
        let page = served.get_as(token, &format!("/v1/summaries?{query}")).await.json();
        assert_eq!(page["total"], found, "{query}: {page}");
    }
    assert_eq!(served.get_as(&ana, "/v1/summaries?user=bob&sort=id").await.status, 403);
    // A token for one task has no route that is about none.
    assert_eq!(served.get_as(&one, "/v1/summaries?sort=id").await.status, 403);
}

async fn events(served: &Served, token: Option<&str>, query: &str) -> Events {
    Events::of(served, token, &format!("/v1/summaries?{query}")).await
}

#[tokio::test]
async fn a_stream_has_each_task_that_changes_and_no_other() {
    let served = served();
    let ana = served.token("ana", false);
    let mut events = events(&served, Some(&ana), "columns=/phase").await;
    let engine = &served.engine;
    let search = phase("search");
    engine.task("retail-1").unwrap().append(search.clone()).unwrap();
    engine.task("airline-2").unwrap().append(search).unwrap();
    let (name, row) = events.next().await;
    assert_eq!((name.as_str(), &row["id"]), ("summary", &"airline-2".into()));
    assert_eq!((&row["phase"], &row["columns"]["/phase"]), (&"search".into(), &"search".into()));
    let page = served.get_as(&ana, "/v1/summaries?columns=/phase").await.json();
    assert!(page["items"].as_array().unwrap().contains(&row), "{page} {row}");
    engine.retention().delete_task("airline-1").unwrap();
    assert_eq!(events.next().await, ("deleted".into(), json!({"id": "airline-1"})));
    engine.start_task("airline-3", "ana").unwrap();
    let (name, row) = events.next().await;
    assert_eq!((name.as_str(), &row["id"]), ("summary", &"airline-3".into()));
    let asked = request("GET", "/v1/summaries?q=a", Some(&ana), "");
    let with_page = dressed(asked, &[("accept", "text/event-stream")]);
    assert_eq!(served.ask(with_page).await.status, 400);
}
