//! Restore intents: the planned actions of a restore. An intent is recorded before its first
//! action, so that a recovery knows the previous and the intended item of each path.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::tree::item::{self, Item};
use crate::tree::name::TreePath;
use crate::tree::tag::{PLAN, VERSION, begin};
use crate::wire::{Reader, put_varint};

/// The plan of a restore: the content of a chunk list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreIntent {
    /// The actions in their order of execution.
    pub actions: Vec<Action>,
}

/// One action of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The kind of the action.
    pub kind: ActionKind,
    /// The changed path.
    pub path: TreePath,
    /// The action's number in staging.
    pub slot: u32,
    /// The item before the action; `None` for a creation.
    pub before: Option<Item>,
    /// The item after the action; `None` for a removal.
    pub after: Option<Item>,
}

/// Kind of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// Creates an item at a free path.
    Create,
    /// Replaces an item.
    Replace,
    /// Removes an item.
    Remove,
    /// Removes a directory that is empty by then.
    MakeRoom,
    /// Changes the permission bits.
    Mode,
}

impl ActionKind {
    /// All kinds. The index of a kind is its stored number.
    pub const ALL: [Self; 5] =
        [Self::Create, Self::Replace, Self::Remove, Self::MakeRoom, Self::Mode];

    /// Returns the name in the JSON form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Remove => "remove",
            Self::MakeRoom => "make_room",
            Self::Mode => "mode",
        }
    }
}

impl RestoreIntent {
    /// Returns the content.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![PLAN, VERSION];
        put_varint(&mut out, self.actions.len() as u64);
        for action in &self.actions {
            action.write(&mut out);
        }
        out
    }

    /// Decodes a plan.
    ///
    /// # Errors
    ///
    /// - `Corrupt`: the bytes are not an intent, or an action has other items than its kind
    ///   requires.
    /// - `Unsupported`: this program does not read the version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, "restore plan");
        let tag = begin(&mut reader)?;
        if tag != PLAN {
            return Err(reader.corrupt(format!("tag {PLAN}"), tag));
        }
        let count = reader.count(Action::LEN_MIN)?;
        let mut actions = Vec::with_capacity(count);
        for _ in 0..count {
            actions.push(Action::read(&mut reader)?);
        }
        reader.end()?;
        Ok(Self { actions })
    }
}

impl Action {
    /// Length of the shortest action in bytes: kind, path, slot, two options, one item.
    const LEN_MIN: usize = 6 + item::LEN_MIN;

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.kind as u8);
        let path = self.path.as_bytes();
        put_varint(out, path.len() as u64);
        out.extend_from_slice(path);
        put_varint(out, u64::from(self.slot));
        for item in [&self.before, &self.after] {
            out.push(u8::from(item.is_some()));
            if let Some(item) = item {
                item.write(out);
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let number = reader.u8()?;
        let Some(&kind) = ActionKind::ALL.get(usize::from(number)) else {
            return Err(reader.corrupt("a kind of action", number));
        };
        let len = reader.count(1)?;
        let bytes = reader.take(len)?;
        if let Some(why) = TreePath::fault(bytes) {
            let found = format!("`{}`: {why}", crate::tree::printable(bytes));
            return Err(reader.corrupt("a path", found));
        }
        let path = TreePath::checked(bytes);
        let number = reader.shortest()?;
        let slot = u32::try_from(number).map_err(|_| reader.corrupt("a 32-bit number", number))?;
        let mut item = || {
            let is_present = reader.flag()?;
            is_present.then(|| Item::read(reader)).transpose()
        };
        let (before, after) = (item()?, item()?);
        let action = Self { kind, path, slot, before, after };
        match action.is_sound() {
            true => Ok(action),
            false => {
                let expected = format!("what `{}` of `{}` asks for", kind.name(), action.path);
                Err(reader.corrupt(expected, "another before or after"))
            }
        }
    }

    /// Returns `true` if the items before and after are those that its kind requires.
    fn is_sound(&self) -> bool {
        match (self.kind, &self.before, &self.after) {
            (ActionKind::Create, None, Some(_)) => true,
            (ActionKind::Replace, Some(_), Some(_)) => true,
            (ActionKind::Remove, Some(_), None) => true,
            (ActionKind::MakeRoom, Some(before), None) => before.kind.is_directory(),
            (ActionKind::Mode, Some(before), Some(after)) => {
                let files = before.kind.is_file() && after.kind.is_file();
                files || (before.kind.is_directory() && after.kind.is_directory())
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkEntry;
    use crate::tree::EntryKind;

    #[test]
    fn an_action_has_the_items_of_its_kind_and_no_others() {
        let id = ChunkEntry::id_of(b"x");
        let file = Item { mode: 0o600, kind: EntryKind::File { len: 1, id, unstable: false } };
        let link = Item { mode: 0o777, kind: EntryKind::Link { target: (*b"t").into() } };
        let folder = Item { mode: 0o755, kind: EntryKind::Directory { id } };
        let items = [None, Some(&file), Some(&link), Some(&folder)];
        let mut sound = Vec::new();
        for kind in ActionKind::ALL {
            for (b, before) in items.into_iter().enumerate() {
                for (a, after) in items.into_iter().enumerate() {
                    let action = Action {
                        kind,
                        path: TreePath::new(b"a/b").unwrap(),
                        slot: 300,
                        before: before.cloned(),
                        after: after.cloned(),
                    };
                    let plan = RestoreIntent { actions: vec![action] };
                    match RestoreIntent::decode(&plan.encode()) {
                        Ok(read) => {
                            assert_eq!(read, plan);
                            sound.push((kind.name(), b, a));
                        }
                        Err(error) => assert_eq!(error.kind(), crate::ErrorKind::Corrupt),
                    }
                }
            }
        }
        let mut expected = Vec::new();
        expected.extend((1..4).map(|a| ("create", 0, a)));
        expected.extend((1..4).flat_map(|b| (1..4).map(move |a| ("replace", b, a))));
        expected.extend((1..4).map(|b| ("remove", b, 0)));
        expected.push(("make_room", 3, 0));
        expected.extend([("mode", 1, 1), ("mode", 3, 3)]);
        assert_eq!(sound, expected);
    }
}
