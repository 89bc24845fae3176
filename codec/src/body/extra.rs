//! Fields of an object that no structure has: kept as text, laid back beside the others.

use bincode::{Decode, Encode};
use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};

use super::form;
use crate::json::Json;

/// Fields that no structure has, as the text of a JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Extra(pub Json);

impl Extra {
    /// The text of the object.
    pub fn text(&self) -> &str {
        self.0.text()
    }
}

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let fields = form::fields(self.text()).map_err(S::Error::custom)?;
        let mut map = s.serialize_map(Some(fields.len()))?;
        for (name, value) in &fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
