//! Results of all cases: a table, and examples of the forbidden ones.

use std::collections::BTreeMap;
use std::fmt;

use super::cases::Case;
use super::judge::{Outcome, Verdict};
use super::stores::Left;

/// Examples of each kind that are kept.
const EXAMPLES: usize = 3;

type Row = (Left, &'static str, &'static str);

#[derive(Default)]
pub struct Table {
    rows: BTreeMap<Row, BTreeMap<Outcome, usize>>,
    examples: BTreeMap<(Outcome, Row), Vec<(String, String)>>,
}

impl Table {
    pub fn add(&mut self, case: &Case, verdict: Verdict) {
        let row = (case.left, case.kind(), case.damage.kind());
        let counts = self.rows.entry(row).or_default();
        *counts.entry(verdict.outcome).or_default() += 1;
        if verdict.outcome.is_bad() || verdict.outcome == Outcome::Latent {
            let examples = self.examples.entry((verdict.outcome, row)).or_default();
            if examples.len() < EXAMPLES {
                examples.push((case.to_string(), verdict.reason));
            }
        }
    }

    /// Returns the number of cases with a result.
    pub fn count(&self, outcome: Outcome) -> usize {
        let counts = self.rows.values();
        counts.filter_map(|counts| counts.get(&outcome)).sum()
    }

    pub fn is_bad(&self) -> bool {
        Outcome::ALL.into_iter().any(|outcome| outcome.is_bad() && self.count(outcome) > 0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<7}{:<14}{:<17}", "store", "file", "damage")?;
        for outcome in Outcome::ALL {
            write!(f, "{:>8}", outcome.name())?;
        }
        writeln!(f)?;
        for ((left, file, damage), counts) in &self.rows {
            write!(f, "{:<7}{file:<14}{damage:<17}", left.name())?;
            for outcome in Outcome::ALL {
                match counts.get(&outcome) {
                    Some(count) => write!(f, "{count:>8}")?,
                    None => write!(f, "{:>8}", "-")?,
                }
            }
            writeln!(f)?;
        }
        write!(f, "{:<38}", "all")?;
        for outcome in Outcome::ALL {
            write!(f, "{:>8}", self.count(outcome))?;
        }
        writeln!(f)?;
        for ((outcome, (left, file, damage)), examples) in &self.examples {
            let left = left.name();
            writeln!(f, "\n{}: {left} store, {file}, {damage}", outcome.name())?;
            for (case, reason) in examples {
                let reason: String = reason.chars().take(700).collect();
                writeln!(f, "  {case}\n      {reason}")?;
            }
        }
        Ok(())
    }
}
