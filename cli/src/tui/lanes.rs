//! Lineages as lanes over their offsets: forks, marks, failures, and the cursor.

use milepost::LineageId;
use milepost_api::{LineageForm, LineageSummaryForm, OutcomeForm, OverviewForm};

use crate::output::excerpt;

/// A lane: a lineage, as far as it is known.
pub struct Lane<'a> {
    pub lineage: &'a LineageForm,
    pub summary: Option<&'a LineageSummaryForm>,
    pub overview: Option<&'a OverviewForm>,
    /// The lineage that is shown, with the offset of the cursor.
    pub cursor: Option<u64>,
}

/// Returns the lanes that have room: those around the one that is shown.
pub fn visible(lineages: &[LineageForm], shown: LineageId, room: usize) -> &[LineageForm] {
    let at = lineages.iter().position(|lineage| lineage.id == shown).unwrap_or(0);
    let from = at.saturating_sub(room / 2).min(lineages.len().saturating_sub(room));
    let to = (from + room).min(lineages.len());
    lineages.get(from..to).unwrap_or_default()
}

impl Lane<'_> {
    /// Returns the name of the lane.
    pub fn name(&self) -> String {
        let LineageForm { id, description, lineage_type, active, .. } = self.lineage;
        let text = description.as_deref().map(|text| excerpt(text, 40));
        let text = text.unwrap_or_else(|| lineage_type.name().to_owned());
        let active = if *active { "*" } else { " " };
        format!("{active}{id} {text}")
    }

    /// Returns the outcome of the lane, and its head.
    pub fn end(&self) -> String {
        let outcome = self.summary.map(|summary| outcome(&summary.outcome)).unwrap_or_default();
        format!("{outcome} @{}", self.lineage.head).trim_start().to_owned()
    }

    /// Draws the lane in a number of columns, over `0..=most` offsets.
    pub fn line(&self, columns: usize, most: u64) -> String {
        let column = |offset: u64| column(offset, columns, most);
        let (plain, fork, mark) = match self.cursor {
            Some(_) => ('━', '┗', '◆'),
            None => ('─', '└', '◇'),
        };
        let parent = self.lineage.parent.as_ref().map(|parent| parent.offset.0);
        let begin = parent.unwrap_or(self.lineage.begin.0);
        let mut cells = vec![' '; columns];
        let mut set = |at: usize, c: char| {
            if let Some(cell) = cells.get_mut(at) {
                *cell = c;
            }
        };
        let head = self.lineage.head.0;
        (column(begin)..=column(head)).for_each(|at| set(at, plain));
        let own = self.overview.into_iter().flat_map(|overview| &overview.buckets);
        let own = own.filter(|bucket| bucket.from.0 >= begin);
        for bucket in own.clone().filter(|bucket| bucket.marks.0 > 0) {
            set(column(bucket.from.0), mark);
        }
        for bucket in own.filter(|bucket| bucket.failed.0 > 0) {
            set(column(bucket.from.0), '✗');
        }
        if parent.is_some() {
            set(column(begin), fork);
        }
        if let Some(cursor) = self.cursor {
            set(column(cursor), '█');
        }
        cells.into_iter().collect()
    }
}

/// Returns the column of an offset.
fn column(offset: u64, columns: usize, most: u64) -> usize {
    let last = columns.saturating_sub(1) as u128;
    let at = u128::from(offset) * last / u128::from(most.max(1));
    usize::try_from(at).unwrap_or(usize::MAX).min(columns.saturating_sub(1))
}

/// Returns an outcome in words.
pub fn outcome(outcome: &OutcomeForm) -> String {
    let mark = match outcome.good {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "",
    };
    let value = match (&outcome.value, &outcome.status) {
        (Some(serde_json::Value::String(text)), _) => excerpt(text, 20),
        (Some(value), _) => excerpt(&value.to_string(), 20),
        (None, Some(status)) => status.name().to_owned(),
        (None, None) => String::new(),
    };
    format!("{mark} {value}").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{lineage, overview};
    use super::*;

    #[test]
    fn a_lane_begins_at_its_fork_and_has_its_marks_failures_and_cursor() {
        let (root, fork) = (lineage(0, None, 100), lineage(1, Some((0, 50)), 80));
        let failed = overview(100, 16, &[48]);
        let lane =
            |lineage, cursor| Lane { lineage, summary: None, overview: Some(&failed), cursor };
        // The failure of the part before the fork belongs to the other lineage.
        assert_eq!(lane(&fork, None).line(21, 100), "          └──────    ");
        assert_eq!(lane(&root, None).line(21, 100), "─────────✗───────────");
        assert_eq!(lane(&root, Some(100)).line(21, 100), "━━━━━━━━━✗━━━━━━━━━━█");
        assert_eq!(lane(&root, None).line(0, 0), "");
        assert_eq!(lane(&fork, None).end(), "@80");
    }

    #[test]
    fn the_lane_that_is_shown_has_room_first() {
        let all: Vec<LineageForm> = (0..20).map(|id| lineage(id, None, 1)).collect();
        let ids = |shown: u32, room| -> Vec<u32> {
            visible(&all, LineageId(shown), room).iter().map(|lineage| lineage.id.0).collect()
        };
        assert_eq!(ids(0, 3), [0, 1, 2]);
        assert_eq!(ids(10, 3), [9, 10, 11]);
        assert_eq!(ids(19, 4), [16, 17, 18, 19]);
        assert_eq!(ids(5, 100).len(), 20);
    }
}
