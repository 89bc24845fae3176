//! Schemas that the derives cannot express.

// tidy: behind a feature
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::Big;

impl PartialSchema for Big {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::Type(Type::String))
            .pattern(Some("^[0-9]{1,20}$"))
            .description(Some("A whole number up to 2^64 - 1."))
            .into()
    }
}

impl ToSchema for Big {}

/// Returns the schema of an optional [`Big`] of a request.
pub fn big_or_none() -> Schema {
    let types = [Type::String, Type::Integer, Type::Null];
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter(types))
        .pattern(Some("^[0-9]{1,20}$"))
        .minimum(Some(0))
        .maximum(Some(u64::MAX))
        .description(Some("A whole number up to 2^64 - 1, or a string of its digits."))
        .into()
}
