//! Real events in bulk: durable batches, their size on the disk, and reading them back.

use super::contestants::{ALL, Event};
use super::figures::Figures;
use super::{on_disk, written};
use crate::corpus::Rounds;
use crate::measure::seconds;
use crate::rows::folder;

const BATCH: usize = 1000;

/// Measures all contestants in turn. A contestant that cannot keep its input does not take part.
pub fn load(figures: &mut Figures, rounds: usize, bytes: u64, only: Option<&str>) {
    let all = Rounds::of(bytes);
    let (size, mb) = (all.size as f64, all.size as f64 / 1e6);
    let what = format!("{mb:.0} MB of real events");
    for _ in 0..rounds {
        for contestant in &ALL {
            let cannot = ["raw file", "a file each", "SQLite, grouped"];
            if cannot.contains(&contestant.name) || only.is_some_and(|only| only != contestant.name)
            {
                continue;
            }
            eprintln!("load: {}", contestant.name);
            let dir = folder();
            let before = written();
            let log = (contestant.begin)(dir.path(), false);
            let (mut acknowledged, mut count) = (0.0, 0);
            for number in 0..all.times {
                let events: Vec<Event> = all.round(number).into_iter().map(Event::of).collect();
                count += events.len();
                acknowledged +=
                    seconds(|| events.chunks(BATCH).for_each(|batch| log.append(batch)));
            }
            let settled = seconds(|| log.settle());
            let wrote = (written() - before) as f64 / size;
            let mut add = |unit, figure| figures.add("load", &what, contestant.name, unit, figure);
            add("MB/s", mb / acknowledged);
            add("MB/s, with all that is put off", mb / (acknowledged + settled));
            add("x written", wrote);
            drop(log);
            add("x on the disk, closed", on_disk(dir.path()) as f64 / size);
            let log = (contestant.begin)(dir.path(), false);
            let mut read = None;
            let scanned = seconds(|| read = log.scan());
            if let Some(read) = read {
                assert!(read >= count);
                add("MB/s read back and decoded", mb / scanned);
            }
        }
    }
}
