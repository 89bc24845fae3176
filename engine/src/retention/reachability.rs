//! Reachability: the events of a task that its lineages and kept checkpoints need. Computed without
//! reading events.

use std::collections::{BTreeMap, BTreeSet};

use milepost_codec::{LineageId, Offset};

/// The beginning of a lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// The lineage is a root.
    Root,
    /// The lineage forks from another at this offset.
    Fork(LineageId, Offset),
    /// The lineage begins at a base.
    Base(Offset),
}

/// A kept checkpoint: the lineage and offset of its mark, and the point that it marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeptMark {
    pub(super) lineage: LineageId,
    pub(super) offset: Offset,
    pub(super) at: Offset,
}

/// The trims and drops of a task's lineages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdicts {
    /// Lineages that get a base, and its offset.
    pub(super) trims: BTreeMap<LineageId, Offset>,
    /// Lineages that are not needed.
    pub(super) dropped: BTreeSet<LineageId>,
}

impl Verdicts {
    /// Returns `true` if they remove the event at an offset of a lineage.
    pub(super) fn removes(&self, lineage: LineageId, offset: Offset) -> bool {
        let base = self.trims.get(&lineage);
        self.dropped.contains(&lineage) || base.is_some_and(|base| offset < *base)
    }
}

/// The lineages of a task.
#[derive(Debug, Default)]
pub(super) struct Lineages(pub(super) BTreeMap<LineageId, Beginning>);

/// A range of offsets that a lineage inherits from an owner: start and end.
type Span = (LineageId, Offset, Offset);

impl Lineages {
    /// Computes the trims and drops. `going` are the active lineage and those that an undo may
    /// activate.
    pub(super) fn fates(&self, going: &BTreeSet<LineageId>, kept: &[KeptMark]) -> Verdicts {
        let mut needs: BTreeMap<LineageId, Offset> = BTreeMap::new();
        // Owners that must keep the events they inherit.
        let mut inherited: BTreeSet<LineageId> = BTreeSet::new();
        let marked = kept.iter().map(|mark| mark.lineage);
        let needed: BTreeSet<LineageId> = going.iter().copied().chain(marked).collect();
        for lineage in needed {
            let spans = self.spans(lineage);
            let from = needed_from(&spans, kept);
            for (owner, start, end) in spans {
                if from < end {
                    let need = needs.entry(owner).or_insert(Offset::MAX);
                    *need = (*need).min(from.max(start));
                }
                if from < start {
                    inherited.insert(owner);
                }
            }
        }
        self.decide(&needs, &inherited)
    }

    fn decide(
        &self,
        needs: &BTreeMap<LineageId, Offset>,
        inherited: &BTreeSet<LineageId>,
    ) -> Verdicts {
        let mut fates = Verdicts::default();
        // Parents come before their children.
        for (lineage, beginning) in &self.0 {
            let Some(need) = needs.get(lineage).copied() else {
                fates.dropped.insert(*lineage);
                continue;
            };
            if inherited.contains(lineage) {
                continue;
            }
            let gains = match beginning {
                Beginning::Root => need > 0,
                Beginning::Base(at) => need > *at,
                Beginning::Fork(parent, at) => need > *at || !self.reaches(&fates, *parent, *at),
            };
            if gains {
                fates.trims.insert(*lineage, need);
            }
        }
        fates
    }

    /// Returns `true` if a lineage still has or inherits the events before an offset.
    fn reaches(&self, fates: &Verdicts, lineage: LineageId, offset: Offset) -> bool {
        if fates.dropped.contains(&lineage) {
            return false;
        }
        match (fates.trims.get(&lineage), self.0.get(&lineage)) {
            (Some(trim), _) => *trim <= offset,
            (None, Some(Beginning::Base(at))) => *at <= offset,
            // An inherited lineage keeps its events from the offset that its child needs.
            (None, found) => found.is_some(),
        }
    }

    /// Returns the ranges that a lineage consists of, oldest first.
    fn spans(&self, lineage: LineageId) -> Vec<Span> {
        let mut spans = Vec::new();
        let (mut at, mut to) = (lineage, Offset::MAX);
        loop {
            match self.0.get(&at) {
                Some(Beginning::Fork(parent, from)) if *parent < at => {
                    spans.push((at, *from, to));
                    (at, to) = (*parent, *from);
                }
                Some(Beginning::Base(from)) => {
                    spans.push((at, *from, to));
                    break;
                }
                _ => {
                    spans.push((at, 0, to));
                    break;
                }
            }
        }
        spans.reverse();
        spans
    }
}

