//! Work that does not hold up its caller for longer than a limit.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Does work on a thread of its own, and waits for it no longer than the limit. After that, the
/// thread ends with the process. Returns `true` if the work was done in time.
pub(super) fn within(limit: Duration, work: impl Fn() + Send + Sync + 'static) -> bool {
    let (done, wait) = channel();
    let work = Arc::new(work);
    let own = Arc::clone(&work);
    let started = thread::Builder::new().name("milepost-hook".into()).spawn(move || {
        own();
        // The caller may have given up.
        let _ = done.send(());
    });
    if started.is_err() {
        // Without a thread there is no limit, and the document counts for more.
        work();
        return true;
    }
    // A panic of the work closes the channel, which is an end, too.
    !matches!(wait.recv_timeout(limit), Err(RecvTimeoutError::Timeout))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn work_that_has_no_end_is_left_alone() {
        let (never, wait) = sync_channel::<()>(0);
        let wait = std::sync::Mutex::new(wait);
        let hangs = move || drop(wait.lock().map(|wait| wait.recv()));
        assert!(!within(Duration::from_millis(1), hangs));
        drop(never);
        assert!(within(Duration::from_secs(600), || {}));
    }
}
