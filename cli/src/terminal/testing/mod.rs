//! A drawn screen as text.

// tidy: one helper of several tests

use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthStr;

/// Returns the screen as text. A wide character is one character.
pub fn lines(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let line = |y| {
        let (mut line, mut x) = (String::new(), 0);
        while x < area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(symbol.width()).unwrap().max(1);
        }
        line.trim_end().to_owned()
    };
    (0..area.height).map(line).collect()
}
