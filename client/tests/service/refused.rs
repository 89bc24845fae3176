//! Requests that a service refuses.

use milepost_client::api::{StatsForm, TaskRequest, VerifyRequest};
use milepost_client::calls::{
    DeleteTask, StartTask, Stats, StatsQuery, Task, TaskQuery, Tasks, Verify,
};
use milepost_client::codec::Message;
use milepost_client::{Append, Client, ClientBuilder, ErrorKind};

use crate::served::{Served, start_of};

#[tokio::test]
async fn a_wrong_token_is_unauthorized_and_the_error_says_what_to_do() {
    let served = Served::with_essay().await;
    let ana = served.client_of("ana", false);
    ana.call(&Tasks::new(TaskQuery::default())).await.unwrap();
    let wrong = ClientBuilder::new(&served.url()).token("mp_00000000_no");
    for client in [served.client(), wrong.build().unwrap()] {
        let error = client.call(&Tasks::new(TaskQuery::default())).await.unwrap_err();
        assert_eq!((error.kind(), error.status()), (ErrorKind::Unauthorized, Some(401)));
        let text = error.to_string();
        assert!(text.starts_with("GET /v1/tasks: send a valid token"), "{text}");
        assert!(text.contains("ClientBuilder::token"), "{text}");
        let mut following = client.follow("essay", 0);
        let error = following.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthorized);
        assert!(following.next().await.is_none());
    }
}

#[tokio::test]
async fn what_is_somebody_elses_is_not_there_and_what_is_for_admins_is_forbidden() {
    let served = Served::with_essay().await;
    let ana = served.client_of("ana", false);
    let error = ana.call(&Task::new("essay")).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::NotFound, Some(404)));
    let error = ana.call(&Verify::new(VerifyRequest::default())).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Forbidden, Some(403)));
    let user = Some("ben".into());
    let of_ben = TaskRequest { id: "x".into(), user, ..TaskRequest::default() };
    let error = ana.call(&StartTask::new(of_ben)).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Forbidden);
    let own = ana.call(&Stats::new(StatsQuery::default())).await.unwrap();
    assert!(matches!(own, StatsForm::User(user) if user.user == "ana"));
    let of_ben = StatsQuery { user: Some("ben".into()), ..StatsQuery::default() };
    let error = ana.call(&Stats::new(of_ben)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);
    let all = served.client_of("root", true).call(&Stats::new(StatsQuery::default())).await;
    assert!(matches!(all.unwrap(), StatsForm::Store(_)));
}

#[tokio::test]
async fn a_conflict_has_the_head() {
    let served = Served::with_essay().await;
    let append = Append::from(Message::text("user", "late")).expect_head(3);
    let error = served.client().append("essay", append).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Conflict, Some(412)));
    assert_eq!(error.head(), Some(5));
    assert!(error.to_string().contains("(the head is 5)"), "{error}");
    assert!(error.instance().is_some());
    let error = served.client().call(&start_of("essay")).await.unwrap_err();
    assert_eq!((error.kind(), error.head()), (ErrorKind::Conflict, None));
    let one = Append::from(Message::text("user", "a")).key("k");
    served.client().append("essay", one).await.unwrap();
    let other = Append::from(Message::text("user", "b")).key("k");
    let error = served.client().append("essay", other).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Conflict, Some(409)));
}

#[tokio::test]
async fn what_cannot_be_sent_is_not() {
    let served = Served::with_essay().await;
    let client = served.client();
    for task in ["", ".", ".."] {
        let error = client.call(&DeleteTask::new(task)).await.unwrap_err();
        assert_eq!((error.kind(), error.was_reached()), (ErrorKind::Invalid, false));
    }
    let append = Append::from(Message::text("user", "a")).key("a\nb");
    let error = client.append("essay", append).await.unwrap_err();
    assert_eq!((error.kind(), error.was_reached()), (ErrorKind::Invalid, false));
    let error = client.append("essay", Append::default()).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Invalid, Some(400)));
    assert_eq!(served.head("essay"), 5);
}

#[tokio::test]
async fn where_nobody_listens_nobody_was_reached() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    drop(listener);
    let dir = tempfile::tempdir().unwrap();
    let tcp = Client::new(&format!("http://{at}")).unwrap();
    let socket = Client::unix(dir.path().join("socket")).unwrap();
    for client in [tcp, socket] {
        let error = client.call(&start_of("essay")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
        assert!(!error.was_reached(), "{error}");
        assert!(error.to_string().contains("whether the service runs"), "{error}");
    }
}
