//! Tests that involve several modules of the engine.

// tidy: names the parts
mod attachments;
mod branches;
mod dropped;
mod each_keyed;
mod forked;
mod locks;
mod observed;
mod refusals;
mod summaries;
mod switch;
