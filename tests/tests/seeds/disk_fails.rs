//! 001 AC6: a run on a disk that fails. It makes all its steps, and the held appends are durable
//! once the disk works.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use milepost::hooks::Alert;
use milepost::{Append, Body, Checkpoint, Engine, Error, Hook, Options, Task};
use milepost_runtime::failover::{FailoverEngine, FailoverOptions, Health};
use milepost_runtime::run::{Run, RunOptions};
use milepost_tests::mount::Mounted;
use milepost_tests::{bodies, faults};
use milepost_workspace::{Workspace, WorkspaceOptions};

const LONG: Duration = Duration::from_secs(60);

/// Counts the alerts and the checkpoints that hooks receive.
#[derive(Default)]
struct Told {
    alerts: AtomicU64,
    checkpoints: AtomicU64,
}

impl Hook for Told {
    fn name(&self) -> &str {
        "told"
    }

    fn after_checkpoint(&self, _: &Task, _: &Checkpoint) {
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
    }

    fn on_alert(&self, _: &Alert) {
        self.alerts.fetch_add(1, Ordering::Relaxed);
    }
}

/// A failover engine, its hook, and the changes of its health.
struct Opened {
    store: Arc<FailoverEngine>,
    told: Arc<Told>,
    health: Arc<Mutex<Vec<Health>>>,
}

fn open(store: &Path) -> Opened {
    let (told, health) = (Arc::new(Told::default()), Arc::new(Mutex::new(Vec::new())));
    let seen = Arc::clone(&health);
    let failover = FailoverOptions::default()
        .retry(Duration::from_millis(5))
        .limit_bytes(64 << 20)
        .on_change(move |health| seen.lock().unwrap().push(health.clone()));
    let options = Options::default().backlog_bytes(1 << 20).hook(told.clone());
    let store = Arc::new(FailoverEngine::open(store, options, failover).unwrap());
    Opened { store, told, health }
}

/// Each step once and in order, each with a checkpoint and its work; the run has ended.
fn check(store: &Path, steps: u64) {
    let engine = Engine::open(store, Options::default()).unwrap();
    let task = engine.task("exec-001").unwrap();
    let (mut begun, mut finished, mut worked) = (0, 0, 0);
    for event in task.read(0..).unwrap() {
        match event.unwrap().body.unwrap() {
            Body::StepStarted(step) => {
                begun += 1;
                assert_eq!(step.step, begun, "I14: once, and in order");
            }
            Body::StepFinished(step) => {
                finished += 1;
                assert_eq!((step.step, begun), (finished, finished), "I14: once, and in order");
            }
            Body::Application(event) if event.name == "milepost.once" => worked += 1,
            _ => {}
        }
    }
    assert_eq!((begun, finished, worked), (steps, steps, steps));
    assert_eq!(task.checkpoints().unwrap(), steps);
    assert_eq!(task.control().now().unwrap(), milepost::events::RunControl::Idle);
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    engine.close().unwrap();
}

/// Drives a run; calls `at` before each step.
fn drive(store: &Arc<FailoverEngine>, steps: u64, size: usize, at: impl FnMut(u64)) -> Run {
    let options = RunOptions::default().failover(Arc::clone(store));
    drive_on(&store.engine().unwrap(), options, steps, size, at)
}

fn drive_on(
    engine: &Engine,
    options: RunOptions,
    steps: u64,
    size: usize,
    mut at: impl FnMut(u64),
) -> Run {
    let run = Run::resume_or_start(engine, "exec-001", "ana", options).unwrap();
    let done = AtomicU64::new(0);
    run.drive(|step| {
        at(step.number());
        let work = || Ok::<_, Error>(done.fetch_add(1, Ordering::Relaxed));
        run.once(&format!("work {}", step.number()), work)?;
        run.append(Append::from(bodies::bytes(step.number(), size)))?;
        if step.number() == steps {
            step.end_run();
        }
        Ok::<_, Error>(())
    })
    .unwrap();
    assert_eq!(done.load(Ordering::Relaxed), steps, "work that is held is not done again");
    run
}

