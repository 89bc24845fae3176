//! The records of a session file: one a line, and the whole ones of a damaged line.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use super::line::SessionLine;
use super::{LineParser, SessionFormat};
use crate::detect::of_object;
use crate::format::Format;
use crate::objects::{Piece, pieces};
use crate::record::gemini_cli::unfolded;
use crate::record::jsonl::{Lines, Text, no_object};

/// A record that was read, and is not written yet.
pub struct Pending {
    pub text: String,
    pub line: SessionLine,
    /// Number of the line.
    pub number: u64,
}

/// A part of a session file.
pub enum Record {
    /// A record.
    Read(Box<Pending>),
    /// A line, or a part of one, that is not a record: its number, and the reason.
    Lost(u64, String),
}

/// Reads the records of a session file.
pub struct Records<R> {
    lines: Lines<R>,
    /// True if a last line without an end waits for more.
    is_growing: bool,
    parser: Box<dyn LineParser>,
    format: Format,
    /// Records of the line read last.
    ready: VecDeque<Record>,
}

impl<R: BufRead> Records<R> {
    pub fn new(lines: Lines<R>, is_growing: bool, format: &SessionFormat) -> Self {
        let (parser, format) = ((format.parser)(), format.format);
        Self { lines, is_growing, parser, format, ready: VecDeque::new() }
    }

    pub fn lines(&self) -> &Lines<R> {
        &self.lines
    }

    /// Returns the next record; `None` at the end of the input.
    pub fn next(&mut self) -> io::Result<Option<Record>> {
        while self.ready.is_empty() {
            let text = match self.is_growing {
                true => self.lines.next_whole()?,
                false => Some(self.lines.next_text()?),
            };
            let text = match text {
                None | Some(Text::End) => break,
                Some(Text::Blank) => continue,
                Some(Text::Line(text)) => Ok(text.to_owned()),
                Some(Text::Bad(why)) => Err(why),
            };
            let number = self.lines.number();
            if let Err(why) = text.and_then(|text| self.add(number, text)) {
                self.salvage(number, &why);
            }
        }
        Ok(self.ready.pop_front())
    }

    /// Adds the records of a text, which is a line or a value of a document. Fails for any other
    /// text.
    pub fn add(&mut self, number: u64, text: String) -> Result<(), String> {
        if self.format == Format::GeminiCli
            && let Some(parts) = unfolded(&text)
        {
            return parts.into_iter().try_for_each(|part| self.add_one(number, part));
        }
        self.add_one(number, text)
    }

    fn add_one(&mut self, number: u64, text: String) -> Result<(), String> {
        let line = self.parser.read(&text)?;
        self.ready.push_back(Record::Read(Box::new(Pending { text, line, number })));
        Ok(())
    }

    /// Adds the complete objects of a damaged line, and its lost parts.
    fn salvage(&mut self, number: u64, why: &str) {
        let is_record = |text: &str| of_object(text) == Some(self.format);
        let found = pieces(self.lines.held(), is_record);
        let is_lost = |piece: &Piece<'_>| matches!(piece, Piece::Lost(_));
        let all_lost = found.iter().all(is_lost);
        let found = found.into_iter().map(|piece| match piece {
            Piece::Object(text) => Ok(text.to_owned()),
            Piece::Lost(_) if all_lost => Err(why.to_owned()),
            Piece::Lost(bytes) => Err(no_object(bytes)),
        });
        for piece in found.collect::<Vec<_>>() {
            if let Err(why) = piece.and_then(|text| self.add(number, text)) {
                self.ready.push_back(Record::Lost(number, why));
            }
        }
    }
}
