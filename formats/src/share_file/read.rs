//! Reads the export in a share: the content of its pieces, one after another.

use std::io::{self, BufRead, BufReader, Read};

use data_encoding::BASE64;
use flate2::bufread::GzDecoder;

use super::{END_TAG, EXPORT_ID, INDEX_ID, PIECE_TYPE, VIEWER, document, start_tag};
use crate::bounded_lines::BoundedLines;

/// Maximum bytes of an end tag, and of a line outside of the export's pieces.
const TAG_MAX: usize = 128;
const LINE_MAX: usize = 64 << 20;

/// Characters of base64 that are decoded at once.
const BLOCK: usize = 32 << 10;

/// Reader of the export in a share. It holds a block of a piece, and reads the rest when it is
/// needed.
pub struct ShareReader<R> {
    state: State<R>,
    place: Place,
    /// The number of the next piece.
    next: u64,
    /// Maximum length of a piece, unpacked.
    limit: u64,
    /// The unpacked bytes of the current piece.
    unpacked: u64,
}

enum State<R> {
    /// Between two pieces.
    Between(R),
    /// In a piece.
    Piece(Box<GzDecoder<BufReader<Base64Line<R>>>>),
    /// At the end of the file, or after an error.
    Ended,
}

/// Place of the next line in the document. A number counts lines, or pieces.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Head(usize),
    Contents,
    ContentsEnd,
    /// Before a piece of the index, or the first one of the export.
    Index(u64),
    IndexPiece(u64),
    IndexEnd(u64),
    /// After a piece of the export.
    Export,
    /// In the viewer, which has several lines.
    Viewer,
    End(usize),
}

impl Place {
    /// Returns the name of the part, for messages.
    fn part(self) -> &'static str {
        match self {
            Self::Viewer => "the viewer",
            Self::End(_) => "the part behind the viewer",
            _ => "the part before the viewer",
        }
    }
}

impl<R: BufRead> ShareReader<R> {
    /// Creates a reader of pieces of at most `limit` bytes, unpacked. `input` is positioned after
    /// the first line, which has the version.
    pub fn new(input: R, limit: u64) -> Self {
        Self { state: State::Between(input), place: Place::Head(0), next: 0, limit, unpacked: 0 }
    }

    /// Moves to the content of the next piece of the export, or to the end of the file. A line that
    /// the writer does not put there is refused: a browser must see the pieces that are read here,
    /// and no others.
    fn find(&mut self, input: R) -> io::Result<()> {
        let mut lines = BoundedLines::new(input, LINE_MAX);
        while let Some(line) = next_line(&mut lines)? {
            if matches!(self.place, Place::Index(_) | Place::Export)
                && let Some(number) = line.strip_suffix("\">").and_then(|tag| {
                    tag.strip_prefix(&format!("<script type=\"{PIECE_TYPE}\" id=\"{EXPORT_ID}"))
                })
            {
                if number != self.next.to_string() {
                    let why = format!("comes where {} is expected", name(self.next));
                    return Err(wrong(&format!("{EXPORT_ID}{number}"), &why));
                }
                self.place = Place::Export;
                let line = BufReader::with_capacity(BLOCK, Base64Line::new(lines.into_input()));
                self.state = State::Piece(Box::new(GzDecoder::new(line)));
                self.unpacked = 0;
                return Ok(());
            }
            let Some(place) = self.after(line) else {
                let line: String = line.chars().take(80).collect();
                return Err(wrong(self.place.part(), &format!("has {line:?}")));
            };
            self.place = place;
        }
        Ok(())
    }

    /// Returns the place after a line, if the line belongs where it is.
    fn after(&self, line: &str) -> Option<Place> {
        let is = |expected: &str, then: Place| (line == expected).then_some(then);
        match self.place {
            Place::Head(number) if number < document::HEAD_LINES => {
                document::is_head(number, line).then_some(Place::Head(number + 1))
            }
            Place::Head(_) => is(&document::contents_tag(), Place::Contents),
            Place::Contents => document::is_plain(line).then_some(Place::ContentsEnd),
            Place::ContentsEnd => is(END_TAG, Place::Index(0)),
            Place::Index(number) if line == start_tag(INDEX_ID, number) => {
                Some(Place::IndexPiece(number))
            }
            Place::IndexPiece(number) => {
                line.bytes().all(document::is_base64).then_some(Place::IndexEnd(number))
            }
            Place::IndexEnd(number) => is(END_TAG, Place::Index(number + 1)),
            Place::Index(_) | Place::Export => viewer(line.strip_prefix(VIEWER)?),
            Place::Viewer => viewer(line),
            Place::End(number) => is(document::END.get(number)?, Place::End(number + 1)),
        }
    }

