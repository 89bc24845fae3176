//! Processes with a limit of time, and the end of all that they leave.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

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

/// Runs a command in a process group of its own, and ends the group when the command or its time
/// is over.
///
/// Its output goes to files: a process that it leaves could hold a pipe open.
pub(super) fn run(mut command: Command, folder: &Path) -> AgentRun {
    let place = tempfile::tempdir_in(folder).unwrap();
    let [out, err] = ["out", "err"].map(|name| place.path().join(name));
    let file = |path: &Path| File::create(path).unwrap();
    command.stdin(Stdio::null()).stdout(file(&out)).stderr(file(&err)).process_group(0);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let process = Pid::from_child(&child);
    let end = pidfd_open(process, PidfdFlags::empty()).unwrap();
    let limit = Timespec { tv_sec: LIMIT, tv_nsec: 0 };
    let is_late = poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&limit)).unwrap() == 0;
    // The process is not waited for yet: its id is not that of another.
    let _ = kill_process_group(process, Signal::KILL);
    let status = child.wait().unwrap();
    let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let code = status.signal().is_none().then(|| status.code()).flatten();
    AgentRun { code, out: text(&out), err: text(&err), is_late }
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

/// Ends the processes of a home, and those that they began in between.
pub(super) fn end_all(home: &Path) {
    for _ in 0..100 {
        let found = of_home(home);
        if found.is_empty() {
            return;
        }
        for process in found {
            let process = i32::try_from(process).ok().and_then(Pid::from_raw);
            let Some(process) = process else { continue };
            let Ok(end) = pidfd_open(process, PidfdFlags::empty()) else { continue };
            let _ = kill_process(process, Signal::KILL);
            let limit = Timespec { tv_sec: 5, tv_nsec: 0 };
            let _ = poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&limit));
        }
    }
}
