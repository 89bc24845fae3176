//! A stream over connections that break: nothing is left out, nothing comes twice.

use milepost::Engine;
use milepost::events::Message;
use milepost_client::api::{Big, EventForm};
use milepost_client::calls::DeleteTask;
use milepost_client::{Client, ErrorKind, EventQuery, Followed, Following, Start};
use tokio::time::timeout;

use crate::proxy::Proxy;
use crate::served::{LONG, Served, guide_of, restore_of};

/// Returns the next item.
async fn next(following: &mut Following) -> Followed {
    let next = timeout(LONG, following.next()).await.expect("it comes");
    next.expect("it goes on").unwrap()
}

/// The items that a client keeps.
#[derive(Default)]
struct Kept {
    events: Vec<EventForm>,
    moved: usize,
}

impl Kept {
    /// Keeps items, until an event ends the reading: then they are the history.
    async fn until(&mut self, following: &mut Following, last: &str) {
        loop {
            match next(following).await {
                Followed::Event(event) => {
                    let next = Big(self.events.len() as u64);
                    assert_eq!(event.offset, next, "none left out, none twice");
                    let says = serde_json::to_string(&event).unwrap().contains(last);
                    self.events.push(event);
                    if says {
                        return;
                    }
                }
                Followed::LineageChanged(to) => {
                    self.events.truncate(to.at.0 as usize);
                    self.moved += 1;
                }
            }
        }
    }
}

async fn history(client: &Client) -> Vec<EventForm> {
    let mut events = client.all_events("essay", EventQuery::default());
    let mut history = Vec::new();
    while let Some(event) = events.next().await {
        history.push(event.unwrap());
    }
    history
}

fn append(engine: &Engine, numbers: std::ops::Range<u32>) {
    let task = engine.task("essay").unwrap();
    for number in numbers {
        let text = format!("number {number} {}", "x".repeat(number as usize % 97));
        task.append(Message::text("user", &text)).unwrap();
    }
}

/// Changes a task, part after part: events, a restore and more events, an undo, another restore.
fn work(engine: &Engine, part: u32) {
    let back = |to: &str| engine.restore(&engine.point(to).unwrap()).run().unwrap();
    match part {
        0 => {}
        1 => drop(back("essay@30")),
        2 => drop(engine.undo("essay").run().unwrap()),
        _ => drop(back("essay@one")),
    }
    append(engine, part * 50..(part + 1) * 50);
    let task = engine.task("essay").unwrap();
    task.append(Message::text("user", &format!("end of {part}"))).unwrap();
}

/// Numbers that look like nothing, the same ones each time.
fn numbers(mut seed: u64) -> impl FnMut() -> u64 {
    move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_event_comes_once_and_in_order_however_often_the_connection_is_cut() {
    for seed in [3, 17] {
        let served = Served::with_essay().await;
        let mut number = numbers(seed);
        let lets = move || Some(150 + (number() % 5000) as usize);
        let proxy = Proxy::new(served.at, lets).await;
        let mut following = proxy.client().follow("essay", Start::Beginning);
        let mut kept = Kept::default();
        for part in 0..4 {
            let engine = served.engine.clone();
            let working = tokio::task::spawn_blocking(move || work(&engine, part));
            kept.until(&mut following, &format!("end of {part}")).await;
            working.await.unwrap();
        }
        assert!(proxy.cut() > 5, "{} cuts", proxy.cut());
        assert_eq!(kept.moved, 3);
        assert_eq!(kept.events, history(&served.client()).await);
    }
}

#[tokio::test]
async fn a_restore_while_it_is_cut_off_comes_first_when_it_goes_on() {
    let served = Served::with_essay().await;
    let client = served.client();
    let mut first = client.follow("essay", Start::Beginning);
    while first.place().is_none_or(|place| place.next < 5) {
        next(&mut first).await;
    }
    let place = first.place().unwrap();
    assert_eq!(place.to_string(), "0:5");
    drop(first);
    client.call(&restore_of("essay@one")).await.unwrap();
    client.call(&guide_of("from here")).await.unwrap();
    let place: milepost_client::Place = place.to_string().parse().unwrap();
    let mut second = client.follow("essay", place);
    assert_eq!(second.place(), Some(place));
    let Followed::LineageChanged(moved) = next(&mut second).await else {
        panic!("an event of what is no history")
    };
    assert_eq!((moved.from.0, moved.to.0, moved.at), (0, 1, Big(4)));
    let Followed::Event(event) = next(&mut second).await else { panic!("moved twice") };
    assert_eq!((event.offset, event.lineage.0), (Big(4), 1));
}

#[tokio::test]
async fn a_task_that_is_deleted_ends_it_with_the_reason() {
    let served = Served::with_essay().await;
    let client = served.client();
    let mut following = client.follow("essay", 5);
    client.call(&guide_of("last words")).await.unwrap();
    next(&mut following).await;
    client.call(&DeleteTask::new("essay")).await.unwrap();
    let ended = timeout(LONG, following.next()).await.expect("it ends");
    let error = ended.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(following.next().await.is_none());
}

#[tokio::test]
async fn what_is_beyond_the_head_cannot_be_followed() {
    let served = Served::with_essay().await;
    let mut following = served.client().follow("essay", 99);
    let error = following.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}
