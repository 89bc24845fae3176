//! A life in a process of its own, in which calls fail, or which ends before its time.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use milepost::Engine;
use milepost_runtime::failover::{FailoverEngine, FailoverOptions};
use serde::{Deserialize, Serialize};

use super::acts::{Acts, lock};
use super::call::Call;
use super::count::Count;
use super::lines;
use super::model::Model;
use super::program::{Life, Schedule};
use super::reopen::Reopened;
use crate::disk::{Disk, Op, VARIANTS, Variant, read_trace};
use crate::faults::{self, Faults, counts};
use crate::seed::Random;

/// The folder of the plan of a process; without it the process does nothing.
pub const PLAN: &str = "MILEPOST_STORM_PLAN";

/// The name of the test that calls [`child`].
pub const CHILD: &str = "storm::child_that_lives_under_faults";

/// Cuts of a life right behind an answer, at most.
const BEHIND: usize = 8;

/// Fault of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// A kill before the `n`-th call of a class.
    Kill { class: u8, n: u32 },
    /// The `n`-th call of a class fails.
    Error { class: u8, n: u32, how: u8, forever: bool },
    /// The power fails at some moment: unsynced content is lost in part. Copies lose all of it
    /// right after some answers.
    Power { at: u32, variant: u8 },
    /// A few short stops.
    Stop,
}

const CLASSES: [&str; 8] = ["any", "write", "sync", "read", "rename", "open", "unlink", "truncate"];

const HOWS: [&str; 4] = ["EIO", "ENOSPC", "short", "torn"];

impl Fault {
    /// One of them.
    pub fn draw(random: &mut Random) -> Self {
        let class = random.below(CLASSES.len() as u64) as u8;
        // Few and many calls.
        let most = 1 << (1 + random.below(10));
        let n = 1 + random.below(most) as u32;
        match random.below(10) {
            0..=2 => Self::Kill { class: 0, n: 3 * n },
            3..=5 => Self::Error {
                class,
                n,
                how: random.below(6).saturating_sub(2) as u8,
                forever: random.below(2) == 0,
            },
            6..=8 => Self::Power {
                at: random.number() as u32,
                variant: random.below(VARIANTS.len() as u64) as u8,
            },
            _ => Self::Stop,
        }
    }

    /// In one word.
    fn word(self) -> String {
        match self {
            Self::Power { at, variant } => format!("power:{at}:{variant}"),
            fault => fault.setting().unwrap_or_else(|| "stop".into()),
        }
    }

    fn setting(self) -> Option<String> {
        match self {
            Self::Kill { class, n } => Some(format!("{}:{n}:kill:once", name(class))),
            Self::Error { class, n, how, forever } => {
                let how = match name(class) {
                    "read" | "write" => HOWS[usize::from(how) % 4],
                    _ => HOWS[usize::from(how) % 2],
                };
                let long = if forever { "forever" } else { "once" };
                Some(format!("{}:{n}:{how}:{long}", name(class)))
            }
            Self::Power { .. } | Self::Stop => None,
        }
    }
}

fn name(class: u8) -> &'static str {
    CLASSES[usize::from(class) % CLASSES.len()]
}

/// Work of a process.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    life: Life,
    model: Model,
    tiny: bool,
    schedule: Schedule,
    dir: PathBuf,
}

/// The process.
pub fn child() {
    let Some(plan) = std::env::var_os(PLAN) else {
        return;
    };
    let plan: Plan = serde_json::from_slice(&fs::read(plan).unwrap()).unwrap();
    let file = OpenOptions::new().create(true).append(true).open(plan.dir.join("acks")).unwrap();
    let mut acts = Acts {
        root: plan.dir.join("store"),
        tiny: plan.tiny,
        count: plan.life.counted.then(Count::default),
        model: Mutex::new(plan.model),
        lines: Some(Mutex::new(file)),
        ..Acts::default()
    };
    let engine = if plan.life.supervised {
        let supervisor =
            FailoverEngine::open(&acts.root, acts.options(), FailoverOptions::default());
        let Ok(supervisor) = supervisor else { return };
        let engine = supervisor.engine();
        acts.supervisor = Some(supervisor);
        engine
    } else {
        Engine::open(&acts.root, acts.options())
    };
    let Ok(engine) = engine else { return };
    acts.engine = Some(engine);
    let done = match plan.schedule {
        Schedule::Sequential => plan.life.steps.iter().try_for_each(|step| acts.step(step)),
        Schedule::Threads(threads) => acts.threads(&plan.life, threads),
    };
    if let (Err(error), Some(file)) = (done, &acts.lines) {
        lines::said(&mut lock(file), &error);
    }
    // Calls after the last report may fail.
    let engine = acts.engine.take();
    let _ = match acts.supervisor.take() {
        Some(supervisor) => supervisor.close(),
        None => engine.map_or(Ok(()), Engine::close),
    };
}

/// A life to be run.
#[derive(Debug)]
pub struct Run<'a> {
    pub within: &'a Path,
    pub life: &'a Life,
    pub fault: Fault,
    pub schedule: Schedule,
    pub seed: u64,
}

