//! What the tests share: a plain model of the engine, bodies to append, folders to copy.

pub mod bodies;
pub mod folder;
pub mod model;
pub mod seed;
pub mod world;
