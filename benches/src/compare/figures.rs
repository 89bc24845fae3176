//! Results of a run.

use std::fmt::Write as _;

use serde::Serialize;

use crate::measure::median;

/// One figure of one contestant.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// The kind of work: `appends`, `load`, `steps`, `limits`.
    pub work: &'static str,
    /// The variant: `64 writers, 1 kB`.
    pub what: String,
    /// The contestant.
    pub who: String,
    /// The unit: `/s`, `MB/s`, `ms`, `bytes`.
    pub unit: &'static str,
    /// One figure a round.
    pub rounds: Vec<f64>,
}

impl Figure {
    /// The middle of the rounds.
    pub fn median(&self) -> f64 {
        median(self.rounds.clone())
    }

    /// The lowest and the highest.
    pub fn spread(&self) -> (f64, f64) {
        let lowest = self.rounds.iter().copied().fold(f64::INFINITY, f64::min);
        (lowest, self.rounds.iter().copied().fold(0.0, f64::max))
    }
}

/// All figures of a run, and where they are from.
#[derive(Debug, Default, Serialize)]
pub struct Figures {
    /// Processor, system, commit, versions.
    pub machine: Vec<(String, String)>,
    /// The durability of each contestant.
    pub durability: Vec<(String, String)>,
    /// The figures.
    pub all: Vec<Figure>,
}

impl Figures {
    /// Adds the figure of one round.
    pub fn add(
        &mut self,
        work: &'static str,
        what: &str,
        who: &str,
        unit: &'static str,
        figure: f64,
    ) {
        let mut all = self.all.iter_mut();
        let is = |f: &&mut Figure| (f.work, &*f.what, &*f.who, f.unit) == (work, what, who, unit);
        match all.find(is) {
            Some(found) => found.rounds.push(figure),
            None => self.all.push(Figure {
                work,
                what: what.to_owned(),
                who: who.to_owned(),
                unit,
                rounds: vec![figure],
            }),
        }
    }

    /// Returns a contestant's median of a measurement.
    pub fn median(&self, work: &str, what: &str, who: &str, unit: &str) -> Option<f64> {
        let mut all = self.all.iter();
        let found = all.find(|f| (f.work, &*f.what, &*f.who, f.unit) == (work, what, who, unit));
        found.map(Figure::median)
    }

    /// Formats a page: one table a work and unit, contestants in columns, ours first, and after
    /// each other figure its ratio to ours.
    pub fn page(&self) -> String {
        let mut page = String::new();
        for (name, value) in &self.machine {
            let _ = writeln!(page, "- {name}: {value}");
        }
        let mut works: Vec<(&str, &str)> = Vec::new();
        for figure in &self.all {
            if !works.contains(&(figure.work, figure.unit)) {
                works.push((figure.work, figure.unit));
            }
        }
        for (work, unit) in works {
            let _ = writeln!(page, "\n### {work}, {unit}\n");
            self.table(work, unit, &mut page);
        }
        page
    }

    fn table(&self, work: &str, unit: &str, page: &mut String) {
        let of = |f: &&Figure| f.work == work && f.unit == unit;
        let (mut whats, mut whos): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for figure in self.all.iter().filter(of) {
            if !whats.contains(&&*figure.what) {
                whats.push(&figure.what);
            }
            if !whos.contains(&&*figure.who) {
                whos.push(&figure.who);
            }
        }
        let _ = writeln!(page, "| | {} |", whos.join(" | "));
        let _ = writeln!(page, "|---|{}", "---|".repeat(whos.len()));
        for what in whats {
            let mut line = format!("| {what} |");
            for who in &whos {
                let mut all = self.all.iter().filter(of);
                let found = all.find(|f| f.what == what && f.who == *who);
                let cell = found.map_or_else(String::new, |figure| {
                    let (low, high) = figure.spread();
                    let (low, high) = (short(low), short(high));
                    format!("{} ({low} to {high})", short(figure.median()))
                });
                let _ = write!(line, " {cell} |");
            }
            let _ = writeln!(page, "{line}");
        }
    }
}

/// A number with three digits that say something.
pub fn short(figure: f64) -> String {
    match figure {
        f if f >= 1e9 => format!("{:.2} G", f / 1e9),
        f if f >= 1e6 => format!("{:.2} M", f / 1e6),
        f if f >= 1e4 => format!("{:.1} k", f / 1e3),
        f if f >= 100.0 => format!("{f:.0}"),
        f if f >= 10.0 => format!("{f:.1}"),
        f => format!("{f:.2}"),
    }
}

/// Returns the properties of the machine that the figures depend on.
pub fn machine() -> Vec<(String, String)> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let model = cpus.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split(": ").nth(1));
    let count = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let run = |program: &str, args: &[&str]| {
        let output = std::process::Command::new(program).args(args).output();
        let text = output.map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&text).trim().to_owned()
    };
    let versions =
        format!("SQLite {}, redb 4.6, fjall 3.1, okaywal 0.3, sled 0.34", rusqlite::version());
    let folder = std::env::var("MILEPOST_BENCH_DIR").unwrap_or_else(|_| ".".to_owned());
    let all = [
        ("processor", format!("{count} x {}", model.unwrap_or("unknown"))),
        ("system", run("uname", &["-sr"])),
        ("file system", run("stat", &["-f", "-c", "%T", &folder])),
        ("compiler", run("rustc", &["--version"])),
        ("commit", run("git", &["describe", "--always", "--dirty"])),
        ("peers", versions),
    ];
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
