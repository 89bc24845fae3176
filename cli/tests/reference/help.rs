//! The help of a command, taken apart and put together as Markdown.

use std::fmt::Write as _;

/// Parts with these headings are not of the command alone.
const EVERYWHERE: &str = "Everywhere";
const EXAMPLES: &str = "Examples";

/// The output of `--help`.
#[derive(Debug, Default)]
pub struct Help {
    about: Vec<String>,
    usage: Vec<String>,
    /// Headings, with the lines below them.
    pub parts: Vec<(String, Vec<String>)>,
    /// Text after the options of every command, without the examples.
    pub after: Vec<String>,
}

impl Help {
    pub fn new(printed: &str) -> Self {
        let mut help = Self::default();
        let mut part: Option<(String, Vec<String>)> = None;
        for line in printed.lines() {
            let heading = line.strip_suffix(':').filter(|_| !line.starts_with(' '));
            let is_text = !line.is_empty() && !line.starts_with(' ');
            if let Some(usage) = line.strip_prefix("Usage: ") {
                help.usage.push(usage.to_owned());
            } else if !help.usage.is_empty() && part.is_none() && line.starts_with("       ") {
                // Another form of it.
                help.usage.push(line.trim().to_owned());
            } else if let Some(heading) = heading {
                help.parts.extend(part.replace((heading.to_owned(), Vec::new())));
            } else if let Some((_, lines)) = part.as_mut().filter(|_| !is_text) {
                lines.push(line.to_owned());
            } else if help.usage.is_empty() {
                help.about.push(line.to_owned());
            } else if is_text {
                help.parts.extend(part.take());
                help.after.push(line.to_owned());
            } else {
                help.after.push(line.to_owned());
            }
        }
        help.parts.extend(part);
        help.move_text_after_options();
        help
    }

    /// A list with a heading after the options of every command, as that of addresses, is text.
    fn move_text_after_options(&mut self) {
        let Some(last) = self.parts.iter().position(|(name, _)| name == EVERYWHERE) else { return };
        let mut text = Vec::new();
        for (heading, lines) in self.parts.split_off(last + 1) {
            if heading == EXAMPLES {
                self.parts.push((heading, lines));
            } else {
                text.push(format!("{heading}:"));
                text.extend(lines);
            }
        }
        text.append(&mut self.after);
        self.after = text;
    }

    pub fn part(&self, name: &str) -> Option<&[String]> {
        let part = self.parts.iter().find(|(heading, _)| heading == name);
        part.map(|(_, lines)| lines.as_slice())
    }

    /// The names of the commands below this one.
    pub fn commands(&self) -> Vec<String> {
        self.parts.iter().flat_map(|(_, lines)| names(lines)).collect()
    }

    pub fn markdown(&self) -> String {
        let mut written = sentence(&self.about);
        written.push_str("\n\n```text\n");
        written.push_str(&format!("{}\n```\n", self.usage.join("\n")));
        for (heading, lines) in &self.parts {
            if heading != EVERYWHERE && heading != EXAMPLES && names(lines).is_empty() {
                let entries = entries(lines);
                if !entries.is_empty() {
                    write!(written, "\n{heading}:\n\n{entries}").unwrap();
                }
            }
        }
        if self.after.iter().any(|line| !line.is_empty()) {
            write!(written, "\n{}", text(&self.after)).unwrap();
        }
        if let Some(examples) = self.part(EXAMPLES) {
            write!(written, "\n{}", example_block(examples)).unwrap();
        }
        written
    }
}

/// The names of the commands that a part lists: nothing in a part of options.
pub fn names(part: &[String]) -> Vec<String> {
    let name = |line: &String| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let is_command = is_name && !name.is_empty() && !name.starts_with('-') && name != "help";
        is_command.then(|| name.to_owned())
    };
    // Examples begin with the program's own name.
    part.iter().filter_map(name).filter(|name| name != "milepost").collect()
}