    /// Checks that the piece ends with its gzip stream and with the end tag.
    fn end(&mut self, piece: GzDecoder<BufReader<Base64Line<R>>>) -> io::Result<()> {
        let named = name(self.next);
        let mut line = piece.into_inner();
        if !line.fill_buf().map_err(|error| wrong(&named, &error))?.is_empty() {
            return Err(wrong(&named, &"has more than one gzip stream"));
        }
        let mut lines = BoundedLines::new(line.into_inner().input, TAG_MAX);
        lines.advance()?;
        if lines.buffered().strip_suffix(b"\n") != Some(END_TAG.as_bytes()) {
            return Err(wrong(&named, &"has no end tag on the next line"));
        }
        self.next += 1;
        self.state = State::Between(lines.into_input());
        Ok(())
    }
}

impl<R: BufRead> Read for ShareReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(0),
                State::Between(input) => self.find(input)?,
                State::Piece(mut piece) => {
                    let read = piece.read(buffer).map_err(|error| wrong(&name(self.next), &error));
                    let read = read?;
                    if read == 0 {
                        self.end(*piece)?;
                        continue;
                    }
                    self.unpacked += read as u64;
                    if self.unpacked > self.limit {
                        let why = format!("unpacks to more than {} bytes", self.limit);
                        return Err(wrong(&name(self.next), &why));
                    }
                    self.state = State::Piece(piece);
                    return Ok(read);
                }
            }
        }
        Ok(0)
    }
}

/// Returns the place after a line of the viewer.
fn viewer(line: &str) -> Option<Place> {
    let (script, then) = match line.strip_suffix(END_TAG) {
        Some(script) => (script, Place::End(0)),
        None => (line, Place::Viewer),
    };
    document::is_script(script).then_some(then)
}

/// Returns the next line without its end, or `None` at the end of the file.
fn next_line<R: BufRead>(lines: &mut BoundedLines<R>) -> io::Result<Option<&str>> {
    let length = lines.advance()?;
    if length == 0 {
        return Ok(None);
    }
    let line = lines.buffered();
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    match std::str::from_utf8(line) {
        Ok(line) if length <= LINE_MAX as u64 => Ok(Some(line)),
        _ => Err(wrong("a line", &"is no text, or is too long")),
    }
}

fn name(piece: u64) -> String {
    format!("{EXPORT_ID}{piece}")
}

/// Returns the error of a piece.
fn wrong(piece: &str, why: &dyn std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the share is damaged: `{piece}` {why}"))
}

/// One line of base64, decoded block by block. The line end is not part of it.
struct Base64Line<R> {
    input: R,
    /// Characters that are not decoded yet, and the bytes of the decoded ones with the position of
    /// the next.
    text: Vec<u8>,
    bytes: Vec<u8>,
    at: usize,
    is_ended: bool,
}

impl<R: BufRead> Base64Line<R> {
    fn new(input: R) -> Self {
        Self { input, text: Vec::new(), bytes: Vec::new(), at: 0, is_ended: false }
    }

    /// Reads a block of characters, up to the line end.
    fn fill(&mut self) -> io::Result<()> {
        let left = (BLOCK - self.text.len()) as u64;
        let read = Read::by_ref(&mut self.input).take(left).read_until(b'\n', &mut self.text)?;
        if self.text.last() == Some(&b'\n') {
            self.text.pop();
            self.is_ended = true;
        } else if read == 0 {
            let why = "has no end: the file was cut";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        // Four characters are up to three bytes.
        let whole = match self.is_ended {
            true => self.text.len(),
            false => self.text.len() / 4 * 4,
        };
        let rest = self.text.split_off(whole);
        let decoded = BASE64.decode(&self.text);
        self.bytes = decoded.map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("is not base64: {error}"))
        })?;
        (self.text, self.at) = (rest, 0);
        Ok(())
    }
}

impl<R: BufRead> Read for Base64Line<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.bytes.len() && !self.is_ended {
            self.fill()?;
        }
        let left = self.bytes.get(self.at..).unwrap_or_default();
        let count = left.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), left.get(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }
}
