//! Keys over the fixtures of every dialect, isolation of callers, and replays of recorded answers.

// Clippy takes code for that of a test where it says so.
#![cfg(test)]

mod fixtures;
mod guard_asked;
mod guard_attributes;
mod guard_classes;
mod guard_clauses;
mod guard_frames;
mod guard_manner;
mod guard_near_misses;
mod guard_neighbours;
mod guard_pairs;
mod guard_permissions;
mod guard_persons;
mod guard_recast;
mod guard_relations;
mod guard_words;
mod isolation;
mod keys;
mod members;
mod mutate;
mod replay;
