//! A process that works on a store while calls fail or it is killed, and what must hold after it.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, missing_docs, reason = "tests")]

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use milepost::{Error, ErrorKind};

use crate::acked::{Acked, WRONG, check_engine, check_store};
use crate::faults::{self, Faults};
use crate::work::{Kind, Step, Work, compacting_script, short_script};

const DIR: &str = "MILEPOST_TEST_FAULTED_DIR";
const SEED: &str = "MILEPOST_TEST_FAULTED_SEED";
const WHAT: &str = "MILEPOST_TEST_FAULTED_WHAT";

/// A failure to inject: class of calls, number, kind, and duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fail {
    pub class: &'static str,
    pub n: u64,
    pub how: &'static str,
    pub forever: bool,
}

impl std::fmt::Display for Fail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { class, n, how, .. } = self;
        let long = if self.forever { "forever" } else { "once" };
        write!(f, "{class}:{n}:{how}:{long}")
    }
}

impl Fail {
    pub fn once(class: &'static str, n: u64, how: &'static str) -> Self {
        Self { class, n, how, forever: false }
    }
}

/// Runs as the child process: does nothing unless the environment names a folder. It makes a store
/// and works on it (`Work`), opens an existing one and continues a little (`Recover`) or reads all
/// of it (`Read`), or works, and opens the store again itself after a failure (`Reopen`).
pub fn child() {
    let (Ok(dir), Ok(seed), Ok(what)) =
        (std::env::var(DIR), std::env::var(SEED), std::env::var(WHAT))
    else {
        return;
    };
    let (dir, seed) = (Path::new(&dir), seed.parse().unwrap());
    let fail = std::env::var(faults::FAIL).unwrap_or_default();
    work(dir, seed, &what, &fail);
    // All engines are gone by now: nothing hung.
    tell(dir, "done");
}

fn tell(dir: &Path, line: &str) {
    let acks = OpenOptions::new().append(true).create(true).open(dir.join("acks"));
    acks.unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn work(dir: &Path, seed: u64, what: &str, fail: &str) {
    let (first, script) = match what {
        "Recover" => (10_000, recovering_script()),
        "Compact" => (0, compacting_script()),
        _ => (0, short_script()),
    };
    let mut work = match Work::open(dir, seed, first) {
        Ok(work) => work,
        Err(error) => return tell(dir, &failed("open", &error)),
    };
    if what == "Held" {
        return held(&mut work);
    }
    if what == "Read" {
        // Errors are what is expected; an answer has to be the right one.
        let acked = Acked::read(&dir.join("acks"));
        match check_engine(work.engine(), &acked, seed) {
            Err(error) if error.starts_with(WRONG) => work.tell(&error),
            Err(error) => work.tell(&format!("failed reading {error}")),
            Ok(()) => {}
        }
        return;
    }
    for step in script {
        let Err(error) = work.step(step) else {
            continue;
        };
        work.tell(&failed(&format!("{step:?}"), &error));
        if what != "Reopen" {
            return after_failure(&mut work, dir, seed, fail, &error);
        }
        drop(work);
        return reopen(dir, seed);
    }
}

/// Reads while the sync of an append takes as long as it likes.
fn held(work: &mut Work) {
    for step in [
        Step::Start,
        Step::Append(Kind::Small),
        Step::Append(Kind::Chunked),
        Step::Mark,
        Step::Drain,
        Step::Append(Kind::Medium),
    ] {
        work.step(step).unwrap();
    }
    let hold = PathBuf::from(std::env::var_os(faults::HOLD).unwrap());
    let done = std::sync::atomic::AtomicBool::new(false);
    let task = work.engine().task("t0").unwrap();
    let head = task.head().unwrap();
    std::fs::write(&hold, b"").unwrap();
    let served = std::thread::scope(|scope| {
        scope.spawn(|| {
            task.append(crate::bodies::body(0, 1, 10)).unwrap();
            done.store(true, std::sync::atomic::Ordering::SeqCst);
        });
        let engine = work.engine();
        for n in 0..200 {
            let events = task.read(..).unwrap().filter(Result::is_ok).count() as u64;
            let state = engine.run_state(&task.point(head.next - n % 2).unwrap());
            let listed = engine.query().checkpoints(&milepost::query::CheckpointQuery::default());
            let stats = engine.store().stats().unwrap();
            assert!(events == head.next && state.is_ok() && stats.tasks == 1);
            assert_eq!(listed.unwrap().items.len(), 1);
        }
        assert_eq!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().faults, []);
        let waited = !done.load(std::sync::atomic::Ordering::SeqCst);
        std::fs::remove_file(&hold).unwrap();
        waited
    });
    assert_eq!(task.head().unwrap().next, head.next + 1);
    if served {
        work.tell("served");
    }
}

