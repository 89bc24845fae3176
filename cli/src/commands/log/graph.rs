//! All lineages of a task in columns, newest event first.
//!
//! A lineage has a column from its last event down to its fork, where it joins the column of its
//! parent. An event is printed below each event that follows from it; of two others the later one
//! is printed first.

use std::collections::BTreeMap;

use milepost::LineageId;
use milepost_api::{EventForm, LineageForm, PointForm};

use super::LogArgs;
use super::entry::Entry;
use super::filter::EventFilter;
use super::walk::Walk;
use crate::backend::{Backend, point_at};
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, Style};

/// Kind of the event of a checkpoint.
const MARKED: &str = "checkpoint_marked";

pub fn run(source: &dyn Backend, point: &PointForm, args: &LogArgs, out: &mut Out) -> Result<()> {
    if EventFilter::is_ordered(&args.filter) {
        return Err(Failure::new("--step and --iteration are for one lineage, not for --graph")
            .code_of(USAGE)
            .hint("`milepost log TASK --step N`, `milepost log TASK --iteration N`"));
    }
    let lineages = source.lineages(&point.task)?;
    let ends = lineages.iter().map(|one| point_at(&point.task, one.id, one.head.0));
    let ends: Vec<PointForm> = ends.collect();
    let mut tracks = BTreeMap::new();
    for (lineage, end) in lineages.iter().zip(&ends) {
        tracks.insert(lineage.id, Track::new(source, lineage, end));
    }
    for lineage in &lineages {
        if let Some(parent) = &lineage.parent
            && let Some(parent_track) = tracks.get_mut(&parent.lineage)
        {
            parent_track.held.push((lineage.id, parent.offset.0));
        }
    }
    let mut graph = Graph { tracks, columns: Vec::new() };
    let widest = ends.iter().max_by_key(|end| end.offset.0).unwrap_or(point);
    let entry = Entry::new(widest, false, false, args.utc);
    let mut filter = EventFilter::new(&args.filter);
    let mut left = args.last.unwrap_or(u64::MAX);
    while left > 0
        && let Some((id, event)) = graph.next()?
    {
        for row in graph.join(id, event.offset.0) {
            if !out.json {
                out.line(out.style(Style::Dim, &row))?;
            }
        }
        let takes = filter.takes(&event);
        if takes {
            left -= 1;
        }
        match (takes, out.json) {
            (true, true) => out.json(&event)?,
            (true, false) => {
                let glyph = if event.kind == MARKED { "◆" } else { "*" };
                let (row, tail) = (graph.row(id, glyph, out), graph.tail(id, out));
                let line = entry.line(&event, 2 * graph.columns.len() + tail.chars().count(), out);
                out.line(format!("{row}{line}{tail}"))?;
            }
            (false, _) => graph.seen(id),
        }
        graph.leave(id)?;
    }
    Ok(())
}

/// The own events of one lineage.
struct Track<'a> {
    walk: Walk<'a>,
    parent: Option<LineageId>,
    active: bool,
    /// `true` once one of its events was printed.
    begun: bool,
    /// Lineages that fork from it and are not done, with the offsets. Events before a fork wait for
    /// them.
    held: Vec<(LineageId, u64)>,
    /// Lineages that are done, and whose columns have to join this one.
    ended: Vec<(LineageId, u64)>,
}

impl<'a> Track<'a> {
    fn new(source: &'a dyn Backend, lineage: &LineageForm, end: &'a PointForm) -> Self {
        let parted = lineage.parent.as_ref().map_or(0, |parent| parent.offset.0);
        let first = parted.max(lineage.begin.0);
        Self {
            walk: Walk::new(source, end, first..lineage.head.0),
            parent: lineage.parent.as_ref().map(|parent| parent.lineage),
            active: lineage.active,
            begun: false,
            held: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Marks a child as done: all of its events were printed.
    fn end(&mut self, child: LineageId) {
        let ended = self.held.extract_if(.., |(held, _)| *held == child);
        self.ended.extend(ended);
    }

    /// Returns the time of its next event, if that may be printed.
    fn time(&mut self) -> Result<Option<u64>> {
        let held = self.held.iter().map(|(_, offset)| *offset).max();
        let next = self.walk.peek()?;
        let next = next.filter(|event| held.is_none_or(|held| event.offset.0 >= held));
        Ok(next.map(|event| event.time_us.0))
    }
}

struct Graph<'a> {
    tracks: BTreeMap<LineageId, Track<'a>>,
    /// The lineage in each column.
    columns: Vec<Option<LineageId>>,
}

impl Graph<'_> {
    /// Returns the latest event that may be printed.
    fn next(&mut self) -> Result<Option<(LineageId, EventForm)>> {
        let mut latest: Option<(u64, LineageId)> = None;
        for (id, track) in &mut self.tracks {
            if let Some(time) = track.time()? {
                latest = latest.max(Some((time, *id)));
            }
        }
        let Some((_, id)) = latest else {
            return Ok(None);
        };
        let Some(track) = self.tracks.get_mut(&id) else {
            return Ok(None);
        };
        Ok(track.walk.next(0)?.map(|event| (id, event)))
    }

