//! Tables that never exceed the terminal: a name, some columns, and a text in what is left.

use std::io;

use super::text::{fitted, padded, printable, width};
use super::{Out, Style};

/// The columns that a name keeps before the text gets none, and the least of a text.
const NAME: usize = 24;
const TEXT: usize = 12;

/// The cell of a value that is not known. A column of nothing else is left out.
pub const NONE: &str = "-";

/// A line of a table.
#[derive(Debug)]
pub struct FittedRow {
    pub name: String,
    pub cells: Vec<String>,
    pub text: String,
    pub style: Option<Style>,
}

/// A table of a name, columns as wide as their cells, and a text. Numbers are aligned on the right.
#[derive(Debug)]
pub struct FittedTable {
    pub name: &'static str,
    pub titles: Vec<&'static str>,
    pub text: &'static str,
    pub rows: Vec<FittedRow>,
}

/// A column that is shown.
struct Column {
    at: usize,
    width: usize,
    is_number: bool,
}

impl FittedTable {
    /// Prints the table in the columns of the output.
    pub fn print(&self, out: &mut Out) -> io::Result<()> {
        let all = out.limit();
        for (line, style) in self.lines(all) {
            let line = match style {
                Some(style) => out.style(style, &line),
                None => line,
            };
            out.line(line)?;
        }
        Ok(())
    }

    /// Returns the lines, each with its style, in at most `all` columns.
    fn lines(&self, all: usize) -> Vec<(String, Option<Style>)> {
        let columns: Vec<Column> =
            (0..self.titles.len()).filter_map(|at| self.column(at)).collect();
        let taken: usize = columns.iter().map(|column| column.width + 2).sum();
        let room = all.saturating_sub(taken);
        let names = self.rows.iter().map(|row| width(&printable(&row.name)));
        let longest = names.fold(width(self.name), usize::max);
        // A name is cut only if the line has no room for it.
        let name = longest.min(room.max(NAME)).min(all);
        let longest = self.rows.iter().map(|row| width(&printable(&row.text)));
        let longest = longest.fold(width(self.text), usize::max);
        let text = room.saturating_sub(name + 2).min(longest);
        let text = if self.rows.iter().all(|row| row.text.is_empty()) { 0 } else { text };
        let line = |first: &str, cells: &dyn Fn(usize) -> String, last: &str| {
            let mut line = fitted(first, name);
            for column in &columns {
                let cell = printable(&cells(column.at)).into_owned();
                let spaces = column.width.saturating_sub(width(&cell));
                line.push_str("  ");
                line.push_str(&match column.is_number {
                    true => format!("{:spaces$}{cell}", ""),
                    false => padded(&cell, column.width),
                });
            }
            if text >= TEXT.min(longest) && text > 0 {
                line.push_str("  ");
                line.push_str(&fitted(last, text));
            }
            let line = if width(&line) > all { fitted(&line, all) } else { line };
            line.trim_end().to_owned()
        };
        let title = |at: usize| self.titles.get(at).map_or("", |title| *title).to_owned();
        let mut lines = vec![(line(self.name, &title, self.text), Some(Style::Dim))];
        for row in &self.rows {
            let cell = |at: usize| row.cells.get(at).cloned().unwrap_or_default();
            lines.push((line(&row.name, &cell, &row.text), row.style));
        }
        lines
    }

    /// Returns a column, unless none of its values is known.
    fn column(&self, at: usize) -> Option<Column> {
        let cells = || self.rows.iter().filter_map(|row| row.cells.get(at));
        if cells().all(|cell| cell == NONE) {
            return None;
        }
        let title = self.titles.get(at).map_or(0, |title| width(title));
        let width = cells().map(|cell| width(&printable(cell))).fold(title, usize::max);
        let begins = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit() || c == '$');
        // A time has colons.
        let is_number = |cell: &String| cell == NONE || begins(cell) && !cell.contains(':');
        let is_number = cells().all(is_number);
        Some(Column { at, width, is_number })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(name: &str, cells: &[&str], text: &str) -> FittedRow {
        let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
        FittedRow { name: name.into(), cells, text: text.into(), style: None }
    }

    fn table(rows: Vec<FittedRow>) -> FittedTable {
        FittedTable { name: "TASK", titles: vec!["OUTCOME", "STEPS", "COST"], text: "TITLE", rows }
    }

    fn text(table: &FittedTable, columns: usize) -> String {
        let lines = table.lines(columns).into_iter().map(|(line, _)| line);
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn numbers_are_on_the_right_and_columns_without_a_value_are_left_out() {
        let rows = vec![row("a", &["✓", "9", "-"], "do it"), row("bcdef", &["-", "12", "-"], "")];
        assert_eq!(
            text(&table(rows), 60),
            "TASK   OUTCOME  STEPS  TITLE\na      ✓            9  do it\nbcdef  -           12"
        );
    }

    #[test]
    fn the_text_goes_first_and_then_the_end_of_the_name() {
        let name = "a-name-of-forty-characters-which-is-long";
        let rows = || vec![row(name, &["✓✗", "9", "$0.1"], "a title that is longer than its room")];
        let wide = text(&table(rows()), 90);
        assert!(wide.contains(name) && wide.contains("a title that is longer th…"), "{wide}");
        let narrow = text(&table(rows()), 60);
        assert!(
            narrow.contains("a-name-of-forty-charact") && !narrow.contains("title"),
            "{narrow}"
        );
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(
            name in any::<String>(), cell in any::<String>(), last in any::<String>(),
            columns in 20_usize..220,
        ) {
            let rows = vec![row(&name, &[&cell, "1", "2"], &last), row("b", &["-", "-", "-"], "")];
            for (line, _) in table(rows).lines(columns) {
                prop_assert!(width(&line) <= columns, "{line:?}");
                prop_assert!(!line.contains(char::is_control));
            }
        }
    }
}
