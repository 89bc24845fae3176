//! The async forms of a run: they need no runtime, and hold no thread while they wait.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use milepost::events::{RunControl, StepStarted};
use milepost::{ErrorKind, Options};
use milepost_runtime::failover::{FailoverEngine, FailoverOptions};
use milepost_runtime::run::{Run, RunOptions, SafePoint};

use crate::run::{engine, run};

/// Counts how often a future was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Woken {
    fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Polls the safe point of a paused run, acts, and returns its result when it is woken.
#[track_caller]
fn awaited(run: &Run, act: impl FnOnce()) -> milepost::Result<SafePoint> {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut waits = pin!(run.safe_point_async());
    // Polls without a change do not wake it, and are forgotten but once.
    for _ in 0..3 {
        assert!(waits.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!(woken.times(), 0);
    act();
    assert_eq!(woken.times(), 1);
    match waits.as_mut().poll(&mut context) {
        Poll::Ready(point) => point,
        Poll::Pending => panic!("it still waits"),
    }
}

#[test]
fn seed_001_a_safe_point_is_awaited_through_resume_stop_restore_deletion_and_close() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    run.begin().unwrap();
    let pause = || run.pause("let me look").unwrap();
    pause();
    assert_eq!(awaited(&run, || run.resume().unwrap()).unwrap(), SafePoint::Go);
    pause();
    let stopped = SafePoint::Stop(RunControl::Stopped);
    assert_eq!(awaited(&run, || run.stop("enough").unwrap()).unwrap(), stopped);
    run.begin().unwrap();
    pause();
    let point = engine.point("t@2").unwrap();
    let back = awaited(&run, || drop(engine.restore(&point).run().unwrap())).unwrap();
    assert_eq!(back, SafePoint::Elsewhere(run.task().lineage().id()));
    pause();
    let closed = awaited(&run, || engine.clone().close().unwrap());
    assert_eq!(closed.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn a_wait_is_woken_among_the_controls_of_many_tasks() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    run.begin().unwrap();
    run.pause("one").unwrap();
    let point = awaited(&run, || {
        // More than are remembered without a waiting thread.
        for n in 0..4200 {
            engine.start_task(&format!("other {n}"), "ana").unwrap().control().now().unwrap();
        }
        run.resume().unwrap();
    });
    assert_eq!(point.unwrap(), SafePoint::Go);
}

#[test]
fn a_deleted_task_ends_a_wait() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default());
    run.begin().unwrap();
    run.pause("one").unwrap();
    let gone = awaited(&run, || engine.retention().delete_task("t").unwrap());
    assert_eq!(gone.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_submitted_event_has_the_runs_context_and_is_durable_when_its_ticket_resolves() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default().actor("worker-7"));
    let ticket = run.submit(StepStarted { step: 1, ..StepStarted::default() }).unwrap();
    let at = ticket.wait().unwrap().first;
    let (event, _) = engine.event(&run.task().point(at).unwrap()).unwrap();
    assert_eq!(event.header.actor.as_deref(), Some("worker-7"));
}

#[test]
fn a_run_on_a_failover_engine_has_no_tickets() {
    let dir = tempfile::tempdir().unwrap();
    let failover = FailoverOptions::default();
    let failover = FailoverEngine::open(dir.path(), Options::default(), failover).unwrap();
    let task = failover.engine().unwrap().start_task("t", "ana").unwrap();
    let run = Run::of(task, RunOptions::default().failover(Arc::new(failover))).unwrap();
    assert_eq!(run.submit(StepStarted::default()).unwrap_err().kind(), ErrorKind::Invalid);
}