impl Run<'_> {
    /// Runs it; gives the calls whose answers are not known.
    pub fn run(&self, acts: &mut Acts) -> Result<Vec<Call>, String> {
        let Some(faults) = faults::built() else {
            return Ok(Vec::new());
        };
        let dir = self.within.join("dir");
        fs::create_dir(&dir).unwrap();
        fs::rename(&acts.root, dir.join("store")).unwrap();
        acts.root = dir.join("store");
        let disk = match self.fault {
            Fault::Power { .. } => Some(Disk::load(&dir).unwrap()),
            _ => None,
        };
        let plan = Plan {
            life: self.life.clone(),
            model: lock(&acts.model).clone(),
            tiny: acts.tiny,
            schedule: self.schedule,
            dir: dir.clone(),
        };
        let path = self.within.join("plan.json");
        fs::write(&path, serde_json::to_vec(&plan).unwrap()).unwrap();
        let failed = self.process(faults, &dir, &path)?;
        {
            let mut counts = lock(&acts.counts);
            counts.faults += u64::from(failed > 0 || disk.is_some() || self.fault == Fault::Stop);
            counts.kills += u64::from(matches!(self.fault, Fault::Kill { .. }));
            counts.operations += self.life.steps.len() as u64;
        }
        let acks = match disk {
            Some(disk) => self.cut(disk, acts).map_err(|e| format!("fault power: {e}"))?,
            None => fs::read(dir.join("acks")).unwrap_or_default(),
        };
        let model = &mut lock(&acts.model);
        lines::replay(&acks, model, self.life.counted, failed > 0)
            .map_err(|e| format!("fault {}: {e}", self.fault.word()))
    }

    /// Runs the process; gives how many calls were made to fail.
    fn process(&self, faults: &Faults, dir: &Path, plan: &Path) -> Result<u64, String> {
        let (count, trace) = (self.within.join("count"), self.within.join("trace"));
        let setting = self.fault.setting();
        let mut settings =
            vec![(PLAN, plan.to_str().unwrap()), (faults::COUNT, count.to_str().unwrap())];
        if let Some(setting) = &setting {
            settings.push((faults::FAIL, setting.as_str()));
        }
        if matches!(self.fault, Fault::Power { .. }) {
            settings.push((faults::RECORD, trace.to_str().unwrap()));
        }
        let child = faults::spawn(&mut faults::command(faults, CHILD, dir, &settings));
        if self.fault == Fault::Stop {
            stop(child.id(), self.seed);
        }
        let ended = faults::end(child, Duration::from_secs(90));
        let killed = matches!(self.fault, Fault::Kill { .. });
        match ended.fault(killed) {
            Some(fault) => Err(format!("fault {}: {fault}", self.fault.word())),
            None => Ok(counts(&count).failed()),
        }
    }

    /// Replaces the store by the possible remains of a power cut at some moment; returns the
    /// acknowledgements by then. On the way, checks the remains of cuts right after some answers.
    fn cut(&self, mut disk: Disk, acts: &mut Acts) -> Result<Vec<u8>, String> {
        let Fault::Power { at, variant } = self.fault else {
            return Ok(Vec::new());
        };
        let ops = read_trace(&self.within.join("trace")).unwrap();
        let until = at as usize % (ops.len() + 1);
        let mut random = Random::new(self.seed);
        let mut behind = answers(&ops);
        while behind.len() > BEHIND {
            behind.swap_remove(random.below(behind.len() as u64) as usize);
        }
        let (image, beside) = (self.within.join("image"), self.within.join("behind"));
        let (mut inode, mut acks, mut left) = (None, Vec::new(), None);
        for n in 0..=ops.len() {
            if n == until {
                let variant = VARIANTS[usize::from(variant) % VARIANTS.len()];
                disk.image(variant, &mut random, &image).unwrap();
                left = Some(acks.clone());
            }
            if behind.contains(&n) {
                disk.image(Variant::None, &mut random, &beside).unwrap();
                let looked = self.look(&beside, &acks, acts);
                looked.map_err(|e| format!("behind operation {n} of {}: {e}", ops.len()))?;
                fs::remove_dir_all(&beside).unwrap();
            }
            match ops.get(n) {
                Some(Op::Create { inode: node, path, .. }) if path == "acks" => {
                    inode = Some(*node);
                }
                Some(Op::Write { inode: node, data, .. }) if Some(*node) == inode => {
                    acks.extend_from_slice(data);
                }
                Some(op) => disk.apply(op),
                None => {}
            }
        }
        acts.root = image.join("store");
        Ok(left.unwrap_or_default())
    }

    /// Compares the remains of a store with the model and the acknowledgements by then.
    fn look(&self, image: &Path, acks: &[u8], acts: &Acts) -> Result<(), String> {
        let mut model = lock(&acts.model).clone();
        let counted = self.life.counted;
        let unknown = lines::replay(acks, &mut model, counted, false)?;
        let mut left = Acts {
            root: image.join("store"),
            tiny: acts.tiny,
            anchors: Mutex::new(lock(&acts.anchors).clone()),
            model: Mutex::new(model),
            ..Acts::default()
        };
        left.reopen(Reopened {
            counted,
            unknown,
            unknown_counted: counted,
            cut_short: true,
            ..Reopened::default()
        })?;
        left.close()
    }
}

/// Places behind the operations that wrote down an answer.
fn answers(ops: &[Op]) -> Vec<usize> {
    let is_answer = |op: &Op| matches!(op, Op::Write { data, .. } if data.starts_with(b"E "));
    let all = ops.iter().enumerate().filter(|(_, op)| is_answer(op));
    all.map(|(n, _)| n + 1).collect()
}

/// Stops a process a few times for a moment.
fn stop(process: u32, seed: u64) {
    let mut random = Random::new(seed);
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(random.below(30)));
        for signal in ["-STOP", "-CONT"] {
            let _ = std::process::Command::new("kill")
                .args([signal, &process.to_string()])
                .stderr(std::process::Stdio::null())
                .status();
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
