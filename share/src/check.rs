//! Comparison of a share's index with its events: no hash covers the index, and the lists in a
//! browser come from it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read};

use data_encoding::BASE64;
use flate2::read::GzDecoder;
use milepost::LineageId;
use milepost::calls::Cancel;
use milepost_formats::Result;
use milepost_formats::share_file::{
    EXPORT_ID, INDEX_ID, PIECE, ShareReader, VERSION, contents_tag, start_tag, version,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::index::Index;
use crate::packing::{LINE_MAX, Shown, kind_of};

/// Most bytes of the first line.
const FIRST_MAX: u64 = 80;

/// Most bytes of the index, unpacked.
const INDEX_MAX: u64 = 1 << 30;

/// Comparison of a share's statements about its task with the task.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct IndexCheck {
    /// The version that wrote the file.
    pub version: String,
    /// The documents, and the facts of the contents, that are not the task's.
    pub differing: Vec<String>,
}

/// The facts of the contents that a viewer shows or goes by.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Stated {
    version: String,
    task: String,
    user: String,
    active: Option<LineageId>,
    keyed: Option<bool>,
    index: BTreeMap<String, usize>,
}

/// Documents of an index by name, word for word.
type Documents = BTreeMap<String, Box<RawValue>>;

/// Builds the index of a share again from its events, and compares it. `open` opens the file, which
/// is read several times. Returns `None` for a file that is not a share, or has no contents of one.
///
/// # Errors
///
/// `Corrupt`: the file is damaged. `Io`: it cannot be read.
pub fn check(open: &dyn Fn() -> io::Result<Box<dyn Read>>) -> Result<Option<IndexCheck>> {
    let begin = || -> io::Result<_> {
        let (mut file, mut first) = (BufReader::new(open()?), Vec::new());
        Read::by_ref(&mut file).take(FIRST_MAX).read_until(b'\n', &mut first)?;
        Ok((file, version(&first) == Some(VERSION)))
    };
    if !begin()?.1 {
        return Ok(None);
    }
    let export = || -> io::Result<_> { Ok(ShareReader::new(begin()?.0, PIECE + LINE_MAX as u64)) };
    let (is_keyed, is_copy) = kind_of(export()?, &Cancel::NEVER)?;
    let shown = Shown::of(export()?, is_copy, &Cancel::NEVER)?;
    let index = Index::of(&shown)?;
    let made = texts(index.pieces.packed());
    // The lines have the writer's form: they were read twice.
    let (contents, pieces) = parts(begin()?.0)?;
    // A viewer shows nothing of other contents, and an ambiguous text is not an answer.
    if serde_json::from_slice::<Value>(&contents).is_ok_and(|all| !is_shown(&all)) {
        return Ok(None);
    }
    let stated: Stated = serde_json::from_slice(&contents).unwrap_or_default();
    let (found, task) = (texts(&pieces), &shown.task);
    let facts = [
        ("task", stated.task == task.id),
        ("user", stated.user == task.user),
        ("active", stated.active == Some(task.active)),
        ("keyed", stated.keyed == Some(is_keyed)),
        ("index", stated.index == index.directory),
    ];
    let facts = facts.into_iter().filter(|(_, is_same)| !is_same);
    let mut differing: Vec<String> = facts.map(|(name, _)| name.to_owned()).collect();
    let empty = String::new();
    for piece in 0..made.len().max(found.len()) {
        let of = |texts: &[String]| texts.get(piece).unwrap_or(&empty).clone();
        let (made, found) = (of(&made), of(&found));
        if made == found {
            continue;
        }
        let (made, found) = (documents(&made), documents(&found));
        let names: BTreeSet<&String> = made.keys().chain(found.keys()).collect();
        let text = |from: &Documents, name: &str| from.get(name).map(|one| one.get().to_owned());
        let before = differing.len();
        let names = names.into_iter().filter(|name| text(&made, name) != text(&found, name));
        differing.extend(names.cloned());
        if differing.len() == before {
            // A document is repeated, or in another order.
            differing.push(format!("{INDEX_ID}{piece}"));
        }
    }
    Ok(Some(IndexCheck { version: stated.version, differing }))
}

/// Returns `true` for contents of this version.
fn is_shown(contents: &Value) -> bool {
    contents.get("share").and_then(Value::as_f64) == Some(f64::from(VERSION))
}

/// Returns the contents, and the pieces of the index.
fn parts(file: impl BufRead) -> Result<(Vec<u8>, Vec<Vec<u8>>)> {
    let (mut contents, mut pieces) = (Vec::new(), Vec::new());
    let mut lines = file.split(b'\n');
    while let Some(line) = lines.next().transpose()? {
        if line == contents_tag().as_bytes() {
            contents = lines.next().transpose()?.unwrap_or_default();
        } else if line == start_tag(INDEX_ID, pieces.len() as u64).as_bytes() {
            let piece = lines.next().transpose()?.unwrap_or_default();
            pieces.push(BASE64.decode(&piece).map_err(io::Error::other)?);
        } else if line == start_tag(EXPORT_ID, 0).as_bytes() {
            break;
        }
    }
    Ok((contents, pieces))
}

/// Returns the texts of pieces, empty for one that is not a text.
fn texts(pieces: &[Vec<u8>]) -> Vec<String> {
    let mut room = INDEX_MAX;
    let unpack = |piece: &Vec<u8>| {
        let mut text = String::new();
        let read = GzDecoder::new(piece.as_slice()).take(room).read_to_string(&mut text);
        room -= text.len() as u64;
        read.map_or_else(|_| String::new(), |_| text)
    };
    pieces.iter().map(unpack).collect()
}

fn documents(piece: &str) -> Documents {
    serde_json::from_str(piece).unwrap_or_default()
}
