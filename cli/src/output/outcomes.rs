//! Outcomes of lineages as marks, in one order everywhere: oldest first, as their numbers.

use milepost_api::LineageSummaryForm;

use super::fitted_table::NONE;

/// The most columns of outcomes: a mark for each lineage.
const COLUMNS: usize = 8;

/// Returns a mark for each lineage, oldest first: good, bad, or neither. Of many, the newest.
pub fn outcomes(lineages: &[LineageSummaryForm]) -> String {
    if lineages.iter().all(|lineage| lineage.outcome.good.is_none()) {
        return NONE.to_owned();
    }
    let skipped = lineages.len().saturating_sub(COLUMNS);
    let marks = lineages.iter().skip(skipped).map(outcome_mark);
    let more = (skipped > 0).then_some('…');
    more.into_iter().chain(marks).collect()
}

/// Returns the mark of a lineage.
pub fn outcome_mark(lineage: &LineageSummaryForm) -> char {
    match lineage.outcome.good {
        Some(true) => '✓',
        Some(false) => '✗',
        None => '·',
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outcomes_are_in_the_order_of_the_lineages_numbers() {
        let of = |good: Option<bool>| -> LineageSummaryForm {
            let (outcome, none) = (json!({ "good": good }), "0");
            let form = json!({"id": 0, "head": none, "outcome": outcome, "steps": none,
                "calls": none, "failed": none});
            serde_json::from_value(form).unwrap()
        };
        let all = [Some(false), Some(true), None, Some(false)].map(of);
        assert_eq!(outcomes(&all), "✗✓·✗");
        assert_eq!(outcomes(&[of(None)]), NONE);
        let many: Vec<_> = (0..10).map(|at| of(Some(at == 9))).collect();
        assert_eq!(outcomes(&many), "…✗✗✗✗✗✗✗✓");
    }
}
