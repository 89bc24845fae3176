//! The table of keys, which the page has too: `docs/PAGE.md`.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// The function of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    NextRow,
    PreviousRow,
    NextTurn,
    PreviousTurn,
    First,
    Last,
    Open,
    Leave,
    PreviousLineage,
    NextLineage,
    PreviousPane,
    NextPane,
    Tab(usize),
    StepsOrEvents,
    Find,
    NextHit,
    PreviousHit,
    NextFailure,
    PreviousFailure,
    NextMark,
    PreviousMark,
    Go,
    FirstWhere,
    Blame,
    Fork,
    RollBack,
    Undo,
    PauseOrResume,
    Guide,
    Mark,
    Pin,
    Choose,
    Compare,
    Share,
    CopyAddress,
    Actions,
    Keys,
}

/// A row of the table: keys, and their function in words. `None`: not in the terminal.
pub struct KeyRow {
    pub keys: &'static [(&'static str, Option<Does>)],
    pub text: &'static str,
}

const fn row(keys: &'static [(&'static str, Option<Does>)], text: &'static str) -> KeyRow {
    KeyRow { keys, text }
}

/// The table.
pub const KEYS: &[KeyRow] = &[
    row(&[("j", Some(Does::NextRow)), ("k", Some(Does::PreviousRow))], "next and previous row"),
    row(&[("J", Some(Does::NextTurn)), ("K", Some(Does::PreviousTurn))], "next and previous turn"),
    row(&[("g", Some(Does::First)), ("G", Some(Does::Last))], "first and last row"),
    row(&[("Enter", Some(Does::Open)), ("→", Some(Does::Open))], "open"),
    row(&[("←", Some(Does::Leave)), ("Esc", Some(Does::Leave))], "leave"),
    row(
        &[("[", Some(Does::PreviousLineage)), ("]", Some(Does::NextLineage))],
        "previous and next lineage",
    ),
    row(&[("h", Some(Does::PreviousPane)), ("l", Some(Does::NextPane))], "previous and next pane"),
    row(
        &[
            ("1", Some(Does::Tab(0))),
            ("2", Some(Does::Tab(1))),
            ("3", Some(Does::Tab(2))),
            ("4", Some(Does::Tab(3))),
            ("5", Some(Does::Tab(4))),
        ],
        "tab",
    ),
    row(&[("v", Some(Does::StepsOrEvents))], "steps or events"),
    row(&[("/", Some(Does::Find))], "find"),
    row(
        &[("n", Some(Does::NextHit)), ("N", Some(Does::PreviousHit))],
        "next and previous hit, or difference",
    ),
    row(
        &[("e", Some(Does::NextFailure)), ("E", Some(Does::PreviousFailure))],
        "next and previous failure",
    ),
    row(&[("m", Some(Does::NextMark)), ("M", Some(Does::PreviousMark))], "next and previous mark"),
    row(&[(":", Some(Does::Go))], "go to an address or offset"),
    row(&[("b", Some(Does::FirstWhere))], "the first event where a condition holds"),
    row(&[("B", Some(Does::Blame))], "the event that set a value"),
    row(&[("f", Some(Does::Fork))], "fork"),
    row(&[("r", Some(Does::RollBack))], "roll back"),
    row(&[("u", Some(Does::Undo))], "undo"),
    row(&[("p", Some(Does::PauseOrResume))], "pause or resume"),
    row(&[("i", Some(Does::Guide))], "guide"),
    row(&[("a", Some(Does::Mark))], "mark"),
    row(&[("P", Some(Does::Pin))], "pin"),
    row(&[("x", Some(Does::Choose))], "choose"),
    row(&[("c", Some(Does::Compare))], "compare"),
    row(&[("S", Some(Does::Share))], "share"),
    row(&[("y", Some(Does::CopyAddress)), ("Y", None)], "copy the address, the link"),
    row(&[(".", Some(Does::Actions))], "all actions"),
    row(&[("?", Some(Does::Keys))], "keys"),
];

impl KeyRow {
    /// Returns the keys that work in the terminal, as text.
    pub fn shown(&self) -> Option<String> {
        let there = self.keys.iter().filter(|(_, does)| does.is_some());
        let names: Vec<&str> = there.map(|(name, _)| *name).collect();
        match names.as_slice() {
            [] => None,
            [first, _, .., last] if names.len() > 2 => Some(format!("{first} to {last}")),
            names => Some(names.join(" ")),
        }
    }
}

