//! Waiting without the lock of the interpreter.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use pyo3::prelude::*;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::errors::{Failure, Outcome};

/// The interval at which a wait looks for signals, such as Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(200);

/// Starts the runtime of a store: one thread, for awaited work.
pub fn start() -> Outcome<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let started = builder.worker_threads(1).thread_name("milepost").enable_all().build();
    started.map_err(|error| Failure::Broken(format!("no thread can be started: {error}")))
}

/// Waits for a future without the lock of the interpreter. Signal handlers of Python run while it
/// waits; if one raises, the future is dropped.
pub fn wait<T: Send>(
    py: Python<'_>,
    runtime: &Runtime,
    future: impl Future<Output = T> + Send,
) -> PyResult<T> {
    let mut future = pin!(future);
    loop {
        let done = py.detach(|| runtime.block_on(async { timeout(SIGNALS, &mut future).await }));
        match done {
            Ok(done) => return Ok(done),
            Err(_) => py.check_signals()?,
        }
    }
}
