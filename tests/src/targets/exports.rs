//! Reader of exports, as `milepost import` uses it.

use std::io::BufReader;

use milepost::transfer::{ExportEvent, ExportItem, Import};
use milepost::{Engine, Options};
use milepost_formats::export_file::{
    Big, Content, ExportHeader, ExportLine, ExportReader, ExportWriter, VERSION,
};
use milepost_formats::fuzzing::{event_text, parse};
use milepost_formats::share_file::ShareReader;

use crate::targets::bounds::bounded;

/// The longest line that is read here.
const LINE_MAX: usize = 1 << 20;

/// Memory that reading a line may use besides the content.
const BUFFERS: usize = 256 << 10;

/// A first byte, and a file behind it. With the byte odd the digest at the end is made right, and
/// with it below 128 the hashes of events are not looked at: behind either, nothing would ever be
/// reached.
pub fn exports(bytes: &[u8]) {
    let Some((selector, rest)) = bytes.split_first() else {
        return;
    };
    let mut rest = rest.to_vec();
    if selector & 1 == 1 {
        mend(&mut rest);
    }
    // The pieces of a share are read from anything.
    let limit = bytes.len() as u64;
    _ = bounded("shares", rest.len(), BUFFERS, || {
        std::io::copy(&mut ShareReader::new(&rest[..], limit), &mut std::io::sink())
    });
    let text = String::from_utf8_lossy(&rest).into_owned();
    for line in text.lines() {
        let parsed = bounded("lines", text.len(), BUFFERS, || parse(line));
        if let Ok(ExportLine::Event(event)) = parsed {
            comes_back(&event);
        }
    }
    let Ok(engine) = Engine::in_memory(Options::default().snapshots(false)) else {
        panic!("no store in memory");
    };
    let taken = take(&engine, &rest, *selector < 128);
    let export = engine.transfer().export(true).expect("an open store");
    let tasks = export.tasks().expect("an open store");
    if !taken {
        assert!(tasks.is_empty(), "a half import is there: {tasks:?}");
    }
    let report = engine.integrity().verify(None, &mut |_, _| {}).expect("an open store");
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    for task in tasks {
        let task = engine.task(&task).expect("a task that is there");
        let point = task.head().and_then(|head| task.point(head.next));
        // A point that cannot be folded is an error without other effects.
        let _ = point.and_then(|point| engine.run_state(&point));
    }
}

/// Returns the export of a store, as `milepost export` writes it.
pub fn export_of(engine: &Engine) -> Vec<u8> {
    let mut export = engine.transfer().export(true).expect("an open store");
    let tasks = export.tasks().expect("an open store");
    let header = ExportHeader {
        milepost_export: VERSION,
        tasks: Big(tasks.len() as u64),
        files: true,
        redacted: false,
        key: None,
    };
    let mut bytes = Vec::new();
    let mut sink = |part: &[u8]| {
        bytes.extend_from_slice(part);
        Ok(())
    };
    let mut writer =
        ExportWriter::begin(&mut sink, &header, Content::Whole).expect("bytes in memory");
    for task in tasks {
        let give = &mut |carried: ExportItem<'_>| {
            writer.write(&carried).expect("bytes in memory");
            Ok::<(), milepost::Error>(())
        };
        export.task(&task, give).expect("a task that is whole");
    }
    writer.end().expect("bytes in memory");
    bytes
}

/// Imports it; returns `true` if all of it was accepted.
fn take(engine: &Engine, bytes: &[u8], blind: bool) -> bool {
    let mut reader = ExportReader::new(BufReader::with_capacity(7, bytes), LINE_MAX);
    if reader.header().is_err() {
        return false;
    }
    let mut import = engine.transfer().import();
    loop {
        let taken = match reader.next_line() {
            Err(_) => return false,
            Ok(None) => break,
            Ok(Some(ExportLine::Task(task))) => import.task(&task),
            Ok(Some(ExportLine::Chunk(chunk))) => import.chunk(&chunk),
            Ok(Some(ExportLine::Event(event))) => {
                let hash = event.hash.filter(|_| !blind);
                import.event(&ExportEvent { hash, ..event })
            }
            Ok(Some(ExportLine::Header(_) | ExportLine::End(_))) => Ok(()),
        };
        if taken.is_err() {
            return false;
        }
    }
    Import::finish(import).is_ok()
}

/// Asserts that an event is the same after writing and reading its line.
fn comes_back(event: &ExportEvent) {
    let Ok(said) = event_text(event) else {
        return;
    };
    assert!(!said.contains('\n'), "{said}");
    match parse(&said) {
        Ok(ExportLine::Event(again)) => assert_eq!(again, *event),
        other => panic!("{other:?}"),
    }
}

/// Makes the digest at the end right.
fn mend(file: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(file);
    let Some((before, end)) = text.trim_end().rsplit_once('\n') else {
        return;
    };
    let Some((counts, _)) = end.split_once("\"digest\":") else {
        return;
    };
    let before = format!("{before}\n");
    let digest = blake3::hash(before.as_bytes());
    *file = format!("{before}{counts}\"digest\":\"{digest}\"}}\n").into_bytes();
}
