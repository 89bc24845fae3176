//! Tests: whole screens of several sizes.

use milepost::CheckpointId;
use milepost::events::{MarkCause, MarkStatus};
use milepost_api::Listed;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};

use super::super::list::List;
use super::super::testing::{NOW_US, checkpoint};
use super::*;
use crate::picker::details::{About, Details, Preview};
use crate::terminal::Stroke;
use crate::terminal::testing::lines;

/// Returns a model with two tasks, one of them with wide characters.
fn model() -> Model {
    let mut items = Vec::new();
    for at in [31, 25, 6] {
        items.push(checkpoint("tuning", at));
    }
    let mut wide = checkpoint("日本語のタスク", 12);
    wide.label = Some("チェックポイント🙂一番目".into());
    wide.status = MarkStatus::Failure;
    wide.cause = MarkCause::BeforeRestore;
    items.push(wide);
    let mut plain = checkpoint("日本語のタスク", 4);
    plain.label = None;
    items.push(plain);
    let mut list = List::of_store();
    list.add_store_page(Listed { items, next: None });
    let mut model = Model::new(list, false, true);
    for group in 0..2 {
        let about = About {
            user: "ana".into(),
            head: 31 + group as u64,
            last_us: Some(NOW_US - 3_000_000),
        };
        model.abouts.put(group, about);
    }
    let ids: Vec<CheckpointId> = model
        .list
        .groups()
        .iter()
        .flat_map(|group| group.items.iter().map(|item| item.checkpoint.id))
        .collect();
    for (at, id) in ids.into_iter().enumerate() {
        let step = Some(format!("{}: 試す", 5 - at));
        let events = Some(1200 + at as u64);
        model.details.put(id, Details { step, events });
        let preview = Preview {
            size: Some(Line::new(Tone::Plain, "size      8 events, state 312 B")),
            files: vec![
                Line::new(Tone::Title, "2 files captured, 4.0 KiB"),
                Line::new(Tone::Plain, "  draft.md"),
                Line::new(Tone::Plain, "  日本.md"),
            ],
            changes: vec![
                Line::new(Tone::Title, "the state, if it is restored"),
                Line::new(Tone::Added, "+ /variables/best: 0.78"),
                Line::new(Tone::Removed, "- /context: {\"examples\":24}"),
                Line::new(Tone::Changed, "~ /prompt: \"短い文\" -> \"長い文\""),
            ],
            has_files: true,
        };
        model.previews.put(id, preview);
    }
    model
}

fn drawn(model: &mut Model, width: u16, height: u16, color: bool) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let looks = Looks { color, now_us: NOW_US };
    terminal.draw(|frame| draw(frame, model, looks)).unwrap();
    terminal.backend().buffer().clone()
}

/// Returns a model with the first checkpoint chosen.
fn chosen() -> Model {
    let mut model = model();
    model.press(Stroke::Down);
    model.press(Stroke::Down);
    model
}

fn text(model: &mut Model, width: u16, height: u16) -> String {
    let mut text = lines(&drawn(model, width, height, false)).join("\n");
    text.truncate(text.trim_end().len());
    text
}

const USUAL: &str = "\
>                                                                  5 checkpoints
  CHECKPOINT                 STEP        TIME            CAUSE            EVENTS
  (current)  leave everything as it is
 tuning  user ana, head @31, 3 seconds ago
> tuning-31                  5: 試す     59 seconds ago  step              1,200
  tuning-25                  4: 試す     59 seconds ago  step              1,201
  tuning-6                   3: 試す     59 seconds ago  step              1,202
 日本語のタスク  user ana, head @32, 3 seconds ago
 !チェックポイント🙂一番目   2: 試す     59 seconds ago  before_restore    1,203
  @040000000000              1: 試す     59 seconds ago  step              1,204


