//! Plans against a table of rules, and single cases.

// tidy: names the parts
mod cases;
mod table;
