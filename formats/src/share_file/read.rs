//! Reads the export in a share: the content of its pieces, one after another.

use std::io::{self, BufRead, BufReader, Read};

use data_encoding::BASE64;
use flate2::bufread::GzDecoder;

use super::{CONTENTS_ID, END_TAG, EXPORT_ID, INDEX_ID, PIECE_TYPE, VIEWER};
use crate::bounded_lines::BoundedLines;

/// Most bytes of an end tag, and of a line before the viewer that is no piece of the export.
const TAG_MAX: usize = 128;
const LINE_MAX: usize = 64 << 20;

/// Characters of base64 that are decoded at once.
const BLOCK: usize = 32 << 10;

/// Reader of the export in a share. It holds a block of a piece, and reads the rest when it is
/// needed.
pub struct ShareReader<R> {
    state: State<R>,
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
    /// At the end of the file, or behind an error.
    Ended,
}

impl<R: BufRead> ShareReader<R> {
    /// Creates a reader of pieces of at most `limit` bytes, unpacked. `input` is behind the first
    /// line, which tells the version.
    pub fn new(input: R, limit: u64) -> Self {
        Self { state: State::Between(input), next: 0, limit, unpacked: 0 }
    }

    /// Moves to the content of the next piece, or to the end of the file.
    fn find(&mut self, input: R) -> io::Result<()> {
        let mut lines = BoundedLines::new(input, LINE_MAX);
        loop {
            let length = lines.advance()?;
            let line = lines.buffered();
            if length == 0 || line.starts_with(VIEWER.as_bytes()) {
                return Ok(());
            }
            let Some(number) = piece_of(line) else {
                // A browser must see the pieces that are read here, and no others.
                if length > LINE_MAX as u64 || !is_of_writer(line) {
                    let line = String::from_utf8_lossy(line);
                    let line: String = line.chars().take(80).collect();
                    return Err(wrong("the part before the viewer", &format!("has {line:?}")));
                }
                continue;
            };
            if number != self.next.to_string() {
                let why = format!("comes where {} is expected", name(self.next));
                return Err(wrong(&format!("{EXPORT_ID}{number}"), &why));
            }
            let line = BufReader::with_capacity(BLOCK, Base64Line::new(lines.into_input()));
            self.state = State::Piece(Box::new(GzDecoder::new(line)));
            self.unpacked = 0;
            return Ok(());
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

/// Returns `true` for a line that has no tag, or only tags that a share has before its viewer.
fn is_of_writer(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else {
        return false;
    };
    let line = line.trim_end_matches('\n');
    let tags = line.matches('<').count();
    let is_element = |start: &str, end: &str| line.starts_with(start) && line.ends_with(end);
    match tags {
        0 => true,
        1 => {
            let index = format!(r#"<script type="{PIECE_TYPE}" id="{INDEX_ID}"#);
            let contents = format!(r#"<script type="application/json" id="{CONTENTS_ID}">"#);
            is_element("<meta ", ">")
                || is_element(&index, "\">")
                || line == contents
                || ["<html lang=\"en\">", "<head>", "</head>", "<body>", END_TAG].contains(&line)
        }
        2 => {
            is_element("<title>", "</title>")
                || is_element("<style>", "</style>")
                || is_element("<noscript>", "</noscript>")
                || line == "<div id=\"page\"></div>"
        }
        _ => false,
    }
}

/// Returns the number in the start tag of a piece of the export, if a line is one.
fn piece_of(line: &[u8]) -> Option<&str> {
    let tag = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let id = tag.strip_prefix(r#"<script type=""#)?.strip_prefix(PIECE_TYPE)?;
    id.strip_prefix(r#"" id=""#)?.strip_prefix(EXPORT_ID)?.strip_suffix(r#"">"#)
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
