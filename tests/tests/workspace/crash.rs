//! A restore whose process is killed: wholly done or wholly undone after the next opening.
