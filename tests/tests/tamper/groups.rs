//! Entries of the index that share a value in sled, taken apart and put together as `Milepost`
//! does.

use std::collections::BTreeMap;

/// The length of the keys of a kind, the bytes of them that name their group, and the bits of the
/// next byte that name it too.
fn shape(kind: u8) -> Option<(usize, usize, u8)> {
    match kind {
        30 => Some((21, 20, 0xE0)),
        31 | 32 => Some((29, 28, 0)),
        33 => Some((33, 22, 0)),
        _ => None,
    }
}

/// The name of the group of an entry, and the end of its key.
fn place(key: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (_, cut, mask) = shape(key[0])?;
    let mut name = key[..cut].to_vec();
    if mask != 0 {
        name.extend([key[cut] & mask, 0xFF]);
    }
    Some((name, &key[cut..]))
}

/// The entries of a group by the ends of their keys. None of these stores has long ones.
fn members(kind: u8, value: &[u8]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let (len, cut, _) = shape(kind).unwrap();
    let mut members = BTreeMap::new();
    assert_eq!(value[0], 0, "all entries are in the group");
    let mut rest = &value[1..];
    while !rest.is_empty() {
        let (end, after) = rest.split_at(len - cut);
        let (value, after) = after[1..].split_at(usize::from(after[0]));
        assert!(value.len() < 255);
        members.insert(end.to_vec(), value.to_vec());
        rest = after;
    }
    members
}

/// The entries of a stored value.
pub fn apart(stored: &[u8], value: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let Some((_, cut, _)) = shape(stored[0]) else {
        return vec![(stored.to_vec(), value.to_vec())];
    };
    let members = members(stored[0], value).into_iter();
    members.map(|(end, value)| ([&stored[..cut], &end].concat(), value)).collect()
}

/// Changes an entry of sled.
pub fn put(db: &sled::Db, key: &[u8], value: Option<&[u8]>) {
    let Some((name, end)) = place(key) else {
        match value {
            Some(value) => db.insert(key, value).unwrap(),
            None => db.remove(key).unwrap(),
        };
        return;
    };
    let group = db.get(&name).unwrap();
    let mut members = group.map(|group| members(key[0], &group)).unwrap_or_default();
    match value {
        Some(value) => members.insert(end.to_vec(), value.to_vec()),
        None => members.remove(end),
    };
    if members.is_empty() {
        db.remove(name).unwrap();
        return;
    }
    let mut bytes = vec![0];
    for (end, value) in members {
        bytes.extend(end);
        bytes.push(u8::try_from(value.len()).unwrap());
        bytes.extend(value);
    }
    db.insert(name, bytes).unwrap();
}
