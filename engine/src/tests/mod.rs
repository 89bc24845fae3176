//! Tests that need more of the engine than one module.

// tidy: names the parts
mod forked;
mod refusals;
