//! Threads of the store and of the engine. Each has a name.

use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle, available_parallelism};

use milepost_codec::{Error, ErrorKind, Result};

/// Starts a thread with the name `milepost-NAME`.
///
/// # Errors
///
/// `Unavailable`: the system refuses another thread.
///
/// ```
/// let thread = milepost_store::threads::start("example", || 6 * 7)?;
/// assert_eq!(thread.join().unwrap(), 42);
/// # Ok::<(), milepost_codec::Error>(())
/// ```
pub fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    builder(name).spawn(work).map_err(refused)
}

/// Starts a thread with the name `milepost-NAME` in a scope.
///
/// # Errors
///
/// `Unavailable`: the system refuses another thread.
pub fn start_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    builder(name).spawn_scoped(scope, work).map_err(refused)
}

/// Returns the number of processors that the process may use, at least 1. Each call reads files of
/// the system, so a loop calls it once.
pub fn processors() -> usize {
    available_parallelism().map_or(1, usize::from)
}

fn builder(name: &str) -> Builder {
    Builder::new().name(format!("milepost-{name}"))
}

fn refused(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("cannot start a thread: {error}"))
}
