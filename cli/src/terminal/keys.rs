//! Keys of the terminal.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key that was pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stroke {
    Char(char),
    /// Pasted text.
    Text(String),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Tab,
    BackTab,
    Enter,
    Esc,
    Erase,
    Clear,
    /// The last success, of a list of checkpoints.
    LastSuccess,
    /// Ctrl-C: leaves from everywhere.
    Quit,
}

impl Stroke {
    /// Returns the key of a terminal's event. `letters` has the letters with Ctrl that are keys of
    /// one view only.
    pub fn of(event: Event, letters: fn(char) -> Option<Self>) -> Option<Self> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => Self::of_key(key, letters),
            Event::Paste(text) => Some(Self::Text(text)),
            _ => None,
        }
    }

    /// Changes a typed text.
    pub fn edit(&self, typed: &mut String) {
        match self {
            Self::Char(c) => typed.push(*c),
            Self::Text(text) => {
                let words: Vec<&str> = text.split_whitespace().collect();
                typed.push_str(&words.join(" "));
            }
            Self::Erase => drop(typed.pop()),
            Self::Clear => typed.clear(),
            _ => {}
        }
    }

    fn of_key(key: KeyEvent, letters: fn(char) -> Option<Self>) -> Option<Self> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Some(Self::Quit),
                KeyCode::Char('u') => Some(Self::Clear),
                KeyCode::Char('h') => Some(Self::Erase),
                KeyCode::Char('m' | 'j') => Some(Self::Enter),
                KeyCode::Char(c) => letters(c),
                _ => None,
            };
        }
        Some(match key.code {
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            KeyCode::Tab => Self::Tab,
            KeyCode::BackTab => Self::BackTab,
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Esc,
            KeyCode::Backspace => Self::Erase,
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::ALT) => Self::Char(c),
            _ => return None,
        })
    }
}
