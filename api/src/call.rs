//! Operations as values: a request with its route, its effect and its answer.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Creates or changes.
    Post,
    /// Sets.
    Put,
    /// Changes parts.
    Patch,
    /// Removes.
    Delete,
}

/// Effect of an operation on the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// A read, which a client may repeat.
    Read,
    /// A change without an idempotency key or an expected head.
    Change,
    /// A change under an idempotency key and an expected head, if the request has them.
    Conditional,
}

/// Body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestBody {
    /// There is none.
    Empty,
    /// A JSON object, or nothing for its default.
    Optional,
    /// A JSON object.
    Required,
}

/// The conditions that a change takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedConditions {
    /// True if it takes an idempotency key.
    pub key: bool,
    /// True if it takes an expected head.
    pub head: bool,
}

impl AcceptedConditions {
    /// Returns all conditions, or none.
    pub fn all_if(condition: bool) -> Self {
        Self { key: condition, head: condition }
    }
}

/// The query of a request that has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NoQuery {}

/// An operation of the API. A value of the type is a request.
///
/// The service, the client and the command derive what they need from it: a route, a request, a
/// call in the same process. See `docs/OPERATIONS.md`.
///
/// ```
/// use milepost_api::calls::Pin;
/// use milepost_api::{Call, Effect, Method, PinRequest};
///
/// let pin = Pin::new("0a1b2c3d", PinRequest { reason: Some("best".into()) });
/// assert_eq!(Pin::METHOD, Method::Put);
/// assert_eq!(Pin::EFFECT, Effect::Change);
/// assert_eq!(pin.path(), ["v1", "checkpoints", "0a1b2c3d", "pin"]);
/// ```
pub trait Call: Sized + Clone + Send + 'static {
    /// The name of the operation in the OpenAPI document.
    const ID: &'static str;
    /// The method of its route.
    const METHOD: Method;
    /// The path of its route, with names in braces.
    const ROUTE: &'static str;
    /// Its effect.
    const EFFECT: Effect;
    /// True for a read that takes long or much memory.
    const IS_LONG: bool;
    /// The body of its requests.
    const BODY: RequestBody;
    /// The status of a success in HTTP.
    const STATUS: u16;

    /// The query of a request.
    type Query: Serialize + DeserializeOwned + Send + 'static;
    /// The JSON body of a request.
    type Body: Serialize + DeserializeOwned + Send + 'static;
    /// The answer. `()` has no body.
    type Answer: Serialize + DeserializeOwned + Send + 'static;

    /// Returns the value of a name in the path.
    fn name(&self, name: &str) -> Option<&str>;

    /// Returns the query.
    fn query(&self) -> &Self::Query;

    /// Returns the body.
    fn body(&self) -> &Self::Body;

    /// Creates a request from the names of its path, its query and its body. Returns `None` if a
    /// name or a required body is missing.
    fn from_parts(
        name: impl FnMut(&str) -> Option<String>,
        query: Self::Query,
        body: Option<Self::Body>,
    ) -> Option<Self>;

    /// Returns the conditions that the request takes.
    fn takes(&self) -> AcceptedConditions {
        AcceptedConditions::all_if(Self::EFFECT == Effect::Conditional)
    }

    /// Returns the path of what the request created: a path and the last segment, not encoded.
    fn location(_answer: &Self::Answer) -> Option<(&'static str, String)> {
        None
    }

    /// Returns the segments of the path, not encoded.
    fn path(&self) -> Vec<&str> {
        let segments = Self::ROUTE.split('/').skip(1);
        let value = |segment: &'static str| {
            let name = segment.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
            name.and_then(|name| self.name(name)).unwrap_or(segment)
        };
        segments.map(value).collect()
    }
}

/// The description of an operation in the OpenAPI document.
#[cfg(feature = "schema")]
pub trait Described: Call {
    /// The operation with its schemas.
    type Path: utoipa::Path + utoipa::__dev::Tags<'static> + utoipa::__dev::SchemaReferences;
}

