//! Processes with a limit of time, and the end of all that they leave.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use tempfile::TempDir;

/// Longest time of a program, in seconds.
const LIMIT: i64 = 90;

/// The result of a program.
#[derive(Debug, Clone)]
pub struct AgentRun {
    /// The exit code. `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// True if it was ended at the limit of time.
    pub is_late: bool,
}

impl AgentRun {
    /// Returns the run, which must have ended with 0.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!((self.code, self.is_late), (Some(0), false), "{self:#?}");
        self
    }
}

/// A program that runs in a process group of its own. Dropping it ends the group.
///
/// Its output goes to files: a process that it leaves could hold a pipe open.
#[derive(Debug)]
pub struct AgentStarted {
    child: Child,
    /// Ready to be read when the program ends.
    end: OwnedFd,
    place: TempDir,
}

impl AgentStarted {
    pub(super) fn of(mut command: Command, folder: &Path) -> Self {
        let place = tempfile::tempdir_in(folder).unwrap();
        let file = |name: &str| File::create(place.path().join(name)).unwrap();
        command.stdin(Stdio::null()).stdout(file("out")).stderr(file("err")).process_group(0);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let end = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        Self { child, end, place }
    }

    /// Returns `true` if the program ended.
    pub fn has_ended(&self) -> bool {
        self.ends_within(0)
    }

    /// Kills the program and its process group.
    pub fn kill(&self) {
        // The process is not waited for yet: its id is not that of another.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }

    /// Waits for the end of the program or of its time, and ends its process group.
    pub fn wait(mut self) -> AgentRun {
        let is_late = !self.ends_within(LIMIT);
        self.kill();
        let status = self.child.wait().unwrap();
        let text = |name: &str| {
            let bytes = fs::read(self.place.path().join(name)).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let code = status.signal().is_none().then(|| status.code()).flatten();
        AgentRun { code, out: text("out"), err: text("err"), is_late }
    }

    fn ends_within(&self, seconds: i64) -> bool {
        let limit = Timespec { tv_sec: seconds, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.end, PollFlags::IN)], Some(&limit)).unwrap() > 0
    }
}

impl Drop for AgentStarted {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

/// Returns the processes that have a home in their environment. Zombies have none.
pub(super) fn of_home(home: &Path) -> Vec<u32> {
    let variable = [b"HOME=", home.as_os_str().as_encoded_bytes()].concat();
    let has_home = |process: &u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == variable)
    };
    let entries = fs::read_dir("/proc").unwrap();
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(has_home).collect()
}

/// Returns the arguments of a process, the program first.
pub(super) fn arguments(process: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into());
    words.collect()
}

/// Kills processes, all at once, and waits for their ends.
pub(super) fn kill(processes: &[u32]) {
    let raw = processes.iter().filter_map(|process| Pid::from_raw(i32::try_from(*process).ok()?));
    // One that has ended by now has no descriptor.
    let open = |process| Some((process, pidfd_open(process, PidfdFlags::empty()).ok()?));
    let opened: Vec<_> = raw.filter_map(open).collect();
    for (process, _) in &opened {
        let _ = kill_process(*process, Signal::KILL);
    }
    let limit = Timespec { tv_sec: 5, tv_nsec: 0 };
    for (_, end) in &opened {
        let _ = poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&limit));
    }
}

/// Ends the processes of a home, and those that they began in between.
pub(super) fn end_all(home: &Path) {
    for _ in 0..100 {
        let found = of_home(home);
        if found.is_empty() {
            return;
        }
        kill(&found);
    }
}
