//! Interventions in a run: pauses with guidance and edits, stops, restores.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;

use milepost::events::{ArtifactsEdited, LineageType, RunControl};
use milepost::state::StepStatus;
use milepost::{Engine, ErrorKind, Json, LineageId, Mark, Options, Task};
use milepost_example_prompts::{End, Optimizer, Place, Told, View, guide, options, propose};
use milepost_runtime::run::Run;

use crate::{
    LAYERS, ROUNDS, answers, at, at_the_end_of, end, engine, go, new_run, run_again, uninterrupted,
};

/// Lets a run go to its end, and another thread act on the task while it is paused behind a layer.
fn pause_behind(engine: &Engine, run: &Run, behind: Place, act: impl Fn(&Task) + Send) {
    let (reached, at_place) = mpsc::channel();
    let (paused, go_on) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            at_place.recv().unwrap();
            let task = engine.task("prompts").unwrap();
            task.control().change(RunControl::Paused, Some("let me look")).unwrap();
            paused.send(()).unwrap();
            let head = task.head().unwrap();
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(task.head().unwrap(), head, "it waits");
            act(&task);
            task.control().change(RunControl::Running, None).unwrap();
        });
        let mut optimizer = Optimizer::take_up(engine, run).unwrap().tell(|told| {
            if matches!(told, Told::Finished { place, .. } if *place == behind) {
                reached.send(()).unwrap();
                go_on.recv().unwrap();
            }
            Ok(())
        });
        assert_eq!(optimizer.go().unwrap(), End::Done);
    });
}

#[test]
fn criterion_8_guidance_and_edits_of_a_pause_are_in_the_next_checkpoint_and_back_after_a_restore() {
    const BY_HAND: &str = "Answer first. Promise nothing. Name the page.";
    let (engine, _) = engine();
    let run = new_run(&engine);
    let behind = Place::of_step(1);
    pause_behind(&engine, &run, behind, |task| {
        guide(task, "shorter").unwrap();
        propose(&engine, task, BY_HAND).unwrap();
        task.checkpoint(Mark::new().label("paused")).unwrap();
    });
    let (mark, view) = at_the_end_of(&engine, 2);
    assert_eq!(view.guidance, ["shorter"]);
    assert_eq!(view.candidates[0], BY_HAND, "and behind it those of the model");
    let longest = view.candidates[1..].iter().map(|p| p.split(' ').count()).max();
    assert!(longest.unwrap() < 13, "{:?}", view.candidates);
    assert_eq!(at(&engine, &mark).control, RunControl::Running);
    let (_, chosen) = at_the_end_of(&engine, 4);
    assert_eq!(chosen.prompt, BY_HAND, "it was the best one");

    let finished = end(&engine);
    let point = engine.point(&format!("@{}", mark.id)).unwrap();
    engine.restore(&point).description("look again").run().unwrap();
    let run = run_again(&engine);
    assert_eq!(View::of(&engine, &run).unwrap(), view);
    go(&engine, &run);
    assert_eq!(end(&engine), finished, "it goes the same way again");

    // A checkpoint in the pause has the pause too: after a restore to it the run has to be resumed.
    let point = engine.point("prompts/0@paused").unwrap();
    let task = engine.restore(&point).run().unwrap();
    assert_eq!(task.control().now().unwrap(), RunControl::Paused);
    let paused = View::of(&engine, &run_again(&engine)).unwrap();
    assert_eq!(
        (paused.guidance, paused.candidates),
        (vec!["shorter".into()], vec![BY_HAND.into()])
    );
    task.control().change(RunControl::Running, None).unwrap();
    go(&engine, &run_again(&engine));
    assert_eq!(end(&engine), finished);
}

#[test]
fn a_pause_that_nobody_resumed_is_there_for_the_process_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let engine = Engine::open(&store, Options::default()).unwrap();
    let run = new_run(&engine);
    run.begin().unwrap();
    run.pause("lunch").unwrap();
    guide(&run.task(), "shorter").unwrap();
    drop(run);
    engine.close().unwrap();
    let engine = Engine::open(&store, Options::default()).unwrap();
    let run = run_again(&engine);
    assert_eq!(run.task().control().now().unwrap(), RunControl::Paused);
    std::thread::scope(|scope| {
        let going = scope.spawn(|| Optimizer::take_up(&engine, &run).unwrap().go());
        run.resume().unwrap();
        assert_eq!(going.join().unwrap().unwrap(), End::Done);
    });
    assert_ne!(end(&engine), uninterrupted().0, "the guidance was heard");
}

