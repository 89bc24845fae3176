// tidy: one set of scenes
mod interrupted;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;

use milepost::events::{Application, Data, Message};
use milepost::{Append, Body, Json, Mark, Options, Task};
use tempfile::TempDir;

use super::*;
use crate::input::RunInput;
use crate::record::{HOOK_KEY, RecordOptions, record};

/// A session file, and a store.
struct Place {
    engine: Engine,
    dir: TempDir,
    format: Format,
}

impl Place {
    fn new() -> Self {
        Self::with(Options::default())
    }

    fn with(options: Options) -> Self {
        let engine = Engine::in_memory(options).unwrap();
        Self { engine, dir: tempfile::tempdir().unwrap(), format: Format::ClaudeCode }
    }

    fn of(format: Format) -> Self {
        Self { format, ..Self::new() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("s.jsonl")
    }

    fn write(&self, lines: &[String]) {
        fs::write(self.path(), text(lines)).unwrap();
    }

    fn add(&self, more: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(self.path()).unwrap();
        file.write_all(more.as_bytes()).unwrap();
    }

    fn tail(&self) -> SessionTail {
        SessionTail::new(&self.engine, self.format, &self.path(), "s", "ana").unwrap()
    }

    /// Returns the number of events and checkpoints that an import adds.
    fn import(&self) -> (u64, u64) {
        self.try_import().unwrap()
    }

    fn try_import(&self) -> Result<(u64, u64)> {
        let options = RecordOptions {
            user: "ana".into(),
            task: Some("s".into()),
            stem: None,
            format: Some(self.format),
            strict: false,
            acknowledge: false,
            allow_unknown: false,
            event_max: usize::MAX / 2,
        };
        let input = RunInput::open(&self.path()).unwrap();
        let report = record(&self.engine, input, &options, &mut ())?;
        Ok((report.tasks[0].events, report.tasks[0].checkpoints))
    }

    fn task(&self) -> Task {
        self.engine.task("s").unwrap()
    }

    /// Returns the texts of the messages, and the ids of calls.
    fn said(&self) -> Vec<String> {
        let said = self.task().read(1..).unwrap().filter_map(|event| match event.unwrap().body? {
            Body::Message(message) => message.content.map(|text| text.text().replace('"', "")),
            Body::ToolCalled(called) => Some(called.call),
            _ => None,
        });
        said.collect()
    }
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn line(uuid: &str, parent: Option<&str>, kind: &str, content: &str) -> String {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    let message = format!(r#"{{"role":"{kind}","content":{content}}}"#);
    let head = format!(r#""parentUuid":{parent},"sessionId":"s","type":"{kind}""#);
    format!(r#"{{{head},"uuid":"{uuid}","message":{message}}}"#)
}

fn asked(uuid: &str, parent: Option<&str>) -> String {
    line(uuid, parent, "user", &format!("\"{uuid}\""))
}

fn answered(uuid: &str, parent: &str) -> String {
    line(uuid, Some(parent), "assistant", &format!("\"{uuid}\""))
}

fn called(uuid: &str, parent: &str, call: &str) -> String {
    let block = format!(r#"[{{"type":"tool_use","id":"{call}","name":"Bash","input":{{}}}}]"#);
    line(uuid, Some(parent), "assistant", &block)
}

/// A session with a prompt, two calls, and an answer.
fn session() -> Vec<String> {
    vec![
        r#"{"type":"mode","mode":"normal","sessionId":"s"}"#.into(),
        asked("a", None),
        called("b", "a", "t1"),
        called("c", "b", "t2"),
        r#"{"type":"mode","mode":"normal","sessionId":"s"}"#.into(),
        answered("d", "c"),
    ]
}

/// A session with a prompt that was asked again, and again at the end of the first try.
fn forked() -> Vec<String> {
    let mut lines = session();
    lines.extend([asked("e", Some("d")), answered("f", "e"), asked("g", Some("d"))]);
    lines.extend([answered("h", "g"), asked("i", Some("f")), answered("j", "i")]);
    lines.extend([asked("k", None), answered("l", "h")]);
    lines
}

/// Returns the distinct histories of all lineages, without those that others continue.
fn histories(engine: &Engine) -> BTreeSet<Vec<String>> {
    let task = engine.task("s").unwrap();
    let of = |lineage: milepost::Lineage| history(lineage.read(1..).unwrap());
    let lineages = task.lineages().unwrap();
    let all: BTreeSet<Vec<String>> =
        lineages.iter().map(|info| of(task.lineage_named(info.id).unwrap())).collect();
    let goes_on = |one: &Vec<String>| all.iter().any(|o| o.len() > one.len() && o.starts_with(one));
    all.iter().filter(|one| !goes_on(one)).cloned().collect()
}

/// Returns the events of a session among others.
fn history(events: impl Iterator<Item = milepost::Result<milepost::Event>>) -> Vec<String> {
    let told = events.filter_map(|event| {
        let event = event.unwrap();
        match (event.header.actor.as_deref(), event.body?) {
            (Some("import"), Body::CheckpointMarked(mark)) => {
                Some(format!("{:?} {:?} {:?}", mark.label, mark.aliases, mark.metadata))
            }
            (Some("import"), body) => Some(format!("{:?} {body:?}", event.header.key)),
            _ => None,
        }
    });
    told.collect()
}

fn hook_event(number: usize) -> Append {
    let data = Data::Json(Json::new("{}").unwrap());
    let body = Application { name: "agent_session".into(), data };
    Append::from(body).key(format!("{HOOK_KEY}{number}")).actor("agent")
}

#[test]
fn only_complete_lines_are_read_and_the_file_need_not_be_there() {
    let place = Place::new();
    let mut tail = place.tail();
    assert_eq!(tail.read_on(TailStop::End).unwrap(), TailRead::default());
    let lines = text(&[asked("a", None), answered("b", "a")]);
    let (first, rest) = lines.split_at(lines.len() - 30);
    place.add(first);
    let read = tail.read_on(TailStop::End).unwrap();
    assert_eq!((read.lines, read.events, read.checkpoints), (1, 2, 1));
    assert_eq!(read.head, Some(place.task().head().unwrap().next));
    assert_eq!(tail.read_on(TailStop::End).unwrap().lines, 0);
    place.add(rest);
    assert_eq!(tail.read_on(TailStop::End).unwrap().lines, 1);
    assert_eq!(place.said(), ["a", "b"]);
    // The rest of a removed file can still be read.
    place.add(&text(&[answered("c", "b")]));
    fs::remove_file(place.path()).unwrap();
    assert_eq!(tail.read_on(TailStop::End).unwrap().lines, 1);
}

#[test]
fn a_reading_stops_before_a_call_or_behind_it() {
    let place = Place::new();
    place.write(&session());
    let mut tail = place.tail();
    let read = tail.read_on(TailStop::BeforeCall("t1")).unwrap();
    assert_eq!((read.lines, read.found, read.is_recorded), (2, true, false));
    assert_eq!(place.said(), ["a"]);
    let read = tail.read_on(TailStop::BeforeCall("t1")).unwrap();
    assert_eq!((read.lines, read.found, read.is_recorded), (0, true, false));
    let read = tail.read_on(TailStop::AfterCall("t1")).unwrap();
    assert_eq!((read.lines, read.found, read.is_recorded), (1, true, false));
    assert_eq!(place.said(), ["a", "t1"]);
    for stop in [TailStop::BeforeCall("t1"), TailStop::AfterCall("t1")] {
        let read = tail.read_on(stop).unwrap();
        assert_eq!((read.lines, read.found, read.is_recorded), (0, true, true), "{stop:?}");
    }
    let read = tail.read_on(TailStop::AfterCall("t2")).unwrap();
    assert_eq!((read.lines, read.found), (1, true));
    let read = tail.read_on(TailStop::BeforeCall("nowhere")).unwrap();
    assert_eq!((read.lines, read.found), (2, false));
    assert_eq!(place.said(), ["a", "t1", "t2", "d"]);
    // A tail that is opened anew knows what is recorded.
    let read = place.tail().read_on(TailStop::BeforeCall("t2")).unwrap();
    assert_eq!((read.events, read.found, read.is_recorded), (0, true, true));
}

#[test]
fn a_reading_stops_before_the_next_call_that_is_not_recorded() {
    let place = Place::new();
    place.write(&session());
    let mut tail = place.tail();
    let read = tail.read_on(TailStop::NextCall("t1")).unwrap();
    assert_eq!((read.lines, read.found), (3, true));
    assert_eq!(place.said(), ["a", "t1"]);
    let read = tail.read_on(TailStop::NextCall("t1")).unwrap();
    assert_eq!((read.lines, read.found), (0, true));
    let read = tail.read_on(TailStop::BeforeCall("t2")).unwrap();
    assert_eq!((read.lines, read.found, read.is_recorded), (0, true, false));
    tail.read_on(TailStop::AfterCall("t2")).unwrap();
    // A tail that is opened anew knows what is recorded.
    for mut tail in [place.tail(), tail] {
        let read = tail.read_on(TailStop::NextCall("t1")).unwrap();
        assert!(!read.found);
    }
    assert_eq!(place.said(), ["a", "t1", "t2", "d"]);
}

#[test]
fn a_file_that_was_replaced_or_cut_is_read_from_its_beginning() {
    let lines = forked();
    let place = Place::new();
    place.write(&lines[..4]);
    let mut tail = place.tail();
    tail.read_on(TailStop::BeforeCall("t2")).unwrap();
    // Another file.
    let other = place.dir.path().join("other");
    fs::write(&other, text(&lines[..5])).unwrap();
    fs::rename(other, place.path()).unwrap();
    let read = tail.read_on(TailStop::End).unwrap();
    assert_eq!((read.lines, read.events), (5, 3));
    // The same file, shorter, and then longer than before.
    place.write(&lines[..2]);
    let read = tail.read_on(TailStop::End).unwrap();
    assert_eq!((read.lines, read.events), (2, 0));
    place.write(&lines[..6]);
    let read = tail.read_on(TailStop::End).unwrap();
    assert_eq!((read.lines, read.events), (4, 1));
    // The same file, written anew with another line before the known ones, which is no message.
    let mut anew = vec![r#"{"type":"mode","mode":"plan"}"#.to_owned()];
    anew.extend_from_slice(&lines[..6]);
    place.write(&anew);
    let read = tail.read_on(TailStop::End).unwrap();
    assert_eq!((read.lines, read.events), (7, 1));
    // A known line that was changed.
    place.write(&[lines[0].clone(), lines[1].replace("\"a\"}", "\"other\"}")]);
    let error = tail.read_on(TailStop::End).unwrap_err();
    assert!(error.to_string().contains("says something else than before"), "{error}");
    // The next reading begins again.
    place.write(&lines);
    let read = tail.read_on(TailStop::End).unwrap();
    assert_eq!(read.lines, lines.len() as u64);
    assert_eq!(place.import(), (0, 0));
}

#[test]
fn a_line_over_the_limit_is_skipped_over_several_readings() {
    let place = Place::with(Options::default().event_max(1000));
    place.write(&[asked("a", None)]);
    let mut tail = place.tail();
    tail.read_on(TailStop::End).unwrap();
    for _ in 0..5 {
        place.add(&"x".repeat(1 << 20));
        assert_eq!(tail.read_on(TailStop::End).unwrap().skipped, 0, "it has no end yet");
    }
    place.add("\nno object\n");
    place.add(&text(&[answered("b", "a"), line("c", Some("b"), "user", &"9".repeat(2000))]));
    let read = tail.read_on(TailStop::End).unwrap();
    assert_eq!((read.lines, read.skipped), (1, 3));
    let why = "line 2: a line of 5242881 bytes is over the limit of 1000 for an event";
    assert_eq!(read.reason.as_deref(), Some(why));
    assert_eq!(place.said(), ["a", "b"]);
    // A later import skips it again, and recognizes what continues it.
    place.add(&text(&[answered("d", "c")]));
    assert_eq!(tail.read_on(TailStop::End).unwrap().lines, 1);
    assert_eq!((place.import(), place.import()), ((0, 0), (0, 0)));
    assert_eq!(place.said(), ["a", "b", "d"]);
    assert_eq!(place.task().lineages().unwrap().len(), 1);
}

#[test]
fn only_a_regular_file_is_read() {
    let place = Place::new();
    let aside = place.dir.path().join("aside");
    fs::write(&aside, text(&session())).unwrap();
    std::os::unix::fs::symlink(&aside, place.path()).unwrap();
    let error = place.tail().read_on(TailStop::End).unwrap_err();
    assert!(error.to_string().contains("s.jsonl: a symbolic link"), "{error}");
    fs::remove_file(place.path()).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, place.path(), rustix::fs::Mode::RWXU).unwrap();
    let error = place.tail().read_on(TailStop::End).unwrap_err();
    assert!(error.to_string().contains("no regular file"), "{error}");
    assert!(place.engine.task("s").is_err());
    let none = SessionTail::new(&place.engine, Format::Jsonl, &place.path(), "s", "ana");
    assert_eq!(none.err().unwrap().kind(), crate::error::ErrorKind::Invalid);
}

#[test]
fn a_tail_and_an_import_add_nothing_to_each_other() {
    let place = Place::new();
    place.write(&forked());
    let read = place.tail().read_on(TailStop::End).unwrap();
    assert_eq!(place.import(), (0, 0));
    let other = Place::new();
    other.write(&forked());
    assert_eq!(other.import(), (read.events, read.checkpoints));
    let read = other.tail().read_on(TailStop::End).unwrap();
    assert_eq!((read.events, read.checkpoints), (0, 0));
    assert_eq!(read.lines, forked().len() as u64);
}

#[test]
fn other_appends_between_the_lines_do_not_disturb() {
    let whole = Place::new();
    whole.write(&forked());
    whole.import();
    let place = Place::new();
    // Hooks began the task.
    place.engine.start_task("s", "ana").unwrap().append(hook_event(1000)).unwrap();
    let mut kept = place.tail();
    for count in 1..=forked().len() {
        place.write(&forked()[..count]);
        let append = || {
            let task = place.task();
            task.append(hook_event(count)).unwrap();
            task.append(Message::text("user", "noted")).unwrap();
            task.checkpoint(Mark::new().label("prompt-1").alias(format!("x{count}"))).unwrap();
        };
        append();
        kept.read_on(TailStop::End).unwrap();
        if count % 3 == 0 {
            place.task().checkpoint(Mark::new().label("mine")).unwrap();
            place.tail().read_on(TailStop::End).unwrap();
        }
        assert_eq!(place.import(), (0, 0), "after {count} lines");
    }
    assert_eq!(histories(&place.engine), histories(&whole.engine));
    let last = |place: &Place| history(place.task().read(1..).unwrap());
    assert_eq!(last(&place), last(&whole), "the task continues where the session does");
}

#[test]
fn a_mark_of_an_interrupted_reading_is_found_behind_other_events() {
    let place = Place::new();
    let task = place.engine.start_task("s", "ana").unwrap();
    task.append(hook_event(1)).unwrap();
    // State of a reading that ends between the mark and its prompt.
    let mark = Mark::new().label("prompt-1").alias("a").actor("import");
    task.checkpoint(mark).unwrap();
    task.append(hook_event(2)).unwrap();
    place.write(&[asked("a", None)]);
    assert_eq!(place.tail().read_on(TailStop::End).unwrap().checkpoints, 0);
}

#[test]
fn a_task_that_something_else_began_is_refused() {
    let place = Place::new();
    let task = place.engine.start_task("s", "ana").unwrap();
    task.append(Message::text("user", "mine")).unwrap();
    task.append(Append::from(Message::text("user", "x")).key("hooks")).unwrap();
    place.write(&session());
    let error = place.tail().read_on(TailStop::End).unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
}

#[test]
fn lines_without_an_id_are_kept_as_often_as_they_come() {
    let place = Place::new();
    place.write(&session());
    place.import();
    let modes = place.task().read(1..).unwrap().filter(|event| {
        let body = event.as_ref().unwrap().body.as_ref().unwrap();
        body.to_json().unwrap().contains(r#""mode":"normal""#)
    });
    assert_eq!(modes.count(), 2);
}

#[test]
fn a_repeated_line_that_was_not_recorded_once_does_not_refuse_the_file() {
    let place = Place::new();
    let mut lines = session();
    let again = lines.remove(4);
    place.write(&lines);
    place.import();
    lines.insert(4, again);
    lines.push(answered("e", "d"));
    place.write(&lines);
    assert_eq!(place.import(), (2, 0));
    assert_eq!(place.import(), (0, 0));
}

#[test]
fn a_session_in_two_files_is_one_task_with_all_lines_of_both() {
    let stamped = |line: &String, n: usize| {
        line.replacen('{', &format!("{{\"timestamp\":\"2026-03-01T10:{n:02}:00.000Z\","), 1)
    };
    let mut lines = vec![asked("a", None), answered("b", "a"), asked("c", Some("b"))];
    lines.extend([answered("d", "c"), asked("e", Some("d")), answered("f", "e")]);
    let lines: Vec<String> = lines.iter().zip(1..).map(|(line, n)| stamped(line, n)).collect();
    let said = ["a", "b", "c", "d", "e", "f"];
    let mode = r#"{"type":"mode","mode":"plan","sessionId":"s"}"#.to_owned();
    let one = Place::new();
    one.write(&lines);
    one.import();
    let labels = |place: &Place| -> Vec<_> {
        let marks =
            place.task().read(1..).unwrap().filter_map(|event| match event.unwrap().body? {
                Body::CheckpointMarked(mark) => Some(mark.label.unwrap().as_str().to_owned()),
                _ => None,
            });
        marks.collect()
    };
    for (first, second) in [
        // Later lines only; all of them; lines of both files; other lines that are no messages.
        (lines[..3].to_vec(), lines[3..].to_vec()),
        (lines[..3].to_vec(), lines.clone()),
        (lines[..3].to_vec(), lines[1..].to_vec()),
        (
            [&lines[..3], std::slice::from_ref(&mode)].concat(),
            [std::slice::from_ref(&mode), &lines[3..]].concat(),
        ),
        // The parent of its first line is in no file.
        ([&lines[..2]].concat(), lines[2..].to_vec()),
        (lines[..4].to_vec(), lines[4..].to_vec()),
    ] {
        for is_live in [true, false] {
            let place = Place::new();
            let take = |lines: &[String]| {
                place.write(lines);
                match is_live {
                    true => drop(place.tail().read_on(TailStop::End).unwrap()),
                    false => _ = place.import(),
                }
            };
            take(&first);
            take(&second);
            assert_eq!(place.said(), said, "{second:?}");
            assert_eq!(labels(&place), labels(&one), "{second:?}");
            assert_eq!(place.task().lineages().unwrap().len(), 1, "{second:?}");
        }
    }
    // The parent of the first line is in neither file, but the line is later.
    let place = Place::new();
    place.write(&lines[..2]);
    place.import();
    place.write(&lines[4..]);
    place.import();
    assert_eq!(place.said(), ["a", "b", "e", "f"]);
    // Another line that continues one of the first file is a branch there.
    let place = Place::new();
    place.write(&lines);
    place.import();
    place.write(&[asked("g", Some("b")), answered("h", "g")]);
    place.import();
    assert_eq!(place.said(), ["a", "b", "g", "h"]);
    assert_eq!(place.task().lineages().unwrap().len(), 2);
}

#[test]
fn what_is_lost_of_a_damaged_line_is_told_and_the_rest_is_recorded() {
    let lines = session();
    for (changed, told) in [
        ([&lines[..2], &[format!("{}{}", lines[2], lines[3])], &lines[4..]].concat(), 0),
        ([&lines[..3], &[format!("\0\0\0{}", lines[3])], &lines[4..]].concat(), 0),
        ([&lines[..3], &["\0\0".to_owned()], &lines[3..]].concat(), 0),
        ([&lines[..3], &[format!("{{\"type\":\"us{}", lines[3])], &lines[4..]].concat(), 1),
        ([&lines[..3], &[format!("{} x", lines[3])], &lines[4..]].concat(), 1),
        ([&lines[..3], &["{\"type\":\"us".to_owned()], &lines[3..]].concat(), 1),
    ] {
        let place = Place::new();
        place.write(&changed);
        let read = place.tail().read_on(TailStop::End).unwrap();
        assert_eq!(place.said(), ["a", "t1", "t2", "d"], "{changed:?}");
        assert_eq!(read.skipped, told, "{changed:?}");
        assert_eq!(read.reason.is_some(), told > 0);
        assert_eq!(place.import(), (0, 0), "{changed:?}");
    }
}

#[test]
fn an_agent_of_a_session_has_a_task_of_its_own() {
    let place = Place::new();
    let side = |line: String| line.replace("\"type\"", "\"isSidechain\":true,\"type\"");
    place.write(&[side(asked("a", None)), side(answered("b", "a"))]);
    let path = place.path();
    let mut tail =
        SessionTail::new(&place.engine, Format::ClaudeCode, &path, "s-agent-1", "ana").unwrap();
    assert_eq!(tail.read_on(TailStop::End).unwrap().lines, 2);
    let task = place.engine.task("s-agent-1").unwrap();
    assert_eq!(task.messages().unwrap().count(), 2);
}
