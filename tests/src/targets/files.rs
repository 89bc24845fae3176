//! A journal segment and an archive file, as the engine reads them from a folder.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use milepost::fuzzing;
use milepost_codec::{ROUND_RAW_MAX, SEGMENT_HEADER_LEN};
use tempfile::TempDir;

use crate::targets::bounds::{bounded, told};
use crate::targets::checks::{self, Follows, STORE};
use crate::targets::input::Input;
use crate::targets::store::folder;

/// Checks are made right.
pub(crate) const RIGHT: u8 = 0x80;
/// And frames, or the tables of an archive file, are made to follow each other.
pub(crate) const FOLLOW: u8 = 0x40;

/// Bytes of a header that an input has: the others are zero.
const HEADER_IN_INPUT: usize = 80;

/// Memory that reading a file may use besides its bytes: buffers.
const BUFFERS: usize = 1 << 20;

/// The bytes behind a flag byte as a journal segment.
pub fn segment(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let flags = input.byte();
    let mut file = file_of(&mut input);
    if flags & RIGHT != 0 && file.len() >= SEGMENT_HEADER_LEN {
        checks::header(&mut file);
        let mut follows = Follows::header(&file);
        let follows = (flags & FOLLOW != 0).then_some(&mut follows);
        checks::frames(&mut file[SEGMENT_HEADER_LEN..], follows);
    }
    let path = written(&file);
    let found = bounded("segment", file.len(), BUFFERS, || fuzzing::survey_segment(&path, STORE));
    match found {
        Ok(frames) => assert!(frames <= file.len() / 64),
        Err(error) => told("segment", &error),
    }
}

/// The bytes behind a flag byte as an archive file.
pub fn archive(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let flags = input.byte();
    let mut file = file_of(&mut input);
    if flags & RIGHT != 0 {
        checks::archive(&mut file, flags & FOLLOW != 0);
    }
    let path = written(&file);
    // The blocks of a round may claim what its limit allows, and one commit may have all of it.
    let claims = 2 * ROUND_RAW_MAX + BUFFERS;
    let read = bounded("archive", file.len(), claims, || fuzzing::read_archive(&path, STORE));
    if let Err(error) = read {
        told("archive", &error);
    }
}

/// A header of 4096 bytes, which an input has the first ones of, and the rest.
fn file_of(input: &mut Input<'_>) -> Vec<u8> {
    let mut file = input.bytes(HEADER_IN_INPUT).to_vec();
    if file.len() == HEADER_IN_INPUT {
        file.resize(SEGMENT_HEADER_LEN, 0);
        file.extend_from_slice(input.rest());
    }
    file
}

/// Writes bytes into a file that is used again and again.
fn written(bytes: &[u8]) -> PathBuf {
    thread_local! {
        static DIR: RefCell<Option<TempDir>> = const { RefCell::new(None) };
    }
    DIR.with_borrow_mut(|dir| {
        let path = dir.get_or_insert_with(folder).path().join("file");
        fs::write(&path, bytes).expect("a file in a temporary folder");
        path
    })
}
