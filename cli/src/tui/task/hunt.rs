//! The way to the next failure, mark or hit: by parts, so that a key ends it.

use milepost_api::calls::RowsQuery;
use milepost_api::{Big, OverviewBucketForm, OverviewForm};

use super::TaskView;

/// Events of a part on the way back.
const PART: u64 = 4096;

/// Kinds of events that end a step.
const STEP_ENDS: &str = "step_started,step_finished,step_failed";

/// The events that are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HuntFor {
    Failure,
    Mark,
    Text(String),
    /// The beginning of another turn, while events are shown.
    Turn,
    /// The end of a step, to fold it: the step, and the number of its first turn.
    StepEnd {
        step: Big,
        first: u64,
    },
}

/// A search that is not at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunt {
    pub what: HuntFor,
    pub is_forward: bool,
    /// Place at which the search continues: the next offset, or the end of the part before.
    pub at: u64,
}

impl HuntFor {
    /// Returns the events in words.
    pub fn shown(&self) -> String {
        match self {
            Self::Failure => "a failure".into(),
            Self::Mark => "a mark".into(),
            Self::Turn => "a turn".into(),
            Self::StepEnd { step, .. } => format!("the end of step {step}"),
            Self::Text(text) => format!("\"{text}\""),
        }
    }

    /// Returns the number of such events in a part of an overview.
    fn count(&self, bucket: &OverviewBucketForm) -> Option<u64> {
        match self {
            Self::Failure => Some(bucket.failed.0),
            Self::Mark => Some(bucket.marks.0),
            Self::Text(_) | Self::Turn | Self::StepEnd { .. } => None,
        }
    }
}

impl Hunt {
    /// Returns the rows to read next, after the parts that an overview shows to have none. `None`:
    /// there is no such event.
    pub fn query(&self, view: &TaskView) -> Option<RowsQuery> {
        let (begin, head) = (view.rows.begin, view.head());
        let overview = view.overviews.get(&view.lineage);
        let overview = overview.filter(|overview| overview.read >= overview.head);
        let at = overview.map_or(Some(self.at), |overview| self.skip(overview))?;
        let query = RowsQuery {
            lineage: Some(view.lineage.0),
            kind: match &self.what {
                HuntFor::Mark => Some("checkpoint_marked".to_owned()),
                HuntFor::StepEnd { .. } => Some(STEP_ENDS.to_owned()),
                _ => None,
            },
            text: match &self.what {
                HuntFor::Text(text) => Some(text.clone()),
                _ => None,
            },
            failed: self.what == HuntFor::Failure,
            ..RowsQuery::default()
        };
        if self.is_forward {
            let limit = Some(1);
            return (at < head).then_some(RowsQuery {
                from: Some(Big(at.max(begin))),
                limit,
                ..query
            });
        }
        let from = at.saturating_sub(PART).max(begin);
        let limit = Some(usize::try_from(PART).unwrap_or(usize::MAX));
        (from < at).then_some(RowsQuery {
            from: Some(Big(from)),
            to: Some(Big(at)),
            limit,
            ..query
        })
    }

    /// Returns the place from which on there may be such an event.
    fn skip(&self, overview: &OverviewForm) -> Option<u64> {
        let has =
            |bucket: &&OverviewBucketForm| self.what.count(bucket).is_none_or(|count| count > 0);
        let end = |bucket: &OverviewBucketForm| bucket.from.0.saturating_add(overview.width.0);
        let mut buckets = overview.buckets.iter();
        match self.is_forward {
            true => {
                let bucket = buckets.find(|bucket| end(bucket) > self.at && has(bucket))?;
                Some(self.at.max(bucket.from.0))
            }
            false => {
                let bucket = buckets.rfind(|bucket| bucket.from.0 < self.at && has(bucket))?;
                Some(self.at.min(end(bucket)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{overview, view};
    use super::*;

    fn hunt(what: HuntFor, is_forward: bool, at: u64) -> Hunt {
        Hunt { what, is_forward, at }
    }

    fn range(hunt: &Hunt, view: &TaskView) -> Option<(u64, Option<u64>)> {
        hunt.query(view).map(|query| (query.from.unwrap().0, query.to.map(|to| to.0)))
    }

    #[test]
    fn parts_without_a_failure_are_not_read() {
        let mut view = view("essay", 100_000);
        let failed = |is_forward, at| hunt(HuntFor::Failure, is_forward, at);
        assert_eq!(range(&failed(true, 5), &view), Some((5, None)));
        assert_eq!(range(&failed(false, 50_000), &view), Some((45_904, Some(50_000))));
        // One failure, between 65,536 and 66,048.
        view.take_overview(view.lineage, overview(100_000, 512, &[65_536]));
        assert_eq!(range(&failed(true, 5), &view), Some((65_536, None)));
        assert_eq!(range(&failed(true, 65_600), &view), Some((65_600, None)));
        assert_eq!(range(&failed(true, 66_048), &view), None);
        assert_eq!(range(&failed(false, 90_000), &view), Some((61_952, Some(66_048))));
        assert_eq!(range(&failed(false, 65_536), &view), None);
        let text = hunt(HuntFor::Text("x".into()), true, 5);
        assert_eq!(range(&text, &view), Some((5, None)));
        assert_eq!(text.query(&view).unwrap().text.as_deref(), Some("x"));
    }
}
