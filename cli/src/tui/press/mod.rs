//! The effect of each key.

#[cfg(test)]
mod tests;

use milepost::events::RunControl;

use crate::output::words;
use crate::terminal::Tone;
use crate::tui::app::{App, Place, Request};
use crate::tui::compare::CompareView;
use crate::tui::keys::{Does, Stroke};
use crate::tui::link;
use crate::tui::menu::{Menu, MenuAction, MenuPressed};
use crate::tui::metrics::MetricsView;
use crate::tui::plan::{Deed, PlanAnswer};
use crate::tui::prompt::{Prompt, PromptFor, Typed};
use crate::tui::sharing::file_for;
use crate::tui::task::{Hunt, HuntFor, Pane, TABS, TaskView};
use crate::tui::tasks::SORTS;

impl App {
    /// Handles a key. Returns `true` if it ends the view.
    pub fn press(&mut self, stroke: Stroke) -> bool {
        if stroke == Stroke::Quit {
            return true;
        }
        self.notice = None;
        if let Some(row) = self.help {
            self.help = match stroke.does() {
                Some(Does::NextRow) => Some(row.saturating_add(1)),
                Some(Does::PreviousRow) => Some(row.saturating_sub(1)),
                _ => None,
            };
        } else if let Some(menu) = &mut self.menu {
            match menu.press(&stroke) {
                MenuPressed::Stays => {}
                MenuPressed::Closed => self.menu = None,
                MenuPressed::Chosen(action) => {
                    self.menu = None;
                    return self.choose(action);
                }
            }
        } else if self.plan.is_some() {
            self.answer(&stroke);
        } else if self.prompt.is_some() {
            self.type_on(stroke);
        } else {
            return self.act(&stroke);
        }
        false
    }

    fn choose(&mut self, action: MenuAction) -> bool {
        match action {
            MenuAction::Key(does) => return self.do_key(does),
            MenuAction::Quit => return true,
            MenuAction::Metrics => match &self.task {
                Some(view) => {
                    let own = view.address_of_head();
                    let other = self.chosen.clone().filter(|other| *other != own);
                    let at = [own].into_iter().chain(other).collect();
                    self.metrics = Some(MetricsView::new(view.form.id.clone(), view.lineage, at));
                    self.show(Place::Metrics);
                }
                None => self.say(Tone::Removed, "open a task first: its metrics are shown"),
            },
        }
        false
    }

    /// Answers the question of a plan.
    fn answer(&mut self, stroke: &Stroke) {
        let Some(mut plan) = self.plan.take() else { return };
        match plan.press(stroke) {
            PlanAnswer::Open => self.plan = Some(plan),
            PlanAnswer::Yes => {
                self.doing = Some(plan);
                self.ask(Request::Act);
            }
            PlanAnswer::No => self.say(Tone::Dim, "nothing was changed"),
            PlanAnswer::WithFiles => self.ask(Request::Plan(Deed::RollBackFiles(None))),
        }
    }

    fn type_on(&mut self, stroke: Stroke) {
        let Some(prompt) = &mut self.prompt else { return };
        let (what, typed) = (prompt.what, prompt.press(stroke));
        let text = prompt.typed.clone();
        match typed {
            Typed::On if what == PromptFor::Filter => self.tasks.set_words(&text),
            Typed::On => {}
            Typed::Cancelled => {
                self.prompt = None;
                if what == PromptFor::Filter {
                    self.tasks.set_words("");
                }
            }
            Typed::Done(text) => {
                self.prompt = None;
                if !text.is_empty() {
                    self.typed(what, text);
                }
            }
        }
    }

    fn typed(&mut self, what: PromptFor, text: String) {
        match what {
            PromptFor::Filter => {}
            PromptFor::Go => self.ask(Request::Go(text)),
            PromptFor::FirstWhere => self.ask(Request::FirstWhere(text)),
            PromptFor::Blame => self.ask(Request::Blame(text)),
            PromptFor::Label => self.ask(Request::Plan(Deed::Mark(text))),
            PromptFor::Guidance => self.ask(Request::Plan(Deed::Guide(text))),
            PromptFor::ShareFile => self.ask(Request::Plan(Deed::Share(text.into()))),
            PromptFor::RollBackFolder => {
                self.ask(Request::Plan(Deed::RollBackFiles(Some(text.into()))));
            }
            PromptFor::UndoFolder => self.ask(Request::Plan(Deed::Undo(Some(text.into())))),
            PromptFor::Find => {
                if let Some(view) = &mut self.task {
                    view.text.clone_from(&text);
                }
                self.hunt(HuntFor::Text(text), true);
            }
        }
    }

