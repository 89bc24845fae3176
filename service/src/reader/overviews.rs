//! Counts and metrics of a history, in buckets.

use std::ops::Range;

use milepost::reading::{MetricBucket, OverviewBucket};
use milepost::{Body, Lineage, LineageId, Offset, Point, Result, Task};
use milepost_api::{
    Big, MetricCountForm, MetricsForm, OverviewBucketForm, OverviewForm, SeriesBucketForm,
    SeriesForm,
};
use milepost_codec::Float;

use super::{Read, Reader, lineage_of};
use crate::forms;

/// The axis of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesAxis {
    /// Steps.
    Step,
    /// Times, in microseconds since the Unix epoch.
    Time,
    /// Offsets.
    Offset,
}

impl Reader {
    /// Returns a history in at most this many buckets.
    ///
    /// # Errors
    ///
    /// As [`Lineage::read`](milepost::Lineage::read). `NotFound`: the task has no such lineage.
    pub fn overview(
        &self,
        task: &Task,
        lineage: Option<LineageId>,
        most: usize,
    ) -> Result<OverviewForm> {
        let lineage = lineage_of(task, lineage)?;
        let answer =
            self.mapped(task, &lineage, &self.deadline(), |map| (map.overview(most), map.turns()))?;
        let Read { answer: ((width, buckets), turns), read, head } = answer;
        Ok(OverviewForm {
            width: Big(width),
            buckets: buckets.into_iter().map(bucket_form).collect(),
            turns: Big(turns),
            read: Big(read),
            head: Big(head),
        })
    }

    /// Returns the metrics of a history.
    ///
    /// # Errors
    ///
    /// As [`overview`](Self::overview).
    pub fn metrics(&self, task: &Task, lineage: Option<LineageId>) -> Result<MetricsForm> {
        let lineage = lineage_of(task, lineage)?;
        let answer = self.mapped(task, &lineage, &self.deadline(), |map| {
            map.metrics().map(|(name, all)| count_form(name, &all)).collect()
        })?;
        let Read { answer: items, read, head } = answer;
        Ok(MetricsForm { items, read: Big(read), head: Big(head) })
    }

    /// Returns the values of a metric before some points of a task, in at most this many buckets
    /// each. The points share the time of the request.
    ///
    /// # Errors
    ///
    /// As [`overview`](Self::overview).
    pub fn series(
        &self,
        points: &[(Task, Point)],
        metric: &str,
        axis: SeriesAxis,
        most: usize,
    ) -> Result<Vec<SeriesForm>> {
        let deadline = self.deadline();
        let series = points.iter().map(|(task, point)| {
            let lineage = task.lineage_named(point.lineage)?;
            let answer = self.mapped(task, &lineage, &deadline, |map| {
                map.series(metric, point.offset).to_vec()
            })?;
            let mut buckets = answer.answer;
            if let Some(last) = buckets.pop_if(|last| last.count > 1 && point.offset < answer.read)
            {
                buckets.extend(values(&lineage, metric, last.at..point.offset)?);
            }
            let buckets = MetricBucket::joined(&buckets, most);
            Ok(SeriesForm {
                address: point.to_string(),
                buckets: buckets.iter().map(|bucket| series_form(bucket, axis)).collect(),
                read: Big(answer.read.min(point.offset)),
                head: Big(point.offset),
            })
        });
        series.collect()
    }
}

/// Reads the values of a metric in a range, as one bucket. The last bucket of a series may have
/// values beyond a point.
fn values(lineage: &Lineage, metric: &str, range: Range<Offset>) -> Result<Option<MetricBucket>> {
    let mut all: Option<MetricBucket> = None;
    for event in lineage.read(range)? {
        let event = event?;
        let Some(Body::StepFinished(finished)) = &event.body else { continue };
        let Some(value) = finished.metrics.get(metric) else { continue };
        let value = MetricBucket::of(value.0, finished.step, &event);
        match &mut all {
            Some(all) => all.join(&value),
            None => all = Some(value),
        }
    }
    Ok(all)
}

fn bucket_form(bucket: OverviewBucket) -> OverviewBucketForm {
    OverviewBucketForm {
        from: Big(bucket.from),
        events: Big(bucket.events),
        steps: Big(bucket.steps),
        calls: Big(bucket.calls),
        failed: Big(bucket.failed),
        marks: Big(bucket.marks),
        usage: bucket.usage.map(forms::usage),
        time_us: Big(bucket.time_us),
    }
}

fn count_form(name: &str, all: &MetricBucket) -> MetricCountForm {
    MetricCountForm {
        name: name.to_owned(),
        count: Big(all.count),
        last: Float(all.last),
        min: Float(all.min),
        max: Float(all.max),
    }
}

fn series_form(bucket: &MetricBucket, axis: SeriesAxis) -> SeriesBucketForm {
    let x = match axis {
        SeriesAxis::Step => bucket.step,
        SeriesAxis::Time => bucket.time_us,
        SeriesAxis::Offset => bucket.at,
    };
    SeriesBucketForm {
        x: Big(x),
        first: Float(bucket.first),
        last: Float(bucket.last),
        min: Float(bucket.min),
        max: Float(bucket.max),
        count: Big(bucket.count),
        at: Big(bucket.at),
        last_at: Big(bucket.last_at),
        min_at: Big(bucket.min_at),
        max_at: Big(bucket.max_at),
    }
}
