//! Tests of restores that are killed, that fail, and that meet changes of other processes.

// tidy: names the parts
mod concurrent;
mod crash;
mod harness;
mod limits;
