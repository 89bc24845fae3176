//! Deserializers that limit parts of a body while it is parsed, for `#[serde(deserialize_with)]`.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

/// The maximum length of a name. The store's own limits are lower and give better errors.
const TEXT: usize = 4 << 10;

/// The maximum number of a mark's aliases.
const ALIASES: usize = 8;

/// The maximum number of items of a list and of fields of an object.
const ITEMS: usize = 10_000;

/// Deserializes a name.
pub(super) fn text<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    Text.deserialize(d)
}

/// Deserializes a name or `null`.
pub(super) fn some_text<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    struct Some;
    impl<'de> Visitor<'de> for Some {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or null")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
            Text.deserialize(d).map(Option::Some)
        }
    }
    d.deserialize_option(Some)
}

/// Deserializes the aliases of a mark.
pub(super) fn aliases<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    struct Aliases;
    impl<'de> Visitor<'de> for Aliases {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of strings")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some(item) = items.next_element_seed(Text)? {
                if all.len() == ALIASES {
                    return Err(A::Error::custom(format_args!(
                        "a checkpoint has at most {ALIASES} aliases"
                    )));
                }
                all.push(item);
            }
            Ok(all)
        }
    }
    d.deserialize_seq(Aliases)
}

/// Deserializes a list of at most 10,000 items.
pub(super) fn items<'de, D, T>(d: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Items<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some(item) = items.next_element()? {
                few::<A::Error>(all.len())?;
                all.push(item);
            }
            Ok(all)
        }
    }
    d.deserialize_seq(Items(PhantomData))
}

/// An object of at most 10,000 fields.
#[derive(Debug, Clone, Serialize)]
pub struct Fields<T>(pub std::collections::BTreeMap<String, T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Fields<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Object<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
            type Value = Fields<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Fields<T>, A::Error> {
                let mut all = std::collections::BTreeMap::new();
                while let Some(name) = fields.next_key_seed(Text)? {
                    few::<A::Error>(all.len())?;
                    all.insert(name, fields.next_value()?);
                }
                Ok(Fields(all))
            }
        }
        d.deserialize_map(Object(PhantomData))
    }
}

/// Checks that one more item fits.
fn few<E: de::Error>(there: usize) -> Result<(), E> {
    match there < ITEMS {
        true => Ok(()),
        false => Err(E::custom(format_args!("there are more than {ITEMS} of them"))),
    }
}

struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<String, D::Error> {
        d.deserialize_str(self)
    }
}

impl Visitor<'_> for Text {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
        match text.len() <= TEXT {
            true => Ok(text.to_owned()),
            false => {
                Err(E::custom(format_args!("a text of {} bytes is longer than {TEXT}", text.len())))
            }
        }
    }
}
