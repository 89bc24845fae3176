//! The picker: a full-screen list of checkpoints to restore. docs/COMMAND_LINE.md describes its
//! screen and keys.
//!
//! ```text
//! list      the loaded checkpoints, by task
//! filter    matching of the typed text
//! rows      the rows of the list: selection and scrolling
//! model     the effect of a key, and the next request to the store
//! details   details of a task and of a checkpoint
//! preview   the effect of a restore
//! load      requests to the store, while no key waits
//! layout    the parts of the screen
//! draw      the model as a screen
//! ```
//!
//! Only this file uses the terminal (`crate::terminal`), and only `load`, `details` and `preview`
//! read the store.

mod details;
mod draw;
mod filter;
mod layout;
mod list;
mod load;
mod model;
mod preview;
mod rows;
#[cfg(test)]
mod testing;

use std::time::Duration;

use crate::backend::Backend;
use crate::error::Result;
use crate::output::Out;
use crate::store_locator::now_us;
use crate::terminal::{Looks, Screen, Stroke, press_waiting, work};
pub use details::{NEAR, step};
use list::List;
pub use model::End;
use model::Model;

/// Maximum wait for a key before the ages are redrawn.
const IDLE: Duration = Duration::from_secs(10);

/// Lets the user choose among the checkpoints of a task, or of the store. Returns `None` if there
/// are none.
pub fn pick(source: &dyn Backend, task: Option<&str>, yes: bool, out: &Out) -> Result<Option<End>> {
    let list = task.map_or_else(List::of_store, List::of_task);
    let mut model = Model::new(list, yes, source.engine().is_some());
    // A list that cannot be read fails before the terminal is set up.
    if let Some(job) = model.next_job() {
        load::run(source, job, &mut model)?;
    }
    if model.list.is_empty() {
        return Ok(None);
    }
    show(source, model, out.colors()).map(Some)
}

/// Runs the picker until the user chooses.
fn show(source: &dyn Backend, mut model: Model, color: bool) -> Result<End> {
    let mut screen = Screen::take()?;
    loop {
        let looks = Looks { color, now_us: now_us() };
        screen.terminal.draw(|frame| draw::draw(frame, &mut model, looks))?;
        let wait = if model.next_job().is_some() { Duration::ZERO } else { IDLE };
        // The screen is drawn again before the effect of a key is read from the store.
        if let Some(end) = press_waiting(wait, letters, |key| model.press(key?))? {
            return Ok(end);
        }
        work(|| {
            let Some(job) = model.next_job() else { return Ok(false) };
            load::run(source, job, &mut model).map(|()| true)
        })?;
    }
}

/// Returns the key of a letter with Ctrl.
fn letters(letter: char) -> Option<Stroke> {
    match letter {
        'n' => Some(Stroke::Down),
        'p' => Some(Stroke::Up),
        'o' => Some(Stroke::LastSuccess),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

    use super::*;

    fn pressed(code: KeyCode, modifiers: KeyModifiers) -> Option<Stroke> {
        Stroke::of(Event::Key(KeyEvent::new(code, modifiers)), letters)
    }

    #[test]
    fn letters_with_control_are_no_letters() {
        let control = |c| pressed(KeyCode::Char(c), KeyModifiers::CONTROL);
        assert_eq!(control('c'), Some(Stroke::Quit));
        assert_eq!(control('n'), Some(Stroke::Down));
        assert_eq!(control('p'), Some(Stroke::Up));
        assert_eq!(control('o'), Some(Stroke::LastSuccess));
        assert_eq!(control('u'), Some(Stroke::Clear));
        assert_eq!(control('x'), None);
        assert_eq!(pressed(KeyCode::Char('x'), KeyModifiers::ALT), None);
        let shifted = pressed(KeyCode::Char('X'), KeyModifiers::SHIFT);
        assert_eq!(shifted, Some(Stroke::Char('X')));
    }

    #[test]
    fn what_is_pasted_is_text_and_no_keys() {
        let pasted = Stroke::of(Event::Paste("a\ny".into()), letters);
        assert_eq!(pasted, Some(Stroke::Text("a\ny".into())));
        let mut key = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!(Stroke::of(Event::Key(key), letters), Some(Stroke::Enter));
        key.kind = KeyEventKind::Release;
        assert_eq!(Stroke::of(Event::Key(key), letters), None);
        assert_eq!(Stroke::of(Event::Resize(80, 24), letters), None);
    }
}