/// Returns the first needed offset of a lineage: the earliest point of a kept checkpoint in its
/// history, or its beginning if it has none.
fn needed_from(spans: &[Span], kept: &[KeptMark]) -> Offset {
    let sees = |mark: &&KeptMark| {
        let mut owned = spans.iter().filter(|(owner, ..)| *owner == mark.lineage);
        owned.any(|(_, from, to)| (*from..*to).contains(&mark.offset))
    };
    let begin = spans.first().map_or(0, |(_, from, _)| *from);
    let points = kept.iter().filter(sees).map(|mark| mark.at);
    points.min().unwrap_or(begin).max(begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(all: &[(u32, Beginning)]) -> Lineages {
        Lineages(all.iter().map(|(id, b)| (LineageId(*id), *b)).collect())
    }

    fn mark(lineage: u32, offset: Offset) -> KeptMark {
        KeptMark { lineage: LineageId(lineage), offset, at: offset }
    }

    fn fork(parent: u32, at: Offset) -> Beginning {
        Beginning::Fork(LineageId(parent), at)
    }

    fn fates(task: &Lineages, going: &[u32], kept: &[KeptMark]) -> (Vec<(u32, u64)>, Vec<u32>) {
        let going = going.iter().map(|id| LineageId(*id)).collect();
        let fates = task.fates(&going, kept);
        (
            fates.trims.iter().map(|(id, at)| (id.0, *at)).collect(),
            fates.dropped.iter().map(|id| id.0).collect(),
        )
    }

    #[test]
    fn a_root_is_trimmed_at_its_oldest_kept_checkpoint() {
        let task = task(&[(0, Beginning::Root)]);
        let kept = [mark(0, 900), mark(0, 500)];
        assert_eq!(fates(&task, &[0], &kept), (vec![(0, 500)], vec![]));
    }

    #[test]
    fn what_sees_no_kept_checkpoint_is_needed_whole() {
        let task = task(&[(0, Beginning::Root), (1, fork(0, 100))]);
        assert_eq!(fates(&task, &[1], &[]), (vec![], vec![]));
    }

    #[test]
    fn a_lineage_whose_checkpoints_are_its_own_does_without_the_one_it_came_from() {
        let task = task(&[(0, Beginning::Root), (1, fork(0, 100))]);
        assert_eq!(fates(&task, &[1], &[mark(1, 150)]), (vec![(1, 150)], vec![0]));
        // A lineage that an undo can activate is kept whole.
        let both = fates(&task, &[0, 1], &[mark(1, 150)]);
        assert_eq!(both, (vec![(1, 150)], vec![]));
    }

    #[test]
    fn a_kept_checkpoint_before_the_fork_keeps_what_is_inherited() {
        let task = task(&[(0, Beginning::Root), (1, fork(0, 100))]);
        let kept = [mark(0, 60), mark(1, 150)];
        assert_eq!(fates(&task, &[1], &kept), (vec![(0, 60)], vec![]));
        // A checkpoint after the fork does not help the child, which gets its own base.
        let kept = [mark(0, 160), mark(1, 150)];
        assert_eq!(fates(&task, &[1], &kept), (vec![(0, 160), (1, 150)], vec![]));
    }

    #[test]
    fn a_child_gets_a_base_at_its_fork_where_the_parent_goes() {
        let task = task(&[(0, Beginning::Root), (1, fork(0, 100))]);
        assert_eq!(fates(&task, &[1], &[mark(1, 100)]), (vec![(1, 100)], vec![0]));
    }

    #[test]
    fn a_checkpoint_of_an_earlier_point_is_needed_from_that_point() {
        let task = task(&[(0, Beginning::Root), (1, fork(0, 100))]);
        let early = KeptMark { at: 40, ..mark(1, 150) };
        assert_eq!(fates(&task, &[1], &[early]), (vec![(0, 40)], vec![]));
    }

    #[test]
    fn what_was_trimmed_is_trimmed_again_further_on_only() {
        let task = task(&[(0, Beginning::Base(50))]);
        assert_eq!(fates(&task, &[0], &[mark(0, 50)]), (vec![], vec![]));
        assert_eq!(fates(&task, &[0], &[mark(0, 51)]), (vec![(0, 51)], vec![]));
    }

    #[test]
    fn a_lineage_between_two_that_are_needed_stays() {
        let all = [(0, Beginning::Root), (1, fork(0, 100)), (2, fork(1, 200))];
        let kept = [mark(0, 30), mark(2, 250)];
        assert_eq!(fates(&task(&all), &[2], &kept), (vec![(0, 30)], vec![]));
        let kept = [mark(1, 150), mark(2, 250)];
        assert_eq!(fates(&task(&all), &[2], &kept), (vec![(1, 150)], vec![0]));
    }
}
