//! Cuts that take out our entries.

use std::ops::Range;

use super::insert::{Before, before};
use super::{Change, HOOKS, ours};
use crate::json::{Json, JsonKind, Part};

/// The rest of a part of the settings.
enum Left {
    /// Nothing: the part goes as a whole.
    Nothing,
    /// All but these places, which may be none.
    AllBut(Vec<Range<usize>>),
}

/// Returns the cuts that take our entries out of settings, with the containers that were made for
/// them.
pub(super) fn cuts(root: &Json<'_>, text: &str) -> Vec<Change> {
    let hooks = |part: &Part<'_>| match part.name.as_deref() {
        Some(HOOKS) if part.value.kind() == JsonKind::Object => of_hooks(&part.value, text),
        _ => Left::AllBut(Vec::new()),
    };
    match without(root, text, Emptied::Root, hooks) {
        Left::Nothing => Vec::new(),
        Left::AllBut(cuts) => cuts.into_iter().map(|cut| (cut, String::new())).collect(),
    }
}

fn of_hooks(hooks: &Json<'_>, text: &str) -> Left {
    without(hooks, text, Emptied::MayGo, |event| match event.value.kind() {
        JsonKind::Array => of_event(&event.value, text),
        _ => Left::AllBut(Vec::new()),
    })
}

fn of_event(event: &Json<'_>, text: &str) -> Left {
    without(event, text, Emptied::MayGo, |group| of_group(&group.value, text))
}

/// Returns the rest of a group. A group with nothing but entries of ours is removed: `install`
/// created it.
fn of_group(group: &Json<'_>, text: &str) -> Left {
    let kept = Left::AllBut(Vec::new());
    // An entry of settings without groups.
    if ours(group).is_some() {
        return Left::Nothing;
    }
    match group.member(HOOKS) {
        Some(hooks) if hooks.kind() == JsonKind::Array => {
            without(&hooks, text, Emptied::Goes, |entry| match ours(&entry.value) {
                Some(_) => Left::Nothing,
                None => Left::AllBut(Vec::new()),
            })
        }
        _ => kept,
    }
}

/// The end of a container that is empty after all of its parts were removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Emptied {
    /// Stays, empty.
    Root,
    /// Removed if `install` created it.
    MayGo,
    /// Goes.
    Goes,
}

fn without<'a>(
    container: &Json<'a>,
    text: &str,
    emptied: Emptied,
    left_of: impl Fn(&Part<'a>) -> Left,
) -> Left {
    let parts = container.parts();
    let left: Vec<Left> = parts.iter().map(left_of).collect();
    let goes = |left: &Left| matches!(left, Left::Nothing);
    if !left.iter().any(goes) {
        let cuts = left.into_iter().flat_map(|left| match left {
            Left::Nothing => Vec::new(),
            Left::AllBut(cuts) => cuts,
        });
        return Left::AllBut(cuts.collect());
    }
    let Some(first_kept) = left.iter().position(|left| !goes(left)) else {
        if emptied == Emptied::Goes {
            return Left::Nothing;
        }
        return match before(container, &parts, text, emptied == Emptied::Root) {
            Before::Absent => Left::Nothing,
            Before::There(cut) => Left::AllBut(vec![cut]),
        };
    };
    let mut cuts = Vec::new();
    // Up to the first remaining part, the commas after the parts are removed; later, those in
    // front.
    if let (1.., Some(first), Some(kept)) = (first_kept, parts.first(), parts.get(first_kept)) {
        cuts.push(first.start..kept.start);
    }
    let mut end = 0;
    for (n, (part, left)) in parts.iter().zip(left).enumerate() {
        match left {
            Left::Nothing if n > first_kept => cuts.push(end..part.end()),
            Left::Nothing => {}
            Left::AllBut(inner) => cuts.extend(inner),
        }
        end = part.end();
    }
    Left::AllBut(cuts)
}
