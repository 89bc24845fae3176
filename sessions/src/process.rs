//! The end of an agent's process.

use milepost::internals::threads;
use rustix::process::Pid;

use crate::platform;

/// Calls a function once a process has ended. Returns `false` if the process cannot be watched.
pub(crate) fn at_end_of(process: u32, call: impl FnOnce() + Send + 'static) -> bool {
    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return false };
    let Some(process) = platform::watch(pid) else { return false };
    threads::start("agent-watch", move || {
        if platform::wait_for_end(&process) {
            call();
        }
    })
    .is_ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_end_of_a_process_is_learned_and_not_before() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let (end, ended) = channel();
        assert!(at_end_of(pid, move || end.send(()).unwrap()));
        assert!(ended.recv_timeout(Duration::from_millis(300)).is_err());
        child.kill().unwrap();
        child.wait().unwrap();
        ended.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(!at_end_of(pid, || ()));
        assert!(!at_end_of(0, || ()));
    }
}
