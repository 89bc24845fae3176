//! The file: a document with the contents, the pieces, and the viewer.

use std::collections::BTreeMap;
use std::io;

use data_encoding::BASE64;
use milepost::LineageId;
use milepost::transfer::ExportTask;
use milepost_api::Big;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::index::Index;
use crate::packing::{Packed, PieceForm};
use crate::pieces::Pieces;

/// The first line of the file.
const BEGINNING: &str = "<!doctype html><!-- milepost share 1 -->\n";

/// The end of each element of script, and what begins an element of a piece.
const END: &str = "\n</script>\n";

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
        let (script, style) = (milepost_page::SHARE_SCRIPT, milepost_page::SHARE_STYLE);
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
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; worker-src blob:; base-uri \
             'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types worker",
            hash(script),
            hash(style)
        );
        let title = escaped(&task.id);
        let head = format!(
            "{BEGINNING}<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title} · Milepost</title>\n<style>{style}</style>\n</head>\n<body>\n\
             <div id=\"page\"></div>\n\
             <noscript>This file shows a task of Milepost, and needs JavaScript. \
             `milepost import FILE` reads it without a browser.</noscript>\n\
             <script type=\"application/json\" id=\"share\">\n{json}{END}"
        );
        let tail = format!("<script type=\"module\">{script}</script>\n</body>\n</html>\n");
        Ok(Self { head, tail })
    }

    /// Returns the length of the file, in bytes.
    pub fn len(&self, index: &Pieces, export: &Pieces) -> u64 {
        let tags = |name: &str, pieces: &Pieces| -> u64 {
            let tags = (0..pieces.len()).map(|number| begin(name, number).len() + END.len());
            tags.sum::<usize>() as u64 + pieces.encoded_len()
        };
        let ends = self.head.len() as u64 + self.tail.len() as u64;
        ends + tags("index", index) + tags("export", export)
    }

    /// Passes the bytes of the file to `each`, in order.
    pub fn write<E>(
        &self,
        index: &Pieces,
        export: &Pieces,
        each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        each(self.head.as_bytes())?;
        for (name, pieces) in [("index", index), ("export", export)] {
            for (number, piece) in pieces.packed().iter().enumerate() {
                each(begin(name, number).as_bytes())?;
                each(BASE64.encode(piece).as_bytes())?;
                each(END.as_bytes())?;
            }
        }
        each(self.tail.as_bytes())
    }
}

/// Returns the start tag of a piece.
fn begin(name: &str, number: usize) -> String {
    format!("<script type=\"application/gzip;base64\" id=\"{name}-{number}\">\n")
}

/// Returns the source of a script or a style for the policy (CSP level 3, hash-source).
fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(&Sha256::digest(text.as_bytes())))
}

/// Returns a text as the text of an element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
