//! The plan of an action: a question, its answers, and the choices of conflicting paths.

use std::path::PathBuf;

use milepost::events::RunControl;
use milepost_workspace::{PathConflict, TreePath};

use super::keys::{Does, Stroke};
use crate::error::Failure;

/// An action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    Control(RunControl),
    Guide(String),
    Mark(String),
    Pin,
    Fork,
    RollBack,
    /// Rolls the files back, too: those of this folder, or of the captured one.
    RollBackFiles(Option<PathBuf>),
    /// Undoes the last restore, with this folder or the captured one if it took files back.
    Undo(Option<PathBuf>),
    /// Writes the task as an HTML file.
    Share(PathBuf),
}

/// The reason why there is no plan.
#[derive(Debug)]
pub enum PlanError {
    /// The folder has to be named. The store has this one, if any, and does not decide it.
    NameFolder(Option<PathBuf>),
    Failed(Failure),
}

impl From<Failure> for PlanError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// A conflicting path, with its choice. What is on the disk is kept first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanChoice {
    pub path: TreePath,
    pub text: String,
    /// The version of the plan takes the place of what is on the disk.
    pub takes: bool,
}

/// An action with its plan. The answer that changes nothing is chosen first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionPlan {
    pub deed: Deed,
    /// The address that the action is for.
    pub address: String,
    pub question: String,
    /// The files can be rolled back, too: `f`.
    pub has_files: bool,
    /// The answer that `Enter` gives.
    pub is_yes: bool,
    pub choices: Vec<PlanChoice>,
    /// Index of the chosen conflict.
    pub cursor: usize,
}

/// The effect of a key on a plan.
#[derive(Debug, PartialEq, Eq)]
pub enum PlanAnswer {
    /// The plan may have changed.
    Open,
    Yes,
    No,
    WithFiles,
}

impl PlanChoice {
    /// Returns the choice of a conflict that keeps what is on the disk. `None`: the conflict is
    /// about the whole folder, and leaves no choice.
    pub fn of(conflict: PathConflict) -> Option<Self> {
        Some(Self { path: conflict.path?, text: conflict.text, takes: false })
    }
}

impl ActionPlan {
    /// Creates the plan of an action that is for an address.
    pub fn new(deed: Deed, address: String) -> Self {
        Self {
            deed,
            address,
            question: String::new(),
            has_files: false,
            is_yes: false,
            choices: Vec::new(),
            cursor: 0,
        }
    }

    /// Handles a key.
    pub fn press(&mut self, stroke: &Stroke) -> PlanAnswer {
        match stroke {
            Stroke::Char('y' | 'Y') => return PlanAnswer::Yes,
            Stroke::Enter if self.is_yes => return PlanAnswer::Yes,
            Stroke::Char('f' | 'F') if self.has_files => return PlanAnswer::WithFiles,
            Stroke::Char('n' | 'N') | Stroke::Esc | Stroke::Enter => return PlanAnswer::No,
            Stroke::Left | Stroke::Right | Stroke::Tab | Stroke::BackTab => {
                self.is_yes = !self.is_yes;
            }
            other => self.choose(other.does()),
        }
        PlanAnswer::Open
    }

    /// Moves over the conflicts, or changes the choice of the chosen one.
    fn choose(&mut self, does: Option<Does>) {
        let last = self.choices.len().saturating_sub(1);
        match does {
            Some(Does::NextRow) => self.cursor = (self.cursor + 1).min(last),
            Some(Does::PreviousRow) => self.cursor = self.cursor.saturating_sub(1),
            Some(Does::First) => self.cursor = 0,
            Some(Does::Last) => self.cursor = last,
            Some(Does::Choose) => {
                if let Some(choice) = self.choices.get_mut(self.cursor) {
                    choice.takes = !choice.takes;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(paths: &[&str]) -> ActionPlan {
        let mut plan = ActionPlan::new(Deed::Undo(None), "essay".into());
        let choice = |path: &&str| PlanChoice {
            path: TreePath::new(path.as_bytes()).unwrap(),
            text: "changed since".into(),
            takes: false,
        };
        plan.choices = paths.iter().map(choice).collect();
        plan
    }

    #[test]
    fn each_conflict_is_chosen_alone_and_keeps_the_disk_until_then() {
        let mut plan = plan(&["a", "b", "c"]);
        let takes = |plan: &ActionPlan| -> Vec<bool> {
            plan.choices.iter().map(|choice| choice.takes).collect()
        };
        assert_eq!(takes(&plan), [false; 3]);
        for key in "jxjjx".chars() {
            assert_eq!(plan.press(&Stroke::Char(key)), PlanAnswer::Open);
        }
        assert_eq!((takes(&plan), plan.cursor), (vec![false, true, true], 2));
        for key in "gkxx".chars() {
            plan.press(&Stroke::Char(key));
        }
        assert_eq!((takes(&plan), plan.cursor), (vec![false, true, true], 0));
        assert_eq!(plan.press(&Stroke::Enter), PlanAnswer::No, "the safe answer is chosen");
        assert_eq!(plan.press(&Stroke::Char('f')), PlanAnswer::Open, "there is no such answer");
        assert_eq!(plan.press(&Stroke::Char('y')), PlanAnswer::Yes);
    }

    #[test]
    fn a_plan_without_conflicts_has_nothing_to_choose() {
        let mut plan = plan(&[]);
        for key in "jxGx".chars() {
            plan.press(&Stroke::Char(key));
        }
        assert_eq!((plan.cursor, plan.choices.len()), (0, 0));
    }
}
