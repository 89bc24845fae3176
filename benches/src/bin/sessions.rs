//! Writes sessions as Claude Code does, for `milepost import` to be measured with.
//!
//! `cargo run --manifest-path benches/Cargo.toml --release --bin sessions -- DIR [MB]` writes files
//! of about 20 MB, 400 MB in all by default: prompts, answers in several lines, tools
//! called one by one and together, snapshots, and an occasional return to an earlier prompt. The
//! text is made up. The sizes are those of real sessions, of which 13 % of the lines are over 4 KiB
//! and have 72 % of the bytes, and files are read again.

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

    /// Words, with quotes and newlines among them as code has. Some words are frequent, and most
    /// are rare, so that the text packs as sessions do.
    fn text(&mut self, bytes: u64) -> String {
        const OFTEN: [&str; 12] = [
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
            match self.below(2) {
                0 => {
                    let word = usize::try_from(self.below(12)).unwrap_or_default();
                    text.push_str(OFTEN.get(word).copied().unwrap_or_default());
                }
                _ => self.word(&mut text),
            }
            text.push(' ');
        }
        text
    }

    /// One of 4,096 words.
    fn word(&mut self, text: &mut String) {
        const PARTS: [&str; 16] = [
            "an", "be", "con", "de", "er", "fi", "gra", "he", "in", "ju", "ko", "len", "ma", "no",
            "ser", "ti",
        ];
        for _ in 0..3 {
            let part = usize::try_from(self.below(16)).unwrap_or_default();
            text.push_str(PARTS.get(part).copied().unwrap_or_default());
        }
    }

    /// A length from 3,500 to 154,000: most are short, few are long, and the mean is 11,000.
    fn length(&mut self) -> u64 {
        2_000 + 150_000 / (1 + self.below(99)) + self.below(2_000)
    }
}

struct Session<'a> {
    random: &'a mut Random,
    file: BufWriter<File>,
    id: String,
    last: Option<String>,
    written: u64,
    second: u64,
    /// Files of the project, which tools read again and again.
    files: Vec<String>,
}

/// The most files of a project.
const FILES: usize = 200;

fn session(folder: &std::path::Path, bytes: u64, random: &mut Random) -> io::Result<()> {
    let id = random.uuid();
    let file = BufWriter::new(File::create(folder.join(format!("{id}.jsonl")))?);
    let mut session =
        Session { random, file, id, last: None, written: 0, second: 0, files: Vec::new() };
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
            "parentUuid": parent, "isSidechain": false, "userType": "external",
            "cwd": "/home/ana/project", "sessionId": self.id, "version": "2.0.61",
            "gitBranch": "main", "type": kind, "message": message, "uuid": uuid,
            "timestamp":
                format!("2025-11-03T{hours:02}:{minutes:02}:{:02}.123Z", self.second % 60),
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

    /// Writes a prompt and the work that answers it.
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
            let content = self.result();
            let block = json!({"type": "tool_result", "tool_use_id": call, "content": content});
            self.line("user", json!({"role": "user", "content": [block]}), Some(line))?;
        }
        Ok(())
    }

    /// Returns the result of a tool: a short text, or a file. Half of the files were read before,
    /// and a quarter of those changed since.
    fn result(&mut self) -> String {
        if self.random.below(100) < 55 {
            let length = 50 + self.random.below(1400);
            return self.random.text(length);
        }
        let known = self.files.len();
        if known == FILES || (known > 0 && self.random.below(2) == 0) {
            let at = usize::try_from(self.random.below(known as u64)).unwrap_or_default();
            let changed = self.random.text(60);
            if let Some(file) = self.files.get_mut(at) {
                if self.random.below(4) == 0 {
                    file.push_str(&changed);
                }
                return file.clone();
            }
        }
        let length = self.random.length();
        let file = self.random.text(length);
        self.files.push(file.clone());
        file
    }
}

/// Returns the copy of a tool's result that a line repeats.
fn result_of(line: &Value) -> Option<Value> {
    line.pointer("/message/content/0/tool_use_id")?;
    line.pointer("/message/content/0/content").cloned()
}
