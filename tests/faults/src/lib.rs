//! A library that is preloaded into a process (`LD_PRELOAD`) and intercepts the calls that change
//! files: it traces them, or makes them fail.
//!
//! ```text
//! calls/       the calls of libc that it takes the place of
//! config.rs    what the environment asks for
//! decide.rs    which call fails, and how; the counts
//! place.rs     which file a call is about
//! trace.rs     what is written down
//! sys.rs       the system calls themselves
//! ```
//!
//! | variable | what it does |
//! |---|---|
//! | `MILEPOST_FAULTS_DIR` | only files under this folder (a path without links) are looked at |
//! | `MILEPOST_FAULTS_RECORD` | the trace to append to |
//! | `MILEPOST_FAULTS_FAIL` | `class:n:how:once` or `class:n:how:forever`, see `decide.rs` |
//! | `MILEPOST_FAULTS_COUNT` | a file that holds the number of calls of each class, as `u64`s |
//! | `MILEPOST_FAULTS_NOSYNC` | syncs do nothing and are not written down |
//! | `MILEPOST_FAULTS_MOVES` | `no-exchange`: no exchange of names; `plain`: nor a safe move |
//! | `MILEPOST_FAULTS_HOLD` | a path: while there is something, syncs wait |
//!
//! The calls go to the kernel directly, not to the next definition of the same name: nothing here
//! may call back into the replaced function, and a lookup of a name may allocate.

mod calls;
mod config;
mod decide;
mod place;
mod sys;
mod trace;
