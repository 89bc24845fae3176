//! Insertions, and the form of new text.
//!
//! An uninstall finds inserted text by its form. After the last part of a container, it is a comma
//! and the new parts: the cut is from the end of the part before. In an empty container, A is the
//! white space in front of the first new part, and B that after the last one:
//!
//! | the container before | A | B |
//! |---|---|---|
//! | white space with an end of line | a space, an end of line, an indent | the white space |
//! | other white space | the white space | nothing |
//! | nothing, in a file of one line | nothing | a space |
//! | nothing | two spaces, an end of line, an indent | an end of line, an indent |
//! | nothing, and it is the whole file | an end of line, an indent | an end of line |
//! | it was not there | an end of line, an indent; or nothing | the same |
//!
//! So a space at the end of a line or in front of a bracket marks an existing container. A program
//! that writes the file anew in its own form removes such spaces.

use std::ops::Range;

use super::Change;
use crate::json::{Json, Part};

/// A new value.
pub(super) enum New {
    /// The text of a value.
    Raw(String),
    /// A container with its brackets.
    Container { brackets: [char; 2], parts: Vec<NewPart> },
}

/// A new member with its name in quotes, or a new element.
pub(super) type NewPart = (Option<String>, New);

impl New {
    pub(super) fn object(members: Vec<(String, Self)>) -> Self {
        let parts = members.into_iter().map(|(name, value)| (Some(name), value)).collect();
        Self::Container { brackets: ['{', '}'], parts }
    }

    pub(super) fn list(elements: Vec<Self>) -> Self {
        let parts = elements.into_iter().map(|value| (None, value)).collect();
        Self::Container { brackets: ['[', ']'], parts }
    }

    /// Writes the value. `lines` has the end of a line and the indent of the value, or nothing for
    /// one line.
    fn write(&self, lines: Option<(&Layout<'_>, &str)>, to: &mut String) {
        let (brackets, parts) = match self {
            Self::Raw(text) => return to.push_str(text),
            Self::Container { brackets, parts } => (brackets, parts),
        };
        to.push(brackets[0]);
        let Some((layout, indent)) = lines else {
            join(parts, None, ", ", to);
            return to.push(brackets[1]);
        };
        let inner = format!("{indent}{}", layout.unit);
        let end = layout.newline;
        to.push_str(&format!("{end}{inner}"));
        join(parts, Some((layout, &inner)), &format!(",{end}{inner}"), to);
        to.push_str(&format!("{end}{indent}"));
        to.push(brackets[1]);
    }
}

fn join(parts: &[NewPart], lines: Option<(&Layout<'_>, &str)>, separator: &str, to: &mut String) {
    for (n, (name, value)) in parts.iter().enumerate() {
        to.push_str(if n > 0 { separator } else { "" });
        if let Some(name) = name {
            to.push_str(name);
            to.push_str(": ");
        }
        value.write(lines, to);
    }
}

/// The form of a file: its ends of lines and indents.
pub(super) struct Layout<'a> {
    text: &'a str,
    newline: &'static str,
    unit: String,
    /// The file is an object with members on one line.
    is_one_line: bool,
}

impl<'a> Layout<'a> {
    pub(super) fn of(root: &Json<'a>, text: &'a str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let parts = root.parts();
        let unit = parts.first().and_then(|part| indent_before(text, part.start));
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or("  ").to_owned();
        let is_one_line = !parts.is_empty() && !root.raw().contains('\n');
        Self { text, newline, unit, is_one_line }
    }

    /// Returns the indent of the line that begins with a part, or that of a depth.
    pub(super) fn indent_of(&self, start: usize, depth: usize) -> String {
        let own = indent_before(self.text, start);
        own.map_or_else(|| self.unit.repeat(depth), str::to_owned)
    }

    /// Returns the insertion of new parts at the end of a container with this indent.
    pub(super) fn insertion(
        &self,
        container: &Json<'_>,
        indent: &str,
        is_root: bool,
        new: Vec<NewPart>,
    ) -> Change {
        match container.parts().as_slice() {
            [] => self.first(container, indent, is_root, &new),
            parts => self.behind(parts, indent, &new),
        }
    }

