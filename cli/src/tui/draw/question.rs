//! The choices and the answers of a plan, below its question.

use crate::output::{count, excerpt, printable};
use crate::terminal::{Line, Tone};
use crate::tui::plan::{ActionPlan, PlanChoice};

/// Columns of a path, and of the reason of its conflict.
const PATH: usize = 200;
const TEXT: usize = 200;

/// Lines above and below the conflicts.
const HEAD_AND_ANSWERS: usize = 2;

/// The most conflicts that are shown at once.
const CHOICES: usize = 8;

/// Returns the lines below the question: the conflicts around the chosen one, as many as have room,
/// and the answers.
pub fn answers(plan: &ActionPlan, room: usize) -> Vec<Line> {
    let [no, yes] = if plan.is_yes { ["no", "[Yes]"] } else { ["[No]", "yes"] };
    let files = if plan.has_files { "   f with files" } else { "" };
    let choose = if plan.choices.is_empty() { "" } else { "   j k   x keep, take" };
    let mut lines = choices(plan, room.saturating_sub(HEAD_AND_ANSWERS).clamp(1, CHOICES));
    lines.push(Line::new(Tone::Plain, format!("{no} n   {yes} y{files}{choose}")));
    lines
}

fn choices(plan: &ActionPlan, room: usize) -> Vec<Line> {
    let all = plan.choices.len();
    if all == 0 {
        return Vec::new();
    }
    let taken = plan.choices.iter().filter(|choice| choice.takes).count();
    let head = format!(
        "{}: {} kept, {taken} taken; `keep` leaves what is on the disk",
        count(all as u64, "conflict"),
        all - taken
    );
    let first = (plan.cursor + 1).saturating_sub(room);
    let shown = plan.choices.iter().enumerate().skip(first).take(room);
    let rows = shown.map(|(at, choice)| row(choice, at == plan.cursor));
    std::iter::once(Line::new(Tone::Changed, head)).chain(rows).collect()
}

fn row(choice: &PlanChoice, is_chosen: bool) -> Line {
    let sign = if is_chosen { ">" } else { " " };
    let (does, tone) = if choice.takes { ("take", Tone::Changed) } else { ("keep", Tone::Plain) };
    let path = excerpt(&printable(&choice.path.to_string()), PATH);
    Line::new(tone, format!("{sign} {does}  {path}  {}", excerpt(&choice.text, TEXT)))
}
