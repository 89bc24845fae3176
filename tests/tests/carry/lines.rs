//! The file, as the command writes and reads it.

use std::io;

use milepost::{Body, Engine, Error, Options};
use milepost_formats::export_file::{
    Big, Content, ExportHeader, ExportLine, ExportReader, ExportWriter, InvalidLine, VERSION,
};
use milepost_tests::bodies;
use milepost_tests::seed::{Random, number, seed};

use super::{assert_clean, assert_same, world};

/// A store as a file.
pub fn written(engine: &Engine) -> Vec<u8> {
    let mut export = engine.transfer().export(true).unwrap();
    let tasks = export.tasks().unwrap();
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
    let mut writer = ExportWriter::begin(&mut sink, &header, Content::Whole).unwrap();
    for task in tasks {
        let take = &mut |carried: milepost::transfer::ExportItem<'_>| -> Result<(), Wrapped> {
            Ok(writer.write(&carried)?)
        };
        export.task(&task, take).unwrap();
    }
    writer.end().unwrap();
    bytes
}

#[derive(Debug)]
struct Wrapped;

impl From<Error> for Wrapped {
    fn from(error: Error) -> Self {
        panic!("{error}");
    }
}

impl From<io::Error> for Wrapped {
    fn from(error: io::Error) -> Self {
        panic!("{error}");
    }
}

/// A file into a store; why it was refused, where it was.
pub fn read(engine: &Engine, bytes: &[u8]) -> Result<(), String> {
    let wrong = |InvalidLine { line, reason }| format!("line {line}: {reason}");
    let mut reader = ExportReader::new(bytes, 64 << 20);
    reader.header().map_err(wrong)?;
    let mut import = engine.transfer().import();
    while let Some(line) = reader.next_line().map_err(wrong)? {
        let taken = match &line {
            ExportLine::Task(task) => import.task(task),
            ExportLine::Chunk(chunk) => import.chunk(chunk),
            ExportLine::Event(event) => import.event(event),
            ExportLine::Header(_) | ExportLine::End(_) => Ok(()),
        };
        taken.map_err(|error| format!("line {}: {error}", reader.number()))?;
    }
    import.finish().map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn bodies_that_share_chunks_are_the_same_through_a_file_and_in_a_copy() {
    let dir = tempfile::tempdir().unwrap();
    let from = Engine::open(dir.path().join("from"), Options::default()).unwrap();
    let results: Vec<Body> = (0..4).map(|call| bodies::result(call, 20_000)).collect();
    let task = from.start_task("t", "ana").unwrap();
    for body in &results {
        task.append(body.clone()).unwrap();
    }
    let copy = from.copy_task("t", "copy").unwrap();
    for task in [task, copy] {
        let read = task.read(1..).unwrap().map(|event| event.unwrap().body.unwrap());
        assert_eq!(read.collect::<Vec<_>>(), results);
    }
    let file = String::from_utf8(written(&from)).unwrap();
    assert_eq!(file.matches("\"chunked\":[").count(), 6);
    let to = Engine::open(dir.path().join("to"), Options::default()).unwrap();
    read(&to, file.as_bytes()).unwrap();
    assert_same(&from, &to);
    assert_clean(&to);
    for ends in ["[20100,20100]", "[18446744073709551615,9]", "[9]", "[1,2,3]", "true"] {
        let (before, rest) = file.split_once("\"chunked\":[").unwrap();
        let after = rest.split_once(']').unwrap().1;
        let to = Engine::in_memory(Options::default()).unwrap();
        let why = read(&to, format!("{before}\"chunked\":{ends}{after}").as_bytes()).unwrap_err();
        assert!(why.starts_with("line "), "{why}");
    }
}

#[test]
fn a_random_store_through_a_file_gives_the_same_file_again() {
    let first = seed();
    for n in 0..number("MILEPOST_CASES").unwrap_or(24) {
        let seed = first.wrapping_add(n);
        println!("case {seed}");
        let from = world(seed, false);
        let file = written(&from.engine);
        let to = Engine::in_memory(milepost::Options::default()).unwrap();
        read(&to, &file).unwrap();
        assert!(written(&to) == file, "another file");
        super::assert_same(&from.engine, &to);
        assert_clean(&to);
    }
}

/// The digest at the end is made right again.
fn mend(file: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(file);
    let Some((before, end)) = text.trim_end().rsplit_once('\n') else {
        return;
    };
    let before = format!("{before}\n");
    let Some((counts, _)) = end.split_once("\"digest\":") else {
        return;
    };
    let digest = blake3::hash(before.as_bytes());
    *file = format!("{before}{counts}\"digest\":\"{digest}\"}}\n").into_bytes();
}

/// Asserts that the store exports an imported file unchanged.
#[track_caller]
fn assert_taken(given: &[u8], again: &[u8]) {
    let (given, again) = (String::from_utf8_lossy(given), String::from_utf8_lossy(again));
    for (given, again) in given.lines().zip(again.lines()) {
        assert_eq!(given, again);
    }
    assert_eq!(given.len(), again.len());
}

#[test]
fn a_file_that_was_changed_anywhere_is_refused_or_whole() {
    let mut random = Random::new(seed());
    let from = world(random.number(), false);
    let file = written(&from.engine);
    let (mut refused, mut taken) = (0, 0);
    for _ in 0..number("MILEPOST_CASES").unwrap_or(150) {
        let mut changed = file.clone();
        let at = random.below(changed.len() as u64) as usize;
        match random.below(3) {
            0 => changed[at] = b"0123456789abcdef\"{}[],: x"[random.below(25) as usize],
            1 => {
                changed.remove(at);
            }
            _ => {
                let more = (at + 1 + random.below(100) as usize).min(changed.len());
                let again = changed[at..more].to_vec();
                changed.splice(at..at, again);
            }
        }
        let mended = random.below(4) > 0;
        if mended {
            mend(&mut changed);
        }
        let to = Engine::in_memory(milepost::Options::default()).unwrap();
        match read(&to, &changed) {
            Ok(()) => {
                taken += 1;
                assert_taken(&changed, &written(&to));
            }
            Err(_) => {
                refused += 1;
                assert_eq!(to.transfer().export(true).unwrap().tasks().unwrap(), [""; 0]);
            }
        }
        assert_clean(&to);
    }
    println!("{refused} refused, {taken} taken");
    assert!(refused > taken);
}
