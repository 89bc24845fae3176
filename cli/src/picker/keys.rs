//! Keys of the terminal, translated to keys of the model.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::model::Key;

/// Returns the key of an event, if the picker uses it.
pub fn of(event: Event) -> Option<Key> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key_of(key),
        Event::Paste(text) => Some(Key::Text(text)),
        _ => None,
    }
}

fn key_of(key: KeyEvent) -> Option<Key> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(Key::Leave),
            KeyCode::Char('n') => Some(Key::Down),
            KeyCode::Char('p') => Some(Key::Up),
            KeyCode::Char('o') => Some(Key::LastSuccess),
            KeyCode::Char('u') => Some(Key::Clear),
            KeyCode::Char('h') => Some(Key::Erase),
            KeyCode::Char('m' | 'j') => Some(Key::Enter),
            _ => None,
        };
    }
    Some(match key.code {
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::First,
        KeyCode::End => Key::Last,
        KeyCode::Tab => Key::NextTask,
        KeyCode::BackTab => Key::TaskBefore,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Back,
        KeyCode::Backspace => Key::Erase,
        KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::ALT) => Key::Char(c),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
        of(Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn letters_with_control_are_no_letters() {
        let control = |c| pressed(KeyCode::Char(c), KeyModifiers::CONTROL);
        assert_eq!(control('c'), Some(Key::Leave));
        assert_eq!(control('n'), Some(Key::Down));
        assert_eq!(control('p'), Some(Key::Up));
        assert_eq!(control('o'), Some(Key::LastSuccess));
        assert_eq!(control('u'), Some(Key::Clear));
        assert_eq!(control('x'), None);
        assert_eq!(pressed(KeyCode::Char('x'), KeyModifiers::ALT), None);
        let shifted = pressed(KeyCode::Char('X'), KeyModifiers::SHIFT);
        assert_eq!(shifted, Some(Key::Char('X')));
    }

    #[test]
    fn what_is_pasted_is_text_and_no_keys() {
        let pasted = of(Event::Paste("a\ny".into()));
        assert_eq!(pasted, Some(Key::Text("a\ny".into())));
        let mut key = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!(of(Event::Key(key)), Some(Key::Enter));
        key.kind = KeyEventKind::Release;
        assert_eq!(of(Event::Key(key)), None);
        assert_eq!(of(Event::Resize(80, 24)), None);
    }
}
