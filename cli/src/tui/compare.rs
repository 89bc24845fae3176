//! Two histories next to each other, turn by turn.

use milepost_api::{AlignCountsForm, AlignOp, AlignedForm, AlignmentForm, TurnForm};

use super::metrics::value_text;
use super::paged::Paged;

/// Lines of a page: each page aligns the whole histories anew.
pub const ALIGNED: u64 = 1000;

/// Two addresses, and the lines of their alignment.
#[derive(Debug)]
pub struct CompareView {
    pub addresses: [String; 2],
    pub lines: Paged<AlignedForm>,
    pub counts: AlignCountsForm,
    pub common: u64,
    /// The side that Enter opens.
    pub side: usize,
    /// A line from which a difference is looked for; `true`: forward.
    seeking: Option<(bool, u64)>,
    pub is_read: bool,
}

impl CompareView {
    pub fn new(addresses: [String; 2]) -> Self {
        Self {
            addresses,
            lines: Paged::new(ALIGNED),
            counts: AlignCountsForm::default(),
            common: 0,
            side: 0,
            seeking: None,
            is_read: false,
        }
    }

    /// Returns the first line to read, and the number of lines.
    pub fn wanted(&self) -> Option<(u64, u64)> {
        match self.is_read {
            true => self.lines.wanted(),
            false => Some((0, ALIGNED)).filter(|_| self.lines.failed.is_none()),
        }
    }

    /// Takes over lines from one on. The first answer goes to the first difference.
    pub fn take(&mut self, from: u64, page: AlignmentForm) {
        let AlignCountsForm { same, said, changed, only_a, only_b, moved } = &page.counts;
        let total = [same, said, changed, only_a, only_b, moved].iter().map(|count| count.0).sum();
        self.counts = page.counts;
        self.common = page.common.0;
        self.lines.set_end(total, total);
        if total > 0 {
            self.lines.add(from, page.items);
        }
        if !std::mem::replace(&mut self.is_read, true) {
            self.lines.go(self.common);
        }
        self.seek_on();
    }

    /// Looks for the next line that differs.
    pub fn seek(&mut self, is_forward: bool) {
        let at = self.lines.cursor;
        let from = if is_forward { at.checked_add(1) } else { at.checked_sub(1) };
        self.seeking = from.map(|from| (is_forward, from));
        self.seek_on();
    }

    /// Continues to the next line that differs, over the lines in memory.
    fn seek_on(&mut self) {
        while let Some((is_forward, at)) = self.seeking {
            if at >= self.lines.end {
                self.seeking = None;
                return;
            }
            match self.lines.get(at) {
                Some(line) if matches!(line.op, AlignOp::Same | AlignOp::Said) => {
                    let next = if is_forward { at.checked_add(1) } else { at.checked_sub(1) };
                    self.seeking = next.map(|next| (is_forward, next));
                }
                Some(_) => {
                    self.seeking = None;
                    self.lines.go(at);
                }
                // The cursor moves there, so that the page is read.
                None => return self.lines.go(at),
            }
        }
    }

    /// Returns the offset of a side's turn at the cursor.
    pub fn target(&self) -> Option<(&str, u64)> {
        let line = self.lines.chosen()?;
        let turn = if self.side == 0 { &line.a } else { &line.b };
        Some((self.addresses.get(self.side)?, turn.as_ref()?.first.0))
    }
}

/// Returns the sign of a line.
pub fn sign(op: AlignOp) -> &'static str {
    match op {
        AlignOp::Same => " ",
        AlignOp::Said => "≈",
        AlignOp::Changed => "~",
        AlignOp::OnlyA => "<",
        AlignOp::OnlyB => ">",
        AlignOp::Moved => "^",
    }
}

/// Returns what a turn did: its call, or what was said.
pub fn what(turn: &TurnForm) -> String {
    let more = (turn.calls.len() as u64 + turn.more_calls.map_or(0, |more| more.0)).max(1) - 1;
    match (turn.calls.first(), &turn.said, &turn.heard, &turn.name) {
        (Some(call), ..) if more > 0 => format!("{} {} (+{more})", call.tool, call.arguments),
        (Some(call), ..) => format!("{} {}", call.tool, call.arguments),
        (None, Some(said), ..) => said.clone(),
        (None, None, Some(heard), _) => heard.clone(),
        (None, None, None, Some(name)) => name.clone(),
        (None, None, None, None) => "-".to_owned(),
    }
}

/// Returns the result: the reason of a failure, the last result, a reply, or the metrics.
pub fn result(turn: &TurnForm) -> String {
    let of_calls = turn.calls.iter().rev().find_map(|call| call.result.clone());
    let heard = || turn.heard.clone().filter(|_| turn.said.is_some() && turn.calls.is_empty());
    let metrics = || {
        let all =
            turn.metrics.iter().map(|(name, value)| format!("{name}={}", value_text(value.0)));
        all.collect::<Vec<_>>().join(" ")
    };
    turn.failed.clone().or(of_calls).or_else(heard).unwrap_or_else(metrics)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{alignment, turn};
    use super::*;

    fn view(ops: &[AlignOp]) -> CompareView {
        let mut view = CompareView::new(["a/0@9".into(), "b/0@9".into()]);
        assert_eq!(view.wanted(), Some((0, ALIGNED)));
        view.take(0, alignment(ops));
        view.lines.set_height(10);
        view
    }

    #[test]
    fn it_begins_at_the_first_difference_and_n_goes_to_the_next_one() {
        use AlignOp::{Changed, OnlyA, OnlyB, Same};
        let mut view = view(&[Same, Same, OnlyA, Same, Changed, Same, OnlyB]);
        assert_eq!((view.common, view.lines.cursor, view.wanted()), (2, 2, None));
        assert_eq!(view.target(), Some(("a/0@9", 4)));
        view.side = 1;
        assert_eq!(view.target(), None, "the turn is only in the first");
        for at in [4, 6, 6] {
            view.seek(true);
            assert_eq!(view.lines.cursor, at);
        }
        for at in [4, 2, 2] {
            view.seek(false);
            assert_eq!(view.lines.cursor, at);
        }
    }

    #[test]
    fn a_turn_is_its_call_and_its_result_or_what_was_said() {
        let mut one = turn(3, 6);
        assert_eq!((what(&one).as_str(), result(&one).as_str()), ("ls src3", "3 files"));
        one.more_calls = Some(milepost_api::Big(4));
        one.failed = Some("no such file".into());
        assert_eq!((what(&one).as_str(), result(&one).as_str()), ("ls src3 (+4)", "no such file"));
        one.calls.clear();
        one.more_calls = None;
        assert_eq!(what(&one), "I look at 3.");
    }
}
