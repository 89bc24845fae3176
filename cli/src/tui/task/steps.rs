//! The list of steps: turns, some of them open into their events, and steps that are folded.

use std::collections::BTreeMap;
use std::ops::Range;

use milepost_api::{Big, TurnForm};

use super::cursor::CursorRange;
use crate::tui::paged::{PAGE, Paged};

/// A row of the list: a turn, or an event of an open one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepRow {
    /// Number of the turn.
    pub turn: u64,
    /// Offset of the event.
    pub event: Option<u64>,
}

/// A step of which only the first turn is shown.
#[derive(Debug, Clone, Copy)]
struct FoldedStep {
    step: Big,
    /// Number of turns after the first one.
    hidden: u64,
}

/// The effect of a fold on the chosen row.
#[derive(Debug, PartialEq, Eq)]
pub enum Fold {
    Done,
    /// The end of the step has to be found first, from an offset on. `first` is its first turn.
    Step {
        step: Big,
        first: u64,
        at: u64,
    },
    /// The row has nothing to fold.
    Nothing,
}

/// The turns of a lineage, with a cursor and a visible range.
#[derive(Debug)]
pub struct StepList {
    pub turns: Paged<TurnForm>,
    /// Offsets of the events of open turns, by the number of the turn.
    open: BTreeMap<u64, Range<u64>>,
    /// Folded steps, by the number of their first turn.
    folded: BTreeMap<u64, FoldedStep>,
    pub cursor: StepRow,
    top: StepRow,
    /// Lines of the list, and of a turn. An event has one.
    height: u64,
    turn_height: u64,
}

impl StepRow {
    fn of(turn: u64) -> Self {
        Self { turn, event: None }
    }
}

impl StepList {
    pub fn new() -> Self {
        Self {
            turns: Paged::new(PAGE),
            open: BTreeMap::new(),
            folded: BTreeMap::new(),
            cursor: StepRow::of(0),
            top: StepRow::of(0),
            height: 1,
            turn_height: 1,
        }
    }

    /// Forgets everything but the height.
    pub fn clear(&mut self) {
        *self = Self { height: self.height, turn_height: self.turn_height, ..Self::new() };
    }

    /// Returns the number of turns.
    pub fn count(&self) -> u64 {
        self.turns.end
    }

    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Returns the turn of the chosen row.
    pub fn chosen(&self) -> Option<&TurnForm> {
        self.turns.get(self.cursor.turn)
    }

    /// Returns the offsets of the chosen row.
    pub fn range(&self) -> Option<CursorRange> {
        match self.cursor.event {
            Some(event) => Some(CursorRange { first: event, next: event + 1 }),
            None => {
                self.chosen().map(|turn| CursorRange { first: turn.first.0, next: turn.next.0 })
            }
        }
    }

    pub fn is_open(&self, turn: u64) -> bool {
        self.open.contains_key(&turn)
    }

    /// Returns the number of turns of the folded step that a turn begins.
    pub fn folded_turns(&self, turn: u64) -> Option<u64> {
        self.folded.get(&turn).map(|folded| folded.hidden + 1)
    }

    /// Returns `true` for the first turn of a step of several turns, as far as is known.
    fn is_heading(&self, number: u64) -> bool {
        match (self.turns.get(number), self.turns.get(number + 1)) {
            (Some(turn), Some(next)) => {
                turn.turn.0 == 0 && next.turn.0 > 0 && turn.step.is_some() && turn.step == next.step
            }
            _ => false,
        }
    }

    /// Returns the first turn that is shown after a turn.
    fn turn_after(&self, turn: u64) -> u64 {
        turn + 1 + self.folded.get(&turn).map_or(0, |folded| folded.hidden)
    }

    /// Returns a turn, or the first one of the folded step that hides it.
    fn shown(&self, turn: u64) -> u64 {
        match self.folded.range(..turn).next_back() {
            Some((first, folded)) if turn - first <= folded.hidden => *first,
            _ => turn,
        }
    }

    /// Returns the last row of a turn.
    fn last_of(&self, turn: u64) -> StepRow {
        let events = self.open.get(&turn).filter(|events| !events.is_empty());
        StepRow { turn, event: events.map(|events| events.end - 1) }
    }

    fn last(&self) -> StepRow {
        self.last_of(self.shown(self.turns.end.saturating_sub(1)))
    }