#[test]
fn seed_001_ac6_on_a_full_disk_a_run_makes_all_its_steps() {
    const STEPS: u64 = 1000;
    let within = faults::temp_dir();
    let Some(disk) = Mounted::make_or_skip("ext4", within.path(), 48) else {
        return;
    };
    let path = disk.dir.join("store");
    let Opened { store, told, health } = open(&path);
    let mut ballast = None;
    let run = drive(&store, STEPS, 6_000, |step| match step {
        100 => ballast = Some(disk.fill(0).unwrap()),
        900 => {
            assert!(matches!(store.health(), Health::Degraded { pending: 1.., .. }));
            std::fs::remove_file(ballast.take().unwrap()).unwrap();
        }
        _ => {}
    });
    store.retry_now();
    assert!(store.wait_healthy(LONG), "{:?}", store.health());
    let (counts, stats) = (run.stats(), store.stats());
    assert!(counts.held_saves > 0);
    assert_eq!((counts.saved + counts.held_saves, counts.failed_saves), (STEPS, 0));
    assert_eq!((stats.buffered, stats.refused), (stats.drained, 0));
    assert_eq!(told.alerts.load(Ordering::Relaxed), 1);
    assert_eq!(told.checkpoints.load(Ordering::Relaxed), STEPS, "told when they are committed");
    drop(run);
    Arc::into_inner(store).unwrap().close().unwrap();
    let seen = health.lock().unwrap().clone();
    assert!(matches!(seen.as_slice(), [Health::Degraded { .. }, Health::Healthy]), "{seen:?}");
    check(&path, STEPS);
}

#[test]
fn seed_001_ac6_a_run_without_options_continues_on_a_full_disk_and_ends_when_all_is_durable() {
    const STEPS: u64 = 600;
    let within = faults::temp_dir();
    let Some(disk) = Mounted::make_or_skip("ext4", within.path(), 48) else {
        return;
    };
    let path = disk.dir.join("store");
    let engine = Engine::open(&path, Options::default().backlog_bytes(1 << 20)).unwrap();
    let (is_last, last) = std::sync::mpsc::channel();
    let mut ballast = None;
    let (run, full) = std::thread::scope(|scope| {
        let freed = scope.spawn(move || {
            let ballast: std::path::PathBuf = last.recv().unwrap();
            std::fs::remove_file(ballast).unwrap();
        });
        let mut full = Vec::new();
        let run = drive_on(&engine, RunOptions::default(), STEPS, 6_000, |step| {
            full.push(engine.task("exec-001").unwrap().head().unwrap().next);
            match step {
                100 => ballast = Some(disk.fill(0).unwrap()),
                STEPS => is_last.send(ballast.take().unwrap()).unwrap(),
                _ => {}
            }
        });
        freed.join().unwrap();
        (run, full)
    });
    assert_eq!(full[590], full[580], "the disk was full");
    let counts = run.stats();
    assert!(counts.held_saves > 0);
    assert_eq!((counts.saved + counts.held_saves, counts.failed_saves), (STEPS, 0));
    // All is durable although the run is still there.
    assert_eq!(engine.task("exec-001").unwrap().checkpoints().unwrap(), STEPS);
    engine.close().unwrap();
    drop(run);
    check(&path, STEPS);
}

#[test]
fn a_run_on_an_engine_that_its_owner_closed_gets_the_error() {
    let dir = faults::temp_dir();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let run = Run::resume_or_start(&engine, "t", "ana", RunOptions::default()).unwrap();
    let other = engine.clone();
    let error = run.drive(|step| {
        if step.number() == 2 {
            other.clone().close()?;
        }
        run.append(Append::from(bodies::bytes(step.number(), 10)))?;
        Ok::<_, Error>(())
    });
    assert_eq!(error.unwrap_err().kind(), milepost::ErrorKind::Unavailable);
    assert_eq!(
        run.append(Append::from(bodies::bytes(3, 10))).unwrap_err().kind(),
        milepost::ErrorKind::Unavailable
    );
    assert_eq!(run.stats().held_saves, 0);
}

