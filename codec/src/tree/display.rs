//! Text and JSON forms of names and paths.

use std::fmt;

use serde::{Deserializer, Serialize, Serializer};

use crate::body::base64_form;

/// Formats bytes for a terminal: printable UTF-8 is unchanged, every other byte becomes `\xHH`. A
/// backslash is escaped too, so that the text is unambiguous, as are characters that are invisible
/// or change the direction of writing.
pub fn printable(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(bytes.len());
    let hex = |out: &mut String, bytes: &[u8]| {
        for byte in bytes {
            let _ = write!(out, "\\x{byte:02x}");
        }
    };
    for part in bytes.utf8_chunks() {
        for one in part.valid().chars() {
            let hidden = matches!(
                one,
                '\\' | '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            );
            if hidden || one.is_control() {
                hex(&mut out, one.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                out.push(one);
            }
        }
        hex(&mut out, part.invalid());
    }
    out
}

pub(super) fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => s.serialize_str(text),
        Err(_) => base64_form(bytes).serialize(s),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
    struct Visitor;
    impl<'de> serde::de::Visitor<'de> for Visitor {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or {\"base64\": \"...\"}")
        }
        fn visit_str<E>(self, text: &str) -> Result<Vec<u8>, E> {
            Ok(text.as_bytes().to_vec())
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Vec<u8>, A::Error> {
            let map = serde::de::value::MapAccessDeserializer::new(map);
            crate::body::from_base64_form(map)
        }
    }
    d.deserialize_any(Visitor)
}

/// Implements the text, debug and JSON forms of a type of bytes. `make` checks parsed bytes.
macro_rules! impl_text_forms {
    ($type:ident, $make:expr) => {
        impl AsRef<[u8]> for $type {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        /// The form for people, see [`printable`].
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::tree::printable(&self.0))
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($type), "(`{}`)"), self)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                $crate::tree::display::serialize(&self.0, s)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let bytes = $crate::tree::display::deserialize(d)?;
                let make: fn(&[u8]) -> $crate::error::Result<Self> = $make;
                make(&bytes).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(super) use impl_text_forms;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{PathBytes, TreePath};

    #[test]
    fn the_json_form_is_a_string_or_base64() {
        let json = |bytes: &[u8]| serde_json::to_string(&PathBytes::from(bytes)).unwrap();
        assert_eq!(json("a/\u{e9}\n".as_bytes()), "\"a/\u{e9}\\n\"");
        assert_eq!(json(b"a/\xff"), r#"{"base64":"YS//"}"#);
        let read = serde_json::from_str::<TreePath>;
        assert_eq!(read("\"a/b\"").unwrap().as_bytes(), b"a/b");
        assert_eq!(read("\"\\u0061\"").unwrap().as_bytes(), b"a");
        assert_eq!(read(r#"{"base64":"YS//"}"#).unwrap().as_bytes(), b"a/\xff");
        for bad in [
            "\"..\"",
            "\"/a\"",
            r#"{"base64":"YS8"}"#,
            r#"{"base64":"Li4="}"#,
            "[\"YQ==\"]",
            "7",
            "null",
            r#"{"base64":"YQ==","n":1}"#,
            "{}",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_cannot_be_printed_is_written_as_its_bytes() {
        for (bytes, expected) in [
            (&b"plain -x"[..], "plain -x"),
            (b"a\xffb", "a\\xffb"),
            (b"a\nb\x1b[31m", "a\\x0ab\\x1b[31m"),
            (b"\\x0a", "\\x5cx0a"),
            ("\u{1f600}\u{202e}".as_bytes(), "\u{1f600}\\xe2\\x80\\xae"),
        ] {
            assert_eq!(printable(bytes), expected);
        }
    }
}
