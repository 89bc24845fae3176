//! An overview of a history: counts in buckets of equal width.

use milepost_codec::{Body, Offset};
use milepost_replay::Event;

use crate::usage::{Usage, UsageSum};

/// Maximum number of buckets that are kept. With more, two become one.
const BUCKETS: usize = if cfg!(test) { 8 } else { 4096 };

/// Counts of a part of a history.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct OverviewBucket {
    /// The offset where it begins.
    pub from: Offset,
    /// The number of events.
    pub events: u64,
    /// The number of steps that began.
    pub steps: u64,
    /// The number of calls.
    pub calls: u64,
    /// The number of calls and steps that failed.
    pub failed: u64,
    /// The number of marks.
    pub marks: u64,
    /// The usage.
    pub usage: Option<Usage>,
    /// The time of its first event, in microseconds since the Unix epoch.
    pub time_us: u64,
}

impl OverviewBucket {
    fn count(&mut self, event: &Event) {
        self.events += 1;
        match &event.body {
            Some(Body::StepStarted(_)) => self.steps += 1,
            Some(Body::ToolCalled(_)) => self.calls += 1,
            Some(Body::CheckpointMarked(_)) => self.marks += 1,
            Some(Body::StepFailed(_)) => self.failed += 1,
            Some(Body::ToolReturned(returned)) if !returned.ok => self.failed += 1,
            _ => {}
        }
    }

    /// Adds the bucket after this one.
    fn join(&mut self, behind: &Self) {
        self.events += behind.events;
        self.steps += behind.steps;
        self.calls += behind.calls;
        self.failed += behind.failed;
        self.marks += behind.marks;
        self.usage = Usage::sum([self.usage.take(), behind.usage.clone()]);
    }
}

/// The buckets of a history, all of the same width in offsets.
#[derive(Debug, Clone)]
pub(super) struct Overview {
    /// The logarithm of the width.
    shift: u32,
    buckets: Vec<OverviewBucket>,
    sum: UsageSum,
    used: Option<Usage>,
}

impl Overview {
    pub(super) fn new() -> Self {
        Self { shift: 0, buckets: Vec::new(), sum: UsageSum::default(), used: None }
    }

    pub(super) fn add(&mut self, event: &Event) {
        let from = event.offset >> self.shift << self.shift;
        if self.buckets.last().is_none_or(|bucket| bucket.from != from) {
            if self.buckets.len() == BUCKETS {
                self.shift += 1;
                self.buckets = joined(&self.buckets, self.shift);
                return self.add(event);
            }
            let time_us = event.header.time_us;
            self.buckets.push(OverviewBucket { from, time_us, ..OverviewBucket::default() });
        }
        let usage = self.sum.add(event).then(|| self.usage_since()).flatten();
        if let Some(bucket) = self.buckets.last_mut() {
            bucket.count(event);
            if usage.is_some() {
                bucket.usage = Usage::sum([bucket.usage.take(), usage]);
            }
        }
    }

    /// Returns the usage since it was last asked for.
    fn usage_since(&mut self) -> Option<Usage> {
        let total = self.sum.total()?;
        let since = match &self.used {
            Some(used) => total.since(used),
            None => Some(total.clone()),
        };
        self.used = Some(total);
        since
    }

    /// Returns at most this many buckets, and their width in offsets. A bucket without events is
    /// left out.
    pub(super) fn buckets(&self, most: usize) -> (u64, Vec<OverviewBucket>) {
        let mut shift = self.shift;
        let mut buckets = self.buckets.clone();
        while buckets.len() > most.max(1) {
            shift += 1;
            buckets = joined(&buckets, shift);
        }
        (1 << shift, buckets)
    }

    /// Returns about the bytes that it takes.
    pub(super) fn weight(&self) -> usize {
        self.buckets.capacity() * (size_of::<OverviewBucket>() + 32)
    }
}

/// Joins the buckets that are one at a width.
fn joined(buckets: &[OverviewBucket], shift: u32) -> Vec<OverviewBucket> {
    let mut wider: Vec<OverviewBucket> = Vec::with_capacity(buckets.len() / 2 + 1);
    for bucket in buckets {
        let from = bucket.from >> shift << shift;
        match wider.last_mut().filter(|last| last.from == from) {
            Some(last) => last.join(bucket),
            None => wider.push(OverviewBucket { from, ..bucket.clone() }),
        }
    }
    wider
}
