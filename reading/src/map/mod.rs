//! The map of a history: where its turns begin, and its counts and metrics in buckets.

mod overview;
mod series;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use milepost_codec::{Body, Offset, StepFinished};
use milepost_replay::Event;

use crate::turns::{Turn, Turns};

use overview::Overview;
pub use overview::OverviewBucket;
pub use series::MetricBucket;
use series::Series;

/// Number of turns between two places where reading can resume.
const RESUME: usize = if cfg!(test) { 3 } else { 256 };

/// Maximum number of metrics, and the longest name of one in bytes. Others are left out.
const METRICS: usize = 100;
const METRIC_NAME: usize = 200;

/// A place in a history where turns can be read from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Resume {
    /// The number of the turn that begins there.
    pub number: u64,
    /// The offset of its first event.
    pub offset: Offset,
    /// Takes the events from there on.
    pub turns: Turns,
}

/// The map of a history. Its size follows the number of turns: about 10 bytes each.
///
/// ```
/// use milepost_codec::{Body, Header, LineageId, Message};
/// use milepost_replay::Event;
/// use milepost_reading::HistoryMap;
///
/// let mut map = HistoryMap::new(0);
/// for (offset, role) in [(0, "user"), (1, "assistant"), (2, "user"), (3, "assistant")] {
///     let body = Some(Body::Message(Message::text(role, "text")));
///     map.add(&Event { lineage: LineageId(0), offset, header: Header::default(), body });
/// }
/// assert_eq!((map.turns(), map.read()), (2, 4));
/// assert_eq!(map.turn_at(2), Some(0));
/// assert_eq!(map.overview(1).1[0].events, 4);
/// ```
#[derive(Debug, Clone)]
pub struct HistoryMap {
    read: Offset,
    open: Turns,
    /// The offset of the first event of each turn.
    firsts: Vec<Offset>,
    /// Numbers of the turns that failed.
    failed: Vec<u64>,
    resumes: Vec<Resume>,
    overview: Overview,
    series: BTreeMap<String, Series>,
}

impl HistoryMap {
    /// Creates the map of a history whose first event is at this offset.
    pub fn new(begin: Offset) -> Self {
        Self {
            read: begin,
            open: Turns::default(),
            firsts: Vec::new(),
            failed: Vec::new(),
            resumes: Vec::new(),
            overview: Overview::new(),
            series: BTreeMap::new(),
        }
    }

    /// Adds the next event.
    pub fn add(&mut self, event: &Event) {
        self.read = event.offset.saturating_add(1);
        if let Some(ended) = self.open.add(event) {
            self.ended(&ended);
        }
        if self.open.first() == Some(event.offset) {
            if self.firsts.len().is_multiple_of(RESUME) {
                let (number, offset) = (self.firsts.len() as u64, event.offset);
                self.resumes.push(Resume { number, offset, turns: self.open.before_open() });
            }
            self.firsts.push(event.offset);
        }
        self.overview.add(event);
        if let Some(Body::StepFinished(finished)) = &event.body {
            self.measured(event, finished);
        }
    }

    fn ended(&mut self, turn: &Turn) {
        if turn.failed.is_some() {
            self.failed.push((self.firsts.len() as u64).saturating_sub(1));
        }
    }

    fn measured(&mut self, event: &Event, finished: &StepFinished) {
        for (name, value) in &finished.metrics {
            let is_known = self.series.contains_key(name);
            if !is_known && (self.series.len() == METRICS || name.len() > METRIC_NAME) {
                continue;
            }
            let value = MetricBucket::of(value.0, finished.step, event);
            self.series.entry(name.clone()).or_insert_with(Series::new).add(&value);
        }
    }

    /// Returns the offset before which all events were added.
    pub fn read(&self) -> Offset {
        self.read
    }

    /// Returns the number of turns, the unfinished one included.
    pub fn turns(&self) -> u64 {
        self.firsts.len() as u64
    }

    /// Returns the number of the last turn that begins at or before an offset.
    pub fn turn_at(&self, offset: Offset) -> Option<u64> {
        let behind = self.firsts.partition_point(|first| *first <= offset) as u64;
        behind.checked_sub(1)
    }

    /// Returns the number of the first turn that failed, from a turn on.
    pub fn failed_from(&self, number: u64) -> Option<u64> {
        let place = self.failed.partition_point(|failed| *failed < number);
        let open = || {
            let last = self.turns().checked_sub(1).filter(|last| *last >= number)?;
            self.open.is_failed().then_some(last)
        };
        self.failed.get(place).copied().or_else(open)
    }

    /// Returns the last place before a turn, or at it, where reading can resume.
    pub fn resume(&self, number: u64) -> Option<&Resume> {
        let behind = self.resumes.partition_point(|resume| resume.number <= number);
        self.resumes.get(behind.checked_sub(1)?)
    }

    /// Returns the history in at most this many buckets, and the width of each in offsets. A bucket
    /// without events is left out.
    pub fn overview(&self, most: usize) -> (u64, Vec<OverviewBucket>) {
        self.overview.buckets(most)
    }

    /// Returns the names of the metrics, each with all its values as one bucket.
    pub fn metrics(&self) -> impl Iterator<Item = (&str, MetricBucket)> {
        self.series.iter().filter_map(|(name, series)| Some((name.as_str(), series.whole()?)))
    }

    /// Returns the buckets of a metric that begin before an offset. The last one may have values
    /// beyond it.
    pub fn series(&self, metric: &str, before: Offset) -> &[MetricBucket] {
        self.series.get(metric).map(|series| series.buckets(before)).unwrap_or_default()
    }

    /// Returns about the bytes of memory that it takes.
    pub fn weight(&self) -> usize {
        let turns = (self.firsts.capacity() + self.failed.capacity()) * size_of::<u64>();
        let resumes = self.resumes.capacity() * (size_of::<Resume>() + METRIC_NAME);
        let series = self.series.values().map(|series| series.weight() + METRIC_NAME);
        let open = self.open.weight();
        turns + resumes + open + self.overview.weight() + series.sum::<usize>()
    }
}