    fn next(&self, row: StepRow) -> Option<StepRow> {
        let events = self.open.get(&row.turn).cloned().unwrap_or_default();
        let event = row.event.map_or(events.start, |event| event + 1);
        if events.contains(&event) {
            return Some(StepRow { event: Some(event), ..row });
        }
        let turn = self.turn_after(row.turn);
        (turn < self.turns.end).then_some(StepRow::of(turn))
    }

    fn previous(&self, row: StepRow) -> Option<StepRow> {
        let Some(event) = row.event else {
            return Some(self.last_of(self.shown(row.turn.checked_sub(1)?)));
        };
        let first = self.open.get(&row.turn).map_or(event, |events| events.start);
        Some(StepRow { event: event.checked_sub(1).filter(|before| *before >= first), ..row })
    }

    /// Returns `true` if the cursor is at the last row.
    pub fn is_at_end(&self) -> bool {
        self.next(self.cursor).is_none()
    }

    /// Sets the lines of the list, and of a turn.
    pub fn set_height(&mut self, height: u16, turn_height: u16) {
        (self.height, self.turn_height) = (u64::from(height).max(1), turn_height.into());
        self.settle();
    }

    /// Moves the cursor to the turn that has an offset, or to the event if the turn is open. A step
    /// that hides the turn unfolds.
    pub fn go_to(&mut self, turn: u64, offset: u64) {
        let first = self.shown(turn);
        if first != turn {
            self.folded.remove(&first);
        }
        self.cursor = StepRow { turn, event: Some(offset) };
        self.settle();
    }

    pub fn go_by(&mut self, rows: i64) {
        for _ in 0..rows.unsigned_abs() {
            let to = if rows > 0 { self.next(self.cursor) } else { self.previous(self.cursor) };
            let Some(to) = to else { break };
            self.cursor = to;
        }
        self.settle();
    }

    /// Moves the cursor by a screen.
    pub fn go_page(&mut self, is_down: bool) {
        let mut left = self.height.saturating_sub(self.turn_height);
        loop {
            let to = if is_down { self.next(self.cursor) } else { self.previous(self.cursor) };
            let Some(to) = to else { break };
            self.cursor = to;
            left = left.saturating_sub(self.lines_of(to));
            if left == 0 {
                break;
            }
        }
        self.settle();
    }

    pub fn go_end(&mut self, is_last: bool) {
        self.cursor = if is_last { self.last() } else { StepRow::of(0) };
        self.settle();
    }

    /// Moves the cursor to the next turn, or to the beginning of this or the previous one.
    pub fn go_turn(&mut self, is_next: bool) {
        let StepRow { turn, event } = self.cursor;
        let to = match (is_next, event) {
            (true, _) => Some(self.turn_after(turn)).filter(|to| *to < self.turns.end),
            (false, Some(_)) => Some(turn),
            (false, None) => turn.checked_sub(1).map(|before| self.shown(before)),
        };
        self.cursor = to.map_or(self.cursor, StepRow::of);
        self.settle();
    }

    /// Returns `true` if the chosen turn is about to be read. Until then a key has no effect.
    fn is_reading(&self) -> bool {
        self.chosen().is_none() && !self.is_empty() && self.turns.failed.is_none()
    }

    /// Opens the chosen turn into its events, or unfolds its step. Returns `false` if it is open,
    /// or an event.
    pub fn unfold(&mut self) -> bool {
        if self.is_reading() {
            return true;
        }
        let StepRow { turn, event } = self.cursor;
        if self.folded.remove(&turn).is_none() {
            let Some(form) = self.chosen().filter(|_| event.is_none() && !self.is_open(turn))
            else {
                return false;
            };
            let events = form.first.0..form.next.0;
            self.open.insert(turn, events);
            // The events that have room are shown.
            self.top = self.top.max(self.screen_to(self.last_of(turn)).min(self.cursor));
        }
        self.settle();
        true
    }

