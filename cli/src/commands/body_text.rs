//! The body of an event as text: what was said, called and returned, with its line breaks.

use milepost::events::{Message, ToolCalled, ToolReturned};
use milepost::{Body, Json};
use serde_json::Value;

use crate::error::Result;
use crate::output::{Out, Style, printable, printable_lines};

/// Indentation of texts.
const INDENT: &str = "    ";

/// Prints a body as a person reads it. Kinds without a text of their own are indented JSON.
pub fn print(body: &Body, out: &mut Out) -> Result<()> {
    match body {
        Body::Message(message) => said(message, out),
        Body::ToolCalled(called) => call(called, out),
        Body::ToolReturned(returned) => result(returned, out),
        Body::PromptChanged(changed) => titled("prompt", &changed.prompt, out),
        Body::GuidanceGiven(given) if given.data.is_none() => titled("guidance", &given.text, out),
        Body::StepFailed(failed) => {
            titled(&format!("step {} failed", failed.step), &failed.error, out)
        }
        other => Ok(out.pretty_text(&other.to_json()?)?),
    }
}

fn titled(title: &str, text: &str, out: &mut Out) -> Result<()> {
    let title = out.style(Style::Bold, &printable(title));
    out.line(format!("{title}:"))?;
    indented(text, INDENT, out)
}

fn said(message: &Message, out: &mut Out) -> Result<()> {
    let name = message.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let title = format!("{}{name}", message.role);
    titled(&title, &message.content.as_ref().map(text_of).unwrap_or_default(), out)
}

/// Prints a call as a command: its tool, and each argument on a line or as a text of lines.
fn call(called: &ToolCalled, out: &mut Out) -> Result<()> {
    let tool = out.style(Style::Bold, &printable(&format!("$ {}", called.tool)));
    out.line(tool)?;
    let Ok(Value::Object(fields)) = serde_json::from_str(called.arguments.text()) else {
        return indented(&text_of(&called.arguments), INDENT, out);
    };
    for (name, value) in &fields {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let name = out.style(Style::Name, &printable(name));
        match text.contains('\n') {
            false => out.line(format!("{INDENT}{name}: {}", printable(&text)))?,
            true => {
                out.line(format!("{INDENT}{name}:"))?;
                indented(&text, &INDENT.repeat(2), out)?;
            }
        }
    }
    Ok(())
}

fn result(returned: &ToolReturned, out: &mut Out) -> Result<()> {
    let title = match returned.ok {
        true => out.style(Style::Good, "returned"),
        false => out.style(Style::Bad, "failed"),
    };
    out.line(format!("{title}:"))?;
    indented(&returned.output.as_ref().map(text_of).unwrap_or_default(), INDENT, out)
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

/// Prints a text line by line. Lines of a diff are coloured.
fn indented(text: &str, indent: &str, out: &mut Out) -> Result<()> {
    let text = text.replace("\r\n", "\n");
    let is_diff = text.lines().any(|line| line.starts_with("@@ "));
    for line in text.lines() {
        let shown = printable_lines(line);
        let shown = match line.chars().next() {
            Some('+') if is_diff => out.style(Style::Good, &shown),
            Some('-') if is_diff => out.style(Style::Bad, &shown),
            _ => shown.into_owned(),
        };
        out.line(format!("{indent}{shown}").trim_end())?;
    }
    Ok(())
}
