//! Shares, whole and hostile.

use std::io::{self, Read, Write};

use data_encoding::BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::{
    BEGINNING, END_TAG, EXPORT_ID, INDEX_ID, ShareReader, VERSION, head, start_tag, tail, version,
};

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
    let hash = "0".repeat(44);
    let head = head([&hash, &hash], "a < b", "p>a{color:red}", "{\"share\":1}");
    format!("{head}{index}{exports}{}", tail("let a = 1;\nlet b = `</`;"))
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
    // The viewer runs when all of the file is there, so it would find this piece.
    let more = format!("{whole}{}", element(EXPORT_ID, 2, &gzip(b"three\n")));
    let error = read(more.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("the part behind the viewer"), "{error}");
    let within = whole.replacen("let b", "</SCRIPT ><script id=\"export-2\">\nlet b", 1);
    let error = read(within.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("the viewer"), "{error}");
}

#[test]
fn a_line_is_accepted_only_where_the_writer_has_it() {
    let whole = share(&[(0, b"one\n"), (1, b"two\n")]);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let index = start_tag(INDEX_ID, 0);
    let outside = |line: &str| !line.starts_with("H4s") && !line.starts_with('{');
    for at in 1..lines.len() {
        for other in lines.iter().skip(1) {
            let mut added = lines.clone();
            added.insert(at, other);
            // One more line of the viewer is no other piece.
            let is_viewer = other.starts_with("let b") || lines[at].starts_with("let b");
            if outside(other) && !is_viewer {
                read(added.concat().as_bytes()).expect_err(&added.concat());
            }
        }
        let mut removed = lines.clone();
        let gone = removed.remove(at);
        if at + 2 < lines.len() && !gone.starts_with("let b") {
            read(removed.concat().as_bytes()).expect_err(gone);
        }
    }
    let late = whole.replacen(&index, &start_tag(INDEX_ID, 1), 1);
    read(late.as_bytes()).unwrap_err();
}

/// The texts of the script elements with an id, as the parser of HTML finds them. It knows the
/// parts of a document of any kind: comments, quotes of attributes, elements of raw text.
fn browser(html: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            let Some(end) = comment.find("-->") else { break };
            rest = &comment[end + 3..];
            continue;
        }
        let is_tag = rest[1..].starts_with(|first: char| first.is_ascii_alphabetic());
        if !is_tag {
            let bogus = rest[1..].starts_with(['!', '?', '/']);
            let end = if bogus { rest.find('>').map_or(rest.len(), |end| end + 1) } else { 1 };
            rest = &rest[end..];
            continue;
        }
        let (mut quote, mut end) = (None, rest.len());
        for (place, letter) in rest.char_indices() {
            match (quote, letter) {
                (None, '>') => {
                    end = place;
                    break;
                }
                // A quote begins a value behind an equals sign only.
                (None, '"' | '\'') if rest[..place].trim_end().ends_with('=') => {
                    quote = Some(letter);
                }
                (Some(open), letter) if open == letter => quote = None,
                _ => {}
            }
        }
        let tag = &rest[1..end];
        let name = tag.split(|letter: char| letter.is_whitespace() || letter == '/').next();
        let name = name.unwrap_or_default().to_ascii_lowercase();
        rest = rest.get(end + 1..).unwrap_or_default();
        let raw = ["script", "style", "title", "textarea", "noscript", "xmp", "iframe", "noembed"];
        if !raw.contains(&name.as_str()) {
            continue;
        }
        let close = format!("</{name}");
        let text_end = rest.to_ascii_lowercase().find(&close).unwrap_or(rest.len());
        if let Some((_, id)) = tag.split_once("id=\"").filter(|_| name == "script") {
            let id = id.split('"').next().unwrap_or_default().to_owned();
            if !found.iter().any(|(other, _)| *other == id) {
                found.push((id, rest[..text_end].trim().to_owned()));
            }
        }
        rest = &rest[text_end..];
    }
    found
}

/// The pieces of the export that the viewer of a file reads: from number 0 on.
fn seen(html: &str) -> Vec<String> {
    let parts = browser(html);
    let piece = |number: u64| {
        let id = format!("{EXPORT_ID}{number}");
        parts.iter().find(|(other, _)| *other == id).map(|(_, text)| text.clone())
    };
    (0..).map_while(piece).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn one_file_is_one_task_for_every_reader(
        edits in prop::collection::vec(
            (0_usize..10_000, 0_usize..HOSTILE.len(), any::<bool>()),
            1..4,
        )
    ) {
        let whole = share(&[(0, b"one\n"), (1, b"two\n")]);
        let other = share(&[(0, b"three\n")]);
        prop_assert_eq!(seen(&whole).len(), 2);
        let mut changed = whole;
        for (at, which, is_line) in edits {
            let piece = other.find("<script type=\"application/gzip").unwrap();
            let text = match HOSTILE[which] {
                "PIECES" => &other[piece..],
                "BODY" => other.split_once("<body>\n").unwrap().1,
                text => text,
            };
            let mut place = at % (changed.len() + 1);
            while !changed.is_char_boundary(place) {
                place -= 1;
            }
            if is_line {
                place = changed[..place].rfind('\n').map_or(0, |end| end + 1);
            }
            changed.insert_str(place, text);
            if is_line && !text.ends_with('\n') {
                changed.insert(place + text.len(), '\n');
            }
        }
        if changed.starts_with(BEGINNING)
            && let Ok(export) = read(changed.as_bytes())
        {
            let mut shown = Vec::new();
            for piece in seen(&changed) {
                let packed = BASE64.decode(piece.as_bytes()).unwrap();
                flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut shown).unwrap();
            }
            prop_assert_eq!(export, shown, "{}", changed);
        }
    }
}

/// Texts that change the display of a browser.
const HOSTILE: [&str; 22] = [
    "<meta name=\"x\" content='>",
    "<meta name=\"x\" content=\">",
    "<script type=\"module\">'>",
    "<script type=\"module\">\">",
    "<script type=\"module\">",
    "</script>",
    "<!--",
    "-->",
    "<style>",
    "</style>",
    "<title>",
    "<textarea>",
    "</textarea>",
    "<noscript>",
    "'",
    "\"",
    ">",
    "\n",
    "\r",
    " ",
    "PIECES",
    "BODY",
];
