//! Sets of errors that routes have in common, by status.

// tidy: behind a feature

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{RefOr, Response};

macro_rules! problems {
    ($($(#[$doc:meta])* $name:ident: $($status:literal)+;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                let plain = || Response::new("").into();
                [$($status),+].map(|status| (status.into(), plain())).into()
            }
        }
    )+};
}

problems! {
    /// The usual errors of a list.
    ListProblems: "400" "401" "403";
    /// The usual errors of a read.
    ReadProblems: "400" "401" "404";
    /// The usual errors of a change whose request has a body.
    WriteProblems: "400" "401" "404" "413" "415" "503";
}