    /// Begins to look for an event.
    fn hunt(&mut self, what: HuntFor, is_forward: bool) {
        if let Some(view) = &mut self.task {
            let range = view.range();
            let at = match is_forward {
                true => {
                    let found = view.found.map_or(0, |found| found + 1);
                    range.map_or(view.rows.begin, |range| range.next).max(found)
                }
                false => {
                    let found = view.found.unwrap_or(u64::MAX);
                    range.map_or(view.head(), |range| range.first).min(found)
                }
            };
            view.hunt = Some(Hunt { what, is_forward, at });
        }
    }

    fn act(&mut self, stroke: &Stroke) -> bool {
        match (stroke, stroke.does()) {
            (Stroke::PageUp, _) => self.page(false),
            (Stroke::PageDown, _) => self.page(true),
            // At the last screen only Esc ends the view.
            (Stroke::Left, _) if self.places.len() == 1 => {}
            (_, Some(does)) => return self.do_key(does),
            _ => {}
        }
        false
    }

    fn page(&mut self, is_down: bool) {
        match (self.place(), &mut self.task) {
            (Place::Tasks, _) => {
                let steps = isize::try_from(self.tasks.shown.height).unwrap_or(1);
                self.tasks.shown.go_by(if is_down { steps } else { -steps });
            }
            (Place::Task, Some(view)) => match view.pane {
                Pane::List => view.go_page(is_down),
                _ => view.scroll_by(if is_down { 20 } else { -20 }),
            },
            (Place::Compare, _) => {
                if let Some(compare) = &mut self.compare {
                    compare.lines.go_page(is_down);
                }
            }
            _ => {}
        }
    }

    fn do_key(&mut self, does: Does) -> bool {
        match does {
            Does::Keys => self.help = Some(0),
            Does::Actions => self.menu = Some(Menu::default()),
            Does::Go => self.prompt = Some(Prompt::new(PromptFor::Go, "")),
            Does::CopyAddress => match self.address() {
                Some(address) => {
                    self.say(Tone::Dim, format!("copied: {address}"));
                    self.copied = Some(address);
                }
                None => self.say(Tone::Dim, "no address to copy"),
            },
            Does::CopyLink => match self.link() {
                Some(link) => {
                    self.say(Tone::Dim, format!("copied: {link}"));
                    self.copied = Some(link);
                }
                None => self.say(Tone::Removed, link::NONE),
            },
            Does::Choose => {
                let own = self.address_to_compare();
                self.chosen = own.filter(|own| self.chosen.as_ref() != Some(own));
                let text = self.chosen.clone().unwrap_or_else(|| "nothing".into());
                self.say(Tone::Dim, format!("chosen: {text}; `c` compares with it"));
            }
            Does::Compare => self.compare(),
            Does::Leave => return self.go_back(),
            other => match self.place() {
                Place::Tasks => self.of_tasks(other),
                Place::Task => self.of_task_key(other),
                Place::Compare => self.of_compare(other),
                Place::Metrics => self.of_metrics(other),
            },
        }
        false
    }

    /// Leaves a search or a pane, folds what is open, or leaves a screen. Returns `true` at the
    /// last screen.
    fn go_back(&mut self) -> bool {
        if let (Place::Task, Some(view)) = (self.place(), &mut self.task) {
            if view.hunt.take().is_some() {
                self.say(Tone::Dim, "stopped");
                return false;
            }
            if view.pane != Pane::List {
                view.pane = Pane::List;
                return false;
            }
            if view.fold() {
                return false;
            }
        }
        if self.place() == Place::Tasks && !self.tasks.words.is_empty() {
            self.tasks.set_words("");
            return false;
        }
        !self.leave()
    }

    fn compare(&mut self) {
        let Some(own) = self.address_to_compare() else { return };
        match self.chosen.clone().filter(|chosen| *chosen != own) {
            Some(chosen) => {
                self.compare = Some(CompareView::new([chosen, own]));
                self.show(Place::Compare);
            }
            None => self.say(Tone::Removed, "choose another one with `x` first, then `c` compares"),
        }
    }

    fn address_to_compare(&self) -> Option<String> {
        match self.place() {
            Place::Task => self.task.as_ref().map(TaskView::address_of_head),
            _ => self.address(),
        }
    }

    fn of_tasks(&mut self, does: Does) {
        match does {
            Does::NextRow | Does::NextTurn => self.tasks.shown.go_by(1),
            Does::PreviousRow | Does::PreviousTurn => self.tasks.shown.go_by(-1),
            Does::First => self.tasks.shown.go(0),
            Does::Last => self.tasks.shown.go(usize::MAX),
            Does::Open | Does::NextPane => {
                if let Some(task) = self.tasks.chosen() {
                    let address = words::encode(&task.id);
                    self.ask(Request::Open(address));
                }
            }
            Does::Find => self.prompt = Some(Prompt::new(PromptFor::Filter, &self.tasks.words)),
            Does::Tab(index) => {
                if let Some((sort, _)) = SORTS.get(index) {
                    self.tasks.set_sort(*sort);
                }
            }
            Does::PreviousPane => {}
            _ => self.say(Tone::Removed, "this works in a task: Enter opens the chosen one"),
        }
    }

