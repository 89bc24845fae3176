//! The loop of a run: restores from outside, failures, pauses, guidance.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

use milepost::events::{Data, GuidanceGiven, RunControl};
use milepost::query::CheckpointQuery;
use milepost::restore::{CaptureContext, PendingRestore, PrepareContext};
use milepost::{Body, Detail, Engine, Error, ErrorKind, Json, Mark, Options, Participant, Task};
use milepost_codec::{ChunkList, RestorePart};
use milepost_runtime::run::{Run, RunOptions};
use milepost_tests::seed::{Random, seed};

fn resumed(engine: &Engine) -> Run {
    let options = RunOptions::default().autosave_after(None);
    Run::resume_or_start(engine, "t", "ana", options).unwrap()
}

/// The numbers of the steps that ended well on the active lineage.
fn finished(task: &Task) -> Vec<u64> {
    let events = task.read(..).unwrap().map(|event| event.unwrap());
    events
        .filter_map(|event| match event.body {
            Some(Body::StepFinished(finished)) => Some(finished.step),
            _ => None,
        })
        .collect()
}

#[test]
fn a_restore_from_outside_is_no_error_of_the_loop() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let run = resumed(&engine);
    let steps = AtomicU64::new(0);
    let restores = 100;
    std::thread::scope(|scope| {
        let outside = scope.spawn(|| {
            let mut random = Random::new(seed());
            for _ in 0..restores {
                // After some more steps, to a checkpoint that is there.
                let until = steps.load(Ordering::SeqCst) + random.below(4);
                while steps.load(Ordering::SeqCst) < until {
                    std::thread::yield_now();
                }
                let task = engine.task("t").unwrap();
                let points = engine.query().checkpoints(&CheckpointQuery::default()).unwrap().items;
                let at = random.below(points.len().max(1) as u64) as usize;
                let to = match points.get(at) {
                    Some(at) => engine.point(&at.id.to_string()).unwrap(),
                    None => task.point(task.head().unwrap().next).unwrap(),
                };
                engine.restore(&to).run().unwrap();
            }
        });
        let control = run
            .drive(|step| {
                run.once(&format!("work {}", step.number()), || Ok::<_, Error>(step.number()))?;
                steps.fetch_add(1, Ordering::SeqCst);
                if outside.is_finished() && step.number() >= 5 {
                    step.end_run();
                }
                Ok::<_, Error>(())
            })
            .unwrap();
        assert_eq!(control, RunControl::Idle);
        outside.join().unwrap();
    });
    let finished = finished(&run.task());
    assert_eq!(finished, (1..=finished.len() as u64).collect::<Vec<_>>());
    assert_eq!(engine.task("t").unwrap().lineages().unwrap().len(), restores + 1);
}

#[test]
fn a_restore_to_a_point_before_the_run_began_begins_it_again() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.checkpoint(Mark::new().label("before")).unwrap();
    let run = resumed(&engine);
    let mut was_restored = false;
    let mut seen = Vec::new();
    run.drive(|step| {
        seen.push(step.number());
        if step.number() == 2 && !was_restored {
            was_restored = true;
            engine.restore(&engine.point("t@before")?).run()?;
        }
        if step.number() == 3 {
            step.end_run();
        }
        Ok::<_, Error>(())
    })
    .unwrap();
    assert_eq!(seen, [1, 2, 1, 2, 3]);
    assert_eq!(finished(&engine.task("t").unwrap()), [1, 2, 3]);
}

#[test]
fn a_run_continues_on_the_lineage_that_a_user_switches_to() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let run = resumed(&engine);
    let mut first = None;
    let mut seen = Vec::new();
    run.drive(|step| {
        let task = engine.task("t")?;
        seen.push((task.lineage().id().0, step.number()));
        match (step.number(), &first) {
            // A lineage as it is before the third step, and this one continues.
            (3, None) => {
                let at = engine.query().checkpoints(&CheckpointQuery::default())?.items;
                let at = engine.point(&at.first().unwrap().id.to_string())?;
                first = Some(engine.branch(&at).run()?);
            }
            (5, Some(branch)) if task.lineage().id().0 == 0 => {
                engine.switch(branch).run()?;
            }
            (4, Some(_)) if task.lineage().id().0 == 1 => step.end_run(),
            _ => {}
        }
        Ok::<_, Error>(())
    })
    .unwrap();
    let expected = [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 3), (1, 4)];
    assert_eq!(seen, expected);
    assert_eq!(finished(&engine.task("t").unwrap()), [1, 2, 3, 4]);
}

/// A resource whose restore takes until a step of the run was refused.
struct Slow {
    begun: Barrier,
    refused: Barrier,
}

impl Participant for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn capture(&self, _: &CaptureContext<'_>) -> milepost::Result<Vec<Body>> {
        Ok(Vec::new())
    }

    fn prepare(&self, _: &PrepareContext<'_>) -> milepost::Result<RestorePart> {
        Ok(RestorePart {
            participant: "slow".into(),
            place: Data::Json(Json::string("memory")),
            note: None,
            plan: ChunkList::default(),
            roots: Vec::new(),
        })
    }

    fn apply(&self, _: &Engine, _: &PendingRestore) -> milepost::Result<Vec<Body>> {
        self.begun.wait();
        self.refused.wait();
        Ok(Vec::new())
    }

    fn abort(&self, _: &Engine, _: &PendingRestore) -> milepost::Result<()> {
        Ok(())
    }

    fn finish(&self, _: &Engine, _: &PendingRestore) -> milepost::Result<()> {
        Ok(())
    }
}

