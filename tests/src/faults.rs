//! Processes under faults: a test starts its own binary again, with the library of `tests/faults`
//! preloaded.
#![allow(clippy::missing_panics_doc, missing_docs, reason = "tests")]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, PoisonError, RwLock, mpsc};
use std::time::Duration;

use crate::skip::skipped;

/// Folder of the observed files.
pub const DIR: &str = "MILEPOST_FAULTS_DIR";
/// The trace to append to.
pub const RECORD: &str = "MILEPOST_FAULTS_RECORD";
/// The call that fails.
pub const FAIL: &str = "MILEPOST_FAULTS_FAIL";
/// File of the counts.
pub const COUNT: &str = "MILEPOST_FAULTS_COUNT";
/// Syncs do nothing.
pub const NOSYNC: &str = "MILEPOST_FAULTS_NOSYNC";
/// Restricted moves of the file system: `no-exchange`, or `plain` moves only.
pub const MOVES: &str = "MILEPOST_FAULTS_MOVES";
/// While this file is there, syncs wait.
pub const HOLD: &str = "MILEPOST_FAULTS_HOLD";

/// Classes of calls, in the order of their counts.
pub const CLASSES: [&str; 12] = [
    "write", "sync", "open", "rename", "unlink", "mkdir", "truncate", "read", "range", "link",
    "mode", "any",
];

/// Time limit of a process, after which it counts as hung.
const PATIENCE: Duration = Duration::from_secs(90);

/// Returns `true` for the complete set of cases instead of a sample for a plain run.
pub fn nightly() -> bool {
    std::env::var_os("MILEPOST_NIGHTLY").is_some()
}

/// Built artifacts of `tests/faults`.
#[derive(Debug)]
pub struct Faults {
    pub library: PathBuf,
    /// The program that cuts a file system off.
    pub cut: PathBuf,
}

/// Builds `tests/faults` once for a process. Prints a note if it cannot be built: the test is
/// skipped.
pub fn built() -> Option<&'static Faults> {
    static BUILT: OnceLock<Option<Faults>> = OnceLock::new();
    BUILT.get_or_init(build).as_ref()
}

fn build() -> Option<Faults> {
    let skip = |why: &dyn std::fmt::Display| {
        skipped(format_args!("tests/faults cannot be built here: {why}"));
        None
    };
    let known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    if !cfg!(all(target_os = "linux", target_env = "gnu")) || !known {
        return skip(&"it is for Linux with glibc, on x86-64 and ARM64");
    }
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/Cargo.toml");
    // The test is in `target/debug/deps`.
    let Ok(test) = std::env::current_exe() else {
        return skip(&"the test's own place is not known");
    };
    let Some(target) = test.ancestors().nth(3).map(|dir| dir.join("faults")) else {
        return skip(&"there is no folder to build in");
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--locked", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&target)
        .output();
    match built {
        Err(error) => skip(&error),
        Ok(output) if !output.status.success() => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            skip(&text.lines().next().unwrap_or("no reason given"))
        }
        Ok(_) => Some(Faults {
            library: target.join("debug/libmilepost_faults.so"),
            cut: target.join("debug/cut"),
        }),
    }
}

/// End of a process.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// `true` if it exceeded its time limit and had to be killed.
    pub hung: bool,
    pub stderr: String,
}

impl Ended {
    /// Returns the fault of an unexpected end. With `killed`, a kill is the expected end.
    pub fn fault(&self, killed: bool) -> Option<String> {
        self.fault_but(if killed { &[9] } else { &[] })
    }

    /// The same, of a process that may end by one of these signals.
    pub fn fault_but(&self, signals: &[i32]) -> Option<String> {
        use std::os::unix::process::ExitStatusExt;
        if self.hung {
            return Some(format!("it hung\n{}", self.stderr));
        }
        let signal = self.status.signal();
        let as_wanted = signal.is_some_and(|signal| signals.contains(&signal));
        if !as_wanted && !self.status.success() {
            return Some(format!("it ended with {}\n{}", self.status, self.stderr));
        }
        self.panics().map(|line| format!("it panicked: {line}"))
    }

