//! Tests that every implementation of a log passes.

// tidy: names the parts
mod conformance;
