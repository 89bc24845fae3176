//! The file: a document with the contents, the pieces, and the viewer.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use data_encoding::BASE64;
use flate2::read::GzDecoder;
use milepost::LineageId;
use milepost::transfer::ExportTask;
use milepost_api::Big;
use milepost_formats::share_file::{self, END_TAG, EXPORT_ID, INDEX_ID, start_tag};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::index::Index;
use crate::packing::{Packed, PieceForm};
use crate::pieces::Pieces;

/// The viewer and its style, as gzip.
const SCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/viewer.js.gz"));
const STYLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/viewer.css.gz"));

/// The file without its pieces.
pub struct Html {
    head: String,
    tail: String,
}

/// The contents of a file.
pub struct Contents<'a> {
    pub task: &'a ExportTask,
    pub keyed: bool,
    pub redacted: bool,
    pub packed: &'a Packed,
    pub index: &'a Index,
}

/// The contents, as the viewer reads them.
#[derive(Serialize)]
struct ContentsForm<'a> {
    share: u32,
    version: &'a str,
    task: &'a str,
    user: &'a str,
    active: LineageId,
    keyed: bool,
    redacted: bool,
    events: Big,
    withheld: Big,
    trusted: Big,
    index: &'a BTreeMap<String, usize>,
    export: ExportPieces<'a>,
}

/// The pieces of the export.
#[derive(Serialize)]
struct ExportPieces<'a> {
    pieces: &'a [PieceForm],
}

impl Html {
    /// Makes the parts before and after the pieces.
    pub fn of(contents: &Contents<'_>) -> io::Result<Self> {
        let (script, style) = (unpacked(SCRIPT)?, unpacked(STYLE)?);
        let Contents { task, packed, .. } = contents;
        let form = ContentsForm {
            share: 1,
            version: env!("CARGO_PKG_VERSION"),
            task: &task.id,
            user: &task.user,
            active: task.active,
            keyed: contents.keyed,
            redacted: contents.redacted,
            events: Big(packed.events),
            withheld: Big(packed.withheld.events),
            trusted: Big(packed.withheld.trusted),
            index: &contents.index.directory,
            export: ExportPieces { pieces: &packed.directory },
        };
        // No text can end the element.
        let json = serde_json::to_string(&form)?.replace('<', "\\u003c");
        let hashes = [hash(&script), hash(&style)];
        let head = share_file::head([&hashes[0], &hashes[1]], &task.id, &style, &json);
        let tail = share_file::tail(&script);
        Ok(Self { head, tail })
    }

    /// Returns the length of the file, in bytes.
    pub fn len(&self, index: &Pieces, export: &Pieces) -> u64 {
        let tags = |id: &str, pieces: &Pieces| -> u64 {
            let tags = (0..pieces.len() as u64).map(|number| begin(id, number).len() + end().len());
            tags.sum::<usize>() as u64 + pieces.encoded_len()
        };
        let ends = self.head.len() as u64 + self.tail.len() as u64;
        ends + tags(INDEX_ID, index) + tags(EXPORT_ID, export)
    }

    /// Passes the bytes of the file to `each`, in order.
    pub fn write<E>(
        &self,
        index: &Pieces,
        export: &Pieces,
        each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        each(self.head.as_bytes())?;
        for (id, pieces) in [(INDEX_ID, index), (EXPORT_ID, export)] {
            for (number, piece) in (0..).zip(pieces.packed()) {
                each(begin(id, number).as_bytes())?;
                each(BASE64.encode(piece).as_bytes())?;
                each(end().as_bytes())?;
            }
        }
        each(self.tail.as_bytes())
    }
}

fn unpacked(gzip: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    GzDecoder::new(gzip).read_to_string(&mut text)?;
    // The end tag is on the same line.
    text.truncate(text.trim_end().len());
    Ok(text)
}

/// Returns the line of the start tag of a piece.
fn begin(id: &str, number: u64) -> String {
    format!("{}\n", start_tag(id, number))
}

/// Returns the end of a piece, and the line of its end tag.
fn end() -> String {
    format!("\n{END_TAG}\n")
}

/// Returns the hash of a script or a style for the policy.
fn hash(text: &str) -> String {
    BASE64.encode(&Sha256::digest(text.as_bytes()))
}
