//! MessagePack of LangGraph's serializer, converted to JSON.
//!
//! ```text
//! bytes                       {"base64": ".."}
//! a key that is not a string  its JSON as a string
//! NaN, infinity               "NaN", "Infinity", "-Infinity"
//! a Python object             its arguments without its class: the fields of a message,
//!                             the text of a time or of an id, the items of a set
//! a numpy array               [type, shape, order, {"base64": ".."}]
//! an unknown extension        {"extension": 9, "base64": ".."}
//! ```

use data_encoding::BASE64;
use rmp::Marker;
use rmp::decode::{RmpRead, read_marker};

/// Maximum nesting of values. A Python object takes two levels, of which the JSON has one.
const DEPTH_MAX: u32 = 150;
/// Maximum nesting of keys. Each level is a string in the next one, which doubles its length.
const KEY_DEPTH_MAX: u32 = 3;

/// Extensions with the content `(module, class, arguments, ..)`.
const OBJECTS: std::ops::RangeInclusive<i8> = 0..=5;
const NUMPY: i8 = 6;
/// A value that later checkpoints add to.
const SNAPSHOT: i8 = 7;

/// Returns the JSON text of one value, or the reason why it cannot be decoded.
pub fn to_json(bytes: &[u8]) -> Result<String, String> {
    let mut json = String::with_capacity(bytes.len());
    let mut rest = bytes;
    value(&mut rest, &mut json, DEPTH_MAX)?;
    match rest.len() {
        0 => Ok(json),
        left => Err(format!("{left} bytes behind the value")),
    }
}

fn cut_off<E>(_: E) -> String {
    "cut off".to_owned()
}

fn value(from: &mut &[u8], json: &mut String, depth: u32) -> Result<(), String> {
    let depth = depth.checked_sub(1).ok_or_else(|| {
        format!("nested deeper than {DEPTH_MAX} levels, or {KEY_DEPTH_MAX} in a key")
    })?;
    let marker = read_marker(from).map_err(cut_off)?;
    match marker {
        Marker::Null => json.push_str("null"),
        Marker::True => json.push_str("true"),
        Marker::False => json.push_str("false"),
        Marker::FixPos(number) => json.push_str(&number.to_string()),
        Marker::FixNeg(number) => json.push_str(&number.to_string()),
        Marker::F32 => float(from.read_data_f32().map_err(cut_off)?.into(), json),
        Marker::F64 => float(from.read_data_f64().map_err(cut_off)?, json),
        Marker::FixArray(len) => array(from, len.into(), json, depth)?,
        Marker::FixMap(len) => map(from, len.into(), json, depth)?,
        Marker::FixStr(len) => string(take(from, len.into())?, json),
        Marker::Reserved => return Err("a byte that begins no value".into()),
        _ => return sized(marker, from, json, depth),
    }
    Ok(())
}

/// Converts a value whose length or number follows the marker.
fn sized(marker: Marker, from: &mut &[u8], json: &mut String, depth: u32) -> Result<(), String> {
    match marker {
        Marker::U8 | Marker::U16 | Marker::U32 | Marker::U64 => {
            json.push_str(&unsigned(marker, from)?.to_string());
        }
        Marker::I8 | Marker::I16 | Marker::I32 | Marker::I64 => {
            json.push_str(&signed(marker, from)?.to_string());
        }
        Marker::Str8 | Marker::Str16 | Marker::Str32 => {
            let len = length(marker, from)?;
            string(take(from, len)?, json);
        }
        Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => {
            let len = length(marker, from)?;
            base64(take(from, len)?, json);
        }
        Marker::Array16 | Marker::Array32 => {
            let len = length(marker, from)?;
            array(from, len, json, depth)?;
        }
        Marker::Map16 | Marker::Map32 => {
            let len = length(marker, from)?;
            map(from, len, json, depth)?;
        }
        _ => {
            let len = length(marker, from)?;
            let kind = from.read_data_i8().map_err(cut_off)?;
            extension(kind, take(from, len)?, json, depth)?;
        }
    }
    Ok(())
}

