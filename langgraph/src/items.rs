//! Items of lists and entries of maps in MessagePack. The format is compositional: the bytes of a
//! list are a header and the bytes of its items.

use rmp::Marker;
use rmp::decode::{RmpRead, read_marker};

/// The maximum number of items of a list that are distinguished. A longer list is a value like any
/// other: an item takes about 50 bytes of memory, also if it is one byte.
const ITEMS_MAX: usize = 1 << 20;

/// Returns the bytes of each item of a list; `None` if the bytes are not a list, not MessagePack,
/// or a list of more than a million items.
///
/// ```
/// use milepost_langgraph::{joined, split};
///
/// let list = [0x92, 0xa2, b'h', b'i', 0x07];
/// let items = split(&list).expect("a list");
/// assert_eq!(items, [&[0xa2, b'h', b'i'][..], &[0x07]]);
/// assert_eq!(joined(&items), list);
/// ```
pub fn split(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = bytes;
    let count = match read_marker(&mut rest).ok()? {
        Marker::FixArray(count) => usize::from(count),
        Marker::Array16 => usize::from(rest.read_data_u16().ok()?),
        Marker::Array32 => usize::try_from(rest.read_data_u32().ok()?).ok()?,
        _ => return None,
    };
    let items = values(rest, count)?;
    // A header in another than the shortest form would not be joined to the same bytes.
    (bytes.len() == header(count).len() + len(&items)).then_some(items)
}

/// Returns the bytes of each key of a map and of its value; `None` if the bytes are not a map, not
/// MessagePack, or a map of more than half a million entries.
///
/// ```
/// use milepost_langgraph::{joined_map, split_map};
///
/// let map = [0x81, 0xa1, b'a', 0x07];
/// let entries = split_map(&map).expect("a map");
/// assert_eq!(entries, [(&[0xa1, b'a'][..], &[0x07][..])]);
/// assert_eq!(joined_map(&entries), map);
/// ```
pub fn split_map(bytes: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut rest = bytes;
    let count = match read_marker(&mut rest).ok()? {
        Marker::FixMap(count) => usize::from(count),
        Marker::Map16 => usize::from(rest.read_data_u16().ok()?),
        Marker::Map32 => usize::try_from(rest.read_data_u32().ok()?).ok()?,
        _ => return None,
    };
    let mut parts = values(rest, count.checked_mul(2)?)?.into_iter();
    Some(std::iter::from_fn(|| Some((parts.next()?, parts.next()?))).collect())
}

/// Returns the bytes of each of a number of values, if there is nothing else.
fn values(bytes: &[u8], count: usize) -> Option<Vec<&[u8]>> {
    // Each value has at least one byte.
    if count > bytes.len().min(ITEMS_MAX) {
        return None;
    }
    let mut rest = bytes;
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        let (value, left) = rest.split_at_checked(value_len(rest)?)?;
        values.push(value);
        rest = left;
    }
    rest.is_empty().then_some(values)
}

fn len<B: AsRef<[u8]>>(items: &[B]) -> usize {
    items.iter().map(|item| item.as_ref().len()).sum()
}

/// Returns the bytes of a list of items.
pub fn joined<B: AsRef<[u8]>>(items: &[B]) -> Vec<u8> {
    let mut bytes = header(items.len());
    bytes.reserve_exact(len(items));
    for item in items {
        bytes.extend_from_slice(item.as_ref());
    }
    bytes
}

/// Returns the bytes of a map of entries.
pub fn joined_map(entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // As in `header`.
    let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    let _ = rmp::encode::write_map_len(&mut bytes, count);
    for (key, value) in entries {
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
    }
    bytes
}

fn header(count: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(5);
    // Writing to a vector cannot fail, and no list has more items than a `u32` can count.
    let _ = rmp::encode::write_array_len(&mut bytes, u32::try_from(count).unwrap_or(u32::MAX));
    bytes
}

/// Returns the length of the first value. Nested values take no stack.
fn value_len(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    let mut pending: u64 = 1;
    while let Some(left) = pending.checked_sub(1) {
        pending = left;
        let (skipped, values) = content(&mut rest)?;
        rest = rest.get(skipped..)?;
        pending = pending.checked_add(values)?;
    }
    Some(bytes.len() - rest.len())
}

