//! Two histories, turn by turn.

use milepost::reading::{AlignOptions, Aligned, AlignedOp, Turn, align, common};
use milepost::{Error, Lineage, Point, Result, Task};
use milepost_api::{AlignCountsForm, AlignOp, AlignedForm, AlignmentForm, Big};

use super::Reader;
use super::turns::turn_form;

impl Reader {
    /// Maximum number of turns of a history that is aligned.
    pub const ALIGNED_MAX: usize = 20_000;

    /// Aligns the histories before two points. Returns the lines of a page.
    ///
    /// # Errors
    ///
    /// As [`Lineage::read`](milepost::Lineage::read). `Invalid`: a history has more turns than
    /// [`ALIGNED_MAX`](Self::ALIGNED_MAX), or a million events.
    pub fn align(
        &self,
        [a, b]: [&(Task, Point); 2],
        options: AlignOptions,
        (from, limit): (u64, usize),
    ) -> Result<AlignmentForm> {
        let turns = |(task, point): &(Task, Point)| {
            let lineage = task.lineage_named(point.lineage)?;
            let turns = self.all_turns(&lineage, point.offset, Self::ALIGNED_MAX)?;
            let turns = turns.ok_or_else(|| {
                Error::invalid(format!(
                    "{point} has more than {} turns, or a million events: align points that are \
                     earlier, or compare overviews",
                    Self::ALIGNED_MAX
                ))
            })?;
            Ok::<_, Error>((lineage, turns))
        };
        let (a, b) = (turns(a)?, turns(b)?);
        let lines = align(&a.1, &b.1, options);
        let first = usize::try_from(from).unwrap_or(usize::MAX).min(lines.len());
        let end = first.saturating_add(limit).min(lines.len());
        let page = lines.get(first..end).unwrap_or_default();
        Ok(AlignmentForm {
            common: Big(common(&lines) as u64),
            counts: counted(&lines),
            items: page.iter().map(|line| form(line, &a, &b)).collect::<Result<_>>()?,
            next: Some(Big(end as u64)).filter(|_| end < lines.len()),
        })
    }
}

fn counted(lines: &[Aligned]) -> AlignCountsForm {
    let mut counts = AlignCountsForm::default();
    for line in lines {
        let count = match line.op {
            AlignedOp::Same => &mut counts.same,
            AlignedOp::Said => &mut counts.said,
            AlignedOp::Changed => &mut counts.changed,
            AlignedOp::OnlyA => &mut counts.only_a,
            AlignedOp::OnlyB => &mut counts.only_b,
            AlignedOp::Moved => &mut counts.moved,
        };
        count.0 += 1;
    }
    counts
}

/// A lineage, and the turns of its history before a point.
type LineageTurns = (Lineage, Vec<Turn>);

fn form(line: &Aligned, a: &LineageTurns, b: &LineageTurns) -> Result<AlignedForm> {
    let turn = |(lineage, turns): &LineageTurns, number: Option<usize>| {
        let found = number.and_then(|number| Some((number, turns.get(number)?)));
        let turn = found.map(|(number, turn)| turn_form(number as u64, turn, lineage));
        turn.transpose()
    };
    Ok(AlignedForm {
        op: match line.op {
            AlignedOp::Same => AlignOp::Same,
            AlignedOp::Said => AlignOp::Said,
            AlignedOp::Changed => AlignOp::Changed,
            AlignedOp::OnlyA => AlignOp::OnlyA,
            AlignedOp::OnlyB => AlignOp::OnlyB,
            AlignedOp::Moved => AlignOp::Moved,
        },
        a: turn(a, line.a)?,
        b: turn(b, line.b)?,
        other: line.other.map(|other| Big(other as u64)),
    })
}