    /// A panic that is not one of sled's, or of the thread that opens it: those are caught, and
    /// come out as errors. Nor is it that of std in a new thread whose signal stack finds no
    /// memory.
    fn panics(&self) -> Option<&str> {
        const CAUGHT: [&str; 3] = ["/sled-", "'milepost-sled'", "/sys/pal/unix/stack_overflow.rs"];
        let caught = |line: &str| CAUGHT.iter().any(|place| line.contains(place));
        let mut lines = self.stderr.lines();
        lines.find(|line| line.contains("panicked at") && !caught(line))
    }
}

/// A command that starts this test binary again, for one test that does nothing otherwise, with the
/// library preloaded. `dir` is a path without links.
pub fn command(faults: &Faults, test: &str, dir: &Path, settings: &[(&str, &str)]) -> Command {
    let Ok(binary) = std::env::current_exe() else {
        panic!("the test's own place is not known");
    };
    // Calls of processes before it do not count.
    if let Some((_, path)) = settings.iter().find(|(name, _)| *name == COUNT) {
        let _ = std::fs::remove_file(path);
    }
    let mut command = Command::new(binary);
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("LD_PRELOAD", &faults.library)
        .env(DIR, dir)
        .envs(settings.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// Runs such a process to its end.
pub fn run(faults: &Faults, test: &str, dir: &Path, settings: &[(&str, &str)]) -> Ended {
    end(spawn(&mut command(faults, test, dir, settings)), PATIENCE)
}

/// Held for writing while a process is started, for reading while a store is opened and closed: a
/// process that is being started holds, for a moment, the locks of the one that starts it.
pub static STARTING: RwLock<()> = RwLock::new(());

/// Starts a process.
pub fn spawn(command: &mut Command) -> Child {
    let _starting = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    match command.spawn() {
        Ok(child) => child,
        Err(error) => panic!("cannot start {command:?}: {error}"),
    }
}

/// Waits for a process to end, and kills it where it does not in time.
pub fn end(mut child: Child, patience: Duration) -> Ended {
    // Its standard error ends when it does.
    let pipe = child.stderr.take();
    let (said, heard) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = said.send(());
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let hung = heard.recv_timeout(patience).is_err();
    if hung {
        let _ = child.kill();
    }
    let status = match child.wait() {
        Ok(status) => status,
        Err(error) => panic!("cannot wait for the process: {error}"),
    };
    Ended { status, hung, stderr: reader.join().unwrap_or_default() }
}

/// Counts of the calls of each class, and of those that were made to fail.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    counts: Vec<u64>,
}

/// Reads the counts of a process.
pub fn counts(path: &Path) -> Counts {
    let bytes = std::fs::read(path).unwrap_or_default();
    let number = |eight: &[u8]| u64::from_le_bytes(eight.try_into().unwrap_or_default());
    Counts { counts: bytes.chunks_exact(8).map(number).collect() }
}

impl Counts {
    /// The calls of a class.
    pub fn of(&self, class: &str) -> u64 {
        let at = CLASSES.iter().position(|name| *name == class);
        at.and_then(|at| self.counts.get(at)).copied().unwrap_or(0)
    }

    pub fn failed(&self) -> u64 {
        self.counts.get(CLASSES.len()).copied().unwrap_or(0)
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = CLASSES.map(|class| format!("{} {class}", self.of(class)));
        f.write_str(&all.join(", "))
    }
}

/// Returns up to `count` numbers from 1 to `last`, spread over them; all of them if `count` is
/// `None`.
pub fn spread(last: u64, count: Option<u64>, random: &mut crate::seed::Random) -> Vec<u64> {
    match count {
        Some(count) if count < last => {
            // One of each part.
            let part = |n| (last * n / count, last * (n + 1) / count);
            let parts = (0..count).map(part);
            parts.map(|(from, to)| from + 1 + random.below(to - from)).collect()
        }
        _ => (1..=last).collect(),
    }
}

/// Returns a folder in memory if possible, so that a test does not wear a disk.
pub fn temp_dir() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    match made {
        Ok(dir) => dir,
        Err(error) => panic!("cannot make a folder: {error}"),
    }
}
