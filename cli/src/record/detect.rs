//! Tells the format of an input by its beginning.

use clap::ValueEnum;

/// How recorded runs are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Told by the content.
    Auto,
    /// JSON Lines: one event body an object a line.
    Jsonl,
    /// A session of Claude Code: JSON Lines that name the line before.
    ClaudeCode,
    /// A trajectory of SWE-agent.
    SweAgent,
    /// The result array of tau-bench.
    TauBench,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Jsonl => "jsonl",
            Self::ClaudeCode => "claude-code",
            Self::SweAgent => "swe-agent",
            Self::TauBench => "tau-bench",
        }
    }
}

/// The format of an input that begins with `start`. What looks like none of them is told by the
/// file's extension, and is JSON Lines if that does not tell either.
pub fn detect(start: &[u8], extension: Option<&str>) -> Format {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'[') {
        return Format::TauBench;
    }
    for key in top_keys(start) {
        match key.as_slice() {
            b"kind" => return Format::Jsonl,
            b"parentUuid" | b"sessionId" | b"leafUuid" => return Format::ClaudeCode,
            b"trajectory" | b"history" | b"replay_config" => return Format::SweAgent,
            _ => {}
        }
    }
    match extension {
        Some("traj") => Format::SweAgent,
        _ => Format::Jsonl,
    }
}

/// The keys of the object that the input begins with, as far as it reaches.
fn top_keys(start: &[u8]) -> Vec<Vec<u8>> {
    let (mut keys, mut string) = (Vec::new(), Vec::new());
    let (mut depth, mut in_string, mut escaped) = (0_u32, false, false);
    for byte in start {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                other => string.push(*other),
            }
            continue;
        }
        match byte {
            b'"' => {
                in_string = true;
                string.clear();
            }
            b':' if depth == 1 => keys.push(std::mem::take(&mut string)),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !keys.is_empty() {
            break;
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_content() {
        let tell = |start: &str| detect(start.as_bytes(), None);
        assert_eq!(tell("{\"kind\":\"message\"}\n"), Format::Jsonl);
        assert_eq!(tell("{\"history\":1,\"kind\""), Format::SweAgent);
        assert_eq!(
            tell("{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"y\"}\n"),
            Format::ClaudeCode
        );
        assert_eq!(
            tell("{\"parentUuid\":null,\"message\":{"),
            Format::ClaudeCode
        );
        assert_eq!(
            tell("{\n  \"environment\": \"x\",\n  \"trajectory\": ["),
            Format::SweAgent
        );
        assert_eq!(tell(" \n[ {\"task_id\""), Format::TauBench);
        assert_eq!(
            tell("{\"a\":{\"trajectory\":[]},\"kind\":\"x\"}"),
            Format::Jsonl
        );
        assert_eq!(
            tell("{\"a\":\"\\\"trajectory\\\":\",\"kind\":\"x\"}"),
            Format::Jsonl
        );
    }

    #[test]
    fn what_the_content_does_not_tell_the_extension_does() {
        assert_eq!(detect(b"hello", Some("traj")), Format::SweAgent);
        assert_eq!(detect(b"hello", Some("jsonl")), Format::Jsonl);
        assert_eq!(detect(b"", None), Format::Jsonl);
    }
}
