//! Automatic checkpoints, the state there, and failed saves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use milepost::events::{
    ArtifactsEdited, GuidanceGiven, MarkCause, MarkStatus, PromptChanged, RulesChanged, RunControl,
    StepFailed, StepFinished, StepStarted,
};
use milepost::hooks::{Alert, AlertKind};
use milepost::query::CheckpointQuery;
use milepost::{Engine, ErrorKind, Hook, Json, Mark, Options, Task};
use milepost_runtime::run::{
    EveryPhase, EverySteps, FailedSave, Risk, RunOptions, Trigger, TriggerContext,
};

use crate::run::{MINUTE, engine, run};

fn finished(step: u64) -> StepFinished {
    StepFinished { step, ..Default::default() }
}

#[test]
fn each_finished_layer_is_a_checkpoint_with_everything_in_the_state_there() {
    let (engine, _) = engine();
    let options = RunOptions::default().correlation("req-7").actor("optimizer");
    let run = run(&engine, options);
    run.begin().unwrap();
    let prompt = "Answer in one line.".to_owned();
    run.append(PromptChanged { prompt }).unwrap();
    let rules = Json::new(r#"{"style": "short"}"#).unwrap();
    run.append(RulesChanged { rules: rules.clone() }).unwrap();
    let artifacts = [("patterns", r#"["greeting"]"#), ("candidate_prompts", r#"["Say hi."]"#)]
        .map(|(name, json)| (name.to_owned(), Json::new(json).unwrap()));
    let artifacts = ArtifactsEdited { artifacts: artifacts.into() };
    run.append(artifacts).unwrap();
    let mut marks = Vec::new();
    for (layer, phase) in (1..).zip(["patterns", "candidates", "evaluation", "selection"]) {
        assert!(run.enter_phase(phase, 1).unwrap().is_none());
        run.start_step(StepStarted { step: layer, ..Default::default() }).unwrap();
        if layer == 2 {
            let (text, data) = ("keep it short".to_owned(), None);
            engine.task("t").unwrap().append(GuidanceGiven { text, data }).unwrap();
        }
        let commits = engine.store().stats().unwrap().seq;
        marks.push(run.finish_step(finished(layer)).unwrap().unwrap());
        assert_eq!(engine.store().stats().unwrap().seq, commits + 1, "one sync");
    }
    let last = marks.last().unwrap();
    assert_eq!((last.cause, last.status), (MarkCause::Step, MarkStatus::Success));
    let point = engine.point(&format!("@{}", last.id)).unwrap();
    let state = engine.run_state(&point).unwrap();
    assert_eq!(state.control, RunControl::Running);
    assert_eq!(state.iteration, 1);
    assert_eq!(state.phase.as_deref(), Some("selection"));
    assert_eq!(state.previous_phase.as_deref(), Some("evaluation"));
    assert_eq!(state.prompt.as_deref(), Some("Answer in one line."));
    assert_eq!(state.rules, Some(rules));
    assert_eq!(state.artifacts.len(), 2);
    assert_eq!(state.guidance.len(), 1);
    assert_eq!(state.step.unwrap().number, 4);
    // Task, branch, parent, time and checksum are the checkpoint's own.
    assert_eq!((last.task.as_str(), last.lineage.0), ("t", 0));
    assert_eq!(last.parent, Some(marks[marks.len() - 2].id));
    assert_eq!(last.time_us, 1_700_000_000_000_000);
    let listed = engine.query().checkpoints(&CheckpointQuery::default()).unwrap();
    let listed: Vec<_> = listed.items.iter().map(|mark| mark.id).collect();
    marks.reverse();
    assert_eq!(listed, marks.iter().map(|mark| mark.id).collect::<Vec<_>>());
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
    // The run's correlation id and actor are on each event that has none of its own.
    let events = run.task().read(1..).unwrap().map(|event| event.unwrap().header);
    let strange = events.filter(|header| header.correlation.as_deref() != Some("req-7"));
    assert_eq!(strange.count(), 1, "the guidance came from elsewhere");
}

#[test]
fn every_n_steps_a_checkpoint_is_marked_failed_steps_count() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default().policy(EverySteps(3)));
    let mut marks = Vec::new();
    for step in 1..=7 {
        let marked = match step {
            6 => run.fail_step(StepFailed { step, error: "no".into() }),
            _ => run.finish_step(finished(step)),
        };
        marks.push(marked.unwrap().map(|mark| mark.status));
    }
    let (ok, bad) = (Some(MarkStatus::Success), Some(MarkStatus::Failure));
    assert_eq!(marks, [None, None, ok, None, None, bad, None]);
    assert_eq!(run.stats().saved, 2);
    // One that is marked by hand begins the count anew.
    run.checkpoint(Mark::new()).unwrap();
    assert!(run.finish_step(finished(8)).unwrap().is_none());
}

#[test]
fn by_risk_two_reasons_mark_a_checkpoint_and_it_takes_them_back() {
    let (engine, clock) = engine();
    let run = run(&engine, RunOptions::default().policy(Risk::default()));
    run.checkpoint(Mark::new()).unwrap();
    run.touched(6, false);
    assert!(run.finish_step(finished(1)).unwrap().is_none(), "files alone");
    run.ask_for_checkpoint();
    assert!(run.finish_step(finished(2)).unwrap().is_some(), "and asked for");
    run.touched(0, true);
    assert!(run.finish_step(finished(3)).unwrap().is_none(), "destructive alone");
    clock.advance(5 * MINUTE + 1);
    assert!(run.finish_step(finished(4)).unwrap().is_some(), "and a long time");
    assert!(run.finish_step(finished(5)).unwrap().is_none(), "all is taken back");
}

#[test]
fn a_policy_of_the_embedder_sees_what_happened() {
    let (engine, clock) = engine();
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let policy = move |moment: &TriggerContext| {
        told.lock().unwrap().push(moment.clone());
        moment.occasion == Trigger::StepFailed
    };
    let run = run(&engine, RunOptions::default().policy(policy));
    run.touched(2, true);
    run.finish_step(finished(1)).unwrap();
    run.fail_step(StepFailed { step: 2, error: "no".into() }).unwrap();
    clock.advance(7);
    run.enter_phase("next", 1).unwrap();
    let seen = seen.lock().unwrap();
    let brief =
        |moment: &TriggerContext| (moment.occasion, moment.steps, moment.files, moment.since_us);
    let brief: Vec<_> = seen.iter().map(brief).collect();
    let expected = [
        (Trigger::StepFinished, 1, 2, None),
        (Trigger::StepFailed, 2, 2, None),
        (Trigger::PhaseChanged, 0, 0, Some(7)),
    ];
    assert_eq!(brief, expected);
}

/// Refuses checkpoints on request, and counts alerts.
#[derive(Default)]
struct Refusing {
    refuse: AtomicBool,
    alerts: AtomicU64,
}

impl Hook for Refusing {
    fn name(&self) -> &str {
        "refusing"
    }

    fn before_checkpoint(&self, _: &Task, _: &Mark) -> Result<(), String> {
        match self.refuse.load(Ordering::Relaxed) {
            true => Err("the disk is full".into()),
            false => Ok(()),
        }
    }

    fn on_alert(&self, alert: &Alert) {
        assert_eq!(alert.kind, AlertKind::SaveFailed);
        assert_eq!(alert.task.as_deref(), Some("t"));
        assert!(alert.message.contains("the disk is full"), "{alert:?}");
        self.alerts.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_failed_save_comes_back_or_is_alerted_and_the_run_goes_on() {
    for go_on in [false, true] {
        let hook = Arc::new(Refusing::default());
        let options = Options::default().hook(hook.clone());
        let engine = Engine::in_memory(options).unwrap();
        let failed_save = if go_on { FailedSave::Continue } else { FailedSave::Stop };
        let run = run(&engine, RunOptions::default().failed_save(failed_save));
        hook.refuse.store(true, Ordering::Relaxed);
        let saved = run.finish_step(finished(1));
        if go_on {
            assert!(saved.unwrap().is_none());
        } else {
            assert_eq!(saved.unwrap_err().kind(), ErrorKind::Invalid);
        }
        let expected = u64::from(go_on);
        assert_eq!(run.stats().failed_saves, expected);
        assert_eq!(hook.alerts.load(Ordering::Relaxed), expected);
        // If the run continues, the step is there; else it is missing, and can be tried again.
        hook.refuse.store(false, Ordering::Relaxed);
        let step = run.state().unwrap().step.map(|step| step.number);
        assert_eq!(step, go_on.then_some(1));
        assert!(run.finish_step(finished(2)).unwrap().is_some());
    }
}

#[test]
fn what_was_gathered_before_a_restore_counts_no_more() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default().policy(EverySteps(2)));
    let good = run.checkpoint(Mark::new().label("good")).unwrap();
    run.begin().unwrap();
    run.finish_step(finished(1)).unwrap();
    engine.restore(&engine.point("t@good").unwrap()).run().unwrap();
    run.safe_point().unwrap();
    assert!(run.finish_step(finished(1)).unwrap().is_none(), "the first one here");
    let second = run.finish_step(finished(2)).unwrap().unwrap();
    assert_eq!(second.parent, Some(good.id));
    assert_eq!(run.stats().saved, 2, "counts go on");
}

#[test]
fn a_checkpoint_of_another_handle_counts_like_one_of_the_run() {
    let (engine, clock) = engine();
    let run = run(&engine, RunOptions::default().policy(EverySteps(2)));
    run.finish_step(finished(1)).unwrap();
    clock.advance(MINUTE);
    engine.task("t").unwrap().checkpoint(Mark::new()).unwrap();
    assert!(run.finish_step(finished(2)).unwrap().is_none(), "the first behind it");
    let mark = run.finish_step(finished(3)).unwrap().unwrap();
    assert_eq!(run.stats().saved, 1);
    // Lists can be filtered by the step.
    let query =
        CheckpointQuery { filter: vec![("step".into(), 3.into())], ..CheckpointQuery::default() };
    let found = engine.query().checkpoints(&query).unwrap().items;
    assert_eq!(found.iter().map(|m| m.id).collect::<Vec<_>>(), [mark.id]);
}

#[test]
fn each_change_of_phase_is_a_checkpoint_where_layers_are_phases() {
    let (engine, _) = engine();
    let run = run(&engine, RunOptions::default().policy(EveryPhase));
    assert!(run.finish_step(finished(1)).unwrap().is_none());
    let mark = run.enter_phase("next", 4).unwrap().unwrap();
    let metadata = mark.metadata.unwrap().value().unwrap();
    assert_eq!((&metadata["phase"], &metadata["iteration"]), (&"next".into(), &4.into()));
}
