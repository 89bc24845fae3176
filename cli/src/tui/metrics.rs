//! Metrics over steps, as lines of braille dots.

use milepost_api::{MetricsForm, SeriesBucketForm, SeriesForm};

use crate::terminal::Cache;

/// Buckets of a series.
pub const POINTS: usize = 500;

/// The metrics of a lineage, with those of the histories next to it.
#[derive(Debug)]
pub struct MetricsView {
    pub task: String,
    pub lineage: milepost::LineageId,
    /// Addresses of the histories.
    pub at: Vec<String>,
    pub names: Option<MetricsForm>,
    pub cursor: usize,
    pub series: Cache<String, Vec<SeriesForm>>,
}

impl MetricsView {
    pub fn new(task: String, lineage: milepost::LineageId, at: Vec<String>) -> Self {
        Self { task, lineage, at, names: None, cursor: 0, series: Cache::new(16) }
    }

    /// Returns `true` if the names are those of a part of the lineage.
    pub fn is_read(&self) -> bool {
        self.names.as_ref().is_some_and(|names| names.read >= names.head)
    }

    pub fn chosen(&self) -> Option<&str> {
        Some(&self.names.as_ref()?.items.get(self.cursor)?.name)
    }

    /// Returns the metric whose series is to be read: it is not there, or only a part of it.
    pub fn wanted(&self) -> Option<String> {
        let name = self.chosen()?;
        let is_whole = |all: &Vec<SeriesForm>| all.iter().all(|one| one.read >= one.head);
        match self.series.get(&name.to_owned()) {
            Some(all) if is_whole(all) => None,
            _ => Some(name.to_owned()),
        }
    }

    pub fn go_by(&mut self, steps: isize) {
        let count = self.names.as_ref().map_or(0, |names| names.items.len());
        self.cursor = self.cursor.saturating_add_signed(steps).min(count.saturating_sub(1));
    }
}

/// Returns a value as text: all its digits, with an exponent if it is small or large.
pub fn value_text(value: f64) -> String {
    let is_plain = value == 0.0 || (1e-3..1e9).contains(&value.abs()) || !value.is_finite();
    if is_plain { value.to_string() } else { format!("{value:e}") }
}

/// The ranges of a chart: steps, and values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartRange {
    pub steps: (u64, u64),
    pub values: (f64, f64),
}

impl ChartRange {
    /// Returns the range that all series fit in. `None`: there are no values.
    pub fn of(all: &[SeriesForm]) -> Option<Self> {
        let buckets = || all.iter().flat_map(|one| &one.buckets);
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let least = buckets().filter_map(|it| finite(it.min.0)).reduce(f64::min)?;
        let most = buckets().filter_map(|it| finite(it.max.0)).reduce(f64::max)?;
        let steps = buckets().map(|it| it.x.0);
        let steps = (steps.clone().min()?, steps.max()?);
        Some(Self { steps, values: (least, most) })
    }
}

/// Dots of a character.
const WIDE: usize = 2;
const HIGH: usize = 4;

/// The bit of each dot of a braille character, by column and row.
const DOTS: [[u32; HIGH]; WIDE] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// Draws a series in lines of braille characters. Each bucket is a bar from its least to its
/// greatest value, so that no spike is lost, and is joined with the one before.
pub fn chart(buckets: &[SeriesBucketForm], range: ChartRange, size: (usize, usize)) -> Vec<String> {
    let (columns, rows) = size;
    let (wide, high) = (columns * WIDE, rows * HIGH);
    let mut cells = vec![vec![0_u32; columns]; rows];
    let mut set = |x: usize, y: usize| {
        let cell = cells.get_mut(y / HIGH).and_then(|row| row.get_mut(x / WIDE));
        let dot = DOTS.get(x % WIDE).and_then(|column| column.get(y % HIGH));
        if let (Some(cell), Some(dot)) = (cell, dot) {
            *cell |= dot;
        }
    };
    let mut last: Option<(usize, usize)> = None;
    for bucket in buckets {
        let values = [bucket.min.0, bucket.max.0, bucket.first.0];
        if values.iter().any(|value| !value.is_finite()) || wide == 0 || high == 0 {
            continue;
        }
        let x = column(bucket.x.0, range.steps, wide);
        let y = |value: f64| row(value, range.values, high);
        (y(bucket.max.0)..=y(bucket.min.0)).for_each(|y| set(x, y));
        if let Some((before, height)) = last {
            join((before, height), (x, y(bucket.first.0)), &mut set);
        }
        last = Some((x, y(bucket.last.0)));
    }
    let character = |bits: &u32| char::from_u32(0x2800 + bits).unwrap_or(' ');
    cells.iter().map(|row| row.iter().map(character).collect()).collect()
}

