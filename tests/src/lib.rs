//! What the tests share: a plain model of the engine, bodies to append, folders to copy.

pub mod bodies;
pub mod folder;
pub mod model;
pub mod seed;
pub mod sweep;
pub mod world;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
