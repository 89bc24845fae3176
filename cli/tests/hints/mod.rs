//! Each hint that prints a command is executed, in a state where it is printed.
//!
//! The hints are read from the sources of all crates: every text with a command or an option in
//! backquotes. `hints/scenes.txt` has scenes that print them; each command that a scene prints is
//! executed as it is printed. A text that no scene prints fails the test, unless it is in
//! `hints/without_scene.txt`, below the reason (`# ..`). That list only gets shorter:
//! `MILEPOST_HINTS=update` removes texts with a scene.

mod scene;
mod sources;
mod stage;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use milepost_agent_tests::has_programs;
use scene::{Printed, Scene};

/// Scenes that are played at once.
const AT_ONCE: usize = 3;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hints").join(name)
}

/// Plays all scenes, or those whose name has the text in `MILEPOST_SCENE`.
fn play() -> (Vec<Printed>, Vec<String>) {
    let only = std::env::var("MILEPOST_SCENE").unwrap_or_default();
    let text = std::fs::read_to_string(file("scenes.txt")).unwrap();
    let mut scenes = Scene::all(&text);
    scenes.retain(|scene| scene.name.contains(&only));
    let (queue, done) = (Mutex::new(scenes), Mutex::new((Vec::new(), Vec::new())));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(scene) = { queue.lock().unwrap().pop() } {
                    // A terminal that does not show what is waited for panics.
                    let played = catch_unwind(AssertUnwindSafe(|| scene.play()));
                    let panicked = |_| (Vec::new(), vec![format!("{}: panicked", scene.name)]);
                    let (printed, wrong) = played.unwrap_or_else(panicked);
                    let mut done = done.lock().unwrap();
                    done.0.extend(printed);
                    done.1.extend(wrong);
                }
            });
        }
    });
    done.into_inner().unwrap()
}

#[test]
fn every_hint_that_prints_a_command_is_executed_where_it_is_printed() {
    if !has_programs(&["curl"]) {
        return;
    }
    let (printed, wrong) = play();
    assert!(wrong.is_empty(), "{} are wrong:\n\n{}", wrong.len(), wrong.join("\n\n"));
    if std::env::var_os("MILEPOST_SCENE").is_some() {
        return;
    }
    let hints = sources::hints();
    let all = hints.len();
    assert!(all > 150, "{all} hints");
    let missing: BTreeSet<String> = hints
        .into_iter()
        .filter(|hint| !printed.iter().any(|printed| printed.has(hint)))
        .map(|hint| hint.line())
        .collect();
    println!("{} of {all} hints have no scene yet", missing.len());
    let list = file("without_scene.txt");
    let text = std::fs::read_to_string(&list).unwrap();
    let is_reason = |line: &str| line.starts_with("# ");
    assert!(is_reason(&text), "hints without a scene stand below a reason");
    let known: BTreeSet<String> =
        text.lines().filter(|line| !is_reason(line)).map(str::to_owned).collect();
    let new: Vec<_> = missing.difference(&known).cloned().collect();
    assert!(new.is_empty(), "no scene of scenes.txt prints these hints:\n{}", new.join("\n"));
    if std::env::var("MILEPOST_HINTS").is_ok_and(|asked| asked == "update") {
        let is_kept = |line: &&str| is_reason(line) || missing.contains(*line);
        let lines: String = text.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
        return std::fs::write(&list, lines).unwrap();
    }
    let left: Vec<_> = known.difference(&missing).cloned().collect();
    assert!(left.is_empty(), "take these out of without_scene.txt:\n{}", left.join("\n"));
}
