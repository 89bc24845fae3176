//! Several histories, aligned with the first.

use milepost::reading::{Aligned, AlignedOp};

/// A line with a turn of each history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlignedRow {
    /// Index of the turn in each history, if the line shows one.
    turns: Vec<Option<usize>>,
    /// The relation of each other history to the first; `None` where both have no turn.
    ops: Vec<Option<AlignedOp>>,
}

impl AlignedRow {
    /// Returns the index of the turn of a history.
    pub fn turns(&self, side: usize) -> Option<usize> {
        self.turns.get(side).copied().flatten()
    }

    /// Returns the relation of each other history to the first; `None` where both have no turn.
    pub fn ops(&self) -> &[Option<AlignedOp>] {
        &self.ops
    }

    /// Returns `true` if all histories have the turn, possibly in other words.
    pub fn is_same(&self) -> bool {
        self.ops.iter().all(|op| op.is_some_and(AlignedOp::is_alike))
    }

    /// Returns `true` if a history has the turn in other words.
    pub fn is_said_otherwise(&self) -> bool {
        self.is_same() && self.ops.contains(&Some(AlignedOp::Said))
    }
}

/// The lines of one other history, by the turns of the first.
struct Column {
    /// For each turn of the first: its relation, and the turn of this history.
    pairs: Vec<(AlignedOp, Option<usize>)>,
    /// For each turn of the first, and for the end: turns of this history before it.
    before: Vec<Vec<(AlignedOp, usize)>>,
}

impl Column {
    fn of(first: usize, lines: &[Aligned]) -> Self {
        let mut column = Self {
            pairs: vec![(AlignedOp::OnlyA, None); first],
            before: vec![Vec::new(); first + 1],
        };
        let mut next = 0;
        for line in lines {
            if let Some(a) = line.a {
                next = a + 1;
                if let Some(pair) = column.pairs.get_mut(a) {
                    *pair = (line.op, line.b);
                }
            } else if let (Some(b), Some(before)) = (line.b, column.before.get_mut(next)) {
                before.push((line.op, b));
            }
        }
        column
    }
}

/// Returns the rows of several histories. The first history has `first` turns; `lines` has the
/// alignment of every other history with the first.
pub fn aligned_rows(first: usize, lines: &[Vec<Aligned>]) -> Vec<AlignedRow> {
    let columns: Vec<Column> = lines.iter().map(|lines| Column::of(first, lines)).collect();
    let mut rows = Vec::with_capacity(first);
    for at in 0..=first {
        let inserted = |column: &Column| column.before.get(at).map_or(0, Vec::len);
        for n in 0..columns.iter().map(inserted).max().unwrap_or(0) {
            let cell = |column: &Column| column.before.get(at)?.get(n).copied();
            let cells: Vec<_> = columns.iter().map(cell).collect();
            let op = |cell: &Option<(AlignedOp, usize)>| cell.map(|cell| cell.0);
            let turns = cells.iter().map(|cell| cell.map(|(_, at)| at));
            rows.push(AlignedRow {
                turns: std::iter::once(None).chain(turns).collect(),
                ops: cells.iter().map(op).collect(),
            });
        }
        if at < first {
            let pairs = columns.iter().filter_map(|column| column.pairs.get(at));
            let (ops, turns): (Vec<_>, Vec<_>) = pairs.map(|(op, turn)| (Some(*op), *turn)).unzip();
            let turns = std::iter::once(Some(at)).chain(turns).collect();
            rows.push(AlignedRow { turns, ops });
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use milepost::events::Message;
    use milepost::reading::{AlignOptions, Turn, Turns, align};
    use milepost::{Event, Header, LineageId};
    use proptest::prelude::*;

    use super::*;

    /// Returns a turn for each letter.
    fn turns(letters: &str) -> Vec<Turn> {
        let (mut turns, mut all) = (Turns::default(), Vec::new());
        for (offset, letter) in (0..).zip(letters.chars()) {
            let body = Some(Message::text("assistant", &letter.to_string()).into());
            let (lineage, header) = (LineageId(0), Header::default());
            all.extend(turns.add(&Event { lineage, offset, header, body }));
        }
        all.extend(turns.end());
        all
    }

    fn rows(first: &str, others: &[String]) -> Vec<AlignedRow> {
        let a = turns(first);
        let aligned = |other: &String| align(&a, &turns(other), AlignOptions::default());
        aligned_rows(a.len(), &others.iter().map(aligned).collect::<Vec<_>>())
    }

    #[test]
    fn a_turn_that_two_others_insert_is_one_row() {
        let rows = rows("ac", &["abc".into(), "abc".into(), "ac".into()]);
        let turns: Vec<_> = rows.iter().map(|row| row.turns.clone()).collect();
        assert_eq!(
            turns,
            [
                vec![Some(0); 4],
                vec![None, Some(1), Some(1), None],
                vec![Some(1), Some(2), Some(2), Some(1)],
            ]
        );
        assert_eq!(rows.iter().map(AlignedRow::is_same).collect::<Vec<_>>(), [true, false, true]);
    }

    proptest! {
        #[test]
        fn every_turn_is_in_one_row_in_order(
            first in "[abc]{0,12}", others in proptest::collection::vec("[abc]{0,12}", 1..5),
        ) {
            let rows = rows(&first, &others);
            let all = std::iter::once(&first).chain(&others);
            for (side, letters) in all.enumerate() {
                let shown: Vec<_> = rows.iter().filter_map(|row| row.turns(side)).collect();
                prop_assert_eq!(shown, (0..letters.len()).collect::<Vec<_>>());
            }
            prop_assert!(rows.iter().all(|row| row.ops().len() == others.len()));
        }
    }
}
