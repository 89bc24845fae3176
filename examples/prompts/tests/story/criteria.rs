//! The acceptance criteria of checkpoints that save themselves, by their numbers. The eighth is in
//! `people.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost::events::{LineageType, MarkCause, RunControl};
use milepost::hooks::{Alert, AlertKind};
use milepost::query::CheckpointQuery;
use milepost::state::{RunReducer, StepStatus};
use milepost::{Engine, Hook, LineageId, Mark, Options, Task};
use milepost_example_prompts::{End, Layer, Optimizer, Told, View, guide, options, propose, start};
use milepost_runtime::run::Run;

use crate::killed::killed;
use crate::{
    LAYERS, ROUNDS, answers, at, brief, checkpoints, end, engine, go, new_run, uninterrupted,
};

const MINUTE: u64 = 60 * 1_000_000;

#[test]
fn criterion_1_each_finished_layer_is_a_checkpoint_that_a_kill_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    // Each process finishes one layer and is killed in the middle of the next one.
    for layers in 1..=LAYERS {
        killed(&store, 1);
        let engine = Engine::open(&store, Options::default()).unwrap();
        let newest = checkpoints(&engine, 1000);
        let state = |mark| at(&engine, mark).step.map(|step| (step.number, step.status));
        let ends = newest.iter().filter_map(state);
        let ends = ends.filter(|(_, status)| *status == StepStatus::Finished);
        let mut ends: Vec<_> = ends.map(|(step, _)| step).collect();
        ends.dedup();
        assert_eq!(ends, (1..=layers).rev().collect::<Vec<_>>());
        assert!(newest.iter().all(|mark| mark.cause == MarkCause::Step));
        engine.close().unwrap();
    }
}

#[test]
fn criterion_2_a_checkpoint_has_the_whole_state_and_its_id_verifies() {
    let (engine, _) = engine();
    let run = new_run(&engine);
    let ends = go(&engine, &run);
    assert_eq!(ends.len() as u64, ROUNDS * LAYERS);
    let (place, mark) = &ends[6];
    assert_eq!((place.round, place.layer), (2, Layer::Evaluate));

    let state = at(&engine, mark);
    assert_eq!(state.iteration, 2);
    assert_eq!(state.phase.as_deref(), Some("evaluating"));
    assert_eq!(state.previous_phase.as_deref(), Some("generating"));
    assert_eq!(state.control, RunControl::Running);
    let view = View::at(&engine, state.clone()).unwrap();
    assert!(view.prompt.starts_with("Help the customer. "), "a better one");
    assert_eq!(view.rules.learned.len(), 1, "of round 1");
    assert_eq!((view.patterns.len(), view.candidates.len()), (3, 4));
    let names: Vec<_> = state.artifacts.keys().map(String::as_str).collect();
    assert_eq!(names, ["candidate_prompts", "patterns"]);
    assert!(view.guidance.is_empty());

    // Task, branch, parent, lineage type, time and checksum are the checkpoint's own.
    assert_eq!((mark.task.as_str(), mark.lineage), ("prompts", LineageId(0)));
    let before = checkpoints(&engine, 1000);
    let before = before.iter().find(|other| other.mark < mark.mark).unwrap();
    assert_eq!(mark.parent, Some(before.id), "the one of the layer before");
    assert_eq!(mark.time_us, 1_700_000_000_000_000);
    let lineages = run.task().lineages().unwrap();
    assert_eq!(lineages[0].lineage_type, LineageType::Root);
    assert_eq!(mark.id.to_string().len(), 64, "SHA-256");
    let report = engine.integrity().verify(Some("prompts"), &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.checkpoints, checkpoints(&engine, 1000).len() as u64);
    // Each event that the run recorded has its actor and its correlation id.
    for event in run.task().read(1..).unwrap() {
        let header = event.unwrap().header;
        assert_eq!(header.actor.as_deref(), Some("optimizer"));
        assert_eq!(header.correlation.as_deref(), Some("req-7"));
    }
}

#[test]
fn criterion_3_of_more_than_ten_states_the_old_ones_are_let_go_of_and_are_there_all_the_same() {
    let (engine, _) = engine();
    go(&engine, &new_run(&engine));
    let marks = checkpoints(&engine, 1000);
    assert_eq!(marks.len() as u64, ROUNDS * LAYERS);
    for mark in marks.iter().rev().chain(&marks) {
        let point = engine.point(&format!("@{}", mark.id)).unwrap();
        assert_eq!(at(&engine, mark), engine.state(&RunReducer, &point).unwrap());
        assert!(engine.store().stats().unwrap().kept.states <= 10);
    }
    let kept = engine.store().stats().unwrap().kept;
    assert_eq!(kept.states, 10);
    assert!(kept.evictions >= marks.len() as u64 - 10, "{kept:?}");
    assert!(kept.bytes > 0, "{kept:?}");
}

