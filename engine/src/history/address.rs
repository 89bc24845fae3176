//! Addresses: the text form of points.
//!
//! ```text
//! TASK               the active lineage's head        TASK/LINEAGE      that lineage's head
//! TASK@N             before event N                   TASK/LINEAGE@N
//! TASK@LABEL         the newest mark of that label    TASK/LINEAGE@LABEL
//! TASK~N             N marks back                     TASK/LINEAGE~N
//! TASK@ok            the newest mark of a success, unless `ok` is a label
//! @HEX               a checkpoint, by its id or at least the first 8 digits
//! @ALIAS             a checkpoint, by an alias: the id that another system gave it
//! ```
//!
//! Inside a task's id, a label and an alias, `@`, `~`, `/` and `%` are percent-encoded.

use std::fmt;
use std::str::FromStr;

use milepost_codec::{Error, LineageId, Offset, Result};

/// The label of the newest checkpoint of a success.
pub(crate) const LAST_SUCCESSFUL: &str = "ok";

/// Minimum number of digits of a checkpoint's id in an address.
pub(crate) const ID_PREFIX_MIN: usize = 8;

/// The name of a point, resolved by [`crate::View::resolve`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A point of a task.
    Task {
        /// The task's id.
        task: String,
        /// The lineage; `None` for the active one.
        lineage: Option<LineageId>,
        /// The target within the lineage.
        place: AddressTarget,
    },
    /// A checkpoint, by the beginning of its id in hexadecimal, or by an alias.
    Checkpoint(String),
}

/// Target of an address within a lineage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressTarget {
    /// The head.
    Head,
    /// The point before the event at an offset.
    Offset(Offset),
    /// The newest mark with a label.
    Label(String),
    /// The mark this many marks back from the head; 1 is the newest mark.
    Back(u64),
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = |why: &str| Error::invalid(format!("`{text}` is no address: {why}"));
        if let Some(name) = text.strip_prefix('@') {
            let name = decode(name).ok_or_else(|| invalid("a wrong % sequence"))?;
            if name.is_empty() {
                return Err(invalid("nothing follows the @"));
            }
            return Ok(Self::Checkpoint(name));
        }
        let at = text.find(['@', '~']).unwrap_or(text.len());
        let (path, ending) = text.split_at_checked(at).unwrap_or((text, ""));
        let (task, lineage) = match path.split_once('/') {
            Some((task, lineage)) => {
                let number = lineage.parse().map_err(|_| invalid("a lineage is a number"))?;
                (task, Some(LineageId(number)))
            }
            None => (path, None),
        };
        let task = decode(task).ok_or_else(|| invalid("a wrong % sequence"))?;
        if task.is_empty() {
            return Err(invalid("the task's id is missing"));
        }
        let place = if let Some(label) = ending.strip_prefix('@') {
            let label = decode(label).ok_or_else(|| invalid("a wrong % sequence"))?;
            match label.as_str() {
                "" => return Err(invalid("nothing follows the @")),
                digits if digits.bytes().all(|b| b.is_ascii_digit()) => AddressTarget::Offset(
                    digits.parse().map_err(|_| invalid("the offset is too large"))?,
                ),
                _ => AddressTarget::Label(label),
            }
        } else if let Some(back) = ending.strip_prefix('~') {
            AddressTarget::Back(back.parse().map_err(|_| invalid("a number follows the ~"))?)
        } else {
            AddressTarget::Head
        };
        Ok(Self::Task { task, lineage, place })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checkpoint(name) => write!(f, "@{}", encode(name)),
            Self::Task { task, lineage, place } => {
                f.write_str(&encode(task))?;
                if let Some(lineage) = lineage {
                    write!(f, "/{lineage}")?;
                }
                match place {
                    AddressTarget::Head => Ok(()),
                    AddressTarget::Offset(offset) => write!(f, "@{offset}"),
                    AddressTarget::Label(label) => write!(f, "@{}", encode(label)),
                    AddressTarget::Back(back) => write!(f, "~{back}"),
                }
            }
        }
    }
}

pub(crate) fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn encode(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '@' | '~' | '/' | '%' => out.push_str(&format!("%{:02X}", c as u32)),
            _ => out.push(c),
        }
        out
    })
}

fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        out.push((high * 16 + low) as u8);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_form_is_read() {
        let task = |lineage, place| Address::Task { task: "t:1".into(), lineage, place };
        let read = |text: &str| text.parse::<Address>().unwrap();
        assert_eq!(read("t:1"), task(None, AddressTarget::Head));
        assert_eq!(read("t:1@40"), task(None, AddressTarget::Offset(40)));
        assert_eq!(read("t:1@v1.0"), task(None, AddressTarget::Label("v1.0".into())));
        assert_eq!(read("t:1~2"), task(None, AddressTarget::Back(2)));
        assert_eq!(read("t:1/3~2"), task(Some(LineageId(3)), AddressTarget::Back(2)));
        assert_eq!(read("@DEADBEEF"), Address::Checkpoint("DEADBEEF".into()));
        assert_eq!(read("@ckpt-e%2F1"), Address::Checkpoint("ckpt-e/1".into()));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "@", "@%zz", "t@", "t~", "t~x", "t/x", "/1", "t%zz", "t%4"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
        assert!("t@99999999999999999999999".parse::<Address>().is_err());
    }

    proptest! {
        #[test]
        fn any_address_comes_back_from_its_text(
            task in "[^\\x00-\\x1f]{1,20}",
            lineage in proptest::option::of(any::<u32>()),
            label in "[^\\x00-\\x1f]{1,20}",
            form in 0..4,
            n in any::<u64>(),
        ) {
            let place = match form {
                0 => AddressTarget::Head,
                1 => AddressTarget::Offset(n),
                2 if !label.bytes().all(|b| b.is_ascii_digit()) => AddressTarget::Label(label),
                _ => AddressTarget::Back(n),
            };
            let address = Address::Task { task, lineage: lineage.map(LineageId), place };
            prop_assert_eq!(address.to_string().parse::<Address>().unwrap(), address);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = text.parse::<Address>();
        }
    }
}
