//! Requests that the client repeats, and those that it does not.

use milepost::{Engine, Options};
use milepost_client::api::{Big, ControlRequest};
use milepost_client::calls::{Control, Lineages, Point, Task};
use milepost_client::codec::{Message, RunControl, Scope};
use milepost_client::{Append, Client, ErrorKind};
use milepost_server::attach;

use crate::fake::{Fake, header, says};
use crate::proxy::Proxy;
use crate::served::{Served, guide_of, labelled, mark_of, restore_of, start_of, undo_of};

/// Lets nothing of the first answer through, and all of the others.
fn not_the_first() -> impl FnMut() -> Option<usize> + Send + 'static {
    let mut first = Some(0);
    move || first.take()
}

const APPENDED: &str = r#"{"first":"5","next":"6","hash":"0000000000000000000000000000000000000000000000000000000000000000","repeated":false}"#;

#[tokio::test]
async fn an_append_whose_answer_is_lost_is_appended_once_and_answered() {
    let served = Served::with_essay().await;
    let proxy = Proxy::new(served.at, not_the_first()).await;
    let append = Append::from(Message::text("user", "once")).mark(labelled("two"));
    let appended = proxy.client().append("essay", append).await.unwrap();
    assert_eq!(proxy.cut(), 1);
    assert!(appended.repeated, "the first try had appended it");
    assert_eq!((appended.first, appended.next), (Big(5), Big(7)));
    assert_eq!(served.head("essay"), 7);
    let marked = served.client().call(&Point::new("essay@two")).await.unwrap();
    assert_eq!(appended.checkpoint, marked.checkpoint);
}

#[tokio::test]
async fn so_are_guidance_and_control() {
    let served = Served::with_essay().await;
    let proxy = Proxy::new(served.at, not_the_first()).await;
    let guided = proxy.client().call(&guide_of("shorter")).await;
    assert!(guided.unwrap().repeated);
    assert_eq!(served.head("essay"), 6);
    let proxy = Proxy::new(served.at, not_the_first()).await;
    let running = ControlRequest { to: RunControl::Running, reason: None };
    let changed = proxy.client().call(&Control::new("essay", running)).await;
    assert!(changed.unwrap().repeated);
    assert_eq!(served.head("essay"), 7);
}

#[tokio::test]
async fn an_answer_that_is_cut_in_its_middle_is_none() {
    let served = Served::with_essay().await;
    let whole = served.client().events("essay", Default::default()).await;
    for lets in [1, 20, 200, 400, 700] {
        let mut first = Some(lets);
        let proxy = Proxy::new(served.at, move || first.take()).await;
        let read = proxy.client().events("essay", Default::default()).await;
        assert_eq!(read.unwrap(), *whole.as_ref().unwrap());
        assert_eq!(proxy.cut(), 1, "{lets}");
    }
}

#[tokio::test]
async fn so_are_starts_marks_restores_and_undos() {
    let served = Served::with_essay().await;
    let lost = || Proxy::new(served.at, not_the_first());
    let proxy = lost().await;
    let started = proxy.client().call(&start_of("novel")).await.unwrap();
    assert_eq!((started.id.as_str(), proxy.cut()), ("novel", 1));
    let proxy = lost().await;
    let marked = proxy.client().call(&mark_of(Some("two"))).await;
    assert_eq!(marked.unwrap().label.as_deref(), Some("two"));
    assert_eq!((served.head("essay"), proxy.cut()), (6, 1));
    let lineages =
        async || served.client().call(&Lineages::new("essay")).await.unwrap().items.len();
    let before = lineages().await;
    let proxy = lost().await;
    let restored = proxy.client().call(&restore_of("essay@one")).await.unwrap();
    assert_eq!((lineages().await, proxy.cut()), (before + 1, 1));
    let proxy = lost().await;
    let undone = proxy.client().call(&undo_of("essay")).await.unwrap();
    assert_eq!(proxy.cut(), 1);
    assert_ne!(undone.lineage, restored.lineage);
    assert_eq!(served.head("essay"), 6, "it was undone once");
}