    /// Returns the column of a lineage. Assigns one if it has none.
    fn column(&mut self, id: LineageId) -> usize {
        let has = |column: &Option<LineageId>| *column == Some(id);
        if let Some(column) = self.columns.iter().position(has) {
            return column;
        }
        match self.columns.iter().position(Option::is_none) {
            Some(column) => {
                self.columns.splice(column..=column, [Some(id)]);
                column
            }
            None => {
                self.columns.push(Some(id));
                self.columns.len() - 1
            }
        }
    }

    /// Returns the columns in front of an event's line.
    fn row(&mut self, id: LineageId, glyph: &str, out: &Out) -> String {
        let own = self.column(id);
        let mut row = String::new();
        for (column, lineage) in self.columns.iter().enumerate() {
            row.push_str(&match (column == own, lineage) {
                (true, _) => out.style(Style::Bold, glyph),
                (false, Some(_)) => out.style(Style::Dim, "|"),
                (false, None) => " ".to_owned(),
            });
            row.push(' ');
        }
        row
    }

    /// Returns the lineage's name, for its first printed event.
    fn tail(&mut self, id: LineageId, out: &Out) -> String {
        let Some(track) = self.tracks.get_mut(&id) else {
            return String::new();
        };
        if std::mem::replace(&mut track.begun, true) {
            return String::new();
        }
        let active = if track.active { ", active" } else { "" };
        format!("  {}", out.style(Style::Good, &format!("(lineage {id}{active})")))
    }

    /// Assigns a column to the lineage of an event that is not printed.
    fn seen(&mut self, id: LineageId) {
        self.column(id);
    }

    /// Removes a lineage after its oldest event. Its parent may continue then.
    fn leave(&mut self, id: LineageId) -> Result<()> {
        let Some(track) = self.tracks.get_mut(&id) else {
            return Ok(());
        };
        if track.walk.peek()?.is_some() {
            return Ok(());
        }
        let parent = track.parent;
        self.tracks.remove(&id);
        match parent.and_then(|parent| self.tracks.get_mut(&parent)) {
            Some(parent) => parent.end(id),
            None => self.free(id),
        }
        Ok(())
    }

    /// Returns the rows that join columns of forks to a lineage, if the forks are after the event
    /// that is printed next.
    fn join(&mut self, id: LineageId, offset: u64) -> Vec<String> {
        let Some(track) = self.tracks.get_mut(&id) else {
            return Vec::new();
        };
        let parting = track.ended.extract_if(.., |(_, at)| *at > offset);
        let parting: Vec<_> = parting.map(|(child, _)| child).collect();
        let mut rows = Vec::new();
        for child in parting {
            let has = |wanted| self.columns.iter().position(|column| *column == Some(wanted));
            match (has(child), has(id)) {
                // The line continues in the left column.
                (Some(one), Some(other)) => {
                    rows.push(self.over(one.max(other), one.min(other)));
                    self.free(id);
                    self.free(child);
                    self.take(one.min(other), id);
                }
                // No later event of the parent is printed: it continues in the child's column.
                (Some(column), None) => self.take(column, id),
                (None, _) => {}
            }
        }
        rows
    }

    /// Assigns this column to a lineage.
    fn take(&mut self, column: usize, id: LineageId) {
        if self.columns.len() <= column {
            self.columns.resize(column + 1, None);
        }
        self.columns.splice(column..=column, [Some(id)]);
    }

    /// Frees the column of a lineage.
    fn free(&mut self, id: LineageId) {
        for column in &mut self.columns {
            if *column == Some(id) {
                *column = None;
            }
        }
        while self.columns.last() == Some(&None) {
            self.columns.pop();
        }
    }

    /// Returns a row that leads from one column to another on its left.
    fn over(&self, from: usize, to: usize) -> String {
        let mut row = String::new();
        for (column, lineage) in self.columns.iter().enumerate() {
            row.push(match lineage {
                _ if column == from => ' ',
                Some(_) => '|',
                None if to < column && column < from => '_',
                None => ' ',
            });
            row.push(match column {
                _ if column + 1 == from => '/',
                _ if to <= column && column < from => '_',
                _ => ' ',
            });
        }
        row.truncate(row.trim_end().len());
        row
    }
}
