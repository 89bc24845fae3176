//! Schemas that the derives cannot express.

// tidy: behind a feature
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::Big;

impl PartialSchema for Big {
    fn schema() -> RefOr<Schema> {
        big([Type::Integer, Type::String]).into()
    }
}

impl ToSchema for Big {}

/// Returns the schema of an optional [`Big`] of a request.
pub fn big_or_none() -> Schema {
    big([Type::String, Type::Integer, Type::Null]).into()
}

fn big(types: impl IntoIterator<Item = Type>) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter(types))
        .pattern(Some("^[0-9]{1,20}$"))
        .minimum(Some(0))
        .maximum(Some(u64::MAX))
        .description(Some("A whole number; over 2^53, up to 2^64 - 1, a string of its digits."))
}