#[test]
fn criterion_4_five_minutes_after_the_last_pause_resume_or_edit_an_idle_run_is_saved() {
    let (engine, clock) = engine();
    let task = start(&engine, "prompts", "ana", &brief()).unwrap();
    // The test looks: the run's own thread does in half a minute.
    let run = Run::of(task.clone(), options()).unwrap();
    let saved = || run.autosave().unwrap().map(|mark| mark.cause);
    run.begin().unwrap();
    clock.advance(60 * MINUTE);
    assert_eq!(saved(), None, "it is going");
    let acts: [&dyn Fn(); 5] = [
        &|| run.pause("let me look").unwrap(),
        &|| propose(&engine, &task, "By hand.").unwrap(),
        &|| guide(&task, "shorter").unwrap(),
        &|| run.resume().unwrap(),
        &|| run.pause("once more").unwrap(),
    ];
    for act in acts {
        act();
        assert_eq!(saved(), None, "the clock began again");
        clock.advance(4 * MINUTE);
        assert_eq!(saved(), None, "too early");
    }
    clock.advance(MINUTE);
    assert_eq!(saved(), Some(MarkCause::Idle));
    clock.advance(60 * MINUTE);
    assert_eq!(saved(), None, "nothing is unsaved");
    // The checkpoint contains the person's change.
    let view = View::at(&engine, at(&engine, &checkpoints(&engine, 1)[0])).unwrap();
    assert_eq!((view.candidates, view.guidance), (vec!["By hand.".into()], vec!["shorter".into()]));
}

/// Refuses each checkpoint, and counts alerts.

#[derive(Default)]
struct Refusing {
    alerts: AtomicU64,
}

impl Hook for Refusing {
    fn name(&self) -> &str {
        "refusing"
    }

    fn before_checkpoint(&self, _: &Task, _: &Mark) -> Result<(), String> {
        Err("the disk is full".into())
    }

    fn on_alert(&self, alert: &Alert) {
        assert_eq!(alert.kind, AlertKind::SaveFailed);
        assert_eq!(alert.task.as_deref(), Some("prompts"));
        assert!(alert.message.contains("the disk is full"), "{alert:?}");
        self.alerts.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn criteria_5_and_6_saves_that_fail_are_alerted_and_stop_nothing() {
    let hook = Arc::new(Refusing::default());
    let engine = Engine::in_memory(Options::default().hook(hook.clone())).unwrap();
    let run = new_run(&engine);
    let mut unsaved = 0;
    let mut optimizer = Optimizer::take_up(&engine, &run).unwrap().tell(|told| {
        if let Told::Finished { checkpoint, .. } = told {
            unsaved += u64::from(checkpoint.is_none());
        }
        Ok(())
    });
    assert_eq!(optimizer.go().unwrap(), End::Done);
    drop(optimizer);
    assert_eq!(unsaved, ROUNDS * LAYERS);
    let expected = ROUNDS * LAYERS;
    assert_eq!(run.stats().failed_saves, expected);
    assert_eq!(hook.alerts.load(Ordering::Relaxed), expected);
    assert_eq!(checkpoints(&engine, 1000), []);
    // The work is there, and it is the same.
    assert_eq!((end(&engine), answers(&run.task())), uninterrupted());
}

#[test]
fn criterion_7_checkpoints_are_listed_newest_first_each_with_its_checksum() {
    let (engine, clock) = engine();
    let run = new_run(&engine);
    let mut ends = Vec::new();
    let mut optimizer = Optimizer::take_up(&engine, &run).unwrap().tell(|told| {
        clock.advance(1);
        if let Told::Finished { checkpoint, .. } = told {
            ends.push(checkpoint.unwrap().id);
        }
        Ok(())
    });
    optimizer.go().unwrap();
    drop(optimizer);
    let listed = checkpoints(&engine, 1000);
    assert!(listed.windows(2).all(|two| two[0].time_us > two[1].time_us));
    let ids: Vec<_> = listed.iter().map(|mark| mark.id).collect();
    let mut of_ends = ids.clone();
    of_ends.retain(|id| ends.contains(id));
    ends.reverse();
    assert_eq!(of_ends, ends);
    // Page by page it is the same list.
    let (mut paged, mut cursor) = (Vec::new(), None);
    loop {
        let query = CheckpointQuery {
            task: Some("prompts".into()),
            limit: Some(5),
            cursor,
            ..CheckpointQuery::default()
        };
        let page = engine.query().checkpoints(&query).unwrap();
        paged.extend(page.items.iter().map(|mark| mark.id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(paged, ids);
}
