//! Sessions of Claude Code into a store, as `milepost record` takes them: how fast, and in how much
//! memory.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::folder;
use crate::corpus::generated;
use crate::measure::{median, row, seconds};
use crate::program;

/// Bytes of one session.
const SESSION: u64 = 40 << 20;

/// Records this many bytes of sessions.
pub fn sessions(rounds: usize, bytes: u64) {
    let dir = folder();
    let files: Vec<_> = (0..bytes.div_ceil(SESSION))
        .map(|n| {
            let path = dir.path().join(format!("session-{n}.jsonl"));
            write(&path, n);
            path
        })
        .collect();
    let size: u64 = files.iter().map(|path| path.metadata().unwrap().len()).sum();
    let (mut rates, mut peaks) = (Vec::new(), Vec::new());
    for n in 0..rounds {
        let store = dir.path().join(format!("store-{n}"));
        let mut peak = 0.0;
        let took = seconds(|| {
            let mut command = Command::new(program());
            command.arg("--store").arg(&store).arg("record").args(&files);
            let mut child = command.stdout(Stdio::null()).spawn().unwrap();
            peak = peak_of(child.id());
            assert!(child.wait().unwrap().success());
        });
        rates.push(size as f64 / 1e6 / took);
        peaks.push(peak);
        std::fs::remove_dir_all(&store).unwrap();
    }
    let (rate, peak) = (median(rates), median(peaks));
    let name = format!("sessions of {} MB recorded, MB/s", size / 1_000_000);
    row(&name, format!("{rate:.0}"), String::new(), rate, 100.0, false);
    let name = "the most memory of that, MiB";
    row(name, format!("{peak:.0}"), String::new(), peak, 200.0, true);
}

/// The most memory that a process ever holds, in MiB, looked at until it has ended.
fn peak_of(process: u32) -> f64 {
    let mut peak = 0.0;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        let status = status.unwrap_or_default();
        let Some(line) = status.lines().find(|line| line.starts_with("VmHWM")) else {
            return peak;
        };
        let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        peak = kib / 1024.0;
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Calls of tools for one prompt.
const ROUNDS: u64 = 10;

/// Writes a session: prompts, answers with calls of tools, their results, and occasional returns to
/// an earlier prompt.
fn write(path: &Path, session: u64) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let (mut written, mut n, mut parent) = (0, 0_u64, None);
    while written < SESSION {
        let text = |n: u64, bytes: usize| {
            let body = serde_json::to_value(generated(session * 1_000_000 + n, bytes)).unwrap();
            body["content"].to_string()
        };
        let call = format!("toolu_{session}_{n}");
        let (asks, answers, returns) = (text(n, 200), text(n + 1, 700), text(n + 2, 3000));
        let prompt = format!(r#""type":"user","message":{{"role":"user","content":{asks}}}"#);
        let round = [
            format!(
                r#""type":"assistant","message":{{"id":"m{n}","role":"assistant","model":"m","content":[{{"type":"text","text":{answers}}},{{"type":"tool_use","id":"{call}","name":"Read","input":{{"file_path":"src/{n}.rs"}}}}],"usage":{{"input_tokens":{n},"output_tokens":200}}}}"#
            ),
            format!(
                r#""type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{call}","content":{returns}}}]}}"#
            ),
        ];
        let begun = parent;
        let rounds = (0..ROUNDS).flat_map(|_| round.iter());
        for line in std::iter::once(&prompt).chain(rounds) {
            let mut all = String::new();
            let before =
                parent.map_or_else(|| "null".to_owned(), |n| format!("\"{}\"", uuid(session, n)));
            let _ = writeln!(
                all,
                r#"{{"parentUuid":{before},"isSidechain":false,"userType":"external","cwd":"/home/ana/site","sessionId":"{}","version":"2.0.1","gitBranch":"main",{line},"uuid":"{}","timestamp":"2026-01-02T03:04:05.678Z"}}"#,
                uuid(session, u64::MAX),
                uuid(session, n),
            );
            file.write_all(all.as_bytes()).unwrap();
            written += all.len() as u64;
            parent = Some(n);
            n += 1;
        }
        if n.is_multiple_of(21 * 50) {
            parent = begun.or(parent);
        }
    }
    file.flush().unwrap();
}

fn uuid(session: u64, n: u64) -> String {
    let hash = blake3::hash(&[session.to_le_bytes(), n.to_le_bytes()].concat());
    let hex = hash.to_hex();
    format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[15..18], &hex[18..30])
}