/// Sets the dots of a line between two.
fn join(from: (usize, usize), to: (usize, usize), set: &mut impl FnMut(usize, usize)) {
    let dots = to.0.abs_diff(from.0).max(to.1.abs_diff(from.1)).max(1);
    for step in 0..=dots {
        let part = |a: usize, b: usize| (a * (dots - step) + b * step) / dots;
        set(part(from.0, to.0), part(from.1, to.1));
    }
}

fn column(x: u64, (first, last): (u64, u64), wide: usize) -> usize {
    let range = u128::from(last.saturating_sub(first)).max(1);
    let at = u128::from(x.saturating_sub(first)) * (wide.saturating_sub(1)) as u128 / range;
    usize::try_from(at).unwrap_or(0)
}

/// Returns the row of a value, the greatest at the top.
fn row(value: f64, (least, most): (f64, f64), high: usize) -> usize {
    let last = high.saturating_sub(1) as f64;
    let part = if most > least { (most - value) / (most - least) } else { 0.5 };
    // Both are between 0 and the height.
    (part.clamp(0.0, 1.0) * last).round() as usize
}

#[cfg(test)]
mod tests {
    use super::super::testing::series;
    use super::*;

    fn drawn(values: &[(f64, f64)], size: (usize, usize)) -> Vec<String> {
        let all = [series("a/0@9", values)];
        chart(&all[0].buckets, ChartRange::of(&all).unwrap(), size)
    }

    #[test]
    fn a_line_goes_from_the_first_value_to_the_last() {
        assert_eq!(drawn(&[(0.0, 0.0), (1.0, 1.0)], (2, 1)), ["⡠⠊"]);
        assert_eq!(drawn(&[(3.0, 3.0), (3.0, 3.0)], (2, 1)), ["⠤⠤"]);
    }

    #[test]
    fn a_spike_in_a_bucket_is_seen() {
        let flat: Vec<(f64, f64)> = (0..100).map(|_| (0.0, 0.0)).collect();
        let mut spiked = flat.clone();
        spiked[50] = (0.0, 9.0);
        let top = |values: &[(f64, f64)]| drawn(values, (10, 4))[0].clone();
        assert!(top(&spiked).chars().any(|c| c != '\u{2800}'), "{}", top(&spiked));
        let blank = ChartRange { steps: (0, 99), values: (0.0, 9.0) };
        let none = chart(&series("a", &flat).buckets, blank, (10, 4));
        assert!(none[0].chars().all(|c| c == '\u{2800}'), "{none:?}");
    }

    #[test]
    fn values_that_are_no_numbers_and_empty_areas_draw_nothing() {
        assert_eq!(ChartRange::of(&[]), None);
        assert_eq!(ChartRange::of(&[series("a", &[(f64::NAN, f64::NAN)])]), None);
        let all = [series("a", &[(1.0, 2.0)])];
        let range = ChartRange::of(&all).unwrap();
        assert_eq!(chart(&all[0].buckets, range, (0, 0)), Vec::<String>::new());
    }
}
