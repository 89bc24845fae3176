//! A growing conversation with a checkpoint after each step, as agents have it. Most stores save
//! the whole state each time; Milepost appends the new part.

use std::path::{Path, PathBuf};

use milepost::state::MessageRange;
use milepost::{Append, Body, Engine, Mark, Options, Task};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use super::figures::Figures;
use super::on_disk;
use crate::corpus::generated;
use crate::measure::seconds;
use crate::peers::{Git, JsonFiles};
use crate::rows::folder;

/// Bytes of the messages of a step: prompt, answer, and result of a tool.
const MESSAGES: [usize; 3] = [300, 900, 1500];

/// One who saves steps.
trait Saver {
    /// Saves the events of a step, or the whole state; durable.
    fn save(&mut self, step: usize, new: &[Body], state: &Value);

    /// Loads the state after a step, as it was saved; returns its number of messages.
    fn load(&mut self, step: usize) -> usize;

    /// Does postponed work.
    fn settle(&mut self) {}
}

/// Measures all contestants in turn.
pub fn steps(figures: &mut Figures, rounds: usize, steps: usize, only: Option<&str>) {
    type Begin = fn(&Path) -> Box<dyn Saver>;
    let all: [(&str, Begin); 4] = [
        ("Milepost", |dir| Box::new(Ours::new(dir))),
        ("SQLite, whole states", |dir| Box::new(Whole::new(dir))),
        ("a JSON file a step", |dir| Box::new(JsonFiles::new(dir))),
        ("shadow git", |dir| Box::new(Shadow::new(dir))),
    ];
    let what = format!("{steps} steps");
    for _ in 0..rounds {
        for (who, begin) in all.into_iter().filter(|(who, _)| only.is_none_or(|only| only == *who))
        {
            eprintln!("steps: {who}");
            let dir = folder();
            let mut saver = begin(dir.path());
            let mut add = |what: &str, unit, figure| figures.add("steps", what, who, unit, figure);
            let mut messages: Vec<Value> = Vec::new();
            let (mut saved, mut last) = (0.0, 0.0);
            for step in 0..steps {
                let new = of_step(step);
                messages.extend(new.iter().map(|body| serde_json::to_value(body).unwrap()));
                let state = json!({"step": step, "messages": messages});
                let took = seconds(|| saver.save(step, &new, &state));
                saved += took;
                if step + steps / 10 >= steps {
                    last += took;
                }
            }
            saver.settle();
            let last = last / (steps / 10) as f64;
            add(&format!("{what}, all saved"), "ms", saved * 1e3);
            add("one of the last tenth", "ms", last * 1e3);
            add(&format!("disk behind {what}"), "bytes", on_disk(dir.path()) as f64);
            let some = (0..20).map(|n| n * steps / 20);
            let took = seconds(|| {
                for step in some {
                    let messages = saver.load(step);
                    assert_eq!(messages, (step + 1) * MESSAGES.len(), "{who}, step {step}");
                }
            });
            add("state of a checkpoint, 20 of them", "ms", took / 20.0 * 1e3);
        }
    }
}

fn of_step(step: usize) -> Vec<Body> {
    let sizes = MESSAGES.into_iter().zip(0_u64..);
    sizes.map(|(size, n)| generated(step as u64 * 8 + n, size)).collect()
}

struct Ours {
    engine: Engine,
    task: Task,
    /// The point behind each step.
    points: Vec<u64>,
}

impl Ours {
    fn new(dir: &Path) -> Self {
        let engine = Engine::open(dir.join("store"), Options::default()).unwrap();
        let task = engine.start_task("compare", "bench").unwrap();
        Self { engine, task, points: Vec::new() }
    }
}

impl Saver for Ours {
    fn save(&mut self, _: usize, new: &[Body], _: &Value) {
        self.task.append(Append::batch(new.iter().cloned())).unwrap();
        let checkpoint = self.task.checkpoint(Mark::new()).unwrap();
        self.points.push(checkpoint.at);
    }

    fn load(&mut self, step: usize) -> usize {
        let point = self.task.point(self.points[step]).unwrap();
        let state = self.engine.run_state(&point).unwrap();
        let state = state.to_json(self.engine.chunks().as_ref(), MessageRange::All).unwrap();
        state["messages"].as_array().unwrap().len()
    }

    fn settle(&mut self) {
        self.engine.store().drain().unwrap();
    }
}

fn count(state: &[u8]) -> usize {
    let state: Value = serde_json::from_slice(state).unwrap();
    state["messages"].as_array().unwrap().len()
}

/// A row with the whole state a step, in SQLite with WAL and synchronous = FULL.
struct Whole(Connection);

impl Whole {
    fn new(dir: &Path) -> Self {
        let db = Connection::open(dir.join("states.db")).unwrap();
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.pragma_update(None, "synchronous", "FULL").unwrap();
        db.execute_batch("CREATE TABLE state (step INTEGER PRIMARY KEY, state BLOB)").unwrap();
        Self(db)
    }
}

impl Saver for Whole {
    fn save(&mut self, step: usize, _: &[Body], state: &Value) {
        let state = serde_json::to_vec(state).unwrap();
        let insert = "INSERT INTO state VALUES (?1, ?2)";
        self.0.execute(insert, params![step as i64, state]).unwrap();
    }

    fn load(&mut self, step: usize) -> usize {
        let select = "SELECT state FROM state WHERE step = ?1";
        let state: Vec<u8> = self.0.query_row(select, [step as i64], |row| row.get(0)).unwrap();
        count(&state)
    }

    fn settle(&mut self) {
        self.0.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    }
}

impl Saver for JsonFiles {
    fn save(&mut self, _: usize, _: &[Body], state: &Value) {
        JsonFiles::save(self, &serde_json::to_vec(state).unwrap());
    }

    fn load(&mut self, step: usize) -> usize {
        count(&JsonFiles::load(self, step as u64))
    }
}

/// The state in a file, and a commit a step. Nothing is synced.
struct Shadow {
    git: Git,
    tree: PathBuf,
    commits: Vec<String>,
}

impl Shadow {
    fn new(dir: &Path) -> Self {
        let tree = dir.join("tree");
        std::fs::create_dir(&tree).unwrap();
        Self { git: Git::init(dir.join("git"), &tree), tree, commits: Vec::new() }
    }
}

impl Saver for Shadow {
    fn save(&mut self, _: usize, _: &[Body], state: &Value) {
        let state = serde_json::to_vec(state).unwrap();
        std::fs::write(self.tree.join("state.json"), state).unwrap();
        self.git.snapshot();
        self.commits.push(self.git.head());
    }

    fn load(&mut self, step: usize) -> usize {
        self.git.restore(&self.commits[step]);
        count(&std::fs::read(self.tree.join("state.json")).unwrap())
    }

    fn settle(&mut self) {
        self.git.pack();
    }
}
