//! Tests: sequences of keys, and their effect on the model.

use milepost::events::MarkStatus;

use super::super::testing::{checkpoint, page};
use super::*;

/// Returns a model of the tasks `a` and `b` with three checkpoints each, and more in the store.
fn model() -> Model {
    let mut list = List::of_store();
    for task in ["a", "b"] {
        list.add_store_page(page([9, 8, 7].map(|at| checkpoint(task, at)), Some("more")));
    }
    let mut model = Model::new(list, false, true);
    model.set_room(20, true);
    model
}

fn typed(model: &mut Model, text: &str) -> Option<End> {
    text.chars().find_map(|c| model.press(Stroke::Char(c)))
}

fn label(model: &Model) -> Option<&str> {
    model.chosen()?.label.as_deref()
}

fn restore(model: &Model, with_files: bool) -> Option<End> {
    let id = model.chosen().unwrap().id;
    Some(End::Restore { id, with_files })
}

#[test]
fn enter_on_current_changes_nothing() {
    assert_eq!(model().press(Stroke::Enter), Some(End::Unchanged));
}

#[test]
fn enter_asks_and_enter_or_y_restores() {
    for answer in [Stroke::Enter, Stroke::Char('y'), Stroke::Char('Y')] {
        let mut model = model();
        model.press(Stroke::Down);
        assert_eq!(model.press(Stroke::Enter), None);
        assert_eq!(model.mode, Mode::Asking);
        assert_eq!(model.press(Stroke::Char('x')), None);
        assert_eq!(model.press(answer), restore(&model, false));
    }
}

#[test]
fn esc_or_n_goes_back_to_the_list_and_esc_leaves_it() {
    for answer in [Stroke::Esc, Stroke::Char('n')] {
        let mut model = model();
        model.press(Stroke::Down);
        model.press(Stroke::Enter);
        assert_eq!(model.press(answer), None);
        assert_eq!(model.mode, Mode::Choosing);
        assert_eq!(label(&model), Some("a-9"));
        assert_eq!(model.press(Stroke::Esc), Some(End::Unchanged));
    }
}

#[test]
fn ctrl_c_leaves_from_everywhere() {
    for keys in [vec![], vec![Stroke::Char('?')], vec![Stroke::Down, Stroke::Enter]] {
        let mut model = model();
        assert!(keys.into_iter().all(|key| model.press(key).is_none()));
        assert_eq!(model.press(Stroke::Quit), Some(End::Unchanged));
    }
}

#[test]
fn where_yes_was_said_enter_restores() {
    let mut model = model();
    model.yes = true;
    assert_eq!(model.press(Stroke::Enter), Some(End::Unchanged));
    model.press(Stroke::Down);
    assert_eq!(model.press(Stroke::Enter), restore(&model, false));
}

#[test]
fn files_are_offered_where_some_were_captured_and_the_store_is_here() {
    for (has_files, can_files) in [(true, true), (true, false), (false, true)] {
        let mut model = model();
        model.can_files = can_files;
        model.press(Stroke::Down);
        model.press(Stroke::Enter);
        // Files are not offered before the preview is read.
        assert_eq!(model.press(Stroke::Char('f')), None);
        let preview = Preview { has_files, ..Preview::default() };
        model.previews.put(model.chosen().unwrap().id, preview);
        let expected = restore(&model, true).filter(|_| has_files && can_files);
        assert_eq!(model.press(Stroke::Char('f')), expected);
    }
}

#[test]
fn typing_chooses_the_first_match_and_clearing_keeps_it() {
    let mut model = model();
    typed(&mut model, "b 8");
    assert_eq!(label(&model), Some("b-8"));
    model.press(Stroke::Clear);
    assert_eq!((model.typed.as_str(), label(&model)), ("", Some("b-8")));
    assert_eq!(model.rows.items(), 6);
    model.press(Stroke::Text("a\n 7\n".into()));
    assert_eq!((model.typed.as_str(), label(&model)), ("a 7", Some("a-7")));
    model.press(Stroke::Erase);
    assert_eq!(label(&model), Some("a-9"));
}

