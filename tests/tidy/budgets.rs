//! Budgets of lines: how large each crate of the product may be, and why.

use super::{Source, Violation, files};

/// Words that a reason has at least.
const REASON_WORDS: usize = 5;

/// An entry of `budgets.txt`.
struct Budget<'a> {
    line: usize,
    name: &'a str,
    lines: usize,
    reason: &'a str,
}

/// Returns the budgets of a text: name, lines and reason in each line.
fn parse(text: &str) -> Vec<Budget<'_>> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#'));
    let parsed = lines.map(|(line, text)| {
        let mut words = text.splitn(3, ' ');
        let (name, lines) = (words.next().unwrap(), words.next().unwrap());
        let reason = words.next().unwrap_or_default();
        Budget { line, name, lines: lines.parse().unwrap(), reason }
    });
    parsed.collect()
}

/// Returns the crates of the product, in the order of their first budgets.
pub fn crates(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for budget in parse(text) {
        if !names.contains(&budget.name) {
            names.push(budget.name);
        }
    }
    names
}

/// Returns the raises of budgets that have no reason.
pub fn reasons(text: &str) -> Vec<Violation> {
    let budgets = parse(text);
    let is_raise = |at: usize, budget: &Budget<'_>| {
        let before = budgets.iter().take(at).rfind(|before| before.name == budget.name);
        before.is_none_or(|before| before.lines < budget.lines)
    };
    let unexplained = budgets.iter().enumerate().filter(|(at, budget)| {
        is_raise(*at, budget) && budget.reason.split_whitespace().count() < REASON_WORDS
    });
    let violation = |(_, budget): (usize, &Budget<'_>)| Violation {
        rule: "budget-reason",
        place: budget.name.to_owned(),
        line: budget.line,
        text: format!("{} lines, without a reason", budget.lines),
    };
    unexplained.map(violation).collect()
}

/// Compares the lines of a crate with its last budget: the crate is not larger, and at most a
/// fiftieth and 50 lines smaller.
pub fn check(text: &str, name: &str, sources: &[Source]) -> Vec<Violation> {
    let budgets = parse(text);
    let last = budgets.iter().rfind(|budget| budget.name == name).unwrap();
    let lines: usize = sources.iter().map(files::product_lines).sum();
    let found = if lines > last.lines {
        format!("{lines} lines, more than {}: say in budgets.txt why", last.lines)
    } else if last.lines > lines + lines / 50 + 50 {
        format!("{lines} lines, and a budget of {}: lower it in budgets.txt", last.lines)
    } else {
        return Vec::new();
    };
    vec![Violation { rule: "budget", place: name.to_owned(), line: 1, text: found }]
}
