//! The checkpoints of a lineage, each with its state.

use milepost::events::{ArtifactsEdited, Message};
use milepost::state::RunReducer;
use milepost::{Mark, Reducer as _};
use milepost_client::calls::Checkpoint;
use milepost_client::codec::Json;
use milepost_client::{ErrorKind, StatesQuery};

use crate::proxy::Proxy;
use crate::served::Served;

pub async fn states() {
    let served = Served::with_essay().await;
    let client = served.client();
    let mark = Mark::new().label("two");
    served.engine.task("essay").unwrap().checkpoint(mark).unwrap();
    let mut states = client.states("essay", StatesQuery::default()).await.unwrap();
    for label in ["one", "two"] {
        let found = states.next().await.unwrap().unwrap();
        assert_eq!(found.checkpoint.label.as_deref(), Some(label));
        let id = found.checkpoint.id.to_string();
        assert_eq!(found.checkpoint, client.call(&Checkpoint::new(&id)).await.unwrap());
        let alone = client.state(&format!("@{id}")).await.unwrap();
        assert_eq!((found.point, found.state), (alone.point, alone.state));
    }
    assert!(states.next().await.is_none());
    let query = StatesQuery {
        from: Some(1),
        to: Some(5),
        limit: Some(3),
        lineage: Some(0),
        messages: Some(0),
    };
    let mut one = client.states("essay", query).await.unwrap();
    let state = one.next().await.unwrap().unwrap().state.value().unwrap();
    assert_eq!(state["messages"], serde_json::json!([]));
    assert!(one.next().await.is_none());
    let error = client.states("none", StatesQuery::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

pub async fn encoded_state() {
    let served = Served::with_essay().await;
    let client = served.client();
    let bytes = client.encoded_state("essay@one", RunReducer.name()).await.unwrap();
    let point = served.engine.point("essay@one").unwrap();
    assert_eq!(RunReducer.decode(&bytes).unwrap(), served.engine.run_state(&point).unwrap());
    let error = client.encoded_state("essay@one", "example.none").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.detail().contains("no reducer `example.none`"), "{error}");
}

#[tokio::test]
async fn states_that_break_off_or_are_too_long_are_errors_after_those_that_came() {
    let served = Served::with_essay().await;
    let task = served.engine.task("essay").unwrap();
    for n in 0..20 {
        let artifact = Json::string(&format!("{n} {}", "word ".repeat(8000)));
        task.append(ArtifactsEdited { artifacts: [(format!("a-{}", n % 4), artifact)].into() })
            .unwrap();
        task.append(Message::text("user", "more")).unwrap();
        task.checkpoint(Mark::new()).unwrap();
    }
    let mut states = served.client().states("essay", StatesQuery::default()).await.unwrap();
    let mut count = 0;
    while let Some(state) = states.next().await {
        state.unwrap();
        count += 1;
    }
    assert_eq!(count, 21);
    let proxy = Proxy::new(served.at, || Some(1_000_000)).await;
    let mut states = proxy.client().states("essay", StatesQuery::default()).await.unwrap();
    let mut came = 0;
    let error = loop {
        match states.next().await.expect("no end without an error") {
            Ok(_) => came += 1,
            Err(error) => break error,
        }
    };
    assert!(came > 3 && came < 21, "{came}");
    assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
    assert!(states.next().await.is_none());
    let few = Proxy::new(served.at, || None).await;
    let few = few.builder().answer_limit(60_000).build().unwrap();
    let mut states = few.states("essay", StatesQuery::default()).await.unwrap();
    assert!(states.next().await.unwrap().is_ok());
    let error = loop {
        match states.next().await.expect("no end without an error") {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Answer, "{error}");
}
