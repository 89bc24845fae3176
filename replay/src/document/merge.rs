//! Merge patches, RFC 7396.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{NODE_WEIGHT, Node, key_weight};

/// Merges a patch into `target` and updates `weight`. It cannot fail, and the result nests no
/// deeper than the deeper of the two.
pub(super) fn merge(target: &mut Node, patch: Node, weight: &mut u64) {
    let Node::Object(patch) = patch else {
        replace(target, patch, weight);
        return;
    };
    if !matches!(target, Node::Object(_)) {
        replace(target, Node::Object(BTreeMap::new()), weight);
    }
    let Node::Object(fields) = target else { return };
    for (key, value) in patch {
        if value == Node::Null {
            if let Some(old) = fields.remove(&key) {
                let removed_weight = key_weight(&key).saturating_add(old.measure().0);
                *weight = weight.saturating_sub(removed_weight);
            }
            continue;
        }
        let field = match fields.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let added = key_weight(entry.key()).saturating_add(NODE_WEIGHT);
                *weight = weight.saturating_add(added);
                entry.insert(Node::Null)
            }
        };
        merge(field, value, weight);
    }
}

fn replace(target: &mut Node, value: Node, weight: &mut u64) {
    let (old, new) = (target.measure().0, value.measure().0);
    *weight = weight.saturating_sub(old).saturating_add(new);
    *target = value;
}
