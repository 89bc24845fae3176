//! Cases in a process of their own: one that hangs or ends is known by its last request.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::cases::Case;
use super::judge::{Judge, Outcome, Verdict};
use super::stores::Stores;

/// Folder of the stores: its presence marks a child process.
const STORES: &str = "MILEPOST_SWEEP_CHILD_STORES";

/// Time limit of a case.
const LIMIT: Duration = Duration::from_secs(30);

/// Cases of one child: its end frees the memory that sled leaks in a panic.
const CASES: usize = 250;

/// Carries out the cases that the parent names, where this process is a child.
pub fn work() {
    let Ok(root) = std::env::var(STORES) else {
        return;
    };
    let root = PathBuf::from(root);
    let work = root.join(format!("work of {}", std::process::id()));
    let mut judge = Judge::new(Stores::at(&root), &work, false);
    for line in std::io::stdin().lines() {
        let case = Case::named(&line.unwrap()).unwrap();
        let Verdict { outcome, reason } = judge.judge(&case);
        let reason = reason.replace(['\n', '\t'], " ");
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nverdict\t{}\t{reason}", outcome.name()).unwrap();
        out.flush().unwrap();
    }
    fs::remove_dir_all(&work).unwrap();
}

/// A child, and how far it is.
struct Running {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    done: usize,
}

/// Gives cases to children, one after another.
pub struct Children {
    root: PathBuf,
    /// Number of this worker.
    number: usize,
    test: &'static str,
    running: Option<Running>,
}

impl Children {
    /// `test` is the name of the test that calls [`work`].
    pub fn new(root: &Path, number: usize, test: &'static str) -> Self {
        Self { root: root.to_owned(), number, test, running: None }
    }

    fn stderr(&self) -> PathBuf {
        self.root.join(format!("stderr {}", self.number))
    }

    fn start(&self) -> Running {
        let stderr = File::options().append(true).create(true).open(self.stderr()).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", self.test, "--nocapture"])
            .env(STORES, &self.root)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (said, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if line.starts_with("verdict\t") && said.send(line).is_err() {
                    return;
                }
            }
        });
        Running { child, stdin, lines, done: 0 }
    }

    /// Has a child carry out a case.
    pub fn judge(&mut self, case: &Case) -> Verdict {
        // Earlier output is not needed any more.
        let stderr = File::options().write(true).open(self.stderr());
        if let Ok(file) = stderr {
            file.set_len(0).unwrap();
        }
        let mut running = self.running.take().unwrap_or_else(|| self.start());
        writeln!(running.stdin, "{case}").unwrap();
        match running.lines.recv_timeout(LIMIT) {
            Ok(line) => {
                let mut words = line.split('\t').skip(1);
                let outcome = Outcome::named(words.next().unwrap()).unwrap();
                let mut verdict = Verdict::new(outcome, words.next().unwrap_or_default());
                running.done += 1;
                if outcome == Outcome::Panic {
                    verdict.reason = format!("{}: {}", verdict.reason, self.printed());
                }
                // After a panic nothing is sure of the process.
                if running.done >= CASES || outcome == Outcome::Panic {
                    end(running);
                } else {
                    self.running = Some(running);
                }
                verdict
            }
            Err(RecvTimeoutError::Timeout) => {
                running.child.kill().unwrap();
                end(running);
                Verdict::new(Outcome::Hang, self.printed())
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = running.child.wait().unwrap();
                let reason = format!("the process ended: {status}: {}", self.printed());
                Verdict::new(Outcome::Panic, reason)
            }
        }
    }

    /// Returns the end of the child's output about its panics.
    fn printed(&self) -> String {
        let bytes = fs::read(self.stderr()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text.lines().filter(|l| !l.is_empty()).collect();
        lines[lines.len().saturating_sub(6)..].join(" | ")
    }
}

/// Lets a child finish, if it can.
fn end(running: Running) {
    let Running { mut child, stdin, .. } = running;
    drop(stdin);
    child.wait().unwrap();
}

impl Drop for Children {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            end(running);
        }
    }
}
