//! Two histories, matched by content.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::turns::Turn;

/// The relation of two turns in a line of an alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AlignedOp {
    /// Both histories have the turn.
    Same,
    /// Both histories only have a text there, in other words, and texts do not count.
    Said,
    /// The turns correspond, and differ.
    Changed,
    /// Only the first history has the turn.
    OnlyA,
    /// Only the second history has the turn.
    OnlyB,
    /// Both have the turn, at places that do not correspond.
    Moved,
}

/// A line of an alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Aligned {
    /// The relation of the turns.
    pub op: AlignedOp,
    /// Index of the turn in the first history, if the line shows one.
    pub a: Option<usize>,
    /// Index of the turn in the second history, if the line shows one.
    pub b: Option<usize>,
    /// Index of a moved turn in the other history.
    pub other: Option<usize>,
}

/// Content by which two turns are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Content {
    Calls(u64),
    Said(u64),
    /// The metrics of a turn without calls and texts.
    Metrics(u64),
}

/// Turns that are aligned together. The time of an alignment grows with the square of a block whose
/// turns all differ.
const BLOCK: usize = 8192;

/// Settings of an alignment.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlignOptions {
    /// Texts count: turns with the same calls and other texts differ. Default: no.
    pub texts: bool,
}

impl Turn {
    fn content(&self, options: AlignOptions) -> Content {
        match (self.calls.is_empty(), self.said.is_some()) {
            (false, _) if options.texts => {
                Content::Calls(self.calls_digest ^ self.said_digest.rotate_left(1))
            }
            (false, _) => Content::Calls(self.calls_digest),
            (true, true) => Content::Said(self.said_digest),
            (true, false) => Content::Metrics(self.metrics_digest),
        }
    }

    /// Returns `true` for a turn with a text and without calls.
    fn only_says(&self) -> bool {
        self.calls.is_empty() && self.said.is_some()
    }

    /// Returns the relation to a turn of the other history at the same place.
    fn relation(&self, other: &Self, options: AlignOptions) -> AlignedOp {
        match self.content(options) == other.content(options) {
            true => AlignedOp::Same,
            false if !options.texts && self.only_says() && other.only_says() => AlignedOp::Said,
            false => AlignedOp::Changed,
        }
    }

    /// Returns the tool of the first call: turns of one tool, and turns without, may correspond.
    fn tool(&self) -> Option<&str> {
        self.calls.first().map(|call| call.tool.as_str())
    }
}

/// Aligns two lists of turns. Each turn is in one line, and each side is in order.
///
/// ```
/// use milepost_reading::{AlignOptions, align};
///
/// assert!(align(&[], &[], AlignOptions::default()).is_empty());
/// ```
pub fn align(a: &[Turn], b: &[Turn], options: AlignOptions) -> Vec<Aligned> {
    let contents = |turns: &[Turn]| -> Vec<Content> {
        turns.iter().map(|turn| turn.content(options)).collect()
    };
    let (contents_a, contents_b) = (contents(a), contents(b));
    let mut lines = Vec::with_capacity(a.len().max(b.len()));
    let longest = a.len().max(b.len());
    for begin in (0..longest).step_by(BLOCK) {
        let block = |contents: &[Content]| {
            let (from, to) = (begin.min(contents.len()), (begin + BLOCK).min(contents.len()));
            contents.get(from..to).map_or_else(Vec::new, <[Content]>::to_vec)
        };
        let (from_a, from_b) = (begin.min(a.len()), begin.min(b.len()));
        let (of_a, of_b) = (block(&contents_a), block(&contents_b));
        for op in capture_diff_slices(Algorithm::Patience, &of_a, &of_b) {
            let (old, new) = (op.old_range(), op.new_range());
            let of_a = old.start + from_a..old.end + from_a;
            let of_b = new.start + from_b..new.end + from_b;
            match op {
                DiffOp::Equal { .. } => lines.extend(of_a.zip(of_b).map(|(a, b)| Aligned {
                    op: AlignedOp::Same,
                    a: Some(a),
                    b: Some(b),
                    other: None,
                })),
                _ => pair((a, of_a), (b, of_b), options, &mut lines),
            }
        }
    }
    link_moved(&contents_a, &contents_b, &mut lines);
    lines
}