    fn behind(&self, parts: &[Part<'_>], indent: &str, new: &[NewPart]) -> Change {
        let [before @ .., last] = parts else { return (0..0, String::new()) };
        let from = before.last().map_or(0, Part::end);
        let gap = self.text.get(from..last.start).unwrap_or_default();
        let has_lines = match before.is_empty() {
            true => indent_before(self.text, last.start).is_some(),
            false => gap.contains('\n'),
        };
        let mut text = String::new();
        if has_lines {
            let own = indent_before(self.text, last.start).map(str::to_owned);
            let inner = own.unwrap_or_else(|| format!("{indent}{}", self.unit));
            let separator = format!(",{}{inner}", self.newline);
            text.push_str(&separator);
            join(new, Some((self, &inner)), &separator, &mut text);
        } else {
            text.push_str(", ");
            join(new, None, ", ", &mut text);
        }
        (last.end()..last.end(), text)
    }

    fn first(&self, container: &Json<'_>, indent: &str, is_root: bool, new: &[NewPart]) -> Change {
        let inside = inside(container);
        let space = self.text.get(inside.clone()).unwrap_or_default();
        let mut text = String::new();
        if self.is_one_line || (!space.is_empty() && !space.contains('\n')) {
            let lines = (!self.is_one_line).then_some((self, indent));
            join(new, lines, ", ", &mut text);
            if space.is_empty() {
                text.push(' ');
            }
            return (inside.end..inside.end, text);
        }
        let (end, inner) = (self.newline, format!("{indent}{}", self.unit));
        let is_blank = space.is_empty();
        text.push_str(match (is_blank, is_root) {
            (true, true) => "",
            (true, false) => WAS_EMPTY,
            (false, _) => HAD_LINES,
        });
        text.push_str(&format!("{end}{inner}"));
        join(new, Some((self, &inner)), &format!(",{end}{inner}"), &mut text);
        if is_blank {
            text.push_str(&format!("{end}{indent}"));
        }
        (inside.start..inside.start, text)
    }
}

/// Marks after the bracket of an existing container: an empty one, and one with ends of lines.
const WAS_EMPTY: &str = "  ";
const HAD_LINES: &str = " ";

/// The state of a container before its first part was inserted.
pub(super) enum Before {
    /// The container did not exist.
    Absent,
    /// The container exists, without the entry at this path.
    There(Range<usize>),
}

/// Returns the form of a container before all of its parts were inserted.
pub(super) fn before(
    container: &Json<'_>,
    parts: &[Part<'_>],
    text: &str,
    is_root: bool,
) -> Before {
    let inside = inside(container);
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return Before::There(inside.start..inside.start);
    };
    let in_front = text.get(inside.start..first.start).unwrap_or_default();
    let behind = text.get(last.end()..inside.end).unwrap_or_default();
    let is_mark = |mark: &str| {
        let rest = in_front.strip_prefix(mark);
        rest.is_some_and(|rest| rest.starts_with("\n") || rest.starts_with("\r\n"))
    };
    match () {
        () if in_front.is_empty() && behind.is_empty() && !is_root => Before::Absent,
        () if in_front.is_empty() && behind == " " => Before::There(inside),
        () if behind.is_empty() => Before::There(first.start..last.end()),
        () if is_mark(HAD_LINES) => Before::There(inside.start..last.end()),
        () if is_mark(WAS_EMPTY) || is_root => Before::There(inside),
        () => Before::Absent,
    }
}

/// Returns the place between the brackets.
fn inside(container: &Json<'_>) -> Range<usize> {
    container.span.start + 1..container.span.end.saturating_sub(1)
}

/// Returns the white space between the beginning of a line and an offset. `None` if there is more,
/// or if it is the first line.
fn indent_before(text: &str, at: usize) -> Option<&str> {
    let line = text.get(..at)?.rsplit_once('\n')?.1;
    line.bytes().all(|byte| byte == b' ' || byte == b'\t').then_some(line)
}
