//! Results of calls: the output of a command as its text, and that of other tools as it is.

use milepost_codec::Json;
use serde::Deserialize;
use serde_json::Value;

use super::text::Line;

/// Longest result of a command that is parsed, in bytes. A longer one is shown as JSON.
const PARSED_MAX: usize = 4 << 20;

/// The result of a command, as `milepost run` records it.
#[derive(Debug, Deserialize)]
struct Recorded {
    exit: Option<i32>,
    signal: Option<i32>,
    error: Option<String>,
    #[serde(default)]
    timed_out: bool,
    #[serde(rename = "ms")]
    _ms: u64,
    #[serde(rename = "bytes")]
    _bytes: u64,
    output: Vec<Value>,
}

impl Recorded {
    fn of(output: &Json) -> Option<Self> {
        let text = output.text();
        let is_one = text.starts_with('{') && text.len() <= PARSED_MAX;
        is_one.then(|| serde_json::from_str(text).ok())?
    }

    fn status(&self) -> String {
        let how = match (&self.error, self.exit, self.signal) {
            (Some(error), ..) => error.clone(),
            (_, Some(code), _) => format!("exit {code}"),
            (_, _, Some(signal)) => format!("signal {signal}"),
            _ => "ended".to_owned(),
        };
        if self.timed_out { format!("the time was over, {how}") } else { how }
    }

    /// Returns the text of the streams with this name, or of both.
    fn text(&self, stream: Option<&str>) -> String {
        let mut text = String::new();
        for piece in &self.output {
            let Some(fields) = piece.as_object() else { continue };
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("left_out", bytes) if stream.is_none() => {
                        text.push_str(&format!("\n… {bytes} bytes left out\n"));
                    }
                    (name, Value::String(piece)) if stream.is_none_or(|one| one == name) => {
                        text.push_str(piece);
                    }
                    ("stdout" | "stderr", Value::Object(_)) if stream.is_none() => {
                        text.push_str("… bytes that are no text …");
                    }
                    _ => {}
                }
            }
        }
        text
    }

    /// Returns the last line with a letter or digit: of the errors, or else of the output.
    fn reason(&self) -> String {
        let has_word = |line: &&str| line.chars().any(char::is_alphanumeric);
        let last = |text: String| text.lines().rfind(has_word).map(str::to_owned);
        let line = last(self.text(Some("stderr"))).or_else(|| last(self.text(Some("stdout"))));
        line.unwrap_or_default()
    }
}

/// Returns the output of a command as its text below its status. `None`: the JSON is not a
/// command's output.
pub fn command_text(output: &Json) -> Option<String> {
    let recorded = Recorded::of(output)?;
    Some(format!("{}\n{}", recorded.status(), recorded.text(None)))
}

/// Returns the output of a call on one line of at most `max` characters.
pub(crate) fn result_line(output: &Json, max: usize) -> String {
    match Recorded::of(output) {
        Some(recorded) => with_status(&recorded, &recorded.text(None), max),
        None => Line::within(max).add_json(output).end(),
    }
}

/// Returns the reason of a call that failed, on one line of at most `max` characters.
pub(crate) fn failure_line(output: Option<&Json>, max: usize) -> String {
    let line = output.map(|output| match Recorded::of(output) {
        Some(recorded) => with_status(&recorded, &recorded.reason(), max),
        None => Line::within(max).add_first_line(output).end(),
    });
    line.filter(|line| !line.is_empty()).unwrap_or_else(|| "failed".to_owned())
}

fn with_status(recorded: &Recorded, text: &str, max: usize) -> String {
    let mut line = Line::within(max);
    let is_good = recorded.exit == Some(0) && !recorded.timed_out;
    match (is_good, text.trim().is_empty()) {
        (true, false) => line.add(text),
        (_, true) => line.add(&recorded.status()),
        (false, false) => line.add(&recorded.status()).add(": ").add(text),
    };
    line.end()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::text::TEXT_MAX;

    fn of(value: Value) -> Json {
        Json::from_value(&value).unwrap()
    }

    #[test]
    fn the_result_of_a_command_is_its_text_and_not_its_json() {
        let failed = of(json!({"exit": 1, "ms": 224, "bytes": 60, "output": [
            {"stdout": "run\n"}, {"stderr": "Traceback\n  x = 1\nAssertionError\n"}]}));
        assert_eq!(failure_line(Some(&failed), TEXT_MAX), "exit 1: AssertionError");
        assert_eq!(result_line(&failed, TEXT_MAX), "exit 1: run Traceback x = 1 AssertionError");
        let text = command_text(&failed).unwrap();
        assert_eq!(text, "exit 1\nrun\nTraceback\n  x = 1\nAssertionError\n");
        let good = of(json!({"exit": 0, "ms": 1, "bytes": 3, "output": [{"stdout": "ok\n"}]}));
        assert_eq!(result_line(&good, TEXT_MAX), "ok");
        let silent = of(json!({"exit": 0, "ms": 1, "bytes": 0, "output": []}));
        assert_eq!(result_line(&silent, TEXT_MAX), "exit 0");
        let killed = of(json!({"signal": 9, "timed_out": true, "ms": 1, "bytes": 9, "left_out": 7,
            "output": [{"stdout": "a"}, {"left_out": 7}, {"stdout": {"base64": "/w=="}}]}));
        assert_eq!(failure_line(Some(&killed), TEXT_MAX), "the time was over, signal 9: a");
        let text = command_text(&killed).unwrap();
        assert!(text.contains("… 7 bytes left out") && text.contains("no text"), "{text}");
        let missing = of(json!({"exit": 127, "error": "no such file", "ms": 0, "bytes": 0,
            "output": []}));
        assert_eq!(failure_line(Some(&missing), TEXT_MAX), "no such file");
    }

    #[test]
    fn the_result_of_another_tool_is_as_it_is() {
        let other = of(json!({"exit": 1, "text": "x"}));
        assert_eq!(command_text(&other), None);
        assert_eq!(result_line(&other, TEXT_MAX), "{\"exit\":1,\"text\":\"x\"}");
        assert_eq!(failure_line(Some(&of(json!("\n--\nE1 bad"))), TEXT_MAX), "E1 bad");
        assert_eq!(failure_line(None, TEXT_MAX), "failed");
    }
}