    fn of_task_key(&mut self, does: Does) {
        let panes = self.panes;
        let Some(view) = &mut self.task else { return };
        let text = view.text.clone();
        match does {
            Does::NextRow | Does::PreviousRow | Does::First | Does::Last => view.move_by(does),
            Does::NextTurn | Does::PreviousTurn if view.is_events => {
                self.hunt(HuntFor::Turn, does == Does::NextTurn);
            }
            Does::NextTurn | Does::PreviousTurn => view.go_turn(does == Does::NextTurn),
            Does::Open if view.pane == Pane::List && view.unfold() => {}
            Does::Open | Does::NextPane => view.next_pane(panes, does == Does::Open),
            Does::PreviousPane => view.previous_pane(panes),
            Does::PreviousLineage => view.go_lineage(false),
            Does::NextLineage => view.go_lineage(true),
            Does::StepsOrEvents => view.switch_list(),
            Does::Tab(index) => {
                if let Some((tab, _)) = TABS.get(index) {
                    view.tab = *tab;
                    view.scroll = [0; 2];
                }
            }
            Does::NextFailure | Does::PreviousFailure => {
                self.hunt(HuntFor::Failure, does == Does::NextFailure);
            }
            Does::NextMark | Does::PreviousMark => {
                self.hunt(HuntFor::Mark, does == Does::NextMark);
            }
            Does::NextHit | Does::PreviousHit if text.is_empty() => {
                self.say(Tone::Dim, "`/` finds a text first");
            }
            Does::NextHit | Does::PreviousHit => {
                self.hunt(HuntFor::Text(text), does == Does::NextHit);
            }
            Does::Find => self.prompt = Some(Prompt::new(PromptFor::Find, "")),
            Does::Checkpoints => {
                self.say(Tone::Dim, "the page lists them; here m and M go from mark to mark");
            }
            other => self.of_actions(other),
        }
    }

    fn of_actions(&mut self, does: Does) {
        let prompt = |what| Some(Prompt::new(what, ""));
        match does {
            Does::FirstWhere => self.prompt = prompt(PromptFor::FirstWhere),
            Does::Blame => self.prompt = prompt(PromptFor::Blame),
            Does::Mark => self.prompt = prompt(PromptFor::Label),
            Does::Guide => self.prompt = prompt(PromptFor::Guidance),
            Does::Share => {
                let file = self.task.as_ref().map(|view| file_for(&view.form.id));
                self.prompt = Some(Prompt::new(PromptFor::ShareFile, &file.unwrap_or_default()));
            }
            Does::Fork => self.ask(Request::Plan(Deed::Fork)),
            Does::RollBack => self.ask(Request::Plan(Deed::RollBack)),
            Does::Undo => self.ask(Request::Plan(Deed::Undo(None))),
            Does::Pin => self.ask(Request::Plan(Deed::Pin)),
            Does::PauseOrResume => {
                let summary = self.task.as_ref().and_then(|view| view.summary.as_ref());
                let to = match summary.map(|summary| summary.control) {
                    Some(RunControl::Paused) => RunControl::Running,
                    _ => RunControl::Paused,
                };
                self.ask(Request::Plan(Deed::Control(to)));
            }
            _ => {}
        }
    }

    fn of_compare(&mut self, does: Does) {
        let Some(view) = &mut self.compare else { return };
        match does {
            Does::NextRow | Does::NextTurn => view.lines.go_by(1),
            Does::PreviousRow | Does::PreviousTurn => view.lines.go_by(-1),
            Does::First => view.lines.go(0),
            Does::Last => view.lines.go(u64::MAX),
            Does::NextHit => view.seek(true),
            Does::PreviousHit => view.seek(false),
            Does::NextPane => view.side = 1,
            Does::PreviousPane => view.side = 0,
            Does::Open => match view.target() {
                Some((address, at)) => {
                    let front = address.split('@').next().unwrap_or_default();
                    let to = format!("{front}@{at}");
                    self.ask(Request::Open(to));
                }
                None => self.say(Tone::Dim, "the turn is only on the other side: `h` `l`"),
            },
            _ => {}
        }
    }

    fn of_metrics(&mut self, does: Does) {
        let Some(view) = &mut self.metrics else { return };
        match does {
            Does::NextRow => view.go_by(1),
            Does::PreviousRow => view.go_by(-1),
            Does::First => view.go_by(isize::MIN),
            Does::Last => view.go_by(isize::MAX),
            _ => {}
        }
    }
}