/// Declares an operation: a structure with the names of its path, its query and its body, its
/// route, its answer and the errors that its effect does not have.
macro_rules! call {
    (
        $(#[doc = $doc:literal])+
        $name:ident {
            $($(#[doc = $field_doc:literal])+ $field:ident,)*
            $(query: $query:ident,)?
            $(optional body: $optional:ident,)?
            $(body: $body:ident,)?
        }
        $id:literal of $tag:literal: $effect:ident $method:ident $route:literal
            -> $($created:ident)? ($($answer:tt)*) $($text:literal)?
            $(, $status:literal $($why:literal)?)*
            $(; $(head $head:literal,)? key $key:literal)?
            $(; tag $tagged:literal)? $(; at $place:literal)?
            $(; new_head $new_head:literal)? $(; repeated $repeated:literal)?
            $(; takes $takes:expr)?
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone)]
        pub struct $name {
            $($(#[doc = $field_doc])+ pub $field: String,)*
            $(
                /// The query of the request.
                pub query: $query,
            )?
            $(
                /// The body of the request.
                pub body: $optional,
            )?
            $(
                /// The body of the request.
                pub body: $body,
            )?
        }

        impl $name {
            /// Creates a request.
            #[allow(clippy::new_without_default, reason = "a request may have no parameters")]
            pub fn new(
                $($field: impl Into<String>,)*
                $(query: $query,)?
                $(body: $optional,)?
                $(body: $body,)?
            ) -> Self {
                Self {
                    $($field: $field.into(),)*
                    $(query: $query::from(query),)?
                    $(body: $optional::from(body),)?
                    $(body: $body::from(body),)?
                }
            }
        }

        impl $crate::Call for $name {
            const ID: &'static str = $id;
            const METHOD: $crate::Method = $crate::call::call!(@method $method);
            const ROUTE: &'static str = $route;
            const EFFECT: $crate::Effect = $crate::call::call!(@effect $effect);
            const IS_LONG: bool = $crate::call::call!(@long $effect);
            const BODY: $crate::RequestBody =
                $crate::call::call!(@kind $(optional $optional)? $(required $body)?);
            const STATUS: u16 = $crate::call::call!(@status $($created)? ($($answer)*));

            type Query = $crate::call::call!(@query $($query)?);
            type Body = $crate::call::call!(@body $($optional)? $($body)?);
            type Answer = $crate::call::call!(@answer $($answer)*);

            fn name(&self, name: &str) -> Option<&str> {
                match name {
                    $(stringify!($field) => Some(&self.$field),)*
                    _ => None,
                }
            }

            fn query(&self) -> &Self::Query {
                $crate::call::call!(@query_of self $($query)?)
            }

            fn body(&self) -> &Self::Body {
                $crate::call::call!(@body_of self $($optional)? $($body)?)
            }

            $(
                fn takes(&self) -> $crate::AcceptedConditions {
                    let takes: fn(&Self) -> $crate::AcceptedConditions = $takes;
                    takes(self)
                }
            )?

            $(
                fn location(answer: &Self::Answer) -> Option<(&'static str, String)> {
                    Some(($place, answer.id.to_string()))
                }
            )?

            fn from_parts(
                #[allow(unused, reason = "a path may have no names")]
                mut name: impl FnMut(&str) -> Option<String>,
                #[allow(unused, reason = "an operation may have no query")] query: Self::Query,
                #[allow(unused, reason = "an operation may have no body")]
                body: Option<Self::Body>,
            ) -> Option<Self> {
                Some(Self {
                    $($field: name(stringify!($field))?,)*
                    $(query: $query::from(query),)?
                    $(body: $optional::from(body.unwrap_or_default()),)?
                    $(body: $body::from(body?),)?
                })
            }
        }

        #[cfg(feature = "schema")]
        const _: () = {
            #[derive(utoipa::IntoParams)]
            #[into_params(parameter_in = Path)]
            #[allow(dead_code, reason = "it describes the names of a path")]
            struct Names { $($(#[doc = $field_doc])+ $field: String,)* }

            $crate::call::call!(@problems $effect [$(optional $optional)? $(required $body)?]
                [$(#[doc = $doc])+] [$method, path = $route, tag = $tag, operation_id = $id]
                [Names, $($query,)? $(
                    $(("If-Match" = Option<String>, Header, description = $head),)?
                    ("Idempotency-Key" = Option<String>, Header, description = $key),
                )?]
                [$($created)? ($($answer)*) $(($text))? $(tag $tagged)? $(at $place)?
                    $(new_head $new_head)? $(repeated $repeated)?]
                [$((status = $status $(, description = $why)?),)*]
            );

            impl $crate::Described for $name {
                type Path = __path_described;
            }
        };
    };
    (@problems read [] $($rest:tt)*) => {
        $crate::call::call!(@success [] [$crate::problems::ReadProblems] $($rest)*);
    };
    (@problems long [] $($rest:tt)*) => {
        $crate::call::call!(@success [] [$crate::problems::ReadProblems] $($rest)*);
    };
    (@problems list [] $($rest:tt)*) => {
        $crate::call::call!(@success [] [$crate::problems::ListProblems] $($rest)*);
    };
    (@problems long_list [] $($rest:tt)*) => {
        $crate::call::call!(@success [] [$crate::problems::ListProblems] $($rest)*);
    };
    (@problems $change:ident [] $($rest:tt)*) => {
        $crate::call::call!(
            @success [] [$crate::problems::ReadProblems, (status = 503)] $($rest)*
        );
    };
    (@problems $change:ident [optional $body:ident] $($rest:tt)*) => {
        $crate::call::call!(
            @success [request_body = Option<$body>,] [$crate::problems::WriteProblems] $($rest)*
        );
    };
    (@problems $change:ident [required $body:ident] $($rest:tt)*) => {
        $crate::call::call!(
            @success [request_body = $body,] [$crate::problems::WriteProblems] $($rest)*
        );
    };
    (@success $body:tt $problems:tt $docs:tt $route:tt $params:tt
        [() ($text:literal)] $more:tt
    ) => {
        $crate::call::call!(@path $body $problems $docs $route $params
            [status = 204, description = $text] $more
        );
    };
    (@success $body:tt $problems:tt $docs:tt $route:tt $params:tt
        [($($answer:tt)+) $(($text:literal))?] $more:tt
    ) => {
        $crate::call::call!(@path $body $problems $docs $route $params
            [status = 200, $(description = $text,)? body = $($answer)+] $more
        );
    };
    (@success $body:tt $problems:tt $docs:tt $route:tt [$($params:tt)*]
        [($($answer:tt)+) tag $text:literal] [$($more:tt)*]
    ) => {
        $crate::call::call!(@path $body $problems $docs $route
            [
                $($params)*
                ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
            ]
            [
                status = 200,
                body = $($answer)+,
                headers(("ETag" = String, description = $text))
            ]
            [(status = 304, description = "It is known"), $($more)*]
        );
    };
    (@success $body:tt $problems:tt $docs:tt $route:tt $params:tt
        [($($answer:tt)+) new_head $text:literal] $more:tt
    ) => {
        $crate::call::call!(@path $body $problems $docs $route $params
            [
                status = 200,
                body = $($answer)+,
                headers(("ETag" = String, description = $text))
            ]
            $more
        );
    };
    (@success $body:tt $problems:tt $docs:tt $route:tt $params:tt
        [created ($($answer:tt)+) new_head $text:literal repeated $repeated:literal]
        [$($more:tt)*]
    ) => {
        $crate::call::call!(@path $body $problems $docs $route $params
            [
                status = 201,
                body = $($answer)+,
                headers(("ETag" = String, description = $text))
            ]
            [(status = 200, description = $repeated, body = $($answer)+), $($more)*]
        );
    };
    (@success $body:tt $problems:tt $docs:tt $route:tt $params:tt
        [created ($($answer:tt)+) at $place:literal] $more:tt
    ) => {
        $crate::call::call!(@path $body $problems $docs $route $params
            [
                status = 201,
                body = $($answer)+,
                headers(("Location" = String, description = "Its path"))
            ]
            $more
        );
    };
    (@success $body:tt $problems:tt $docs:tt $route:tt $params:tt
        [created ($($answer:tt)+) $(($text:literal))?] $more:tt
    ) => {
        $crate::call::call!(@path $body $problems $docs $route $params
            [status = 201, $(description = $text,)? body = $($answer)+] $more
        );
    };
    (@path [$($body:tt)*] [$($problems:tt)+] [$($docs:tt)+] [$($route:tt)+] [$($params:tt)*]
        [$($success:tt)+] [$($more:tt)*]
    ) => {
        $($docs)+
        #[utoipa::path(
            $($route)+,
            params($($params)*),
            $($body)*
            responses(($($success)+), $($problems)+, $($more)*),
        )]
        #[expect(dead_code, reason = "only its description is read")]
        pub fn described() {}
    };
    (@method get) => { $crate::Method::Get };
    (@method post) => { $crate::Method::Post };
    (@method put) => { $crate::Method::Put };
    (@method patch) => { $crate::Method::Patch };
    (@method delete) => { $crate::Method::Delete };
    (@effect change) => { $crate::Effect::Change };
    (@effect conditional) => { $crate::Effect::Conditional };
    (@effect $read:ident) => { $crate::Effect::Read };
    (@long long) => { true };
    (@long long_list) => { true };
    (@long $short:ident) => { false };
    (@status ()) => { 204 };
    (@status ($($answer:tt)+)) => { 200 };
    (@status created ($($answer:tt)+)) => { 201 };
    (@kind) => { $crate::RequestBody::Empty };
    (@kind optional $body:ident) => { $crate::RequestBody::Optional };
    (@kind required $body:ident) => { $crate::RequestBody::Required };
    (@answer) => { () };
    (@answer $($answer:tt)+) => { $($answer)+ };
    (@query) => { $crate::NoQuery };
    (@query $query:ident) => { $query };
    (@body) => { () };
    (@body $body:ident) => { $body };
    (@query_of $self:ident) => { &$crate::NoQuery {} };
    (@query_of $self:ident $query:ident) => { &$self.query };
    (@body_of $self:ident) => { &() };
    (@body_of $self:ident $body:ident) => { &$self.body };
}

pub(crate) use call;
