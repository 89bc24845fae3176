//! Tasks as HTML files, and their imports.

use std::convert::Infallible;
use std::io::Cursor;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use milepost::events::Message;
use milepost::{Engine, Mark, Options};
use milepost_api::ShareRequest;
use milepost_formats::export_file::{ExportImport, ExportInput};
use milepost_share::Share;
use milepost_tests::seed::{number, seed};

use super::{Given, assert_clean, given, world};

pub fn shared(engine: &Engine, task: &str, asked: &ShareRequest) -> Option<Vec<u8>> {
    let share = match Share::of(engine, task, asked, &mut ()) {
        Ok(share) => share,
        // The beginning of a trimmed lineage is no text.
        Err(error) if error.to_string().contains("cannot be redacted") => return None,
        Err(error) => panic!("{error}"),
    };
    let mut bytes = Vec::new();
    let Ok(()) = share.write(&mut |part| {
        bytes.extend_from_slice(part);
        Ok::<_, Infallible>(())
    });
    Some(bytes)
}

/// Imports a file into a store.
pub fn imported_into(engine: &Engine, bytes: Vec<u8>) {
    let input = ExportInput::from_reader("a share", Cursor::new(bytes));
    ExportImport::begin(input).unwrap().run(engine, None, &mut ()).unwrap();
    assert_clean(engine);
}

fn imported(bytes: Vec<u8>) -> Engine {
    let engine = Engine::in_memory(Options::default()).unwrap();
    imported_into(&engine, bytes);
    engine
}

pub fn tasks(engine: &Engine) -> Vec<String> {
    engine.transfer().export(false).unwrap().tasks().unwrap()
}

/// The items of an export that belong to one task.
pub fn given_of(engine: &Engine, task: &str) -> Vec<Given> {
    let mut is_it = false;
    let mut all = given(engine, false);
    all.retain(|one| {
        if let Given::Task(found) = one {
            is_it = found.id == task;
        }
        // A chunk is given once, with the first task that needs it.
        is_it && !matches!(one, Given::Chunk(_))
    });
    all
}

#[test]
fn a_random_task_comes_back_from_its_file() {
    let whole = ShareRequest { redact: false, ..ShareRequest::default() };
    for n in 0..number("MILEPOST_CASES").unwrap_or(12) {
        let seed = seed().wrapping_add(n);
        println!("case {seed}");
        let from = world(seed, false);
        for task in tasks(&from.engine) {
            let to = imported(shared(&from.engine, &task, &whole).unwrap());
            assert_eq!(given_of(&to, &task), given_of(&from.engine, &task));
            if let Some(redacted) = shared(&from.engine, &task, &ShareRequest::default()) {
                imported(redacted);
            }
        }
    }
}

#[test]
fn a_file_made_next_to_writers_is_a_whole_moment() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("busy", "ana").unwrap();
    for n in 0..50 {
        task.append(Message::text("user", &format!("{n}"))).unwrap();
    }
    task.checkpoint(Mark::new().label("first")).unwrap();
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        let (writer, ends) = (engine.clone(), &ends);
        let work = scope.spawn(move || {
            let view = writer.view();
            for n in 0..300 {
                if ends.load(Ordering::Acquire) {
                    return;
                }
                let task = writer.task("busy").unwrap();
                task.append(Message::text("assistant", &format!("answer {n}"))).unwrap();
                if n % 7 == 0 {
                    let point = task.point(n % 40 + 1).unwrap();
                    writer.retention().erase(&point, None).ok();
                }
                if n % 50 == 0 {
                    view.restore(&view.point("busy@first").unwrap()).run().unwrap();
                }
            }
        });
        for _ in 0..4 {
            let file = shared(&engine, "busy", &ShareRequest::default()).unwrap();
            imported(file);
        }
        ends.store(true, Ordering::Release);
        work.join().unwrap();
    });
}
