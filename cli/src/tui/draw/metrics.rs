//! Metrics: their names, and a chart of the chosen one for each history.

use milepost_api::SeriesForm;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::panes::next_to;
use crate::output::{excerpt, printable};
use crate::terminal::{Looks, Tone, behind, choose, line_of, put, split_below};
use crate::tui::app::App;
use crate::tui::metrics::{ChartRange, MetricsView, chart, value_text};

/// Columns of the names on a screen with room for both.
const NAMES: u16 = 30;

/// Rows of a chart below which none is drawn.
const LOW: u16 = 3;

pub fn draw(app: &mut App, looks: Looks, area: Rect, buf: &mut Buffer) {
    let Some(view) = &app.metrics else { return };
    let Some(names) = &view.names else {
        return put(buf, line_of(area, 0), "reading…", looks.style(Tone::Dim));
    };
    if names.items.is_empty() {
        let text = match view.is_read() {
            true => "no metrics were recorded in this lineage",
            false => "reading…",
        };
        return put(buf, line_of(area, 0), text, looks.style(Tone::Dim));
    }
    let (left, right) = match area.width {
        ..60 => split_below(area, (area.height / 3).max(1)),
        _ => next_to(area, NAMES, looks, buf),
    };
    let height = usize::from(left.height).max(1);
    let top = (view.cursor + 1).saturating_sub(height);
    for (at, metric) in names.items.iter().enumerate().skip(top).take(height) {
        let line = line_of(left, at - top);
        let text = format!("{}  {}", excerpt(&metric.name, 40), value_text(metric.last.0));
        put(buf, behind(line, 2), &text, looks.style(Tone::Plain));
        if at == view.cursor {
            choose(line, true, buf);
        }
    }
    charts(view, looks, right, buf);
}

fn charts(view: &MetricsView, looks: Looks, area: Rect, buf: &mut Buffer) {
    let series = view.chosen().and_then(|name| view.series.get(&name.to_owned()));
    let Some(all) = series else {
        return put(buf, line_of(area, 0), "reading…", looks.style(Tone::Dim));
    };
    let Some(range) = ChartRange::of(all) else {
        return put(buf, line_of(area, 0), "no values", looks.style(Tone::Dim));
    };
    let each = area.height / u16::try_from(all.len().max(1)).unwrap_or(1);
    for (at, series) in all.iter().enumerate() {
        let from = u16::try_from(at).unwrap_or(0) * each;
        let (_, rest) = split_below(area, from);
        let (own, _) = split_below(rest, each);
        one(series, range, looks, own, buf);
    }
}

fn one(series: &SeriesForm, range: ChartRange, looks: Looks, area: Rect, buf: &mut Buffer) {
    let last = series.buckets.last().map(|bucket| value_text(bucket.last.0));
    let (least, most) = (value_text(range.values.0), value_text(range.values.1));
    let title = format!(
        "{}   last {}   {least} to {most}",
        printable(&series.address),
        last.unwrap_or_else(|| "-".into())
    );
    put(buf, line_of(area, 0), &title, looks.style(Tone::Title));
    if area.height < LOW {
        return;
    }
    let (_, rest) = split_below(area, 1);
    let (dots, axis) = split_below(rest, rest.height - 1);
    let size = (usize::from(dots.width), usize::from(dots.height));
    for (at, line) in chart(&series.buckets, range, size).iter().enumerate() {
        put(buf, line_of(dots, at), line, looks.style(Tone::Plain));
    }
    let (first, end) = range.steps;
    let reading = if series.read < series.head { ", reading…" } else { "" };
    let text = format!("step {first} to {end}{reading}");
    put(buf, line_of(axis, 0), &text, looks.style(Tone::Dim));
}
