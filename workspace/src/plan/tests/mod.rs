//! Tests of plans: the table of rules, and single cases.

// tidy: names the parts
mod cases;
mod sentences;
mod table;