/// Returns the function of a key by its name.
pub fn does(name: &str) -> Option<Does> {
    KEYS.iter().flat_map(|row| row.keys).find(|(key, _)| *key == name)?.1
}

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
    /// Ctrl-C: leaves from everywhere.
    Quit,
}

impl Stroke {
    /// Returns the key of a terminal's event.
    pub fn of(event: Event) -> Option<Self> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => Self::of_key(key),
            Event::Paste(text) => Some(Self::Text(text)),
            _ => None,
        }
    }

    fn of_key(key: KeyEvent) -> Option<Self> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Some(Self::Quit),
                KeyCode::Char('u') => Some(Self::Clear),
                KeyCode::Char('h') => Some(Self::Erase),
                KeyCode::Char('m' | 'j') => Some(Self::Enter),
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

    /// Returns the function of the key where nothing is typed.
    pub fn does(&self) -> Option<Does> {
        match self {
            Self::Char(c) => does(c.encode_utf8(&mut [0; 4])),
            Self::Up => Some(Does::PreviousRow),
            Self::Down => Some(Does::NextRow),
            Self::Left => does("←"),
            Self::Right => does("→"),
            Self::Home => Some(Does::First),
            Self::End => Some(Does::Last),
            Self::Tab => Some(Does::NextPane),
            Self::BackTab => Some(Does::PreviousPane),
            Self::Enter => does("Enter"),
            Self::Esc => does("Esc"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of the table that do not work in the terminal; docs/PAGE.md says so.
    const NOT_THERE: [&str; 1] = ["Y"];

    const DOCUMENT: &str = include_str!("../../../docs/PAGE.md");

    fn table_of_the_document() -> Vec<(String, String)> {
        let section = DOCUMENT.split("\n## Keys\n").nth(1).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let cells = rows.map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(str::trim);
            (cells.next().unwrap().to_owned(), cells.next().unwrap().to_owned())
        });
        cells.collect()
    }

    #[test]
    fn the_table_is_that_of_the_document() {
        let cell = |row: &KeyRow| {
            let quoted: Vec<String> = row.keys.iter().map(|(key, _)| format!("`{key}`")).collect();
            match quoted.len() {
                ..3 => quoted.join(" "),
                more => format!("{} to {}", quoted[0], quoted[more - 1]),
            }
        };
        let own: Vec<_> = KEYS.iter().map(|row| (cell(row), row.text.to_owned())).collect();
        assert_eq!(own, table_of_the_document());
    }

    #[test]
    fn the_document_names_the_keys_that_do_not_work_in_the_terminal() {
        let all = KEYS.iter().flat_map(|row| row.keys);
        let missing: Vec<&str> = all.filter(|(_, does)| does.is_none()).map(|it| it.0).collect();
        assert_eq!(missing, NOT_THERE);
        let state = DOCUMENT.split("\n## What is there\n").nth(1).unwrap();
        let line = state.lines().find(|line| line.starts_with("| terminal view |")).unwrap();
        for key in NOT_THERE {
            assert!(line.contains(&format!("`{key}`")), "{key}: {line}");
        }
    }

    #[test]
    fn each_key_is_in_one_row_and_control_makes_no_letters() {
        let mut all: Vec<&str> = KEYS.iter().flat_map(|row| row.keys).map(|it| it.0).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        let pressed = |c, modifiers| Stroke::of(Event::Key(KeyEvent::new(c, modifiers)));
        assert_eq!(pressed(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Stroke::Quit));
        assert_eq!(pressed(KeyCode::Char('r'), KeyModifiers::CONTROL), None);
        assert_eq!(pressed(KeyCode::Char('r'), KeyModifiers::ALT), None);
        let shifted = pressed(KeyCode::Char('J'), KeyModifiers::SHIFT);
        assert_eq!(shifted.and_then(|key| key.does()), Some(Does::NextTurn));
        let pasted = Stroke::of(Event::Paste("ry\n".into())).unwrap();
        assert_eq!((pasted.does(), pasted), (None, Stroke::Text("ry\n".into())));
    }
}
