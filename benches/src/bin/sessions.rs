//! Writes sessions as Claude Code does, for `milepost import` to be measured with.
//!
//! `cargo run --manifest-path benches/Cargo.toml --release --bin sessions -- DIR [MB]` writes files of about 20 MB, 400 MB in all unless told
//! otherwise: prompts, answers in several lines, tools called one by one and together, snapshots, and now and then somebody goes
//! back to an earlier prompt. The text is made up, the sizes are those of real sessions.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

/// Bytes of one file.
const FILE: u64 = 20 << 20;

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let Some(folder) = args.next().map(PathBuf::from) else {
        return Err(io::Error::other("give a folder, and how many MB"));
    };
    let megabytes: u64 = args.next().and_then(|arg| arg.parse().ok()).unwrap_or(400);
    fs::create_dir_all(&folder)?;
    let mut left = megabytes << 20;
    let mut random = Random(1);
    while left > 0 {
        let bytes = left.min(FILE);
        session(&folder, bytes, &mut random)?;
        left -= bytes;
    }
    Ok(())
}

/// Numbers that look random, and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn uuid(&mut self) -> String {
        let (a, b) = (self.next(), self.next());
        let (low, high) = (a & 0xffff_ffff, a >> 32);
        let (tail, end) = (b & 0xfff, b >> 16);
        format!("{low:08x}-{:04x}-4{tail:03x}-8{:03x}-{end:012x}", high & 0xffff, high >> 20)
    }

    /// Words, with quotes and newlines among them as code has.
    fn text(&mut self, bytes: u64) -> String {
        const WORDS: [&str; 12] = [
            "the",
            "fn",
            "checkpoint",
            "\"quoted\"",
            "return",
            "log\n",
            "offset",
            "self.next()",
            "because",
            "größer",
            "    let",
            "a/b/c.rs",
        ];
        let mut text = String::new();
        while (text.len() as u64) < bytes {
            let word = usize::try_from(self.below(12)).unwrap_or_default();
            text.push_str(WORDS.get(word).copied().unwrap_or_default());
            text.push(' ');
        }
        text
    }
}

struct Session<'a> {
    random: &'a mut Random,
    file: BufWriter<File>,
    id: String,
    last: Option<String>,
    written: u64,
    second: u64,
}

fn session(folder: &std::path::Path, bytes: u64, random: &mut Random) -> io::Result<()> {
    let id = random.uuid();
    let file = BufWriter::new(File::create(folder.join(format!("{id}.jsonl")))?);
    let mut session = Session { random, file, id, last: None, written: 0, second: 0 };
    let mut earlier = Vec::new();
    while session.written < bytes {
        if session.random.below(12) == 0 && !earlier.is_empty() {
            let at = usize::try_from(session.random.below(earlier.len() as u64));
            let before: Option<&Option<String>> = earlier.get(at.unwrap_or_default());
            session.last = before.cloned().flatten();
        }
        earlier.push(session.last.clone());
        session.prompt()?;
    }
    session.file.flush()
}

impl Session<'_> {
    fn write(&mut self, value: &Value) -> io::Result<()> {
        let line = serde_json::to_string(value)?;
        self.written += line.len() as u64 + 1;
        writeln!(self.file, "{line}")
    }

    fn line(&mut self, kind: &str, message: Value, parent: Option<String>) -> io::Result<String> {
        let uuid = self.random.uuid();
        self.second += 1;
        let (hours, minutes) = (self.second / 3600 % 24, self.second / 60 % 60);
        let mut value = json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/home/ana/project",
            "sessionId": self.id, "version": "2.0.61", "gitBranch": "main", "type": kind, "message": message,
            "uuid": uuid, "timestamp": format!("2025-11-03T{hours:02}:{minutes:02}:{:02}.123Z", self.second % 60),
        });
        if let (Some(content), Some(fields)) = (result_of(&value), value.as_object_mut()) {
            fields.insert("toolUseResult".into(), json!({"stdout": content, "interrupted": false}));
        }
        self.write(&value)?;
        self.last = Some(uuid.clone());
        Ok(uuid)
    }

    fn said(&mut self, id: &str, block: Value) -> io::Result<String> {
        let usage =
            json!({"input_tokens": 4, "cache_read_input_tokens": 31_000, "output_tokens": 212});
        let message = json!({"id": id, "type": "message", "role": "assistant", "model": "scripted",
            "content": [block], "stop_reason": null, "usage": usage});
        let parent = self.last.clone();
        self.line("assistant", message, parent)
    }

    /// What somebody asks, and what is done about it.
    fn prompt(&mut self) -> io::Result<()> {
        let snapshot = json!({"type": "file-history-snapshot", "messageId": self.random.uuid(),
            "snapshot": {"trackedFileBackups": {}}, "isSnapshotUpdate": false});
        self.write(&snapshot)?;
        let length = 50 + self.random.below(600);
        let text = self.random.text(length);
        let parent = self.last.clone();
        self.line("user", json!({"role": "user", "content": text}), parent)?;
        for _ in 0..3 + self.random.below(12) {
            self.turn()?;
        }
        Ok(())
    }

    fn turn(&mut self) -> io::Result<()> {
        let id = self.random.uuid();
        let thought = self.random.text(400);
        self.said(&id, json!({"type": "thinking", "thinking": thought, "signature": "c2ln"}))?;
        let text = self.random.text(200);
        self.said(&id, json!({"type": "text", "text": text}))?;
        let mut calls = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let call = format!("toolu_{}", self.random.uuid());
            let length = 100 + self.random.below(1500);
            let input = json!({"command": self.random.text(length), "description": "look"});
            let block = json!({"type": "tool_use", "id": call, "name": "Bash", "input": input});
            calls.push((call, self.said(&id, block)?));
        }
        for (call, line) in calls {
            let length = 200 + self.random.below(6000);
            let content = self.random.text(length);
            let block = json!({"type": "tool_result", "tool_use_id": call, "content": content});
            self.line("user", json!({"role": "user", "content": [block]}), Some(line))?;
        }
        Ok(())
    }
}

/// What a tool gave back, as a line says it a second time.
fn result_of(line: &Value) -> Option<Value> {
    line.pointer("/message/content/0/tool_use_id")?;
    line.pointer("/message/content/0/content").cloned()
}