/// Returns the number of lines at the beginning whose turns do not differ.
pub fn common(lines: &[Aligned]) -> usize {
    lines.iter().take_while(|line| line.op.is_alike()).count()
}

impl AlignedOp {
    /// Returns `true` if the turns do not differ in what counts.
    pub fn is_alike(self) -> bool {
        matches!(self, Self::Same | Self::Said)
    }
}

/// Pairs the turns of two ranges that differ.
fn pair(
    (a, of_a): (&[Turn], std::ops::Range<usize>),
    (b, of_b): (&[Turn], std::ops::Range<usize>),
    options: AlignOptions,
    lines: &mut Vec<Aligned>,
) {
    let only_a = |a| Aligned { op: AlignedOp::OnlyA, a: Some(a), b: None, other: None };
    let only_b = |b| Aligned { op: AlignedOp::OnlyB, a: None, b: Some(b), other: None };
    let mut by_tool: HashMap<Option<&str>, VecDeque<usize>> = HashMap::new();
    for at in of_b.clone() {
        by_tool.entry(b.get(at).and_then(Turn::tool)).or_default().push_back(at);
    }
    let mut next_b = of_b.start;
    for at_a in of_a {
        let same_tool = by_tool.get_mut(&a.get(at_a).and_then(Turn::tool));
        let at_b = same_tool.and_then(|places| {
            while places.front().is_some_and(|at| *at < next_b) {
                places.pop_front();
            }
            places.pop_front()
        });
        let Some(at_b) = at_b else {
            lines.push(only_a(at_a));
            continue;
        };
        lines.extend((next_b..at_b).map(only_b));
        let both = a.get(at_a).zip(b.get(at_b));
        let op = both.map_or(AlignedOp::Changed, |(a, b)| a.relation(b, options));
        lines.push(Aligned { op, a: Some(at_a), b: Some(at_b), other: None });
        next_b = at_b + 1;
    }
    lines.extend((next_b..of_b.end).map(only_b));
}