/// The other names of a command that a part lists.
pub fn aliases(part: &[String], name: &str) -> Option<String> {
    let begins = |line: &&String| line.starts_with(&format!("  {name} "));
    let from = part.iter().position(|line| begins(&line))?;
    let more = part[from + 1..].iter().take_while(|line| line.starts_with("     "));
    let entry: Vec<&str> = [&part[from]].into_iter().chain(more).map(|line| line.trim()).collect();
    let entry = entry.join(" ");
    let (_, aliases) = entry.split_once("[alias: ").or_else(|| entry.split_once("[aliases: "))?;
    Some(aliases.split(']').next()?.to_owned())
}

/// Arguments or options as a list, without the help itself.
pub fn entries(part: &[String]) -> String {
    let mut entries: Vec<(String, Vec<String>)> = Vec::new();
    for line in part {
        let depth = line.len() - line.trim_start().len();
        match entries.last_mut() {
            _ if !line.is_empty() && depth < 8 => entries.push((line.trim().into(), Vec::new())),
            Some((_, lines)) => lines.push(line.trim().to_owned()),
            None => {}
        }
    }
    entries.retain(|(name, _)| !name.ends_with("--help") && !name.ends_with("--version"));
    let entry = |(name, lines): &(String, Vec<String>)| match sentence(lines).as_str() {
        "" => format!("- `{name}`\n"),
        text => format!("- `{name}`: {text}\n"),
    };
    entries.iter().map(entry).collect()
}

/// Paragraphs on one line, each with a full stop; a list in them as words.
fn sentence(lines: &[String]) -> String {
    let mut paragraphs = Vec::new();
    for paragraph in lines.split(|line| line.trim().is_empty()) {
        let lines: Vec<&str> = paragraph.iter().map(|line| line.trim()).collect();
        let joined = lines.join(" ").replace(": - ", ": ").replace(" - ", "; ");
        // Runs of spaces align a list.
        let joined = joined.split_whitespace().collect::<Vec<_>>().join(" ");
        if !joined.is_empty() {
            let end = if joined.ends_with(['.', ']', ':']) { "" } else { "." };
            paragraphs.push(format!("{joined}{end}"));
        }
    }
    paragraphs.join(" ")
}

/// Text as it is printed.
pub fn text(lines: &[String]) -> String {
    format!("```text\n{}\n```\n", lines.join("\n").trim())
}

/// Formats the examples as a block of a shell, each below its explanation.
fn example_block(part: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in part.iter().filter(|line| !line.trim().is_empty()) {
        if line.starts_with("      ") {
            lines.insert(lines.len().saturating_sub(1), format!("# {}", line.trim()));
        } else {
            lines.push(line.trim().to_owned());
        }
    }
    format!("```console\n{}\n```\n", lines.join("\n"))
}

#[test]
fn a_help_is_taken_apart() {
    let help = Help::new(
        "Print it,\nin full\n\nUsage: milepost it [OPTIONS]\n       milepost it <COMMAND>\n\nCommands:\n  all  All of it\n\n\
         Options:\n  -n, --last <N>\n          At most\n          N\n\n          Possible values:\n\
         \x20         - one: The\n            first\n          - two\n\n  -h, --help\n          Print help\n\n\
         Everywhere:\n      --json\n          Print JSON\n\nMore of it.\n\nExamples:\n\
         \x20 milepost it\n      prints it\n",
    );
    assert_eq!(help.commands(), ["all"]);
    assert_eq!(
        help.markdown(),
        "Print it, in full.\n\n```text\nmilepost it [OPTIONS]\nmilepost it <COMMAND>\n```\n\nOptions:\n\n\
         - `-n, --last <N>`: At most N. Possible values: one: The first; two.\n\n\
         ```text\nMore of it.\n```\n\n```console\n# prints it\nmilepost it\n```\n"
    );
}