/// Opens the store again in the process whose write failed.
fn reopen(dir: &Path, seed: u64) {
    let mut work = match Work::open(dir, seed, 30_000) {
        Ok(work) => work,
        Err(error) => return tell(dir, &failed("reopen", &error)),
    };
    let acked = Acked::read(&dir.join("acks"));
    if let Err(error) = check_engine(work.engine(), &acked, seed) {
        work.tell(&format!("unreadable {error}"));
    }
    for step in recovering_script() {
        if let Err(error) = work.step(step) {
            work.tell(&failed(&format!("{step:?} after reopening"), &error));
            return;
        }
    }
    if dir.join("store/damaged/sled").exists() {
        work.tell("set aside");
    }
    work.tell("reopened");
}

fn failed(what: &str, error: &Error) -> String {
    format!("failed {what}: {:?}: {error}", error.kind())
}

fn recovering_script() -> Vec<Step> {
    vec![
        Step::Append(Kind::Small),
        Step::Append(Kind::Chunked),
        Step::Append(Kind::Large),
        Step::Drain,
        Step::Mark,
        Step::Append(Kind::Small),
    ]
}

/// Checks the promises in the same process after a failed write.
fn after_failure(work: &mut Work, dir: &Path, seed: u64, fail: &str, error: &Error) {
    let class = fail.split(':').next().unwrap_or_default();
    // After a failed read or open nothing was written: the next append may succeed.
    let writes = matches!(class, "write" | "sync" | "range" | "rename" | "truncate");
    // The same of a segment that could not be made, which nothing named yet.
    let writes = writes && !error.to_string().starts_with("nothing was appended");
    if !work.is_open() || matches!(class, "read" | "open" | "any") {
        return;
    }
    // A thread of sled's own failed, and this append had something to read. The applier learns of
    // it with its next round: until then the journal takes appends, and keeps them.
    let is_unknown = error.kind() == ErrorKind::Unavailable;
    let mut is_unknown = is_unknown && refused_by_sled(&format!("Unavailable: {error}"));
    for kind in [Kind::Small, Kind::Small, Kind::Chunked, Kind::Small] {
        match work.step(Step::Append(kind)) {
            Ok(()) if is_unknown => match work.step(Step::Drain) {
                Ok(()) => work.tell("revived by a drain"),
                Err(_) => is_unknown = false,
            },
            Ok(()) if writes => work.tell(&format!("revived by an append of {kind:?}")),
            Ok(()) | Err(_) => {}
        }
    }
    let acked = Acked::read(&dir.join("acks"));
    match check_engine(work.engine(), &acked, seed) {
        Ok(_) => {}
        // After a write of sled's own has failed it refuses reads as well, and says so: what is
        // applied is read again after a reopen. It must not answer.
        Err(error) if refused_by_sled(&error) => {
            work.tell("sled refuses reads");
        }
        Err(error) => work.tell(&format!("unreadable {error}")),
    }
}

/// Returns `true` if an answer was refused because of a failed write of sled's own: after any other
/// failure, reads must succeed.
fn refused_by_sled(error: &str) -> bool {
    let refused = error.contains("Unavailable") || error.contains("Poisoned");
    refused && error.contains("sled")
}

/// One try: a folder, a process in it.
#[derive(Debug)]
pub struct Case<'a> {
    /// The name of the test that calls [`child`].
    pub child: &'a str,
    pub dir: PathBuf,
    pub seed: u64,
}