#[tokio::test]
async fn what_has_no_key_is_not_asked_twice() {
    let fake = Fake::new(vec![says("503 Service Unavailable", "", "")]).await;
    let mut restore = restore_of("essay@one");
    restore.body.scope = Some(Scope::All);
    restore.body.folder = Some("/nowhere".into());
    let error = fake.client().call(&restore).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(fake.asked().len(), 1);
}

#[tokio::test]
async fn what_has_no_key_is_asked_again_where_nobody_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path(), Options::default()).unwrap();
    let client = Client::unix(dir.path().join("server/socket")).unwrap();
    let started = tokio::spawn(async move { client.call(&start_of("essay")).await });
    // A socket that is not there refuses at once: what is spawned comes to its first wait.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let attached = attach(&engine).unwrap();
    assert_eq!(started.await.unwrap().unwrap().id, "essay");
    drop(attached);
}

#[tokio::test]
async fn each_try_of_a_change_has_the_same_key_and_another_change_another() {
    let too_many = says("429 Too Many Requests", "retry-after: 0\r\n", "");
    let created = says("201 Created", "", APPENDED);
    let unavailable = says("502 Bad Gateway", "", "<html>");
    let script = vec![too_many, unavailable, created];
    let fake = Fake::new(script).await;
    let client = fake.client();
    let message = || Message::text("user", "hello");
    let appended = client.append("essay", message()).await.unwrap();
    assert_eq!(appended.first, Big(5));
    client.append("essay", message()).await.unwrap();
    let own = Append::from(message()).key("mine").expect_head(5);
    client.append("essay", own).await.unwrap();
    let asked = fake.asked();
    let keys: Vec<_> = asked.iter().map(|head| header(head, "idempotency-key").unwrap()).collect();
    assert_eq!(keys.len(), 5);
    assert!(keys[0] == keys[1] && keys[1] == keys[2], "{keys:?}");
    assert_ne!(keys[2], keys[3]);
    assert_eq!(keys[4], "mine");
    assert_eq!(header(&asked[4], "if-match").unwrap(), "\"5\"");
}

#[tokio::test]
async fn tries_have_an_end_and_what_is_refused_is_not_asked_again() {
    let fake = Fake::new(vec![says("503 Service Unavailable", "", "not now")]).await;
    let error = fake.client().call(&Task::new("essay")).await.unwrap_err();
    assert_eq!((error.kind(), error.detail()), (ErrorKind::Unavailable, "not now"));
    assert_eq!(fake.asked().len(), 4);
    let builder = fake.builder().tries(1);
    builder.build().unwrap().call(&Task::new("essay")).await.unwrap_err();
    assert_eq!(fake.asked().len(), 5);
    let error = fake.client().ready().await.unwrap_err();
    assert_eq!(error.detail(), "not now");
    assert_eq!(fake.asked().len(), 6, "whether it is ready is asked once");
    let fake = Fake::new(vec![says("409 Conflict", "", "no")]).await;
    fake.client().call(&Task::new("essay")).await.unwrap_err();
    assert_eq!(fake.asked().len(), 1);
}

#[tokio::test]
async fn facts_about_the_work_are_sent_for_the_policy_of_checkpoints() {
    let fake =
        Fake::new(vec![says("201 Created", "content-type: application/json\r\n", APPENDED)]).await;
    let reported = Append::from(Message::text("user", "hello")).touched(9).destructive().asked();
    fake.client().append("essay", reported.policy("steps:3")).await.unwrap();
    fake.client().append("essay", Message::text("user", "plain")).await.unwrap();
    let asked = fake.asked();
    let path =
        "post /v1/tasks/essay/events?touched=9&destructive=true&asked=true&policy=steps%3a3 ";
    assert!(asked[0].starts_with(path), "{}", asked[0]);
    assert!(asked[1].starts_with("post /v1/tasks/essay/events "), "{}", asked[1]);
}
