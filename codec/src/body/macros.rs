//! The macro that ties kinds, numbers, structures and JSON names together, and its helpers.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::value::RawValue;

use crate::body::kinds::Extra;
use crate::error::{Error, Result};
use crate::json::Json;

/// Declares an enumeration of bodies: number, structure and JSON name of each kind.
macro_rules! bodies {
    (
        $(#[$doc:meta])*
        $name:ident, $what:literal {
            $($(#[$kind_doc:meta])* $tag:literal $kind:ident $json:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$kind_doc])* $kind($kind),)*
            /// A kind of a newer version: kept, shown and chained, never dropped.
            Unknown {
                /// Its number.
                kind: u16,
                /// Its bytes as they were stored.
                payload: Vec<u8>,
            },
        }

        $(impl $kind {
            /// The stored number of this kind.
            pub const KIND: u16 = $tag;
        })*

        impl $name {
            /// The stored number of the kind.
            pub fn kind(&self) -> u16 {
                match self {
                    $(Self::$kind(_) => $tag,)*
                    Self::Unknown { kind, .. } => *kind,
                }
            }

            /// The name of the kind in JSON.
            pub fn kind_name(&self) -> &'static str {
                Self::name_of(self.kind())
            }

            /// Returns `true` if this version knows a stored number.
            pub fn is_known(kind: u16) -> bool {
                [$($tag),*].contains(&kind)
            }

            /// The JSON name of a stored number; `unknown` for one this version does not know.
            pub fn name_of(kind: u16) -> &'static str {
                match kind {
                    $($tag => $json,)*
                    _ => "unknown",
                }
            }

            /// The stored form: the kind's number and the payload.
            pub fn encode(&self) -> (u16, Vec<u8>) {
                let mut payload = Vec::new();
                (self.encode_into(&mut payload), payload)
            }

            /// Appends the payload of the stored form to `out`; gives the kind's number.
            pub fn encode_into(&self, out: &mut Vec<u8>) -> u16 {
                match self {
                    $(Self::$kind(body) => $crate::wire::encode_into(body, out),)*
                    Self::Unknown { payload, .. } => out.extend_from_slice(payload),
                }
                self.kind()
            }

            /// Reads the stored form. `Corrupt` where the payload is not one of its kind.
            pub fn decode(kind: u16, payload: &[u8]) -> $crate::error::Result<Self> {
                match kind {
                    $($tag => $crate::wire::decode(payload, concat!($what, " ", $json))
                        .map(Self::$kind),)*
                    _ => Ok(Self::Unknown { kind, payload: payload.to_vec() }),
                }
            }

            /// The structure of a known kind, and the fields it does not have.
            fn known_from_json(
                kind: &str,
                text: &str,
            ) -> Option<($crate::error::Result<Self>, $crate::body::macros::Ignored)> {
                match kind {
                    $($json => {
                        let (body, ignored) = $crate::body::macros::parse::<$kind>(kind, text);
                        Some((body.map(Self::$kind), ignored))
                    })*
                    _ => None,
                }
            }
        }

        $(impl From<$kind> for $name {
            fn from(body: $kind) -> Self {
                Self::$kind(body)
            }
        })*

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                #[derive(serde::Serialize)]
                #[serde(tag = "kind")]
                enum Tagged<'a, B: serde::Serialize> {
                    $(#[serde(rename = $json)] $kind(&'a $kind),)*
                    #[serde(rename = "unknown")]
                    Unknown { number: u16, payload: B },
                }
                match self {
                    $(Self::$kind(body) => Tagged::<()>::$kind(body).serialize(s),)*
                    Self::Unknown { kind, payload } => Tagged::Unknown {
                        number: *kind,
                        payload: $crate::body::base64_form(payload),
                    }
                    .serialize(s),
                }
            }
        }
    };
}
pub(crate) use bodies;

/// The fields of a JSON object in their order, values as text.
pub(crate) type Fields<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

pub(crate) fn fields(text: &str) -> Result<Fields<'_>> {
    struct Visitor;
    impl<'de> serde::de::Visitor<'de> for Visitor {
        type Value = Fields<'de>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object with a `kind`")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            let mut fields = Vec::new();
            while let Some(field) = map.next_entry::<CowStr<'de>, &'de RawValue>()? {
                fields.push((field.0.0, field.1));
            }
            Ok(fields)
        }
    }
    let mut json = serde_json::Deserializer::from_str(text);
    serde::de::Deserializer::deserialize_map(&mut json, Visitor)
        .and_then(|fields| json.end().map(|()| fields))
        .map_err(|e| Error::invalid(format!("not a JSON object: {e}")).with_source(e))
}

/// A key that borrows where it can; `Cow` alone always copies when it is a map key.
#[derive(serde::Deserialize)]
struct CowStr<'a>(#[serde(borrow)] Cow<'a, str>);

pub(crate) fn kind_of(fields: &Fields<'_>) -> Result<String> {
    let kind = fields.iter().find(|(name, _)| name == "kind");
    let kind = kind.ok_or_else(|| Error::invalid("the object has no `kind`"))?;
    serde_json::from_str(kind.1.get())
        .map_err(|_| Error::invalid(format!("`kind` is {}, not a string", kind.1)))
}

/// What a structure has no place for.
#[derive(Debug, Default)]
pub(crate) struct Ignored {
    /// Whether `kind` was there.
    pub(crate) kind: bool,
    /// The other fields.
    pub(crate) fields: Vec<String>,
}

/// Parses a structure and says what it ignored.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(
    kind: &str,
    text: &str,
) -> (Result<T>, Ignored) {
    let mut ignored = Ignored::default();
    let mut json = serde_json::Deserializer::from_str(text);
    let parsed = serde_ignored::deserialize(&mut json, |path| {
        let path = path.to_string();
        match path == "kind" {
            true => ignored.kind = true,
            false => ignored.fields.push(path),
        }
    });
    let parsed = parsed
        .map_err(|e: serde_json::Error| Error::invalid(format!("{kind}: {e}")).with_source(e));
    (parsed, ignored)
}

/// The named fields as an object, or nothing where there are none.
pub(crate) fn pick(fields: &Fields<'_>, names: &[String]) -> Result<Option<Extra>> {
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let mut text = String::new();
    for (name, value) in fields.iter().filter(|(name, _)| names.contains(name.as_ref())) {
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push_str(Json::string(name).text());
        text.push(':');
        text.push_str(value.get());
    }
    if text.is_empty() {
        return Ok(None);
    }
    text.push('}');
    Json::new(text).map(|json| Some(Extra(json)))
}

/// That an object says of itself what was said of it, once.
pub(crate) fn same_kind(kind: &str, fields: &Fields<'_>) -> Result<()> {
    let own = kind_of(fields)?;
    if own != kind {
        return Err(Error::invalid(format!("`kind` is `{kind}`, and that of `body` is `{own}`")));
    }
    match fields.iter().filter(|(name, _)| name == "kind").count() {
        1 => Ok(()),
        _ => Err(Error::invalid("`body` has more than one `kind`")),
    }
}

pub(crate) fn refuse_unknown(kind: &str, unknown: &[String]) -> Result<()> {
    match unknown.first() {
        None => Ok(()),
        Some(field) => Err(Error::invalid(format!("{kind} has no field `{field}`"))),
    }
}