/// Links turns that only one side has where the other side has an equal one that it alone has.
fn link_moved(contents_a: &[Content], contents_b: &[Content], lines: &mut [Aligned]) {
    let mut of_b: HashMap<Content, VecDeque<usize>> = HashMap::new();
    for line in lines.iter().filter(|line| line.op == AlignedOp::OnlyB) {
        if let Some(at) = line.b
            && let Some(content) =
                contents_b.get(at).filter(|it| !matches!(**it, Content::Metrics(_)))
        {
            of_b.entry(*content).or_default().push_back(at);
        }
    }
    let mut moved = HashMap::new();
    for line in lines.iter_mut().filter(|line| line.op == AlignedOp::OnlyA) {
        let content = line.a.and_then(|at| contents_a.get(at));
        let other = content.and_then(|content| of_b.get_mut(content)?.pop_front());
        if let (Some(a), Some(other)) = (line.a, other) {
            (line.op, line.other) = (AlignedOp::Moved, Some(other));
            moved.insert(other, a);
        }
    }
    for line in lines.iter_mut().filter(|line| line.op == AlignedOp::OnlyB) {
        if let Some(a) = line.b.and_then(|b| moved.get(&b)) {
            (line.op, line.other) = (AlignedOp::Moved, Some(*a));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::turns::TurnCall;

    /// Returns a turn: `bash x` calls, another text is said.
    fn turn(text: &str) -> Turn {
        let digest = text.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte));
        match text.split_once(' ') {
            Some((tool, arguments)) => {
                let calls = vec![TurnCall::sample(tool, arguments)];
                Turn { calls, calls_digest: digest, ..Turn::default() }
            }
            None => Turn { said: Some(text.into()), said_digest: digest, ..Turn::default() },
        }
    }

    fn turns(texts: &str) -> Vec<Turn> {
        texts.split(',').filter(|text| !text.is_empty()).map(turn).collect()
    }

    /// Returns an alignment as text: `a=a`, `a~b`, `-a`, `+b`, `<a`, `>b`.
    fn aligned(a: &str, b: &str) -> String {
        let (a, b) = (turns(a), turns(b));
        let name = |turns: &[Turn], at: Option<usize>| {
            let turn = &turns[at.unwrap()];
            turn.said.clone().unwrap_or_else(|| turn.calls[0].arguments.clone())
        };
        let lines = align(&a, &b, AlignOptions::default());
        let shown = lines.iter().map(|line| match line.op {
            AlignedOp::Same => name(&a, line.a),
            AlignedOp::Said => format!("{}≈{}", name(&a, line.a), name(&b, line.b)),
            AlignedOp::Changed => format!("{}~{}", name(&a, line.a), name(&b, line.b)),
            AlignedOp::OnlyA => format!("-{}", name(&a, line.a)),
            AlignedOp::OnlyB => format!("+{}", name(&b, line.b)),
            AlignedOp::Moved => match line.a {
                Some(_) => format!("<{}", name(&a, line.a)),
                None => format!(">{}", name(&b, line.b)),
            },
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn equal_turns_are_found_again_behind_an_insertion() {
        assert_eq!(aligned("sh a,sh b,end", "sh a,hi,sh b,end"), "a +hi b end");
        assert_eq!(aligned("sh a,sh b", "sh a,sh c"), "a b~c");
        assert_eq!(aligned("sh a,ls b", "sh a,sh c"), "a -b +c");
        assert_eq!(aligned("one,two", "one,other"), "one two≈other");
        assert_eq!(aligned("", "sh a"), "+a");
    }

    #[test]
    fn a_turn_at_another_place_is_moved() {
        assert_eq!(aligned("sh a,sh b,ls c,ls d", "ls c,ls d,sh a,sh b").matches('<').count(), 2);
    }

    #[test]
    fn texts_of_turns_with_calls_count_where_it_is_asked() {
        let with = |said: u64| Turn { said_digest: said, said: Some("t".into()), ..turn("sh a") };
        let ops = |texts| {
            let lines = align(&[with(1)], &[with(2)], AlignOptions { texts });
            lines.iter().map(|line| line.op).collect::<Vec<_>>()
        };
        assert_eq!(ops(false), [AlignedOp::Same]);
        assert_eq!(ops(true), [AlignedOp::Changed]);
    }

    #[test]
    fn turns_with_nothing_but_metrics_are_equal_by_these() {
        let with = |metrics_digest| Turn { metrics_digest, ..Turn::default() };
        let lines = align(&[with(1), with(2)], &[with(1), with(3)], AlignOptions::default());
        let ops: Vec<_> = lines.iter().map(|line| line.op).collect();
        assert_eq!(ops, [AlignedOp::Same, AlignedOp::Changed]);
    }

    proptest! {
        #[test]
        fn each_turn_is_in_one_line_and_each_side_is_in_order(
            a in proptest::collection::vec("[a-c]|sh [a-c]", 0..30),
            b in proptest::collection::vec("[a-c]|sh [a-c]", 0..30),
        ) {
            let [a, b] = [a, b].map(|all| all.iter().map(|text| turn(text)).collect::<Vec<_>>());
            let lines = align(&a, &b, AlignOptions::default());
            let of_a: Vec<_> = lines.iter().filter_map(|line| line.a).collect();
            let of_b: Vec<_> = lines.iter().filter_map(|line| line.b).collect();
            prop_assert_eq!(of_a, (0..a.len()).collect::<Vec<_>>());
            prop_assert_eq!(of_b, (0..b.len()).collect::<Vec<_>>());
            for line in &lines {
                let both = line.a.is_some() && line.b.is_some();
                prop_assert_eq!(both, line.op.is_alike() || line.op == AlignedOp::Changed);
                prop_assert_eq!(line.other.is_some(), line.op == AlignedOp::Moved);
                if line.op == AlignedOp::Same {
                    let options = AlignOptions::default();
                    let (a, b) = (&a[line.a.unwrap()], &b[line.b.unwrap()]);
                    prop_assert_eq!(a.content(options), b.content(options));
                }
            }
            if a == b {
                prop_assert!(lines.iter().all(|line| line.op == AlignedOp::Same));
            }
        }
    }
}