#[test]
fn a_step_during_a_restore_with_files_is_abandoned_and_the_loop_waits_for_its_end() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let run = resumed(&engine);
    let slow = Arc::new(Slow { begun: Barrier::new(2), refused: Barrier::new(2) });
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        run.drive(|step| {
            seen.push(step.number());
            if seen.len() == 3 {
                scope.spawn(|| {
                    let first = engine.point("t~2").unwrap();
                    engine.restore(&first).with(slow.clone()).run().unwrap();
                });
                slow.begun.wait();
                let error = run.append(GuidanceGiven::text("too late")).unwrap_err();
                assert!(matches!(error.detail(), Some(Detail::Pending { .. })), "{error}");
                assert!(run.task().control().is_restoring());
                slow.refused.wait();
                return Err(error);
            }
            if step.number() == 4 {
                step.end_run();
            }
            Ok(())
        })
        .unwrap();
    });
    assert_eq!(seen, [1, 2, 3, 2, 3, 4]);
    assert_eq!(finished(&engine.task("t").unwrap()), [1, 2, 3, 4]);
}

#[test]
fn a_step_that_fails_is_recorded_and_done_again_by_the_next_start() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let run = resumed(&engine);
    let failed = run.drive(|step| match step.number() {
        2 => Err(Error::invalid("no more tokens")),
        _ => Ok(()),
    });
    assert_eq!(failed.unwrap_err().to_string(), "no more tokens");
    assert_eq!(run.state().unwrap().last_error.unwrap().message, "no more tokens");
    drop(run);
    let run = resumed(&engine);
    assert_eq!(run.next_step().unwrap(), 2);
    run.drive(|step| {
        step.metric("score", 0.5);
        step.result(&"done")?;
        step.end_run();
        Ok::<_, Error>(())
    })
    .unwrap();
    let state = run.state().unwrap();
    assert_eq!((state.metrics["score"].0, run.next_step().unwrap()), (0.5, 3));
}

#[test]
fn a_run_that_is_stopped_or_ended_from_outside_returns_its_control() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let run = resumed(&engine);
    let outside = engine.task("t").unwrap();
    let control = run.drive(|_| outside.control().change(RunControl::Stopped, None).map(|_| ()));
    assert_eq!(control.unwrap(), RunControl::Stopped);
    let run = resumed(&engine);
    let control = run.drive(|_| outside.control().change(RunControl::Idle, None).map(|_| ()));
    assert_eq!(control.unwrap(), RunControl::Idle);
}

#[test]
fn a_run_that_is_paused_in_its_last_step_ends_when_it_is_resumed() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let run = resumed(&engine);
    let outside = engine.task("t").unwrap();
    std::thread::scope(|scope| {
        let (sender, paused) = std::sync::mpsc::channel();
        scope.spawn(move || {
            let outside: Task = paused.recv().unwrap();
            outside.control().change(RunControl::Running, None).unwrap();
        });
        let control = run.drive(|step| {
            outside.control().change(RunControl::Paused, None)?;
            step.end_run();
            sender.send(outside.clone()).unwrap();
            Ok::<_, Error>(())
        });
        assert_eq!(control.unwrap(), RunControl::Idle);
    });
    assert_eq!(finished(&run.task()), [1]);
}

#[test]
fn guidance_is_read_by_one_step_that_ends_well() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let run = resumed(&engine);
    let read = |run: &Run| -> Vec<String> {
        run.new_guidance().unwrap().into_iter().map(|guidance| guidance.given.text).collect()
    };
    run.guide("shorter").unwrap();
    let failed = run.drive(|_| {
        assert_eq!(read(&run), ["shorter"]);
        assert!(read(&run).is_empty(), "once a step");
        Err(Error::invalid("it failed"))
    });
    assert!(failed.is_err());
    run.drive(|step| {
        match step.number() {
            1 => assert_eq!(read(&run), ["shorter"], "the step that read it failed"),
            2 => {
                assert!(read(&run).is_empty());
                run.guide("funnier")?;
                step.end_run();
            }
            _ => unreachable!(),
        }
        Ok::<_, Error>(())
    })
    .unwrap();
    drop(run);
    // Another process: what an ended step has read is read.
    let run = resumed(&engine);
    assert_eq!(read(&run), ["funnier"]);
    // Back before the end of the step that read the first one: it is new again.
    engine.restore(&engine.point("t/0@3").unwrap()).run().unwrap();
    let run = resumed(&engine);
    assert_eq!(read(&run), ["shorter"]);
}

#[test]
fn a_task_of_another_user_is_not_resumed() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    engine.start_task("t", "bob").unwrap();
    let refused = Run::resume_or_start(&engine, "t", "ana", RunOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert_eq!(format!("{refused:?}"), "the task `t` is bob's, not ana's (Conflict)");
}