#[test]
fn one_that_is_stopped_comes_back_and_goes_on_when_it_is_taken_up_again() {
    let (engine, _) = engine();
    let run = new_run(&engine);
    let mut optimizer = Optimizer::take_up(&engine, &run).unwrap().tell(|told| {
        if let Told::Finished { place, .. } = told
            && *place == Place::of_step(5)
        {
            run.stop("enough")?;
        }
        Ok(())
    });
    assert_eq!(optimizer.go().unwrap(), End::Stopped(RunControl::Stopped));
    assert_eq!(optimizer.view().unwrap().next(), Some(Place::of_step(6)));
    drop(optimizer);
    assert_eq!(go(&engine, &run).len() as u64, ROUNDS * LAYERS - 5);
    assert_eq!((end(&engine), answers(&run.task())), uninterrupted());
}

#[test]
fn a_rollback_with_other_guidance_goes_another_way_and_can_be_undone() {
    let (engine, _) = engine();
    let first = new_run(&engine);
    go(&engine, &first);
    let (long, points) = end(&engine);
    let (mark, of_round_1) = at_the_end_of(&engine, LAYERS);
    let head = first.task().head().unwrap();

    let point = engine.point(&format!("@{}", mark.id)).unwrap();
    let task = engine.restore(&point).description("shorter").run().unwrap();
    guide(&task, "shorter").unwrap();
    let second = run_again(&engine);
    assert_eq!(View::of(&engine, &second).unwrap().prompt, of_round_1.prompt);
    go(&engine, &second);
    let (short, better) = end(&engine);
    assert!(short.starts_with(&of_round_1.prompt) && short.len() < long.len(), "{short}");
    assert!(better > points, "{better:?} {points:?}");
    let lineages = task.lineages().unwrap();
    let types: BTreeMap<_, _> = lineages.iter().map(|l| (l.id.0, l.lineage_type)).collect();
    let expected = [(0, LineageType::Root), (1, LineageType::Restore)];
    assert_eq!(types, BTreeMap::from(expected));

    engine.undo("prompts").run().unwrap();
    assert_eq!(end(&engine), (long, points));
    assert_eq!(engine.task("prompts").unwrap().head().unwrap(), head);
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

#[test]
fn somebody_who_goes_back_in_the_middle_of_a_layer_takes_the_optimizer_along() {
    let (expected, _) = uninterrupted();
    let (engine, _) = engine();
    let run = new_run(&engine);
    let (mut back, mut went) = (None, Vec::new());
    let mut optimizer = Optimizer::take_up(&engine, &run).unwrap().tell(|told| {
        match told {
            Told::Finished { place, checkpoint, .. } if *place == Place::of_step(4) => {
                back = checkpoint.map(|mark| mark.id)
            }
            Told::Answered(place) if *place == Place::of_step(7) => {
                if let Some(id) = back.take() {
                    engine.restore(&engine.point(&format!("@{id}"))?).run()?;
                }
            }
            Told::Elsewhere(lineage) => went.push(*lineage),
            _ => {}
        }
        Ok(())
    });
    assert_eq!(optimizer.go().unwrap(), End::Done);
    drop(optimizer);
    assert_eq!(went, [LineageId(1)]);
    assert_eq!(end(&engine), expected);
    let old = run.task().lineage_named(LineageId(0)).unwrap();
    let point = old.point(old.head().unwrap().next).unwrap();
    let left = engine.run_state(&point).unwrap().step.unwrap();
    assert_eq!((left.number, left.status), (7, StepStatus::Running));
}

#[test]
fn an_artifact_that_was_edited_into_something_else_is_an_error_that_says_what_to_do() {
    let (engine, _) = engine();
    let run = new_run(&engine);
    let number = Json::from_value(&7).unwrap();
    let artifacts = BTreeMap::from([("candidate_prompts".to_owned(), number)]);
    run.append(ArtifactsEdited { artifacts }).unwrap();
    let error = Optimizer::take_up(&engine, &run).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let said = error.to_string();
    assert!(said.contains("`candidate_prompts`") && said.contains("edit it again"), "{said}");
    let task = engine.start_task("other", "ana").unwrap();
    let other = Run::of(task, options().autosave_after(None)).unwrap();
    let error = Optimizer::take_up(&engine, &other).unwrap_err();
    assert!(error.to_string().contains("has no prompt"), "{error}");
}