fn unsigned(marker: Marker, from: &mut &[u8]) -> Result<u64, String> {
    let read = match marker {
        Marker::U8 => from.read_data_u8().map(u64::from),
        Marker::U16 => from.read_data_u16().map(u64::from),
        Marker::U32 => from.read_data_u32().map(u64::from),
        _ => from.read_data_u64(),
    };
    read.map_err(cut_off)
}

fn signed(marker: Marker, from: &mut &[u8]) -> Result<i64, String> {
    let read = match marker {
        Marker::I8 => from.read_data_i8().map(i64::from),
        Marker::I16 => from.read_data_i16().map(i64::from),
        Marker::I32 => from.read_data_i32().map(i64::from),
        _ => from.read_data_i64(),
    };
    read.map_err(cut_off)
}

fn length(marker: Marker, from: &mut &[u8]) -> Result<usize, String> {
    let fixed = match marker {
        Marker::FixExt1 => Some(1),
        Marker::FixExt2 => Some(2),
        Marker::FixExt4 => Some(4),
        Marker::FixExt8 => Some(8),
        Marker::FixExt16 => Some(16),
        _ => None,
    };
    if let Some(length) = fixed {
        return Ok(length);
    }
    let number = match marker {
        Marker::Str8 | Marker::Bin8 | Marker::Ext8 => Marker::U8,
        Marker::Str16 | Marker::Bin16 | Marker::Ext16 | Marker::Array16 | Marker::Map16 => {
            Marker::U16
        }
        _ => Marker::U32,
    };
    usize::try_from(unsigned(number, from)?).map_err(cut_off)
}

fn take<'a>(from: &mut &'a [u8], len: usize) -> Result<&'a [u8], String> {
    let (taken, rest) = from
        .split_at_checked(len)
        .ok_or_else(|| format!("cut off: {len} bytes are claimed, {} are there", from.len()))?;
    *from = rest;
    Ok(taken)
}

fn float(number: f64, json: &mut String) {
    match serde_json::Number::from_f64(number) {
        Some(number) => json.push_str(&number.to_string()),
        None if number.is_nan() => json.push_str("\"NaN\""),
        None if number > 0.0 => json.push_str("\"Infinity\""),
        None => json.push_str("\"-Infinity\""),
    }
}

fn string(bytes: &[u8], json: &mut String) {
    let text = String::from_utf8_lossy(bytes);
    json.push_str(&serde_json::to_string(&text).unwrap_or_default());
}

fn base64(bytes: &[u8], json: &mut String) {
    json.push_str("{\"base64\":\"");
    json.push_str(&BASE64.encode(bytes));
    json.push_str("\"}");
}

fn array(from: &mut &[u8], len: usize, json: &mut String, depth: u32) -> Result<(), String> {
    json.push('[');
    for index in 0..len {
        if index > 0 {
            json.push(',');
        }
        value(from, json, depth)?;
    }
    json.push(']');
    Ok(())
}

fn map(from: &mut &[u8], len: usize, json: &mut String, depth: u32) -> Result<(), String> {
    json.push('{');
    for index in 0..len {
        if index > 0 {
            json.push(',');
        }
        let start = json.len();
        value(from, json, depth.min(KEY_DEPTH_MAX))?;
        let key = json.get(start..).unwrap_or_default();
        if !key.starts_with('"') {
            let key = serde_json::to_string(key).unwrap_or_default();
            json.truncate(start);
            json.push_str(&key);
        }
        json.push(':');
        value(from, json, depth)?;
    }
    json.push('}');
    Ok(())
}

fn extension(kind: i8, bytes: &[u8], json: &mut String, depth: u32) -> Result<(), String> {
    let mut inner = bytes;
    if OBJECTS.contains(&kind) {
        return object(&mut inner, json, depth);
    }
    if kind == NUMPY || kind == SNAPSHOT {
        return value(&mut inner, json, depth);
    }
    let bytes = BASE64.encode(bytes);
    json.push_str(&format!("{{\"extension\":{kind},\"base64\":\"{bytes}\"}}"));
    Ok(())
}

