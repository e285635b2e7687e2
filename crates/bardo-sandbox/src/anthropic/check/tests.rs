//! Refusals, one per rule.