────────────────────────────────────────────────────────────────────────────────
tuning-31                               the state, if it is restored
point     tuning/0@31                   + /variables/best: 0.78
id        1f0000000000000074756e696e6…  - /context: {\"examples\":24}
time      2027-01-15T08:00:00.000031Z   ~ /prompt: \"短い文\" -> \"長い文\"
status    success, step
metadata  {\"step\":31}
size      8 events, state 312 B

2 files captured, 4.0 KiB
  draft.md
Enter restore   Esc leave   Tab next task   type to filter   ? keys";

#[test]
fn a_usual_screen_has_the_preview_below() {
    assert_eq!(text(&mut chosen(), 80, 24), USUAL);
}

const WIDE: &str = "\
>                                                                                      5 checkpoints
  CHECKPOINT     STEP        TIME            CAUSE          │ tuning-31
  (current)  leave everything as it is                      │ point     tuning/0@31
 tuning  user ana, head @31, 3 seconds ago                  │ id        1f0000000000000074756e696e6…
> tuning-31      5: 試す     59 seconds ago  step           │ time      2027-01-15T08:00:00.000031Z
  tuning-25      4: 試す     59 seconds ago  step           │ status    success, step
  tuning-6       3: 試す     59 seconds ago  step           │ metadata  {\"step\":31}
 日本語のタスク  user ana, head @32, 3 seconds ago          │ size      8 events, state 312 B
 !チェックポイ…  2: 試す     59 seconds ago  before_restore │
  @040000000000  1: 試す     59 seconds ago  step           │ 2 files captured, 4.0 KiB
                                                            │   draft.md
                                                            │   日本.md
                                                            │
                                                            │
                                                            │
                                                            │ the state, if it is restored
                                                            │ + /variables/best: 0.78
                                                            │ - /context: {\"examples\":24}
                                                            │ ~ /prompt: \"短い文\" -> \"長い文\"";

#[test]
fn a_wide_screen_has_the_preview_at_the_right() {
    let text = text(&mut chosen(), 100, 40);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..19].join("\n"), WIDE);
    assert_eq!(lines.len(), 40);
}

const SMALL: &str = "\
>                          5 checkpoints
  CHECKPOINT              TIME
  (current)  leave everything as it is
 tuning  user ana, head @31, 3 seconds …
> tuning-31               59 seconds ago
  tuning-25               59 seconds ago
Restore tuning to tuning/0@31? The task
continues in a new lineage; `milepost
undo tuning` takes it back. [Y/n, f:
with its files]";

#[test]
fn a_small_screen_asks_below_the_list() {
    let mut model = chosen();
    model.press(Stroke::Enter);
    assert_eq!(text(&mut model, 40, 10), SMALL);
}

#[test]
fn columns_begin_at_the_same_place_however_wide_the_characters_are() {
    for width in [40, 60, 80, 120] {
        let buffer = drawn(&mut model(), width, 24, false);
        let begins = |y: u16| {
            let digits =
                |x: &u16| buffer[(*x, y)].symbol() == "9" && buffer[(x - 1, y)].symbol() == "5";
            (1..width).find(digits)
        };
        let all: Vec<_> = [4, 5, 6, 8].map(begins).into();
        assert!(all[0].is_some() && all.iter().all(|x| *x == all[0]), "{width}: {all:?}");
    }
}

#[test]
fn without_colours_the_chosen_row_is_reversed_and_nothing_is_coloured() {
    let plain = drawn(&mut chosen(), 80, 24, false);
    let coloured =
        |buffer: &Buffer| buffer.content().iter().filter(|cell| cell.fg != Color::Reset).count();
    assert_eq!(coloured(&plain), 0);
    assert!(coloured(&drawn(&mut chosen(), 80, 24, true)) > 0);
    let reversed = |y: u16| plain[(0, y)].modifier.contains(Modifier::REVERSED);
    assert!(reversed(4) && !reversed(3) && !reversed(5));
}

#[test]
fn the_keys_are_said_and_so_is_that_nothing_was_found() {
    let mut model = model();
    model.press(Stroke::Char('?'));
    assert!(text(&mut model, 80, 24).contains("Tab, Shift-Tab"));
    model.press(Stroke::Esc);
    model.press(Stroke::Text("no such words".into()));
    let text = text(&mut model, 80, 24);
    assert!(text.contains("nothing has all of these words"), "{text}");
    assert!(text.starts_with("> no such words"), "{text}");
    assert!(text.contains("0 of 5"), "{text}");
}

#[test]
fn no_control_character_reaches_the_screen() {
    let mut bad = checkpoint("a\u{1b}[2J\nb", 7);
    bad.label = Some("\u{7}\u{202e}l\u{1b}[31mabel".into());
    let mut list = List::of_store();
    list.add_store_page(Listed { items: vec![bad], next: None });
    let mut model = Model::new(list, false, true);
    model.press(Stroke::Text("\u{1b}[31m".into()));
    model.press(Stroke::Clear);
    model.press(Stroke::Down);
    for key in [Stroke::Down, Stroke::Enter] {
        model.press(key);
        let buffer = drawn(&mut model, 120, 40, true);
        for cell in buffer.content() {
            assert!(!cell.symbol().contains(|c: char| c.is_control() || c == '\u{202e}'));
        }
        let lines = lines(&buffer);
        assert!(lines[3].starts_with(" a\\u{1b}[2J b"), "{}", lines[3]);
        assert!(lines[4].starts_with("> \\u{7}"), "{}", lines[4]);
    }
}

#[test]
fn every_size_is_drawn_and_the_end_of_the_question_is_seen() {
    for width in 1..130 {
        for height in [1, 2, 3, 5, 9, 12, 13, 24, 41] {
            let mut model = chosen();
            drawn(&mut model, width, height, true);
            model.press(Stroke::Enter);
            let text = text(&mut model, width, height);
            assert!(width < 30 || text.ends_with(']'), "{width}x{height}: {text}");
            model.press(Stroke::Esc);
            model.press(Stroke::Char('?'));
            drawn(&mut model, width, height, true);
        }
    }
}
