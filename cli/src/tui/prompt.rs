//! Typed answers: words, an address, a condition, a label.

use super::keys::Stroke;

/// The purpose of a typed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptFor {
    Filter,
    Find,
    Go,
    FirstWhere,
    Blame,
    Label,
    Guidance,
    ShareFile,
    RollBackFolder,
    UndoFolder,
}

/// A text that is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub what: PromptFor,
    pub typed: String,
}

/// The effect of a key on a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// The text may have changed.
    On,
    Done(String),
    Cancelled,
}

impl PromptFor {
    /// Returns the question, with an example.
    pub fn question(self) -> &'static str {
        match self {
            Self::Filter => "words, has:failure, user:ana, steps:>9",
            Self::Find => "find text",
            Self::Go => "go to an offset or an address",
            Self::FirstWhere => "first event where, as in /variables/score < 0.5",
            Self::Blame => "pointer of a value, as in /variables/score",
            Self::Label => "label of the mark",
            Self::Guidance => "guidance",
            Self::ShareFile => "HTML file to write, without secrets",
            Self::RollBackFolder => {
                "folder to roll back: a store from elsewhere does not decide it"
            }
            Self::UndoFolder => "folder of the undo: a store from elsewhere does not decide it",
        }
    }
}

impl Prompt {
    pub fn new(what: PromptFor, typed: &str) -> Self {
        Self { what, typed: typed.to_owned() }
    }

    /// Handles a key.
    pub fn press(&mut self, stroke: Stroke) -> Typed {
        stroke.edit(&mut self.typed);
        match stroke {
            Stroke::Enter => Typed::Done(self.typed.trim().to_owned()),
            Stroke::Esc => Typed::Cancelled,
            _ => Typed::On,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_typed_and_pasted_lines_are_one() {
        let mut prompt = Prompt::new(PromptFor::Find, "a");
        for stroke in [Stroke::Char('q'), Stroke::Text("x\ny".into()), Stroke::Erase] {
            assert_eq!(prompt.press(stroke), Typed::On);
        }
        assert_eq!(prompt.press(Stroke::Char(' ')), Typed::On);
        assert_eq!(prompt.press(Stroke::Enter), Typed::Done("aqx".into()));
        assert_eq!(prompt.press(Stroke::Clear), Typed::On);
        assert_eq!(prompt.press(Stroke::Esc), Typed::Cancelled);
    }
}
