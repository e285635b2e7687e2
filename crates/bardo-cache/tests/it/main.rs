//! Keys over the fixtures of every dialect, isolation of callers, and replays of recorded answers.

// Clippy takes code for that of a test where it says so.
#![cfg(test)]

mod audit_accounts;
mod audit_rules;
mod fixtures;
mod guard_agent;
mod guard_attribute;
mod guard_capitals;
mod guard_cause;
mod guard_choice;
mod guard_classes;
mod guard_clauses;
mod guard_contrast;
mod guard_determiners;
mod guard_doer;
mod guard_event;
mod guard_frames;
mod guard_heads;
mod guard_inflection;
mod guard_location;
mod guard_means;
mod guard_mention;
mod guard_near_misses;
mod guard_near_words;
mod guard_need;
mod guard_order;
mod guard_pairs;
mod guard_permission;
mod guard_position;
mod guard_possession;
mod guard_price;
mod guard_purpose;
mod guard_quantity;
mod guard_relations;
mod guard_scope;
mod guard_senses;
mod guard_sentences;
mod guard_software;
mod guard_statement;
mod guard_structure;
mod guard_synonyms;
mod guard_syntax;
mod guard_verb;
mod guard_wording;
mod guard_words;
mod isolation;
mod keys;
mod members;
mod mutate;
mod replay;
