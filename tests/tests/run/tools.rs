//! Tool calls: recorded with their returns, those that change something alone, the policy asked
//! before each.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost::events::{MarkCause, ToolCalled};
use milepost::{Body, Error, ErrorKind, Json, Mark};
use milepost_runtime::run::{Access, Risk, RunOptions, ToolEffects};

use crate::run::{engine, run};

fn call(id: &str) -> ToolCalled {
    ToolCalled { call: id.to_owned(), tool: "edit".into(), arguments: Json::null() }
}

const CHANGES: Access = Access::Changes(ToolEffects { files: 1, destructive: false });

#[test]
fn calls_that_read_run_side_by_side_and_those_that_change_something_alone() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    // All four meet in here: one after another they never would.
    let together = Barrier::new(4);
    let (under_way, most) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (run, together) = (&run, &together);
            scope.spawn(move || {
                let work = || {
                    together.wait();
                    Ok::<_, Error>(Json::null())
                };
                run.tool(call(&format!("read {n}")), Access::Reads, work).unwrap();
            });
        }
    });
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (run, under_way, most) = (&run, &under_way, &most);
            scope.spawn(move || {
                let work = || {
                    let now = under_way.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    std::thread::yield_now();
                    under_way.fetch_sub(1, Ordering::SeqCst);
                    Ok::<_, Error>(Json::null())
                };
                run.tool(call(&format!("change {n}")), CHANGES, work).unwrap();
            });
        }
    });
    assert_eq!(most.load(Ordering::SeqCst), 1);
    let state = run.state().unwrap();
    assert_eq!((state.finished_calls, state.open_calls.len()), (12, 0));
}

#[test]
fn before_a_risky_call_a_checkpoint_is_marked_and_the_call_is_behind_it() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default().policy(Risk::default()));
    run.checkpoint(Mark::new()).unwrap();
    let ok = || Ok::<_, Error>(Json::null());
    run.tool(call("few"), CHANGES, ok).unwrap();
    assert_eq!(run.stats().saved, 1);
    let many = ToolEffects { files: 6, destructive: true };
    run.tool(call("many"), Access::Changes(many), ok).unwrap();
    assert_eq!(run.stats().saved, 2);
    let mark = run.task().last_successful().unwrap().unwrap();
    assert_eq!(mark.cause, MarkCause::BeforeTool);
    let state = engine.run_state(&run.task().point(mark.at).unwrap()).unwrap();
    assert_eq!(state.finished_calls, 1, "the risky one is not in it");
    // Its changes count towards the next one.
    run.ask_for_checkpoint();
    run.tool(call("read"), Access::Reads, ok).unwrap();
    assert_eq!(run.stats().saved, 3);
}

#[test]
fn a_tool_that_fails_is_recorded_as_such_and_its_error_comes_back() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    let failed = run.tool(call("c"), CHANGES, || Err(Error::not_found("no such file")));
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::NotFound);
    let events: Vec<_> = run.task().read(..).unwrap().map(|e| e.unwrap()).collect();
    let Some(Body::ToolReturned(returned)) = &events.last().unwrap().body else {
        panic!("no return");
    };
    assert!(!returned.ok);
    assert!(returned.output.as_ref().unwrap().text().contains("no such file"));
}
