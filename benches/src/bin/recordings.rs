//! Writes the two recordings with which `milepost record` is measured, in the form of a program's
//! output.
//!
//! `cargo run --manifest-path benches/Cargo.toml --release --bin recordings -- DIR` writes
//! `steps.jsonl`, 60,000 steps with 2 messages each, and `messages.jsonl`, 2,500 steps with 48.
//! Each message has 100 to 520 characters of the recorded runs, or of generated text.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use milepost_benches::corpus::{generated, recorded};
use serde_json::json;

fn main() -> io::Result<()> {
    let Some(folder) = std::env::args().nth(1).map(PathBuf::from) else {
        return Err(io::Error::other("the first argument is the folder to write to"));
    };
    fs::create_dir_all(&folder)?;
    let bodies = recorded().unwrap_or_else(|| (0..5000).map(|n| generated(n, 770)).collect());
    let payloads = bodies.iter().map(|body| body.encode().1);
    let text: String = payloads.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
    let text: Vec<char> = text.chars().filter(|char| !char.is_control()).collect();
    write(&folder.join("steps.jsonl"), &text, 60_000, 2)?;
    write(&folder.join("messages.jsonl"), &text, 2_500, 48)
}

/// Writes a number of steps with a number of messages each. The same call writes the same bytes.
fn write(path: &Path, text: &[char], steps: u64, messages: u64) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    for step in 0..steps {
        writeln!(out, "{}", json!({"kind": "step_started", "step": step, "name": "try"}))?;
        for message in 0..messages {
            let number = step * messages + message;
            let random = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
            let len = 100 + (random >> 40) as usize % 421;
            let at = (random & 0xFFFF_FFFF) as usize % (text.len() - len);
            let content: String = text.iter().skip(at).take(len).collect();
            let role = if number.is_multiple_of(2) { "assistant" } else { "user" };
            writeln!(out, "{}", json!({"kind": "message", "role": role, "content": content}))?;
        }
        let metrics = json!({"score": (step % 100) as f64 / 100.0});
        let end = json!({"kind": "step_finished", "step": step, "metrics": metrics});
        writeln!(out, "{end}")?;
    }
    out.flush()
}
