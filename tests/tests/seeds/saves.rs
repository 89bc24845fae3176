//! 001: automatic saves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost::hooks::{Alert, AlertKind};
use milepost::{Engine, Error, Hook, Mark, Options, Task};
use milepost_runtime::run::{Run, RunOptions};

/// Refuses each checkpoint, and counts the alerts.
#[derive(Default)]
struct Refusing {
    alerts: AtomicU64,
}

impl Hook for Refusing {
    fn name(&self) -> &str {
        "refusing"
    }

    fn before_checkpoint(&self, _: &Task, _: &Mark) -> Result<(), String> {
        Err("no more checkpoints".into())
    }

    fn on_alert(&self, alert: &Alert) {
        assert_eq!(alert.kind, AlertKind::SaveFailed);
        self.alerts.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn seed_001_ac6_a_failed_save_does_not_stop_the_iteration_and_is_alerted() {
    let hook = Arc::new(Refusing::default());
    let engine = Engine::in_memory(Options::default().hook(hook.clone())).unwrap();
    let run = Run::resume_or_start(&engine, "exec-001", "ana", RunOptions::default()).unwrap();
    run.drive(|step| {
        if step.number() == 5 {
            step.end_run();
        }
        Ok::<_, Error>(())
    })
    .unwrap();
    assert_eq!(run.next_step().unwrap(), 6);
    assert_eq!((run.stats().saved, run.stats().failed_saves), (0, 5));
    assert_eq!(hook.alerts.load(Ordering::Relaxed), 5);
}
