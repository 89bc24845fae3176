//! Keys of the terminal, translated to keys of the model.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::model::PressedKey;

/// Returns the key of an event, if the picker uses it.
pub fn of(event: Event) -> Option<PressedKey> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key_of(key),
        Event::Paste(text) => Some(PressedKey::Text(text)),
        _ => None,
    }
}

fn key_of(key: KeyEvent) -> Option<PressedKey> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(PressedKey::Leave),
            KeyCode::Char('n') => Some(PressedKey::Down),
            KeyCode::Char('p') => Some(PressedKey::Up),
            KeyCode::Char('o') => Some(PressedKey::LastSuccess),
            KeyCode::Char('u') => Some(PressedKey::Clear),
            KeyCode::Char('h') => Some(PressedKey::Erase),
            KeyCode::Char('m' | 'j') => Some(PressedKey::Enter),
            _ => None,
        };
    }
    Some(match key.code {
        KeyCode::Up => PressedKey::Up,
        KeyCode::Down => PressedKey::Down,
        KeyCode::PageUp => PressedKey::PageUp,
        KeyCode::PageDown => PressedKey::PageDown,
        KeyCode::Home => PressedKey::First,
        KeyCode::End => PressedKey::Last,
        KeyCode::Tab => PressedKey::NextTask,
        KeyCode::BackTab => PressedKey::TaskBefore,
        KeyCode::Enter => PressedKey::Enter,
        KeyCode::Esc => PressedKey::Back,
        KeyCode::Backspace => PressedKey::Erase,
        KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::ALT) => PressedKey::Char(c),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(code: KeyCode, modifiers: KeyModifiers) -> Option<PressedKey> {
        of(Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn letters_with_control_are_no_letters() {
        let control = |c| pressed(KeyCode::Char(c), KeyModifiers::CONTROL);
        assert_eq!(control('c'), Some(PressedKey::Leave));
        assert_eq!(control('n'), Some(PressedKey::Down));
        assert_eq!(control('p'), Some(PressedKey::Up));
        assert_eq!(control('o'), Some(PressedKey::LastSuccess));
        assert_eq!(control('u'), Some(PressedKey::Clear));
        assert_eq!(control('x'), None);
        assert_eq!(pressed(KeyCode::Char('x'), KeyModifiers::ALT), None);
        let shifted = pressed(KeyCode::Char('X'), KeyModifiers::SHIFT);
        assert_eq!(shifted, Some(PressedKey::Char('X')));
    }

    #[test]
    fn what_is_pasted_is_text_and_no_keys() {
        let pasted = of(Event::Paste("a\ny".into()));
        assert_eq!(pasted, Some(PressedKey::Text("a\ny".into())));
        let mut key = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!(of(Event::Key(key)), Some(PressedKey::Enter));
        key.kind = KeyEventKind::Release;
        assert_eq!(of(Event::Key(key)), None);
        assert_eq!(of(Event::Resize(80, 24)), None);
    }
}
