//! Output of the demo: its progress, then its result.

use std::path::{Path, PathBuf};

use milepost::query::LineageInfo;
use serde_json::{Map, Value, json};

use super::run::Acknowledged;
use super::{BACK_TO, is_first};
use milepost_api::LineageForm;
use milepost_service::forms;

use crate::error::Result;
use crate::output::lineage_tree::{describe, tree};
use crate::output::{Out, Style, big, count, duration, size};

/// A lineage with its score and iteration.
pub struct Scored {
    pub info: LineageInfo,
    pub score: f64,
    pub iteration: u64,
}

/// Prints progress as text, or collects one JSON document.
pub struct Report<'a> {
    out: &'a mut Out,
    dir: PathBuf,
    /// `true` if the store is in a temporary folder that the demo made.
    is_temporary: bool,
    form: Map<String, Value>,
    times: Map<String, Value>,
}

impl<'a> Report<'a> {
    pub fn new(dir: PathBuf, seed: u64, is_temporary: bool, out: &'a mut Out) -> Result<Self> {
        let mut form = Map::new();
        form.insert("seed".into(), big(seed));
        form.insert("store".into(), dir.display().to_string().into());
        let mut report = Self { out, dir, is_temporary, form, times: Map::new() };
        let store = report.dir.display().to_string();
        report.say(&format!("An optimizer records itself in {store}"), None)?;
        Ok(report)
    }

    /// Prints one step as text, with its duration `us` in microseconds.
    fn say(&mut self, text: &str, us: Option<u64>) -> Result<()> {
        if self.out.json {
            return Ok(());
        }
        let time = us.map(|us| self.out.style(Style::Dim, &format!("  ({})", duration(us))));
        self.out.line(format!("{text}{}", time.unwrap_or_default()))?;
        Ok(self.out.flush()?)
    }

    fn time(&mut self, name: &str, us: u64) {
        self.times.insert(name.into(), big(us));
    }

    pub fn paused(&mut self, iteration: u64, us: u64) -> Result<()> {
        let iterations = count(iteration, "iteration");
        self.time("first_run", us);
        self.say(&format!("  ran {iterations} in a child process, then paused"), Some(us))
    }

    pub fn guided(&mut self, (text, step_size): (&str, f64)) -> Result<()> {
        self.say(&format!("  guidance: \"{text}\" (step size {step_size})"), None)
    }

    pub fn killed(&mut self, iteration: u64, us: u64) -> Result<()> {
        self.time("until_killed", us);
        self.say(&format!("  went on, and was killed behind iteration {iteration}"), Some(us))
    }

    pub fn reopened(
        &mut self,
        us: u64,
        acknowledged: &[Acknowledged],
        lost: u64,
        compared_us: u64,
    ) -> Result<()> {
        let events: u64 = acknowledged.iter().map(|one| one.events).sum();
        self.form.insert("acknowledged".into(), big(events));
        self.form.insert("lost".into(), big(lost));
        self.time("reopen", us);
        self.time("compare", compared_us);
        self.say("  reopened the store", Some(us))?;
        let events = count(events, "event");
        let text = format!("  acknowledged before the kill: {events}; lost: {lost}");
        self.say(&text, Some(compared_us))
    }

    pub fn picked_up(&mut self, iteration: u64, us: u64) -> Result<()> {
        self.time("pick_up", us);
        let text = format!("  picked up from its last checkpoint, at iteration {iteration}");
        self.say(&text, Some(us))
    }

    pub fn ended(&mut self, iteration: u64, score: f64, us: u64) -> Result<()> {
        let name = if self.times.contains_key("second_run") { "third_run" } else { "second_run" };
        self.time(name, us);
        let text = format!("  ended at iteration {iteration} with a score of {score:.3}");
        self.say(&text, Some(us))
    }

    pub fn rolled_back(&mut self, iteration: u64, us: u64) -> Result<()> {
        self.time("roll_back", us);
        self.say(&format!("  rolled back to iteration {iteration}, in a new lineage"), Some(us))
    }

    pub fn verified(&mut self, events: u64, faults: usize, us: u64) -> Result<()> {
        self.time("verify", us);
        self.form.insert("faults".into(), faults.into());
        let events = count(events, "event");
        self.say(&format!("  verified {events}: {}", count(faults as u64, "fault")), Some(us))
    }

    /// Prints the lineages with their scores, and commands to look further.
    pub fn end(
        mut self,
        name: &str,
        lineages: &[Scored],
        (first, second): (f64, f64),
        lost: u64,
    ) -> Result<()> {
        if self.out.json {
            return self.end_json(name, lineages);
        }
        self.say("\nThe lineages, with the best score at the end of each (0 is perfect):\n", None)?;
        let infos = lineages.iter().map(|scored| forms::lineage(scored.info.clone()));
        let infos: Vec<LineageForm> = infos.collect();
        tree(&infos, self.out, |info, out| {
            let scored = lineages.iter().find(|scored| scored.info.id == info.id);
            let score = scored.map(|scored| format!("{:.3}", scored.score)).unwrap_or_default();
            let killed = if is_first(info.id) { " (killed)" } else { "" };
            format!("{}{killed}  score {}", describe(info, out), out.style(Style::Bold, &score))
        })?;
        let verdict = if second < first { "better" } else { "no better" };
        self.say(
            &format!(
                "\nThe second attempt, from iteration {BACK_TO}, ended {verdict}: {second:.3} \
                after {first:.3}."
            ),
            None,
        )?;
        let nothing = if lost == 0 { "nothing".to_owned() } else { count(lost, "event") };
        self.say(&format!("Lost: {nothing}."), None)?;
        let store = self.dir.display().to_string();
        self.say("\nLook around in it:\n", None)?;
        for command in [
            format!("log {name} -n 20"),
            format!("checkpoints {name} --limit 10"),
            format!("state {name}/0@iteration-{BACK_TO}"),
            format!("diff {name}/1 {name}"),
            format!("undo {name}"),
        ] {
            self.say(&format!("  milepost --store {store} {command}"), None)?;
        }
        if self.is_temporary {
            let bytes = size(used(&self.dir));
            self.say(&format!("\nThe store takes {bytes}: `rm -r {store}` removes it."), None)?;
        }
        Ok(())
    }

    fn end_json(mut self, name: &str, lineages: &[Scored]) -> Result<()> {
        let lineages = lineages.iter().map(|scored| {
            let form = forms::lineage(scored.info.clone());
            let mut form = json!(form);
            if let Some(fields) = form.as_object_mut() {
                fields.insert("score".into(), json!(scored.score));
                fields.insert("iteration".into(), big(scored.iteration));
            }
            form
        });
        self.form.insert("task".into(), name.into());
        self.form.insert("lineages".into(), lineages.collect());
        self.form.insert("times_us".into(), Value::Object(self.times));
        Ok(self.out.json(&self.form)?)
    }
}

/// Returns the size of the files in a folder, in bytes, as far as they can be read.
fn used(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(about) if about.is_dir() => used(&entry.path()),
        about => about.map_or(0, |about| about.len()),
    });
    sizes.sum()
}
