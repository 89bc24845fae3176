//! The loop of the picker: keys, requests to the store, draws.

use std::time::Duration;

use ratatui::crossterm::event::{self, Event};

use super::draw::{Looks, draw};
use super::load;
use super::model::{End, Model};
use crate::backend::Backend;
use crate::error::Result;
use crate::store_locator::now_us;
use crate::terminal::{Screen, Stroke};

/// Maximum time of requests to the store between two draws, in microseconds.
const WORK_US: u64 = 50_000;
/// Maximum wait for a key before the ages are redrawn.
const IDLE: Duration = Duration::from_secs(10);

/// Runs the picker until the user chooses.
pub fn show(source: &dyn Backend, mut model: Model, color: bool) -> Result<End> {
    let mut screen = Screen::take()?;
    loop {
        let looks = Looks { color, now_us: now_us() };
        screen.terminal.draw(|frame| draw(frame, &mut model, looks))?;
        if let Some(end) = press_waiting(&mut model)? {
            return Ok(end);
        }
        work(source, &mut model)?;
    }
}

/// Handles the waiting keys. The screen is redrawn before their effect is read from the store.
fn press_waiting(model: &mut Model) -> Result<Option<End>> {
    let wait = match model.next_job() {
        Some(_) => Duration::ZERO,
        None => IDLE,
    };
    let mut waiting = event::poll(wait)?;
    while waiting {
        if let Some(end) = key_of(event::read()?).and_then(|key| model.press(key)) {
            return Ok(Some(end));
        }
        waiting = event::poll(Duration::ZERO)?;
    }
    Ok(None)
}

/// Runs jobs of the model until a key waits or the time is over.
fn work(source: &dyn Backend, model: &mut Model) -> Result<()> {
    let begun = now_us();
    while now_us().saturating_sub(begun) < WORK_US && !event::poll(Duration::ZERO)? {
        let Some(job) = model.next_job() else {
            break;
        };
        load::run(source, job, model)?;
    }
    Ok(())
}

/// Returns the key of an event, if the picker uses it.
fn key_of(event: Event) -> Option<Stroke> {
    let letters = |letter| match letter {
        'n' => Some(Stroke::Down),
        'p' => Some(Stroke::Up),
        'o' => Some(Stroke::LastSuccess),
        _ => None,
    };
    Stroke::of(event, letters).filter(|key| !matches!(key, Stroke::Left | Stroke::Right))
}

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

    use super::*;

    fn pressed(code: KeyCode, modifiers: KeyModifiers) -> Option<Stroke> {
        key_of(Event::Key(KeyEvent::new(code, modifiers)))
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
        let pasted = key_of(Event::Paste("a\ny".into()));
        assert_eq!(pasted, Some(Stroke::Text("a\ny".into())));
        let mut key = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!(key_of(Event::Key(key)), Some(Stroke::Enter));
        key.kind = KeyEventKind::Release;
        assert_eq!(key_of(Event::Key(key)), None);
        assert_eq!(key_of(Event::Resize(80, 24)), None);
    }
}