impl Case<'_> {
    /// Runs the process, and returns its acknowledgements, or the fault of its end.
    pub fn run(
        &self,
        faults: &Faults,
        what: &str,
        fail: Option<Fail>,
        count: Option<&Path>,
    ) -> Result<Acked, String> {
        let (seed, text) = (self.seed.to_string(), fail.map(|f| f.to_string()));
        let mut settings =
            vec![(DIR, self.dir.to_str().unwrap()), (SEED, seed.as_str()), (WHAT, what)];
        if let Some(text) = &text {
            settings.push((faults::FAIL, text.as_str()));
        }
        let hold = self.dir.with_extension("hold");
        settings.push((faults::HOLD, hold.to_str().unwrap()));
        if let Some(count) = count {
            settings.push((faults::COUNT, count.to_str().unwrap()));
        }
        let ended = faults::run(faults, self.child, &self.dir, &settings);
        let killed = fail.is_some_and(|f| f.how == "kill");
        let acked = Acked::read(&self.dir.join("acks"));
        let place = || acked.said.join("; ");
        if let Some(fault) = ended.fault(killed) {
            return Err(format!("{fault}\n{}", place()));
        }
        if ended.status.success() && !acked.has_said("done") {
            return Err(format!("the process did not say that it was done: {}", place()));
        }
        Ok(acked)
    }

    /// Runs the process behind a line of shell that sets limits for it, which it meets as `class`
    /// of calls that fail. It may end by one of these signals.
    pub fn run_limited(&self, limit: &str, class: &str, signals: &[i32]) -> Result<Acked, String> {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{limit}; exec \"$@\""), "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", self.child, "--nocapture", "--test-threads=1"])
            .env(DIR, &self.dir)
            .env(SEED, self.seed.to_string())
            .env(WHAT, "Work")
            .env(faults::FAIL, class)
            // A thread whose memory ends while it prints the trace of a panic waits for itself:
            // std prints the trace of the failed allocation with the same lock held
            // (rust-lang/rust#148020).
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let ended = faults::end(faults::spawn(&mut command), Duration::from_secs(120));
        let acked = Acked::read(&self.dir.join("acks"));
        match ended.fault_but(signals) {
            Some(fault) => Err(format!("{fault}\n{}", acked.said.join("; "))),
            None => Ok(acked),
        }
    }

    /// Looks, without faults, whether the store has everything that was acknowledged.
    pub fn check(&self) -> Result<Acked, String> {
        self.check_damaged(&[])
    }

    /// As [`Case::check`], where the fault may damage some places of the store.
    pub fn check_damaged(&self, damaged: &'static [&'static str]) -> Result<Acked, String> {
        let acked = Acked::read(&self.dir.join("acks"));
        check_store(&self.dir.join("store"), &acked, self.seed, damaged)
            .map_err(|error| format!("{error} (the process said: {})", acked.said.join("; ")))?;
        Ok(acked)
    }
}

/// Makes a folder that a case runs in, as a path without links.
pub fn folder(within: &Path, name: &str) -> PathBuf {
    let dir = within.canonicalize().unwrap().join(name);
    std::fs::create_dir(&dir).unwrap();
    dir
}

/// Fails with the faults: the number, and the first of each kind. Numbers do not distinguish kinds.
pub fn report(what: &str, seed: u64, cases: usize, failures: &[String]) {
    println!("{what}: {cases} cases");
    let mut kinds: BTreeMap<String, (usize, &String)> = BTreeMap::new();
    for failure in failures {
        let (_, error) = failure.split_once(": ").unwrap_or(("", failure));
        let words = error.split(|c: char| !c.is_alphabetic() && c != ' ');
        let kind: String = words.filter(|word| word.len() > 6).collect();
        kinds.entry(kind).or_insert((0, failure)).0 += 1;
    }
    let shown = kinds.values().map(|(count, first)| format!("{count} x {first}"));
    let shown = shown.collect::<Vec<_>>().join("\n");
    let count = failures.len();
    assert!(failures.is_empty(), "seed {seed}: {count} of {cases} cases failed:\n{shown}");
}
