//! Keys over the fixtures of every dialect, isolation of callers, and replays of recorded answers.

// Clippy takes code for that of a test where it says so.
#![cfg(test)]

mod fixtures;
mod guard_attributes;
mod guard_classes;
mod guard_clauses;
mod guard_pairs;
mod guard_permissions;
mod isolation;
mod keys;
mod members;
mod mutate;
mod replay;
