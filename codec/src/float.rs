//! Floating-point numbers that survive JSON.

use bincode::{Decode, Encode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An `f64` whose NaN and infinities have a JSON form: `"NaN"`, `"Infinity"`, `"-Infinity"`.
///
/// Stored as eight bytes, little-endian, so the exact bits are preserved.
#[derive(Debug, Clone, Copy, Encode, Decode)]
pub struct Float(pub f64);

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Float {}

impl Serialize for Float {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            n if n.is_nan() => s.serialize_str("NaN"),
            f64::INFINITY => s.serialize_str("Infinity"),
            f64::NEG_INFINITY => s.serialize_str("-Infinity"),
            n => s.serialize_f64(n),
        }
    }
}

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Float;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, \"NaN\", \"Infinity\" or \"-Infinity\"")
            }
            fn visit_f64<E>(self, n: f64) -> Result<Float, E> {
                Ok(Float(n))
            }
            fn visit_u64<E>(self, n: u64) -> Result<Float, E> {
                Ok(Float(n as f64))
            }
            fn visit_i64<E>(self, n: i64) -> Result<Float, E> {
                Ok(Float(n as f64))
            }
            fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<Float, E> {
                match s {
                    "NaN" => Ok(Float(f64::NAN)),
                    "Infinity" => Ok(Float(f64::INFINITY)),
                    "-Infinity" => Ok(Float(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(s), &self)),
                }
            }
        }
        d.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_and_infinities_have_a_json_form() {
        for n in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1.5] {
            let json = serde_json::to_string(&Float(n)).unwrap();
            assert_eq!(serde_json::from_str::<Float>(&json).unwrap(), Float(n), "{json}");
        }
    }
}
