//! Shares, whole and hostile.

use std::io::{self, Read, Write};

use data_encoding::BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{BEGINNING, END_TAG, EXPORT_ID, INDEX_ID, ShareReader, VERSION, start_tag, version};

const LIMIT: u64 = 1 << 20;

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// An element of a piece.
fn element(id: &str, number: u64, packed: &[u8]) -> String {
    format!("{}\n{}\n{END_TAG}\n", start_tag(id, number), BASE64.encode(packed))
}

/// A share with these pieces of an export, in elements with these numbers.
fn share(pieces: &[(u64, &[u8])]) -> String {
    let exports = pieces.iter().map(|(number, piece)| element(EXPORT_ID, *number, &gzip(piece)));
    let exports: String = exports.collect();
    let index = element(INDEX_ID, 0, &gzip(b"{}"));
    let contents = r#"<script type="application/json" id="share">"#;
    let style = "x".repeat(100_000);
    format!(
        "{BEGINNING}<meta charset=\"utf-8\">\n<style>{style}</style>\n{contents}\n{{}}\n{END_TAG}\n\
         {index}{exports}\
         <script type=\"module\">\nviewer\n</script>\n"
    )
}

/// The export in a share, whose first line is read.
fn read(share: &[u8]) -> io::Result<Vec<u8>> {
    let mut export = Vec::new();
    let behind = &share[BEGINNING.len()..];
    let input = io::BufReader::with_capacity(7, behind);
    ShareReader::new(input, LIMIT).read_to_end(&mut export)?;
    Ok(export)
}

#[track_caller]
fn refused(share: &str, why: &str) {
    let export = read(share.as_bytes()).map(|export| export.len());
    let error = export.unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
    assert!(error.contains(EXPORT_ID), "no piece is named: {error}");
}

#[test]
fn the_pieces_give_the_export_in_their_order() {
    let noise: Vec<u8> = (0..300_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    for pieces in [
        vec![b"one\ntwo\n".as_slice()],
        vec![b"one\n", b"", b"two\n"],
        vec![&noise, b"\n", &noise[..5], &noise[7..90_000]],
        vec![],
    ] {
        let numbered: Vec<(u64, &[u8])> = (0..).zip(pieces.iter().copied()).collect();
        assert!(read(share(&numbered).as_bytes()).unwrap() == pieces.concat());
    }
}

#[test]
fn what_is_behind_the_last_piece_may_be_missing() {
    let whole = share(&[(0, b"one\n"), (1, b"two\n")]);
    let end = whole.find("<script type=\"module\">").unwrap();
    assert_eq!(read(&whole.as_bytes()[..end]).unwrap(), b"one\ntwo\n");
}

#[test]
fn a_share_that_is_cut_in_a_piece_is_refused_wherever_it_is() {
    let whole = share(&[(0, b"one\n"), (1, b"two\n")]);
    let (first, second) = (start_tag(EXPORT_ID, 0), start_tag(EXPORT_ID, 1));
    let inside = whole.find(&first).unwrap() + first.len() + 1;
    let between = whole.find(&second).unwrap();
    for end in inside..whole.find("<script type=\"module\">").unwrap() {
        let read = read(&whole.as_bytes()[..end]);
        match end == between {
            // The export has no end then.
            true => assert_eq!(read.unwrap(), b"one\n", "{end}"),
            false => _ = read.unwrap_err(),
        }
    }
}

#[test]
fn pieces_that_are_swapped_missing_or_there_twice_are_refused() {
    refused(&share(&[(1, b"two\n"), (0, b"one\n")]), "`export-1` comes where export-0 is expected");
    refused(&share(&[(0, b"one\n"), (2, b"three\n")]), "`export-2` comes where export-1");
    refused(&share(&[(0, b"one\n"), (0, b"one\n")]), "`export-0` comes where export-1");
    let padded = share(&[(0, b"one\n")]).replace("id=\"export-0\"", "id=\"export-00\"");
    refused(&padded, "`export-00` comes where");
}

#[test]
fn a_piece_that_is_no_base64_or_no_gzip_stream_is_refused() {
    let whole = share(&[(0, b"one\n")]);
    let text = BASE64.encode(&gzip(b"one\n"));
    let with = |other: &str| whole.replace(&text, other);
    refused(&with(&text.replace('/', "_").replace('A', "*")), "is not base64");
    refused(&with(&text[1..]), "is not base64");
    refused(&with(&format!("{text} ")), "is not base64");
    refused(&with(""), "export-0");
    refused(&with(&BASE64.encode(b"one\n")), "export-0");
    let twice = [gzip(b"one\n"), gzip(b"two\n")].concat();
    refused(&with(&BASE64.encode(&twice)), "more than one gzip stream");
    let mut wrong = gzip(b"one\n");
    let at = wrong.len() - 8;
    wrong[at] ^= 1;
    refused(&with(&BASE64.encode(&wrong)), "export-0");
    refused(&with(&format!("{text}\n")), "no end tag");
    refused(&with(&format!("{text}</script>")), "is not base64");
}

#[test]
fn a_piece_that_unpacks_to_more_than_its_limit_is_refused() {
    let zeros = |length: u64| vec![0; length as usize];
    let whole = share(&[(0, &zeros(LIMIT)), (1, &zeros(LIMIT))]);
    assert_eq!(read(whole.as_bytes()).unwrap().len() as u64, 2 * LIMIT);
    refused(&share(&[(0, b"one\n"), (1, &zeros(LIMIT + 1))]), "`export-1` unpacks to more than");
    let bomb = share(&[(0, &zeros(200 << 20))]);
    assert!(bomb.len() < 1 << 20);
    refused(&bomb, "`export-0` unpacks to more than 1048576 bytes");
}

#[test]
fn the_first_line_tells_the_version() {
    assert_eq!(version(BEGINNING.as_bytes()), Some(VERSION));
    for (start, expected) in [
        ("<!doctype html><!-- milepost share 12 -->\n<meta>", Some(12)),
        ("<!doctype html><!-- milepost share +1 -->\n", None),
        ("<!doctype html><!-- milepost share  -->\n", None),
        ("<!doctype html><!-- milepost share 1 \n-->", None),
        ("<!doctype html>\n", None),
        ("", None),
    ] {
        assert_eq!(version(start.as_bytes()), expected, "{start:?}");
    }
}

#[test]
fn a_piece_that_a_browser_would_not_see_is_refused() {
    let whole = share(&[(0, b"one\n"), (1, b"two\n")]);
    assert_eq!(read(whole.as_bytes()).unwrap(), b"one\ntwo\n");
    let first = start_tag(EXPORT_ID, 0);
    for hidden in ["<!--", "<textarea>", "<style>", "<template>", "</style><!--", "<meta a><!--"] {
        let changed = whole.replacen(&first, &format!("{hidden}\n{first}"), 1);
        let error = read(changed.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("the part before the viewer"), "{hidden}: {error}");
    }
    // What comes after the viewer is not read: a browser takes the first element of an id.
    let more = format!("{whole}{}", element(EXPORT_ID, 2, &gzip(b"three\n")));
    assert_eq!(read(more.as_bytes()).unwrap(), b"one\ntwo\n");
}