    /// Moves from an event to its turn, closes an open turn, or begins to fold a step.
    pub fn fold(&mut self) -> Fold {
        let number = self.cursor.turn;
        if self.is_reading() {
            return Fold::Done;
        }
        if self.cursor.event.is_some() || self.open.remove(&number).is_some() {
            self.cursor.event = None;
            self.settle();
            return Fold::Done;
        }
        let is_folded = self.folded.contains_key(&number);
        let of_several = |turn: &&TurnForm| turn.turn.0 > 0 || self.is_heading(number);
        match self.chosen().filter(|_| !is_folded).filter(of_several) {
            Some(TurnForm { step: Some(step), turn, first, .. }) => {
                let first_turn = number.saturating_sub(turn.0);
                Fold::Step { step: *step, first: first_turn, at: first.0 + 1 }
            }
            _ => Fold::Nothing,
        }
    }

    /// Folds a step, given its first and its last turn.
    pub fn fold_step(&mut self, step: Big, first: u64, last: u64) {
        let hidden = last.saturating_sub(first);
        if hidden > 0 {
            self.folded.insert(first, FoldedStep { step, hidden });
            self.cursor = StepRow::of(first);
            self.settle();
        }
    }

    /// Adds turns that were read from one on. Open turns and folded steps may have grown.
    pub fn add(&mut self, from: u64, turns: Vec<TurnForm>) {
        let follows = self.is_at_end();
        for turn in &turns {
            if let Some(events) = self.open.get_mut(&turn.number.0) {
                *events = turn.first.0..turn.next.0;
            }
            if let Some((first, folded)) = self.folded.range_mut(..turn.number.0).next_back() {
                let is_next = turn.number.0 == first + folded.hidden + 1;
                let is_of_step = turn.step == Some(folded.step) && turn.turn.0 > 0;
                folded.hidden += u64::from(is_next && is_of_step);
            }
        }
        self.turns.add(from, turns);
        self.follow(follows);
    }

    /// Sets the number of turns, and forgets those from one on.
    pub fn set_count(&mut self, count: u64, changed_from: u64) {
        let follows = self.is_at_end() && !self.is_empty();
        self.turns.set_end(count, changed_from);
        self.follow(follows);
    }

    fn follow(&mut self, follows: bool) {
        match follows {
            true => self.go_end(true),
            false => self.settle(),
        }
    }

    /// Keeps the cursor at a row that is there, and shows it.
    fn settle(&mut self) {
        (self.cursor, self.top) = (self.there(self.cursor), self.there(self.top));
        // The end of the list is at the end of the screen.
        let highest = self.screen_to(self.last()).min(self.cursor);
        self.top = self.top.min(highest).max(self.screen_to(self.cursor));
    }

    fn there(&self, row: StepRow) -> StepRow {
        let turn = self.shown(row.turn.min(self.turns.end.saturating_sub(1)));
        let events = self.open.get(&turn).filter(|_| turn == row.turn);
        let has = |event: &u64| events.is_some_and(|events| events.contains(event));
        StepRow { turn, event: row.event.filter(has) }
    }

    fn lines_of(&self, row: StepRow) -> u64 {
        if row.event.is_some() { 1 } else { self.turn_height }
    }

    /// Returns the first row of the screen that ends with a row.
    fn screen_to(&self, row: StepRow) -> StepRow {
        let (mut first, mut lines) = (row, self.lines_of(row));
        while let Some(before) = self.previous(first) {
            lines += self.lines_of(before);
            if lines > self.height {
                break;
            }
            first = before;
        }
        first
    }

    /// Returns the rows that have room.
    pub fn visible(&self) -> Vec<StepRow> {
        let (mut rows, mut lines) = (Vec::new(), 0);
        let mut next = (!self.is_empty()).then_some(self.top);
        while let Some(row) = next {
            lines += self.lines_of(row);
            if lines > self.height && !rows.is_empty() {
                break;
            }
            rows.push(row);
            next = self.next(row);
        }
        rows
    }

