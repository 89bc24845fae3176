//! The macro that declares event kinds with numbers, structures and JSON names, and its helpers.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::value::RawValue;

use crate::body::kinds::Extra;
use crate::error::{Error, Result};
use crate::json::{Json, json_reason};

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
            /// A kind of a newer version. It is kept, shown and chained.
            Unknown {
                /// The stored number of the kind.
                kind: u16,
                /// The stored payload.
                payload: Vec<u8>,
            },
        }

        $(impl $kind {
            /// The stored number of this kind.
            pub const KIND: u16 = $tag;
        })*

        impl $name {
            /// Returns the stored number of the kind.
            pub fn kind(&self) -> u16 {
                match self {
                    $(Self::$kind(_) => $tag,)*
                    Self::Unknown { kind, .. } => *kind,
                }
            }

            /// Returns the name of the kind in JSON.
            pub fn kind_name(&self) -> &'static str {
                Self::name_of(self.kind())
            }

            /// Returns `true` if this version knows the stored number `kind`.
            pub fn is_known(kind: u16) -> bool {
                [$($tag),*].contains(&kind)
            }

            /// Returns the JSON name of a stored number; `unknown` for a number of a later version.
            pub fn name_of(kind: u16) -> &'static str {
                match kind {
                    $($tag => $json,)*
                    _ => "unknown",
                }
            }

            /// Returns the stored form: the kind's number and the payload.
            pub fn encode(&self) -> (u16, Vec<u8>) {
                let mut payload = Vec::new();
                (self.encode_into(&mut payload), payload)
            }

            /// Appends the payload of the stored form to `out`. Returns the kind's number.
            pub fn encode_into(&self, out: &mut Vec<u8>) -> u16 {
                match self {
                    $(Self::$kind(body) => $crate::wire::encode_into(body, out),)*
                    Self::Unknown { payload, .. } => out.extend_from_slice(payload),
                }
                self.kind()
            }

            /// Decodes the stored form. Fails with `Corrupt` if the payload is not one of its kind.
            pub fn decode(kind: u16, payload: &[u8]) -> $crate::error::Result<Self> {
                match kind {
                    $($tag => $crate::wire::decode(payload, concat!($what, " ", $json))
                        .map(Self::$kind),)*
                    _ => Ok(Self::Unknown { kind, payload: payload.to_vec() }),
                }
            }

            /// Parses the structure of a known kind. Also returns the fields that it does not have.
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
        .map_err(|e| {
            Error::invalid(format!("not a JSON object: {}", json_reason(&e))).with_source(e)
        })
}

/// A map key that borrows if possible. A plain `Cow` as a map key always copies.
#[derive(serde::Deserialize)]
struct CowStr<'a>(#[serde(borrow)] Cow<'a, str>);

pub(crate) fn kind_of(fields: &Fields<'_>) -> Result<String> {
    let kind = fields.iter().find(|(name, _)| name == "kind");
    let kind = kind.ok_or_else(|| Error::invalid("the object has no `kind`"))?;
    serde_json::from_str(kind.1.get())
        .map_err(|_| Error::invalid(format!("`kind` is {}, not a string", kind.1)))
}

/// Fields that a structure does not have.
#[derive(Debug, Default)]
pub(crate) struct Ignored {
    /// Set if `kind` was among them.
    pub(crate) kind: bool,
    /// The other fields.
    pub(crate) fields: Vec<String>,
}

/// Parses a structure. Also returns the ignored fields.
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
    let parsed = parsed.map_err(|e: serde_json::Error| {
        Error::invalid(format!("{kind}: {}", json_reason(&e))).with_source(e)
    });
    (parsed, ignored)
}

/// Returns the named fields as an object, or `None` if there are none.
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

/// Checks that the object has exactly one `kind`, equal to `kind`.
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
