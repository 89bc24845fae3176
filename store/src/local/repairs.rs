//! The records of repaired damage: the file `repairs`, see "Repairs leave a record" in
//! `docs/RECOVERY.md`.
//!
//! Each line is 16 hexadecimal digits of the BLAKE3 hash of the rest, a space, and a JSON object: a
//! repair, or a statement about all lines above it. The process that has the store's lock writes
//! the file, always whole and durably.

use std::io::Read as _;
use std::path::PathBuf;

use milepost_codec::Result;
use serde::{Deserialize, Serialize};

use crate::files;
use crate::local::layout::Layout;
use crate::open_report::{Finding, Repair};

/// The maximum bytes of the file that are read.
const READ_MAX: u64 = 1 << 20;

/// The maximum number of lines; the oldest ones make room.
const LINES_MAX: usize = 512;

/// The maximum number of repairs that are recorded together.
const TOGETHER_MAX: usize = 64;

/// The maximum number of characters of a text.
const TEXT_MAX: usize = 512;

/// The digits of the check of a line.
const CHECK_DIGITS: usize = 16;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// Damage, written before its repair begins.
    Repair(Damaged),
    /// All repairs above are complete.
    Mended { time_us: u64 },
    /// All repairs above are acknowledged.
    Acknowledged { time_us: u64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Damaged {
    time_us: u64,
    whole_us: Option<u64>,
    place: String,
    message: String,
    mended_from: String,
}

/// The note of the last verification of the whole store, as text: JSON's numbers are not exact in
/// every language.
#[derive(Debug, Serialize, Deserialize)]
struct Verified {
    time_us: String,
    events: String,
    faults: usize,
}

/// The copies that repairs read.
pub(crate) mod copies {
    pub(crate) const JOURNAL: &str = "the journal and its archive";
    pub(crate) const SLED: &str = "sled";
    pub(crate) const PACK: &str = "the pack";
    pub(crate) const COPY_OF_PACK: &str = "the copy of the pack";
    pub(crate) const WITNESSES: &str = "the rest of the journal, and sled";
    pub(crate) const BOTH: &str = "what is left of journal, archive and sled; the rest is lost";
}

impl Layout {
    fn repairs(&self) -> PathBuf {
        self.root.join("repairs")
    }

    fn verified(&self) -> PathBuf {
        self.root.join("verified.json")
    }

    /// Records damage, durably, before it is repaired. Damage whose repair was interrupted is
    /// recorded already.
    pub(crate) fn record(&self, found: &[Finding], copy: &str, now_us: u64) -> Result<()> {
        let mut lines = self.lines()?;
        let parsed: Vec<Option<Line>> = lines.iter().map(|line| parse(line)).collect();
        let closed = parsed.iter().rposition(|line| !matches!(line, Some(Line::Repair(_))));
        let open = parsed.get(closed.map_or(0, |at| at + 1)..).unwrap_or(&[]);
        let inside = format!("{}/", self.root.display());
        let cut = |text: &str| text.replace(&inside, "").chars().take(TEXT_MAX).collect::<String>();
        let whole_us = self.whole_us();
        let damaged = |place: &str, message: &str| Damaged {
            time_us: now_us,
            whole_us,
            place: cut(place),
            message: cut(message),
            mended_from: cut(copy),
        };
        let mut damages: Vec<Damaged> =
            found.iter().take(TOGETHER_MAX).map(|f| damaged(&f.place, &f.message)).collect();
        if let Some(more) = found.len().checked_sub(TOGETHER_MAX).filter(|more| *more > 0) {
            damages.push(damaged("the store", &format!("{more} more places of that kind")));
        }
        let before = lines.len();
        for damage in damages {
            let same = |known: &Damaged| {
                (&known.place, &known.message) == (&damage.place, &damage.message)
            };
            let mut known = open.iter().flatten();
            if !known.any(|line| matches!(line, Line::Repair(known) if same(known))) {
                lines.push(line_of(&Line::Repair(damage)));
            }
        }
        if let Some(drop) = lines.len().checked_sub(LINES_MAX).filter(|drop| *drop > 0) {
            lines.drain(..=drop);
            let room = damaged("repairs", "older records made room for newer ones");
            lines.insert(0, line_of(&Line::Repair(room)));
        }
        if lines.len() == before { Ok(()) } else { self.write_lines(&lines) }
    }

    /// Records that all repairs so far are complete.
    pub(crate) fn record_mended(&self, now_us: u64) -> Result<()> {
        self.close_with(&Line::Mended { time_us: now_us }, |repair| !repair.complete).map(drop)
    }

    /// Acknowledges all repairs so far. Returns the number of those that were not acknowledged.
    pub(crate) fn acknowledge_repairs(&self, now_us: u64) -> Result<u64> {
        let line = Line::Acknowledged { time_us: now_us };
        self.close_with(&line, |repair| repair.acknowledged_us.is_none())
    }

    fn close_with(&self, line: &Line, is_open: impl Fn(&Repair) -> bool) -> Result<u64> {
        let mut lines = self.lines()?;
        let open = repairs_of(&lines).iter().filter(|repair| is_open(repair)).count();
        if open > 0 {
            lines.push(line_of(line));
            self.write_lines(&lines)?;
        }
        Ok(open as u64)
    }

    /// Returns the recorded repairs, in the order of their records.
    pub(crate) fn read_repairs(&self) -> Result<Vec<Repair>> {
        Ok(repairs_of(&self.lines()?))
    }

    fn lines(&self) -> Result<Vec<String>> {
        let path = self.repairs();
        if !path.exists() {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        let file = files::open_read(&path)?;
        file.take(READ_MAX).read_to_end(&mut bytes).map_err(|e| files::io("read", &path, &e))?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    fn write_lines(&self, lines: &[String]) -> Result<()> {
        let mut text = lines.join("\n");
        text.push('\n');
        files::write_whole(&self.repairs(), text.as_bytes())
    }

    /// Notes a verification of the whole store. It may be lost in a power cut: only the time in a
    /// later record depends on it.
    pub(crate) fn note_verified(&self, events: u64, faults: usize, now_us: u64) -> Result<()> {
        let (time_us, events) = (now_us.to_string(), events.to_string());
        let note = serde_json::to_vec(&Verified { time_us, events, faults });
        let note = note.expect("text and numbers are JSON");
        files::replace(&self.verified(), &note, false)
    }

    /// Returns the time at which the whole store was last verified without a fault.
    fn whole_us(&self) -> Option<u64> {
        let mut text = Vec::new();
        files::open_read(&self.verified()).ok()?.take(READ_MAX).read_to_end(&mut text).ok()?;
        let note: Verified = serde_json::from_slice(&text).ok()?;
        note.time_us.parse().ok().filter(|_| note.faults == 0)
    }
}

fn line_of(line: &Line) -> String {
    let json = serde_json::to_string(line).expect("text and numbers are JSON");
    format!("{} {json}", check_of(&json))
}

fn check_of(json: &str) -> String {
    blake3::hash(json.as_bytes()).to_hex().chars().take(CHECK_DIGITS).collect()
}

fn parse(line: &str) -> Option<Line> {
    let (check, json) = line.split_once(' ')?;
    (check == check_of(json)).then(|| serde_json::from_str(json).ok()).flatten()
}

/// Returns the repairs of lines. A line that does not match its check is one, too: it may have been
/// a record.
fn repairs_of(lines: &[String]) -> Vec<Repair> {
    let mut repairs: Vec<Repair> = Vec::new();
    for (number, line) in (1..).zip(lines) {
        match parse(line) {
            Some(Line::Repair(damaged)) => repairs.push(Repair {
                time_us: damaged.time_us,
                whole_us: damaged.whole_us,
                place: damaged.place,
                message: damaged.message,
                mended_from: damaged.mended_from,
                complete: false,
                acknowledged_us: None,
            }),
            Some(Line::Mended { .. }) => repairs.iter_mut().for_each(|one| one.complete = true),
            Some(Line::Acknowledged { time_us }) => {
                for repair in repairs.iter_mut().filter(|one| one.acknowledged_us.is_none()) {
                    repair.acknowledged_us = Some(time_us);
                }
            }
            None => repairs.push(Repair {
                time_us: 0,
                whole_us: None,
                place: format!("repairs, line {number}"),
                message: "a record that does not match its check".to_owned(),
                mended_from: "none: there is no other copy of a record".to_owned(),
                complete: true,
                acknowledged_us: None,
            }),
        }
    }
    repairs
}