    /// Returns the first turn to read, and the number of turns.
    pub fn wanted(&self) -> Option<(u64, u64)> {
        // The turn after the chosen one tells whether that begins a step of several.
        let after = Some(self.cursor.turn + 1).filter(|after| *after < self.turns.end);
        let turns = self.visible().into_iter().map(|row| row.turn);
        self.turns.wanted_of(turns.chain(after))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::turns_of_steps;
    use super::*;

    /// A list of steps of three turns with three events each.
    fn list(count: u64, height: u16) -> StepList {
        let mut list = StepList::new();
        list.set_height(height, 2);
        list.set_count(count, 0);
        read(&mut list);
        list
    }

    /// Reads what the list wants. Returns the requests.
    fn read(list: &mut StepList) -> Vec<(u64, u64)> {
        let mut asked = Vec::new();
        while let Some((from, count)) = list.wanted() {
            asked.push((from, count));
            list.add(from, turns_of_steps(from, count, list.count(), 3).items);
        }
        asked
    }

    /// All rows, as the cursor goes over them.
    fn walked(list: &mut StepList) -> Vec<(u64, Option<u64>)> {
        list.go_end(false);
        let mut rows = vec![(list.cursor.turn, list.cursor.event)];
        while !list.is_at_end() {
            list.go_by(1);
            rows.push((list.cursor.turn, list.cursor.event));
            assert!(list.visible().contains(&list.cursor), "{rows:?}");
        }
        rows
    }

    #[test]
    fn the_cursor_goes_over_the_events_of_open_turns_and_over_no_folded_ones() {
        for height in [1, 2, 3, 5, 9, 60] {
            let mut list = list(7, height);
            list.go_to(1, 4);
            assert!(list.unfold() && !list.unfold());
            list.go_to(6, 18);
            assert!(list.unfold());
            list.fold_step(Big(2), 3, 5);
            let mut rows = vec![(0, None), (1, None)];
            rows.extend((3..6).map(|event| (1, Some(event))));
            rows.extend([(2, None), (3, None), (6, None)]);
            rows.extend((18..21).map(|event| (6, Some(event))));
            assert_eq!(walked(&mut list), rows, "{height}");
            let mut back = Vec::new();
            for _ in 0..rows.len() {
                back.insert(0, (list.cursor.turn, list.cursor.event));
                assert!(list.visible().contains(&list.cursor), "{height}");
                list.go_by(-1);
            }
            assert_eq!(back, rows, "{height}");
        }
    }

    #[test]
    fn a_place_in_a_folded_step_unfolds_it_and_one_in_an_open_turn_is_its_event() {
        let mut list = list(9, 10);
        list.fold_step(Big(2), 3, 5);
        list.go_to(4, 13);
        assert_eq!((list.cursor, list.folded_turns(3)), (StepRow::of(4), None));
        list.unfold();
        list.go_to(4, 13);
        assert_eq!(list.cursor.event, Some(13));
        list.go_to(4, 99);
        assert_eq!(list.cursor.event, None);
    }

    #[test]
    fn what_grows_stays_open_or_folded_and_the_end_is_followed_from_the_end_only() {
        let mut list = list(5, 10);
        list.go_end(true);
        list.unfold();
        list.go_end(true);
        assert_eq!(list.cursor, StepRow { turn: 4, event: Some(14) });
        let mut last = turns_of_steps(4, 1, 5, 3).items;
        last[0].next = Big(17);
        list.set_count(5, 4);
        list.add(4, last);
        assert_eq!(list.cursor.event, Some(16));
        list.fold_step(Big(2), 3, 4);
        assert!(list.is_at_end() && list.folded_turns(3) == Some(2));
        list.set_count(6, 4);
        read(&mut list);
        assert_eq!((list.cursor, list.folded_turns(3)), (StepRow::of(3), Some(3)));
        list.set_count(7, 5);
        read(&mut list);
        assert_eq!((list.cursor, list.folded_turns(3)), (StepRow::of(6), Some(3)));
        list.go_end(false);
        list.set_count(9, 6);
        assert_eq!(list.cursor, StepRow::of(0));
    }

    #[test]
    fn only_a_step_of_several_turns_is_folded_and_only_the_visible_turns_are_read() {
        let mut list = list(1_000_000, 20);
        list.go_end(true);
        assert!(list.unfold() && list.fold() == Fold::Done, "the turn is not there so far");
        assert_eq!(read(&mut list), [(999_900, 100)]);
        assert_eq!(list.fold(), Fold::Nothing, "the last step has one turn");
        list.go_by(-1);
        let end = Fold::Step { step: Big(333_333), first: 999_996, at: 2_999_995 };
        assert_eq!(list.fold(), end);
        list.fold_step(Big(333_333), 999_996, 999_998);
        assert_eq!(list.fold(), Fold::Nothing, "it is folded");
        list.fold_step(Big(2), 3, 900_000);
        assert_eq!(list.visible().len(), 10);
        assert_eq!(read(&mut list), [(900_000, 100)]);
    }
}
