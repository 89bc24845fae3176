//! Programs of operations on a store in a folder, compared with a model of its acknowledgements.
//!
//! ```text
//! program.rs  an input as operations, done to a store and to the model
//! model.rs    what was acknowledged, and a look at what a store has of it
//! crash.rs    a copy of the open store as a kill leaves it, with a torn write behind its end
//! damage.rs   damage at any place of any file, and what may come of it
//! ```

mod crash;
mod damage;
mod model;
mod program;

use std::fs;
use std::panic::{self, AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

use tempfile::TempDir;

use self::program::World;
use crate::targets::input::Input;

/// Runs a program with crashes. After each one the store is opened again and the program continues.
///
/// After any crash: what was acknowledged is there (the floor), nothing is there that was never
/// appended (the ceiling), the order is that of the appends, offsets are dense, contents and chain
/// hashes are the acknowledged ones, and `verify` finds nothing.
pub fn reopen(bytes: &[u8]) {
    guarded(|| {
        let mut input = Input::new(bytes);
        let mut world = World::new();
        while !input.is_empty() && world.may_go_on() {
            world.step(&mut input, true);
        }
        world.crash(&mut input);
        world.close();
    });
}

/// A program without crashes, then damage to a file of the store, closed or killed.
///
/// Whatever the damage: all is there, or opening or a read is `Corrupt`, or a finding or `verify`
/// reports a difference. Never a panic, and never an event that was not appended.
pub fn damage(bytes: &[u8]) {
    guarded(|| {
        let mut input = Input::new(bytes);
        let how = damage::How::take(&mut input);
        let mut world = World::new();
        while !input.is_empty() && world.may_go_on() {
            world.step(&mut input, false);
        }
        damage::damage(world, &how);
    });
}

/// Prefix of the folders of fuzz targets; the process id follows.
const FOLDER: &str = "milepost-fuzz-";

/// Returns an empty folder, in memory if possible. Removes those of ended processes: a process that
/// finds a fault dies with its folder.
pub(crate) fn folder() -> TempDir {
    static CLEAN: Once = Once::new();
    let memory = Path::new("/dev/shm");
    let dir = match memory.is_dir() {
        true => memory.to_owned(),
        false => std::env::temp_dir(),
    };
    CLEAN.call_once(|| {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let pid = name.strip_prefix(FOLDER).and_then(|n| n.split('-').next());
            if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    });
    let prefix = format!("{FOLDER}{}-", std::process::id());
    let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(dir);
    folder.expect("a temporary folder")
}

/// Panics since the run began: thread and message.
static PANICS: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

fn panics() -> std::sync::MutexGuard<'static, Vec<(String, String)>> {
    PANICS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something. libFuzzer ends the process at every panic, but sled panics on damaged files and
/// the engine catches that. So panics are only noted, and told where one comes out, or where one
/// hit a thread on which none may.
fn guarded(work: impl FnOnce()) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|info| {
            let thread = std::thread::current().name().unwrap_or("?").to_owned();
            let trace = std::backtrace::Backtrace::capture();
            panics().push((thread, format!("{info}\n{trace}")));
        }));
    });
    panics().clear();
    let done = catch_unwind(AssertUnwindSafe(work));
    if let Err(panic) = done {
        for (thread, said) in panics().iter() {
            eprintln!("thread {thread}: {said}");
        }
        resume_unwind(panic);
    }
}