#[test]
fn q_and_question_mark_are_typed_behind_other_letters() {
    let mut model = model();
    assert_eq!(typed(&mut model, "aq?"), None);
    assert_eq!((model.typed.as_str(), model.mode), ("aq?", Mode::Choosing));
    model.press(Stroke::Clear);
    assert_eq!(typed(&mut model, "?"), None);
    assert_eq!(model.mode, Mode::Helping);
    assert_eq!(model.press(Stroke::Esc), None);
    assert_eq!(typed(&mut model, "q"), Some(End::Unchanged));
}

#[test]
fn a_match_that_is_loaded_later_is_chosen_unless_somebody_chose() {
    let mut model = model();
    typed(&mut model, "c-4");
    assert_eq!(label(&model), None);
    assert_eq!(model.next_job(), Some(Job::StorePage));
    model.list.add_store_page(page([checkpoint("c", 4)], None));
    model.renew();
    assert_eq!(label(&model), Some("c-4"));
    model.press(Stroke::Home);
    model.renew();
    assert_eq!(label(&model), None);
}

#[test]
fn the_end_of_a_task_on_the_screen_is_loaded_before_what_it_says() {
    let mut model = model();
    model.set_room(3, true);
    assert_eq!(model.next_job(), Some(Job::TaskPage(0)));
    model.list.add_task_page(0, page([checkpoint("a", 7)], None));
    model.renew();
    assert_eq!(model.next_job(), Some(Job::About(0)));
    // Far from the end, no page is loaded.
    let older: Vec<_> = (10..99).map(|at| checkpoint("a", at)).collect();
    let mut list = List::of_store();
    list.add_store_page(milepost_api::Listed { items: older, next: Some("more".into()) });
    model.list = list;
    model.renew();
    assert_eq!(model.next_job(), Some(Job::About(0)));
    model.press(Stroke::End);
    assert_eq!(model.next_job(), Some(Job::TaskPage(0)));
}

#[test]
fn the_rows_on_the_screen_are_looked_up_and_then_the_preview() {
    let mut list = List::of_store();
    list.add_store_page(page([9, 8, 7].map(|at| checkpoint("a", at)), None));
    let mut model = Model::new(list, false, true);
    model.set_room(3, true);
    model.press(Stroke::Down);
    assert_eq!(model.next_job(), Some(Job::About(0)));
    model.abouts.put(0, About::default());
    assert_eq!(model.next_job(), Some(Job::Details(0, 0)));
    let id = model.chosen().unwrap().id;
    model.details.put(id, Details::default());
    assert_eq!(model.next_job(), Some(Job::Preview(0, 0)));
    // Without room for a preview, it is read for the question that offers the files.
    model.set_room(3, false);
    assert_eq!(model.next_job(), None);
    model.press(Stroke::Enter);
    assert_eq!(model.next_job(), Some(Job::Preview(0, 0)));
    model.previews.put(id, Preview::default());
    assert_eq!(model.next_job(), None);
}

#[test]
fn seed_000_a_task_is_searched_for_its_last_success_before_it_can_be_restored() {
    let failed = |at| {
        let mut checkpoint = checkpoint("a", at);
        checkpoint.status = MarkStatus::Failure;
        checkpoint
    };
    let mut list = List::of_store();
    list.add_store_page(page([failed(9), failed(8)], Some("more")));
    let mut model = Model::new(list, true, true);
    model.set_room(9, false);
    model.press(Stroke::Down);
    assert_eq!(model.press(Stroke::Enter), None, "older ones are not known yet");
    assert_eq!(model.next_job(), Some(Job::TaskPage(0)));
    model.list.add_task_page(0, page([failed(9), failed(8), checkpoint("a", 7)], None));
    model.renew();
    let success = model.chosen().unwrap().id;
    assert_eq!(model.press(Stroke::Enter), Some(End::Restore { id: success, with_files: false }));
    assert_eq!(model.rows.chosen(), Row::Item(0, 2), "the row that was restored is chosen");
}
