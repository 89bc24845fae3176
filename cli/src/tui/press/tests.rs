//! Tests: keys, and what they do.

use milepost_api::Big;

use super::*;
use crate::tui::plan::ActionPlan;
use crate::tui::testing::{turns, turns_of_steps, view};

fn opened() -> App {
    let mut app = App::new();
    let mut view = view("essay", 30);
    view.take_turns(0, turns(0, 10, 10));
    app.open(view);
    app
}

fn asked() -> App {
    let mut app = opened();
    app.plan = Some(ActionPlan::new(Deed::RollBack, "essay/0@3".into()));
    app
}

#[test]
fn only_a_clear_yes_does_what_was_asked() {
    for strokes in [
        vec![Stroke::Enter],
        vec![Stroke::Esc],
        vec![Stroke::Char('n')],
        vec![Stroke::Char('f'), Stroke::Enter],
        vec![Stroke::Text("y".into()), Stroke::Enter],
        vec![Stroke::Tab, Stroke::Left, Stroke::Enter],
    ] {
        let mut app = asked();
        strokes.iter().for_each(|stroke| assert!(!app.press(stroke.clone())));
        let has_done = app.doing.is_some() || app.asked.contains(&Request::Act);
        assert!(!has_done && app.plan.is_none(), "{strokes:?}");
    }
    for strokes in [vec![Stroke::Char('y')], vec![Stroke::Right, Stroke::Enter]] {
        let mut app = asked();
        strokes.iter().for_each(|stroke| assert!(!app.press(stroke.clone())));
        assert_eq!(app.doing.as_ref().map(|plan| &plan.deed), Some(&Deed::RollBack));
        assert_eq!(app.next_request(), Some(Request::Act), "{strokes:?}");
    }
}

#[test]
fn each_action_asks_for_its_plan_first() {
    for (key, deed) in [('f', Deed::Fork), ('r', Deed::RollBack), ('u', Deed::Undo(None))] {
        let mut app = opened();
        app.press(Stroke::Char(key));
        assert_eq!(app.asked, [Request::Plan(deed)]);
        assert!(app.doing.is_none());
    }
    let mut app = opened();
    app.press(Stroke::Char('a'));
    app.press(Stroke::Text("good".into()));
    app.press(Stroke::Enter);
    assert_eq!(app.asked, [Request::Plan(Deed::Mark("good".into()))]);
    let mut app = opened();
    app.press(Stroke::Char('S'));
    app.press(Stroke::Enter);
    let Some(Request::Plan(Deed::Share(path))) = app.next_request() else { panic!("no plan") };
    assert!(path.extension().is_some_and(|end| end == "html"), "{path:?}");
}

#[test]
fn no_key_works_while_a_text_is_typed_but_the_end() {
    let mut app = opened();
    app.press(Stroke::Char('/'));
    for key in "rufp?.q".chars() {
        app.press(Stroke::Char(key));
    }
    assert_eq!(app.prompt.as_ref().map(|prompt| prompt.typed.as_str()), Some("rufp?.q"));
    assert!(app.asked.is_empty());
    assert!(app.press(Stroke::Quit));
}

#[test]
fn esc_leaves_a_search_then_a_pane_then_the_screen_then_the_view() {
    let mut app = opened();
    app.press(Stroke::Enter);
    app.press(Stroke::Char('e'));
    assert!(app.task.as_ref().is_some_and(|view| view.hunt.is_some()));
    let state = |app: &App| {
        let view = app.task.as_ref().unwrap();
        (view.hunt.is_some(), view.pane, app.place())
    };
    let mut seen = Vec::new();
    for _ in 0..3 {
        assert!(!app.press(Stroke::Esc));
        seen.push(state(&app));
    }
    let expected = [
        (false, Pane::Document, Place::Task),
        (false, Pane::List, Place::Task),
        (false, Pane::List, Place::Tasks),
    ];
    assert_eq!(seen, expected);
    assert!(!app.press(Stroke::Left), "only Esc ends the view");
    assert!(app.press(Stroke::Esc));
}

