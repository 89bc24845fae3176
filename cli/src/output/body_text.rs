//! The body of an event as text: what was said, called and returned, with its line breaks.

use std::io;

use milepost::events::{Message, ToolCalled, ToolReturned};
use milepost::reading::command_text;
use milepost::{Body, Json};
use serde_json::Value;

use super::{Out, Style, printable, printable_lines};

/// Columns before the lines of a text.
const INDENT: usize = 4;

/// A line of the text of a body, without characters that could harm a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BodyLine {
    pub indent: usize,
    /// The part of the line in a style, and the rest of the line.
    pub head: String,
    pub style: Option<Style>,
    pub rest: String,
}

impl BodyLine {
    fn titled(title: &str, style: Style, rest: &str) -> Self {
        let (head, rest) = (printable(title).into_owned(), rest.to_owned());
        Self { indent: 0, head, style: Some(style), rest }
    }

    fn plain(text: impl Into<String>) -> Self {
        Self { rest: text.into(), ..Self::default() }
    }
}

/// Prints a body as a person reads it.
pub fn print_body(body: &Body, out: &mut Out) -> io::Result<()> {
    for line in body_lines(body) {
        let BodyLine { indent, head, style, rest } = line;
        let head = style.map_or_else(|| head.clone(), |style| out.style(style, &head));
        out.line(format!("{:indent$}{head}{rest}", "").trim_end())?;
    }
    Ok(())
}

/// Returns a body as a person reads it. Kinds without a text of their own are indented JSON.
pub fn body_lines(body: &Body) -> Vec<BodyLine> {
    let mut lines = Vec::new();
    match body {
        Body::Message(message) => said(message, &mut lines),
        Body::ToolCalled(called) => call(called, &mut lines),
        Body::ToolReturned(returned) => result(returned, &mut lines),
        Body::PromptChanged(changed) => titled("prompt", &changed.prompt, &mut lines),
        Body::GuidanceGiven(given) if given.data.is_none() => {
            titled("guidance", &given.text, &mut lines);
        }
        Body::StepFailed(failed) => {
            titled(&format!("step {} failed", failed.step), &failed.error, &mut lines);
        }
        other => {
            let json = other.to_json().unwrap_or_default();
            let value = serde_json::from_str::<Value>(&json);
            // A number out of range, such as 1e400, is valid in a log.
            let text = value.map_or(json, |value| format!("{value:#}"));
            lines.extend(printable_lines(&text).split('\n').map(BodyLine::plain));
        }
    }
    lines
}

fn titled(title: &str, text: &str, lines: &mut Vec<BodyLine>) {
    lines.push(BodyLine::titled(title, Style::Bold, ":"));
    indented(text, INDENT, lines);
}

fn said(message: &Message, lines: &mut Vec<BodyLine>) {
    let name = message.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let title = format!("{}{name}", message.role);
    titled(&title, &message.content.as_ref().map(text_of).unwrap_or_default(), lines);
}

/// Adds a call as a command: its tool, and each argument on a line or as a text of lines.
fn call(called: &ToolCalled, lines: &mut Vec<BodyLine>) {
    lines.push(BodyLine::titled(&format!("$ {}", called.tool), Style::Bold, ""));
    let Ok(Value::Object(fields)) = serde_json::from_str(called.arguments.text()) else {
        return indented(&text_of(&called.arguments), INDENT, lines);
    };
    for (name, value) in &fields {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let is_long = text.contains('\n');
        let rest = if is_long { ":".to_owned() } else { format!(": {}", printable(&text)) };
        let line = BodyLine::titled(name, Style::Name, &rest);
        lines.push(BodyLine { indent: INDENT, ..line });
        if is_long {
            indented(&text, 2 * INDENT, lines);
        }
    }
}

fn result(returned: &ToolReturned, lines: &mut Vec<BodyLine>) {
    lines.push(match returned.ok {
        true => BodyLine::titled("returned", Style::Good, ":"),
        false => BodyLine::titled("failed", Style::Bad, ":"),
    });
    let output = returned.output.as_ref();
    let text = output.map(|output| command_text(output).unwrap_or_else(|| text_of(output)));
    indented(&text.unwrap_or_default(), INDENT, lines);
}

/// Returns a JSON text without quotes, the texts of a list of parts, or other JSON, indented.
fn text_of(json: &Json) -> String {
    let value: Value = match serde_json::from_str(json.text()) {
        Ok(value) => value,
        // A number out of range, such as 1e400, is valid in a log.
        Err(_) => return json.text().to_owned(),
    };
    match &value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Option<Vec<&str>> =
                parts.iter().map(|part| part.get("text").or(Some(part))?.as_str()).collect();
            texts.map_or_else(|| format!("{value:#}"), |texts| texts.join("\n"))
        }
        _ => format!("{value:#}"),
    }
}

/// Adds a text line by line. Lines of a diff have a style.
fn indented(text: &str, indent: usize, lines: &mut Vec<BodyLine>) {
    let text = text.replace("\r\n", "\n");
    let is_diff = text.lines().any(|line| line.starts_with("@@ "));
    for line in text.lines() {
        let shown = printable_lines(line).into_owned();
        let style = match line.chars().next() {
            Some('+') if is_diff => Some(Style::Good),
            Some('-') if is_diff => Some(Style::Bad),
            _ => None,
        };
        lines.push(match style {
            Some(_) => BodyLine { indent, head: shown, style, rest: String::new() },
            None => BodyLine { indent, rest: shown, ..BodyLine::default() },
        });
    }
}
