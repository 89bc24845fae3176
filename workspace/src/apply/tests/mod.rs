//! Restores that are stopped, that fail, and that meet changes of others.

// tidy: names the parts
mod concurrent;
mod crash;
mod harness;
mod limits;