#[test]
fn a_lineage_is_compared_with_a_chosen_one() {
    let mut app = opened();
    app.press(Stroke::Char('c'));
    assert_eq!(app.place(), Place::Task, "nothing is chosen");
    app.press(Stroke::Char('x'));
    app.press(Stroke::Char(']'));
    app.press(Stroke::Char('c'));
    let compared = app.compare.map(|compare| compare.addresses);
    assert_eq!(compared, Some(["essay/0@30".to_owned(), "essay/1@22".to_owned()]));
}

/// The chosen row of the list of steps: the turn, and the event of an open one.
fn chosen(app: &App) -> (u64, Option<u64>) {
    let cursor = app.task.as_ref().unwrap().steps.cursor;
    (cursor.turn, cursor.event)
}

fn pane(app: &App) -> Pane {
    app.task.as_ref().unwrap().pane
}

/// A task whose steps have three turns each.
fn in_steps() -> App {
    let mut app = opened();
    let view = app.task.as_mut().unwrap();
    view.steps.clear();
    view.take_place(&turns_of_steps(0, 1, 10, 3));
    view.take_turns(0, turns_of_steps(0, 10, 10, 3));
    view.go_end(false);
    app
}

#[test]
fn enter_opens_a_turn_into_its_events_and_then_leads_to_the_document() {
    for open in [Stroke::Enter, Stroke::Right] {
        let mut app = in_steps();
        app.press(Stroke::Char('j'));
        app.press(open.clone());
        assert_eq!((chosen(&app), pane(&app)), ((1, None), Pane::List));
        app.press(Stroke::Char('j'));
        assert_eq!(chosen(&app), (1, Some(3)));
        assert_eq!(app.address().as_deref(), Some("essay/0@3"));
        app.press(Stroke::Down);
        app.press(Stroke::Down);
        app.press(Stroke::Char('j'));
        assert_eq!(chosen(&app), (2, None), "behind the events is the next turn");
        app.press(Stroke::Char('k'));
        assert_eq!(chosen(&app), (1, Some(5)));
        app.press(Stroke::Char('K'));
        assert_eq!(chosen(&app), (1, None), "the beginning of the turn");
        app.press(open.clone());
        assert_eq!(pane(&app), Pane::Document, "the turn is open already");
        app.press(Stroke::Left);
        assert_eq!((chosen(&app), pane(&app)), ((1, None), Pane::List));
    }
}

#[test]
fn left_leaves_the_events_then_the_turn_then_the_step_then_the_task() {
    let mut app = in_steps();
    for key in [Stroke::Char('J'), Stroke::Enter, Stroke::Down, Stroke::Left] {
        app.press(key);
    }
    let is_open = |app: &App| app.task.as_ref().unwrap().steps.is_open(1);
    assert_eq!((chosen(&app), is_open(&app)), ((1, None), true));
    app.press(Stroke::Left);
    assert_eq!((chosen(&app), is_open(&app)), ((1, None), false));
    // The step has to be read to its end first, and Esc stops that.
    app.press(Stroke::Left);
    let hunt = app.task.as_ref().unwrap().hunt.clone();
    let hunt = hunt.expect("the end of the step is looked for");
    assert_eq!(hunt.what, HuntFor::StepEnd { step: Big(1), first: 0 });
    app.press(Stroke::Esc);
    assert_eq!(app.task.as_ref().unwrap().hunt, None);
    app.task.as_mut().unwrap().fold_step(Big(1), 0, 2);
    assert_eq!(chosen(&app), (0, None));
    app.press(Stroke::Char('j'));
    assert_eq!(chosen(&app), (3, None), "the turns of the folded step are not in the list");
    app.press(Stroke::Char('k'));
    app.press(Stroke::Enter);
    app.press(Stroke::Char('j'));
    assert_eq!(chosen(&app), (1, None), "the step is unfolded");
    app.press(Stroke::Char('k'));
    app.task.as_mut().unwrap().fold_step(Big(1), 0, 2);
    app.press(Stroke::Left);
    assert_eq!(app.place(), Place::Tasks);
}
