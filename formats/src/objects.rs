//! Complete JSON objects in a damaged line: joined to others, after zero bytes, or after a torn
//! one.

use serde::de::IgnoredAny;

/// Bytes that failed attempts at a line may read, for each of its bytes.
const EFFORT: usize = 8;

/// A part of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A whole object.
    Object(&'a str),
    /// Bytes outside of objects.
    Lost(&'a [u8]),
}

/// Returns the parts of a line, in order, without white space and zero bytes. An object in a lost
/// part, such as a piece of a torn one, counts if it is a record.
pub fn pieces<'a>(line: &'a [u8], is_record: impl Fn(&str) -> bool) -> Vec<Piece<'a>> {
    let (mut pieces, mut lost_from, mut at) = (Vec::new(), 0, 0);
    let mut effort = line.len().saturating_mul(EFFORT).saturating_add(1 << 12);
    let part = |from: usize, until: usize| line.get(from..until).unwrap_or_default();
    let lose = |pieces: &mut Vec<Piece<'a>>, from: usize, until: usize| {
        let bytes = trimmed(part(from, until));
        if !bytes.is_empty() {
            pieces.push(Piece::Lost(bytes));
        }
    };
    while let Some(found) = part(at, line.len()).iter().position(|byte| *byte == b'{') {
        let open = at + found;
        match whole(part(open, line.len())) {
            Ok(length) => {
                at = open + length;
                let is_clean = trimmed(part(lost_from, open)).is_empty();
                if let Ok(text) = std::str::from_utf8(part(open, at))
                    && (is_clean || is_record(text))
                {
                    lose(&mut pieces, lost_from, open);
                    pieces.push(Piece::Object(text));
                    lost_from = at;
                }
            }
            Err(read) if read <= effort => {
                effort -= read;
                at = open + 1;
            }
            Err(_) => break,
        }
    }
    lose(&mut pieces, lost_from, line.len());
    pieces
}

/// Returns the length of the object that the bytes begin with, or the number of bytes up to its
/// fault.
fn whole(bytes: &[u8]) -> Result<usize, usize> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => Ok(values.byte_offset()),
        Some(Err(error)) => Err(error.column().max(1)),
        None => Err(bytes.len()),
    }
}

/// Returns bytes without the white space, zero bytes and byte order mark around them.
pub fn trimmed(bytes: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let begin = bytes.iter().position(|byte| !is_blank(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_blank(byte)).map_or(begin, |last| last + 1);
    let bytes = bytes.get(begin..end).unwrap_or_default();
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_whole_object_of_a_line_is_found_and_the_rest_is_lost() {
        let object = |text: &'static str| Piece::Object(text);
        let lost = |text: &'static str| Piece::Lost(text.as_bytes());
        let a = r#"{"id":1,"in":{"id":2}}"#;
        for (line, expected) in [
            ("", vec![]),
            ("\0\0 \n", vec![]),
            (a, vec![object(a)]),
            (r#"{"id":1,"in":{"id":2}}{"x":3}"#, vec![object(a), object(r#"{"x":3}"#)]),
            (" \0\0{\"id\":1,\"in\":{\"id\":2}}\r\n", vec![object(a)]),
            // An object in a torn one is not a record of its own, unless it looks like one.
            (r#"{"x":{"y":1},"z"#, vec![lost(r#"{"x":{"y":1},"z"#)]),
            (r#"{"x":"torn{"id":1,"in":{"id":2}}"#, vec![lost(r#"{"x":"torn"#), object(a)]),
            (r#"{"x":[{"y":{"id":9}},{"id":1,"#, vec![lost(r#"{"x":[{"y":{"id":9}},{"id":1,"#)]),
            (r#"{"x":3}garbage"#, vec![object(r#"{"x":3}"#), lost("garbage")]),
            ("[1]", vec![lost("[1]")]),
        ] {
            let found = pieces(line.as_bytes(), |text| text.starts_with(r#"{"id""#));
            assert_eq!(found, expected, "{line}");
        }
        let mut torn = b"{\"x\":\"\xff".to_vec();
        torn.extend_from_slice(a.as_bytes());
        let found = pieces(&torn, |text| text.starts_with(r#"{"id""#));
        assert_eq!(found, [Piece::Lost(b"{\"x\":\"\xff"), object(a)]);
    }

    #[test]
    fn a_line_of_open_objects_costs_a_multiple_of_its_length() {
        let deep = "{\"a\":".repeat(200_000);
        assert_eq!(pieces(deep.as_bytes(), |_| true), [Piece::Lost(deep.as_bytes())]);
    }
}