#[test]
fn a_folder_that_cannot_be_captured_is_no_failed_disk() {
    let dir = faults::temp_dir();
    let [path, folder, away] = ["store", "work", "away"].map(|name| dir.path().join(name));
    std::fs::create_dir(&folder).unwrap();
    let Opened { store, told, health } = open(&path);
    let task = store.engine().unwrap().start_task("exec-001", "ana").unwrap();
    let workspace = Workspace::open(&folder, WorkspaceOptions::default()).unwrap();
    let engine = store.engine().unwrap();
    let joined = engine.restores().join(&task, workspace.participant()).unwrap();
    drop(engine);
    let run = drive(&store, 6, 100, |step| match step {
        2 => std::fs::rename(&folder, &away).unwrap(),
        5 => std::fs::rename(&away, &folder).unwrap(),
        _ => {}
    });
    // The checkpoints of steps 2 to 4 fail, are told, and stop nothing; the disk is healthy.
    let (counts, stats) = (run.stats(), store.stats());
    assert_eq!((counts.saved, counts.held_saves, counts.failed_saves), (3, 0, 3), "{stats:?}");
    assert_eq!((stats.buffered, stats.reopened, store.health()), (0, 0, Health::Healthy));
    assert!(health.lock().unwrap().is_empty());
    assert_eq!(told.alerts.load(Ordering::Relaxed), 3);
    assert_eq!(task.checkpoints().unwrap(), 3);
    let finished = |event: &Body| matches!(event, Body::StepFinished(_));
    let events = task.read(0..).unwrap().map(|event| event.unwrap().body.unwrap());
    assert_eq!(events.filter(finished).count(), 6);
    drop((run, joined, task));
    Arc::into_inner(store).unwrap().close().unwrap();
}

const STORE: &str = "MILEPOST_TEST_RUN_STORE";
const CHILD: &str = "seeds::disk_fails::child_whose_calls_fail_under_a_run";
const SHORT: u64 = 60;

/// The process whose calls fail.
#[test]
fn child_whose_calls_fail_under_a_run() {
    let Ok(path) = std::env::var(STORE) else {
        return;
    };
    let Opened { store, told, health } = open(Path::new(&path));
    let run = drive(&store, SHORT, 30_000, |_| {});
    assert!(store.wait_healthy(LONG), "{:?}", store.health());
    let (counts, stats) = (run.stats(), store.stats());
    assert_eq!((counts.saved + counts.held_saves, counts.failed_saves), (SHORT, 0), "{stats:?}");
    assert_eq!((stats.buffered, stats.refused), (stats.drained, 0));
    let changes = health.lock().unwrap().len() as u64;
    assert!(told.alerts.load(Ordering::Relaxed) <= changes, "one alert for a failure at most");
    println!("\nreopened {}", stats.reopened);
    drop(run);
    Arc::into_inner(store).unwrap().close().unwrap();
}

#[test]
fn seed_001_ac6_a_run_whose_calls_fail_makes_all_its_steps() {
    let Some(faults) = faults::built() else {
        return;
    };
    let syncs = [30, 41, 55, 70, 71, 72, 90].map(|n| format!("sync:{n}:EIO:once"));
    let writes = [60, 61, 90, 91, 130, 131, 200].map(|n| format!("write:{n}:ENOSPC:once"));
    let mut hits = 0;
    for fail in syncs.iter().chain(&writes) {
        let dir = faults::temp_dir();
        let dir = dir.path().canonicalize().unwrap();
        let (store, count) = (dir.join("store"), dir.join("count"));
        let settings = [
            (STORE, store.to_str().unwrap()),
            (faults::FAIL, fail.as_str()),
            (faults::COUNT, count.to_str().unwrap()),
        ];
        let ended = faults::run(faults, CHILD, &dir, &settings);
        assert_eq!(ended.fault(false), None, "{fail}");
        check(&store, SHORT);
        hits += faults::counts(&count).failed();
    }
    assert_eq!(hits, 14, "each call is there and fails");
}
