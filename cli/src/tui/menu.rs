//! The list of all actions, with their keys; typed words filter it.

use super::keys::{Does, KEYS, Stroke};

/// An action of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MenuAction {
    Key(Does),
    /// The metrics of the lineage: they have no key.
    Metrics,
    Quit,
}

/// The list, while it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Menu {
    pub typed: String,
    pub cursor: usize,
}

/// The effect of a key on the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MenuPressed {
    Stays,
    Closed,
    Chosen(MenuAction),
}

impl Menu {
    /// Returns the matching actions: key, text, and function.
    pub fn items(&self) -> Vec<(&'static str, &'static str, MenuAction)> {
        let own = [
            ("", "metrics of the lineage", MenuAction::Metrics),
            ("Ctrl-C", "end the terminal view", MenuAction::Quit),
        ];
        let keys = KEYS.iter().flat_map(|row| {
            row.keys.iter().map(|(key, does)| (*key, row.text, MenuAction::Key(*does)))
        });
        let words: Vec<String> = self.typed.split_whitespace().map(str::to_lowercase).collect();
        let has = |text: &str| words.iter().all(|word| text.contains(word));
        keys.chain(own).filter(|(_, text, _)| has(text)).collect()
    }

    /// Handles a key.
    pub fn press(&mut self, stroke: &Stroke) -> MenuPressed {
        let items = self.items();
        let last = items.len().saturating_sub(1);
        match stroke {
            Stroke::Esc | Stroke::Left => return MenuPressed::Closed,
            Stroke::Up => self.cursor = self.cursor.saturating_sub(1),
            Stroke::Down | Stroke::Tab => self.cursor = (self.cursor + 1).min(last),
            Stroke::Home => self.cursor = 0,
            Stroke::End => self.cursor = last,
            Stroke::PageUp => self.cursor = self.cursor.saturating_sub(10),
            Stroke::PageDown => self.cursor = (self.cursor + 10).min(last),
            Stroke::Enter => {
                let action = items.get(self.cursor).map(|(_, _, action)| *action);
                return action.map_or(MenuPressed::Stays, MenuPressed::Chosen);
            }
            other => {
                other.edit(&mut self.typed);
                self.cursor = 0;
            }
        }
        MenuPressed::Stays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_find_an_action_and_enter_does_it() {
        let mut menu = Menu::default();
        assert!(menu.items().len() > 40);
        menu.press(&Stroke::Text("roll".into()));
        assert_eq!(menu.items().len(), 1);
        let chosen = menu.press(&Stroke::Enter);
        assert_eq!(chosen, MenuPressed::Chosen(MenuAction::Key(Does::RollBack)));
        menu.press(&Stroke::Char('x'));
        assert_eq!(menu.press(&Stroke::Enter), MenuPressed::Stays);
        menu.press(&Stroke::Clear);
        menu.press(&Stroke::End);
        assert_eq!(menu.press(&Stroke::Enter), MenuPressed::Chosen(MenuAction::Quit));
        assert_eq!(menu.press(&Stroke::Esc), MenuPressed::Closed);
    }
}