/// Converts a Python object to its arguments, the third of its parts.
fn object(from: &mut &[u8], json: &mut String, depth: u32) -> Result<(), String> {
    let parts = match read_marker(from).map_err(cut_off)? {
        Marker::FixArray(parts) if parts >= 3 => parts,
        other => {
            return Err(format!("an object that is no list of its parts, but {other:?}"));
        }
    };
    let start = json.len();
    let mut names = [String::new(), String::new()];
    for name in &mut names {
        value(from, json, depth)?;
        *name = json.split_off(start);
    }
    value(from, json, depth)?;
    let [module, class] = &names;
    if module == "\"uuid\"" && class == "\"UUID\"" {
        dashes(json, start);
    }
    // The other parts describe how the object is constructed.
    let mut more = String::new();
    for _ in 3..parts {
        value(from, &mut more, depth)?;
        more.clear();
    }
    Ok(())
}

/// Inserts the dashes of a UUID, which is stored without them.
fn dashes(json: &mut String, start: usize) {
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    let Some(digits) = json.get(start + 1..start + 33) else {
        return;
    };
    let parts: Option<Vec<&str>> = parts.iter().map(|(a, b)| digits.get(*a..*b)).collect();
    let Some(parts) = parts.filter(|_| json.len() == start + 34) else {
        return;
    };
    let text = format!("\"{}\"", parts.join("-"));
    json.truncate(start);
    json.push_str(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_json() {
        for (bytes, json) in [
            (&[0xc0][..], "null"),
            (&[0x93, 1, 0xff, 0xc3], "[1,-1,true]"),
            (&[0xcf, 0x80, 0, 0, 0, 0, 0, 0, 0], "9223372036854775808"),
            (&[0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0], "-9223372036854775808"),
            (&[0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0], "1.5"),
            (&[0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0], "\"NaN\""),
            (&[0xc4, 2, 0, 0xff], r#"{"base64":"AP8="}"#),
            (&[0x82, 1, 0xa1, b'a', 0xa1, b'"', 0x90], r#"{"1":"a","\"":[]}"#),
            (&[0xa1, 0xff], "\"\u{fffd}\""),
            (&[0xd4, 9, 1], r#"{"extension":9,"base64":"AQ=="}"#),
            // (module, class, arguments, method): only the third is kept.
            (&[0xd6, 5, 0x93, 0xa0, 0xa0, 7], "7"),
        ] {
            assert_eq!(to_json(bytes).as_deref(), Ok(json), "{bytes:x?}");
        }
    }

    #[test]
    fn what_is_cut_off_claims_too_much_or_nests_too_deep_is_refused() {
        for (bytes, why) in [
            (&[][..], "cut off"),
            (&[0xdf, 0xff, 0xff, 0xff, 0xff], "cut off"),
            (&[0xdd, 0xff, 0xff, 0xff, 0xff, 1], "cut off"),
            (&[0xdb, 0xff, 0xff, 0xff, 0xff, b'a'], "4294967295 bytes are claimed"),
            (&[0xc6, 0xff, 0xff], "cut off"),
            (&[0xc1], "begins no value"),
            (&[1, 2], "1 bytes behind"),
            (&[0xd4, 0, 1], "no list of its parts"),
            (&[0x91; 5000], "deeper than 150"),
        ] {
            let error = to_json(bytes).unwrap_err();
            assert!(error.contains(why), "{bytes:x?}: {error}");
        }
        let key_of_keys = to_json(&[0x81; 40]).unwrap_err();
        assert!(key_of_keys.contains("3 in a key"), "{key_of_keys}");
        // Nested extensions, each in the bytes of the previous one.
        let mut bytes = vec![0x93, 0xa0, 0xa0, 1];
        for _ in 0..400 {
            let len = u32::try_from(bytes.len()).unwrap().to_be_bytes();
            let inner = std::mem::take(&mut bytes);
            bytes.extend([0x93, 0xa0, 0xa0, 0xc9]);
            bytes.extend(len);
            bytes.push(0);
            bytes.extend(inner);
        }
        assert!(to_json(&bytes).is_err());
    }
}
