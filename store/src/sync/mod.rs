//! Locks, channels and threads. With `--cfg shuttle` a scheduler that tries interleavings provides
//! them, for the tests in `engine/src/commit/committer/tests.rs`.

// tidy: names the parts

#[cfg(shuttle)]
mod shuttle;

#[cfg(not(shuttle))]
pub use crossbeam_channel as channel;
#[cfg(not(shuttle))]
pub use parking_lot::{Condvar, Mutex, RwLock};
#[cfg(not(shuttle))]
pub use std::sync::atomic;
#[cfg(not(shuttle))]
pub use std::thread;

#[cfg(shuttle)]
pub use self::shuttle::{Condvar, Mutex, RwLock, channel};
#[cfg(shuttle)]
pub use ::shuttle::{sync::atomic, thread};