/// Reads a marker and its length. Returns the bytes after it, and the values in it.
fn content(rest: &mut &[u8]) -> Option<(usize, u64)> {
    let bytes = |count: u32| usize::try_from(count).ok().map(|count| (count, 0));
    Some(match read_marker(rest).ok()? {
        Marker::Reserved => return None,
        Marker::Null | Marker::True | Marker::False => (0, 0),
        Marker::FixPos(_) | Marker::FixNeg(_) => (0, 0),
        Marker::U8 | Marker::I8 => (1, 0),
        Marker::U16 | Marker::I16 => (2, 0),
        Marker::U32 | Marker::I32 | Marker::F32 => (4, 0),
        Marker::U64 | Marker::I64 | Marker::F64 => (8, 0),
        Marker::FixStr(len) => (usize::from(len), 0),
        Marker::Str8 | Marker::Bin8 => (usize::from(rest.read_data_u8().ok()?), 0),
        Marker::Str16 | Marker::Bin16 => (usize::from(rest.read_data_u16().ok()?), 0),
        Marker::Str32 | Marker::Bin32 => bytes(rest.read_data_u32().ok()?)?,
        Marker::FixArray(count) => (0, u64::from(count)),
        Marker::Array16 => (0, u64::from(rest.read_data_u16().ok()?)),
        Marker::Array32 => (0, u64::from(rest.read_data_u32().ok()?)),
        Marker::FixMap(count) => (0, 2 * u64::from(count)),
        Marker::Map16 => (0, 2 * u64::from(rest.read_data_u16().ok()?)),
        Marker::Map32 => (0, 2 * u64::from(rest.read_data_u32().ok()?)),
        // An extension has a byte for its type.
        Marker::FixExt1 => (2, 0),
        Marker::FixExt2 => (3, 0),
        Marker::FixExt4 => (5, 0),
        Marker::FixExt8 => (9, 0),
        Marker::FixExt16 => (17, 0),
        Marker::Ext8 => (usize::from(rest.read_data_u8().ok()?) + 1, 0),
        Marker::Ext16 => (usize::from(rest.read_data_u16().ok()?) + 1, 0),
        Marker::Ext32 => bytes(rest.read_data_u32().ok()?.checked_add(1)?)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn borrowed(entries: &[(Vec<u8>, Vec<u8>)]) -> Vec<(&[u8], &[u8])> {
        entries.iter().map(|(key, value)| (&key[..], &value[..])).collect()
    }

    /// Bytes of any value, up to three levels deep.
    fn value() -> impl Strategy<Value = Vec<u8>> {
        let leaf = prop_oneof![
            Just(vec![0xc0]),
            any::<u8>().prop_map(|n| vec![0xcc, n]),
            any::<f64>().prop_map(|n| [&[0xcb][..], &n.to_be_bytes()].concat()),
            "[a-z]{0,40}".prop_map(|text| {
                let mut bytes = Vec::new();
                rmp::encode::write_str(&mut bytes, &text).unwrap();
                bytes
            }),
            prop::collection::vec(any::<u8>(), 0..300).prop_map(|content| {
                let mut bytes = Vec::new();
                rmp::encode::write_ext_meta(&mut bytes, content.len() as u32, 5).unwrap();
                bytes.extend(content);
                bytes
            }),
        ];
        leaf.prop_recursive(3, 64, 20, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..20).prop_map(|items| joined(&items)),
                prop::collection::vec((inner.clone(), inner), 0..4)
                    .prop_map(|entries| joined_map(&borrowed(&entries))),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_list_is_its_items(items in prop::collection::vec(value(), 0..40)) {
            let list = joined(&items);
            prop_assert_eq!(split(&list).unwrap(), items);
            for end in 0..list.len() {
                prop_assert_eq!(split(&list[..end]), None);
            }
        }

        #[test]
        fn a_map_is_its_entries(
            entries in prop::collection::vec((value(), value()), 0..20),
            end in any::<prop::sample::Index>(),
        ) {
            let entries = borrowed(&entries);
            let map = joined_map(&entries);
            prop_assert_eq!(split_map(&map).unwrap(), entries);
            let more = [&map[..], &[1]].concat();
            prop_assert_eq!(split_map(&more), None);
            prop_assert_eq!(split_map(&map[..end.index(map.len())]), None);
        }

        #[test]
        fn any_bytes_are_refused_or_joined_to_the_same(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            if let Some(items) = split(&bytes) {
                prop_assert_eq!(joined(&items), bytes.clone());
            }
            if let Some(entries) = split_map(&bytes) {
                let map = joined_map(&entries);
                prop_assert_eq!(split_map(&map).unwrap(), entries);
            }
        }
    }

    #[test]
    fn what_is_no_list_or_claims_too_much_is_refused() {
        let deep = [vec![0x91; 1 << 20], vec![1]].concat();
        assert_eq!(split(&deep).map(|items| items.len()), Some(1));
        assert_eq!(split(&joined(&vec![[1]; ITEMS_MAX])).map(|items| items.len()), Some(ITEMS_MAX));
        assert_eq!(split(&joined(&vec![[1]; ITEMS_MAX + 1])), None);
        for bytes in [
            &[][..],
            &[0x90],
            &[0x81, 1],
            &[0x82, 1, 2],
            &[0xde, 0, 1, 1],
            &[0xdf, 0xff, 0xff, 0xff, 0xff, 1],
        ] {
            assert_eq!(split_map(bytes), None, "{bytes:x?}");
        }
        for bytes in [
            &[][..],
            &[0xa1, b'a'],
            &[0xdd, 0xff, 0xff, 0xff, 0xff, 1],
            &[0x91, 0xdf, 0xff, 0xff, 0xff, 0xff],
            &[0x91, 0xc9, 0xff, 0xff, 0xff, 0xff, 5],
            &[0x91, 0xc1],
            &[0xdc, 0, 1, 7],
            &[0x91, 1, 2],
        ] {
            assert_eq!(split(bytes), None, "{bytes:x?}");
        }
    }
}
