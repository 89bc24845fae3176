//! The keys, and the list of all actions, in the place of a screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::output::printable;
use crate::terminal::{Looks, Tone, behind, choose, line_of, put, split_below};
use crate::tui::app::App;
use crate::tui::keys::KEYS;
use crate::tui::menu::Menu;

/// Columns of a key.
const KEY: u16 = 10;

pub fn draw(app: &mut App, looks: Looks, area: Rect, buf: &mut Buffer) {
    match (&app.menu, &mut app.help) {
        (Some(menu), _) => actions(menu, looks, area, buf),
        (None, Some(first)) => keys(first, looks, area, buf),
        (None, None) => {}
    }
}

/// Draws the table of keys from a row on, in two columns where there is room.
fn keys(first: &mut usize, looks: Looks, area: Rect, buf: &mut Buffer) {
    let (top, rest) = split_below(area, 1);
    put(buf, top, "Keys: j k scroll, any other key closes", looks.style(Tone::Title));
    let rows: Vec<(String, &str)> = KEYS.iter().map(|row| (row.shown(), row.text)).collect();
    let height = usize::from(rest.height).max(1);
    let columns = if rest.width >= 100 { 2 } else { 1 };
    *first = (*first).min(rows.len().saturating_sub(height * columns));
    let width = rest.width / u16::try_from(columns).unwrap_or(1);
    for (at, (key, text)) in rows.iter().skip(*first).take(height * columns).enumerate() {
        let column = u16::try_from(at / height).unwrap_or(0) * width;
        let line = line_of(behind(rest, column), at % height);
        put(buf, Rect { width: KEY.min(line.width), ..line }, key, looks.style(Tone::Title));
        put(buf, behind(line, KEY + 1), text, looks.style(Tone::Plain));
    }
}

fn actions(menu: &Menu, looks: Looks, area: Rect, buf: &mut Buffer) {
    let (top, rest) = split_below(area, 1);
    let typed = format!("Actions: {}▏", printable(&menu.typed));
    put(buf, top, &typed, looks.style(Tone::Title));
    let items = menu.items();
    let height = usize::from(rest.height).max(1);
    let first = (menu.cursor + 1).saturating_sub(height);
    if items.is_empty() {
        put(buf, line_of(rest, 0), "no action has these words", looks.style(Tone::Dim));
    }
    for (at, (key, text, _)) in items.iter().enumerate().skip(first).take(height) {
        let line = line_of(rest, at - first);
        let key_area = Rect { width: KEY.min(line.width), ..behind(line, 2) };
        put(buf, key_area, key, looks.style(Tone::Title));
        put(buf, behind(line, KEY + 3), text, looks.style(Tone::Plain));
        if at == menu.cursor {
            choose(line, true, buf);
        }
    }
}
