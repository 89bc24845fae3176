//! The table of keys, which the page has too: `docs/PAGE.md`.

pub use crate::terminal::Stroke;

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
    Checkpoints,
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
    CopyLink,
    Actions,
    Keys,
}

/// A row of the table: keys, and their function in words.
pub struct KeyRow {
    pub keys: &'static [(&'static str, Does)],
    pub text: &'static str,
}

const fn row(keys: &'static [(&'static str, Does)], text: &'static str) -> KeyRow {
    KeyRow { keys, text }
}

/// The table.
pub const KEYS: &[KeyRow] = &[
    row(&[("j", Does::NextRow), ("k", Does::PreviousRow)], "next and previous row"),
    row(&[("J", Does::NextTurn), ("K", Does::PreviousTurn)], "next and previous turn"),
    row(&[("g", Does::First), ("G", Does::Last)], "first and last row"),
    row(&[("Enter", Does::Open), ("→", Does::Open)], "open"),
    row(&[("←", Does::Leave), ("Esc", Does::Leave)], "leave"),
    row(&[("[", Does::PreviousLineage), ("]", Does::NextLineage)], "previous and next lineage"),
    row(&[("h", Does::PreviousPane), ("l", Does::NextPane)], "previous and next pane"),
    row(
        &[
            ("1", Does::Tab(0)),
            ("2", Does::Tab(1)),
            ("3", Does::Tab(2)),
            ("4", Does::Tab(3)),
            ("5", Does::Tab(4)),
        ],
        "tab",
    ),
    row(&[("v", Does::StepsOrEvents)], "steps or events"),
    row(&[("/", Does::Find)], "find"),
    row(&[("n", Does::NextHit), ("N", Does::PreviousHit)], "next and previous hit, or difference"),
    row(&[("e", Does::NextFailure), ("E", Does::PreviousFailure)], "next and previous failure"),
    row(&[("m", Does::NextMark), ("M", Does::PreviousMark)], "next and previous mark"),
    row(&[("C", Does::Checkpoints)], "checkpoints of the task"),
    row(&[(":", Does::Go)], "go to an address or offset"),
    row(&[("b", Does::FirstWhere)], "the first event where a condition holds"),
    row(&[("B", Does::Blame)], "the event that set a value"),
    row(&[("f", Does::Fork)], "fork"),
    row(&[("r", Does::RollBack)], "roll back"),
    row(&[("u", Does::Undo)], "undo"),
    row(&[("p", Does::PauseOrResume)], "pause or resume"),
    row(&[("i", Does::Guide)], "guide"),
    row(&[("a", Does::Mark)], "mark"),
    row(&[("P", Does::Pin)], "pin"),
    row(&[("x", Does::Choose)], "choose"),
    row(&[("c", Does::Compare)], "compare"),
    row(&[("S", Does::Share)], "share"),
    row(&[("y", Does::CopyAddress), ("Y", Does::CopyLink)], "copy the address, the link"),
    row(&[(".", Does::Actions)], "all actions"),
    row(&[("?", Does::Keys)], "keys"),
];

impl KeyRow {
    /// Returns the keys as text.
    pub fn shown(&self) -> String {
        let names: Vec<&str> = self.keys.iter().map(|(name, _)| *name).collect();
        match names.as_slice() {
            [first, _, .., last] if names.len() > 2 => format!("{first} to {last}"),
            names => names.join(" "),
        }
    }
}

/// Returns the function of a key by its name.
pub fn does(name: &str) -> Option<Does> {
    let mut all = KEYS.iter().flat_map(|row| row.keys);
    all.find(|(key, _)| *key == name).map(|(_, does)| *does)
}

impl Stroke {
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
    use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

    use super::*;

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
    fn each_key_is_in_one_row_and_control_makes_no_letters() {
        let mut all: Vec<&str> = KEYS.iter().flat_map(|row| row.keys).map(|it| it.0).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        let pressed = |c, modifiers| Stroke::of(Event::Key(KeyEvent::new(c, modifiers)), |_| None);
        assert_eq!(pressed(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Stroke::Quit));
        assert_eq!(pressed(KeyCode::Char('r'), KeyModifiers::CONTROL), None);
        assert_eq!(pressed(KeyCode::Char('r'), KeyModifiers::ALT), None);
        let shifted = pressed(KeyCode::Char('J'), KeyModifiers::SHIFT);
        assert_eq!(shifted.and_then(|key| key.does()), Some(Does::NextTurn));
        let pasted = Stroke::of(Event::Paste("ry\n".into()), |_| None).unwrap();
        assert_eq!((pasted.does(), pasted), (None, Stroke::Text("ry\n".into())));
    }
}
