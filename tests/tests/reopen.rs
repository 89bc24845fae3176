//! A store that was closed can be opened again at once, whatever else the process does.
//!
//! A process that is being started has, until it runs its own program, everything open that the one
//! has that starts it, locks too.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use milepost::events::Message;
use milepost::{Engine, Options};

#[test]
fn a_store_that_was_closed_is_opened_again_while_the_process_starts_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let done = AtomicBool::new(false);
    let mut refused = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                Command::new("true").status().unwrap();
            }
        });
        for n in 0..60 {
            match Engine::open(&store, Options::default().snapshots(false)) {
                Ok(engine) => {
                    let task = engine.start_task(&format!("t{n}"), "ana").unwrap();
                    task.append(Message::text("user", "hello")).unwrap();
                    drop(task);
                    engine.close().unwrap();
                }
                Err(error) => refused.push(error.to_string()),
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    let count = refused.len();
    assert!(refused.is_empty(), "{count} of 60 were refused: {}", refused[0]);
    assert!(!store.join("damaged/sled").exists(), "sled was set aside");
}
