//! Shared code of the tests: a plain model of the engine, bodies to append, folders to copy; and
//! work under faults, a simulated disk, damaged stores, and checks of their contents.

pub mod acked;
pub mod archive;
pub mod bodies;
pub mod disk;
pub mod faulted;
pub mod faults;
pub mod folder;
pub mod model;
pub mod mount;
pub mod search;
pub mod seed;
// The crate of that file has a server and a client, which the fuzz targets do not need.
#[path = "../agents/src/skip.rs"]
pub mod skip;
pub mod storm;
pub mod sweep;
pub mod targets;
pub mod work;
pub mod world;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// Those of the page on hooks, too.
#[cfg(doctest)]
#[doc = include_str!("../../docs/HOOKS.md")]
pub struct Hooks;

/// And that of the page on the service.
#[cfg(doctest)]
#[doc = include_str!("../../docs/howto/serve-over-http.md")]
pub struct Serving;
