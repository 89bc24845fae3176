//! Each operation that the service describes is called, and each call is one of them.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use crate::{
    agents, attachments, branches, calls, checkpoints, going_back, jobs, maintenance, passes, pins,
    readings,
};

/// They can be handed to another thread.
type Call = fn() -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// By the name of the operation: its calls, and its answers checked.
const CALLS: &[(&str, Call)] = &[
    ("tasks", || Box::pin(calls::tasks())),
    ("start_task", || Box::pin(calls::start_task())),
    ("task", || Box::pin(calls::task())),
    ("delete_task", || Box::pin(calls::delete_task())),
    ("lineages", || Box::pin(calls::lineages())),
    ("summaries", || Box::pin(calls::summaries())),
    ("summary", || Box::pin(calls::summary())),
    ("append", || Box::pin(calls::append())),
    ("events", || Box::pin(calls::events())),
    ("point", || Box::pin(calls::point())),
    ("event", || Box::pin(calls::event())),
    ("state", || Box::pin(calls::state())),
    ("encoded_state", || Box::pin(passes::encoded_state())),
    ("states", || Box::pin(passes::states())),
    ("diff", || Box::pin(calls::diff())),
    ("files", || Box::pin(calls::files())),
    ("file", || Box::pin(calls::file())),
    ("workspace", || Box::pin(calls::workspace())),
    ("checkpoints", || Box::pin(checkpoints::checkpoints())),
    ("mark", || Box::pin(checkpoints::mark())),
    ("checkpoint", || Box::pin(checkpoints::checkpoint())),
    ("unmark", || Box::pin(checkpoints::unmark())),
    ("unmark_all", || Box::pin(checkpoints::unmark_all())),
    ("control", || Box::pin(calls::control())),
    ("guide", || Box::pin(calls::guide())),
    ("edit_artifacts", || Box::pin(calls::edit_artifacts())),
    ("plan_restore", || Box::pin(going_back::plan_restore())),
    ("restore", || Box::pin(going_back::restore())),
    ("plan_undo", || Box::pin(going_back::plan_undo())),
    ("folders", || Box::pin(going_back::folders())),
    ("undo", || Box::pin(going_back::undo())),
    ("switch", || Box::pin(going_back::switch())),
    ("redo", || Box::pin(going_back::redo())),
    ("verify", || Box::pin(maintenance::verify())),
    ("plan_retention", || Box::pin(maintenance::plan_retention())),
    ("retain", || Box::pin(maintenance::retain())),
    ("anchor", || Box::pin(maintenance::anchor())),
    ("attach", || Box::pin(attachments::attach())),
    ("attachments", || Box::pin(attachments::list())),
    ("pins", || Box::pin(pins::pins())),
    ("pin", || Box::pin(pins::pin())),
    ("unpin", || Box::pin(pins::unpin())),
    ("rows", || Box::pin(readings::rows())),
    ("turns", || Box::pin(readings::turns())),
    ("overview", || Box::pin(readings::overview())),
    ("task_metrics", || Box::pin(readings::task_metrics())),
    ("series", || Box::pin(readings::series())),
    ("align", || Box::pin(readings::align())),
    ("value", || Box::pin(readings::value())),
    ("export", || Box::pin(readings::export())),
    ("share_plan", || Box::pin(readings::share())),
    ("share", || Box::pin(readings::share())),
    ("search", || Box::pin(readings::search())),
    ("file_changes", || Box::pin(calls::file_changes())),
    ("bisect", || Box::pin(readings::bisect())),
    ("blame", || Box::pin(calls::blame())),
    ("branch", || Box::pin(calls::branch())),
    ("append_branch", || Box::pin(branches::append_branch())),
    ("erase", || Box::pin(calls::erase())),
    ("all_checkpoints", || Box::pin(calls::all_checkpoints())),
    ("stats", || Box::pin(calls::stats())),
    ("me", || Box::pin(calls::me())),
    ("start_session", || Box::pin(calls::start_session())),
    ("end_session", || Box::pin(calls::end_session())),
    ("take_hook", || Box::pin(agents::take_hook())),
    ("jobs", || Box::pin(jobs::jobs())),
    ("start_job", || Box::pin(jobs::start_job())),
    ("job", || Box::pin(jobs::job())),
    ("cancel_job", || Box::pin(jobs::cancel_job())),
];

#[test]
fn each_operation_has_a_method_and_each_method_an_operation() {
    let described = milepost_server::openapi().unwrap();
    let described: Value = serde_json::from_str(&described).unwrap();
    let paths = described["paths"].as_object().unwrap().iter();
    let operations: BTreeSet<&str> = paths
        .filter(|(path, _)| path.starts_with("/v1/"))
        .flat_map(|(_, of)| of.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    let called: BTreeSet<&str> = CALLS.iter().map(|(id, _)| *id).collect();
    assert_eq!(operations, called);
}

#[tokio::test]
async fn each_method_is_answered_as_it_says() {
    for (id, call) in CALLS {
        // After a failure, the last line names it.
        println!("{id}");
        call().await;
    }
    println!("ids of marks");
    readings::marks().await;
    println!("health and ready");
    maintenance::health().await;
}
